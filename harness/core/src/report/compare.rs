//! What became better or worse from one report to another.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{CaseOutcome, CaseReport, ConformanceReport, RequirementResult};

/// A requirement or a case whose result is not the same in both reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// Its id or name.
    pub what: String,
    /// The result before; none if it was not there.
    pub before: Option<String>,
    /// The result after; none if it is not there.
    pub after: Option<String>,
}

/// Two reports, compared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Why the results may differ for another reason than the implementation.
    pub notes: Vec<String>,
    /// What became better: requirements, then cases.
    pub better: Vec<Moved>,
    /// What became worse.
    pub worse: Vec<Moved>,
    /// What is different without being better or worse.
    pub other: Vec<Moved>,
}

/// Compares two reports.
pub fn compare(before: &ConformanceReport, after: &ConformanceReport) -> Comparison {
    let mut comparison = Comparison {
        notes: notes(before, after),
        ..Comparison::default()
    };
    comparison.add(&requirements(before), &requirements(after));
    comparison.add(&cases(before), &cases(after));
    comparison
}

/// Results with their words and their rank, by id or name.
type Results = BTreeMap<String, (u8, String)>;

fn requirements(report: &ConformanceReport) -> Results {
    let rank = |result| match result {
        // Whether it is known says something of the target file, not of the implementation.
        RequirementResult::Broken | RequirementResult::KnownDeviation => 0,
        RequirementResult::Remark => 1,
        RequirementResult::NotJudged | RequirementResult::NotShown | RequirementResult::Unsupported => 2,
        RequirementResult::Shown => 3,
    };
    let asked_for: BTreeSet<_> = report.cases.iter().flat_map(|case| &case.requirements).collect();
    // That nobody asked says nothing of the implementation: the report is of a part of the cases.
    let told = report
        .requirements
        .iter()
        .filter(|it| it.result != RequirementResult::NotShown || asked_for.contains(&it.id));
    told.map(|it| (it.id.to_string(), (rank(it.result), it.result.words().to_owned())))
        .collect()
}

/// Of a case with several seeds the worst result counts.
fn cases(report: &ConformanceReport) -> Results {
    let rank = |case: &CaseReport| match case.result {
        CaseOutcome::Deviates | CaseOutcome::KnownDeviation => 0,
        CaseOutcome::Broken => 1,
        CaseOutcome::Inconclusive => 2,
        CaseOutcome::Unsupported => 3,
        CaseOutcome::Conforms | CaseOutcome::Remarks if !case.failed_tries.is_empty() => 4,
        CaseOutcome::Remarks => 5,
        CaseOutcome::Conforms => 6,
    };
    let mut results = Results::new();
    for case in &report.cases {
        let result = (rank(case), case.words());
        let known = results.entry(case.name.to_string()).or_insert_with(|| result.clone());
        if result.0 < known.0 {
            *known = result;
        }
    }
    results
}

impl Comparison {
    fn add(&mut self, before: &Results, after: &Results) {
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for name in names {
            let (old, new) = (before.get(name), after.get(name));
            if old.map(|it| &it.1) == new.map(|it| &it.1) {
                continue;
            }
            let to = match (old, new) {
                (Some(old), Some(new)) if old.0 < new.0 => &mut self.better,
                (Some(old), Some(new)) if old.0 > new.0 => &mut self.worse,
                (_, _) => &mut self.other,
            };
            to.push(Moved {
                what: name.clone(),
                before: old.map(|it| it.1.clone()),
                after: new.map(|it| it.1.clone()),
            });
        }
    }
}

fn notes(before: &ConformanceReport, after: &ConformanceReport) -> Vec<String> {
    let version = |report: &ConformanceReport| {
        let version = report.implementation.version.as_ref();
        let version = version.map(|version| format!(" {version}")).unwrap_or_default();
        format!("{}{version}", report.implementation.name)
    };
    let pairs = [
        ("the implementation", version(before), version(after)),
        (
            "the set of cases",
            before.suite.digest.to_string(),
            after.suite.digest.to_string(),
        ),
        ("the clusters", before.backend.name.clone(), after.backend.name.clone()),
        ("Baton", before.baton_version.clone(), after.baton_version.clone()),
    ];
    let outdated = after.baseline.iter().filter(|entry| entry.outdated);
    let outdated = outdated.map(|entry| {
        let about = entry.about();
        format!("{about} is in the baseline of the later report, and no case shows it any more")
    });
    let differing = pairs.into_iter().filter(|(_, before, after)| before != after);
    differing
        .map(|(what, before, after)| format!("{what} is another one: {before}, then {after}"))
        .chain(outdated)
        .collect()
}
