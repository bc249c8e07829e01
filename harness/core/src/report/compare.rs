//! Improvements and regressions from one report to another.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    defects, described,
    model::{CaseOutcome, CaseReport, ConformanceReport, RequirementResult},
};
use crate::{
    catalogue::{Catalogue, Consequence},
    implementation::baseline::Subject,
    judge::finding::DifferenceKind,
    names::CaseId,
};

/// A requirement or a case with different results in two reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// Identifier of the requirement or name of the case.
    pub what: String,
    /// Result in the earlier report; `None` if it is missing there.
    pub before: Option<String>,
    /// Result in the later report; `None` if it is missing there.
    pub after: Option<String>,
}

/// A defect that shows in different cases of two reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedDefect {
    /// Requirements and what differs.
    pub headline: String,
    /// Direction of the change.
    pub direction: Direction,
    /// `true` if the baseline of the later report covers it; of the earlier report, if the defect is gone.
    pub known: bool,
    /// Number of cases that show it in the earlier report.
    pub before: usize,
    /// Number of cases that show it in the later report.
    pub after: usize,
    /// The cases that show it in the later report only.
    pub appeared: BTreeSet<CaseId>,
    /// The cases that show it in the earlier report only.
    pub disappeared: BTreeSet<CaseId>,
}

/// The direction of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// More is broken.
    Worse,
    /// Less is broken.
    Better,
    /// Neither: the cases were judged in only one of the reports, or the defect concerns a proposal.
    Other,
}

/// The comparison of two reports.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Reasons for differences other than the implementation.
    pub notes: Vec<String>,
    /// Cases in only one of the reports, and renamed cases.
    pub suite: Vec<String>,
    /// Defects that are new, gone, or in other cases than before, whether known or not: worse ones first.
    pub defects: Vec<MovedDefect>,
    /// Improvements: requirements, then cases.
    pub better: Vec<Moved>,
    /// Regressions.
    pub worse: Vec<Moved>,
    /// Differences that are neither.
    pub other: Vec<Moved>,
}

/// Compares two reports. The catalogue lists the cases that were renamed in a later suite.
pub fn compare(before: &ConformanceReport, after: &ConformanceReport, catalogue: &Catalogue) -> Comparison {
    let renamed = renamed(before, after, catalogue);
    let before = &with_present_names(before, &renamed);
    let mut comparison = Comparison {
        notes: notes(before, after),
        defects: moved_defects(before, after),
        suite: changes_of_suite(before, after, &renamed),
        ..Comparison::default()
    };
    comparison.add(&requirements(before), &requirements(after));
    comparison.add(&cases(before), &cases(after));
    comparison
}

/// Returns the cases of the earlier report that have another name in the later one.
fn renamed(before: &ConformanceReport, after: &ConformanceReport, catalogue: &Catalogue) -> BTreeMap<CaseId, CaseId> {
    let later: BTreeSet<&CaseId> = after.cases.iter().map(|case| &case.name).collect();
    let gone = before.cases.iter().filter(|case| !later.contains(&case.name));
    gone.filter_map(|case| {
        let new = catalogue.renamed(&case.name).filter(|new| later.contains(new))?;
        Some((case.name.clone(), new.clone()))
    })
    .collect()
}

/// Returns a report with the current names of its cases.
fn with_present_names(report: &ConformanceReport, renamed: &BTreeMap<CaseId, CaseId>) -> ConformanceReport {
    let mut report = report.clone();
    let names = report.cases.iter_mut().map(|case| &mut case.name);
    for name in names.chain(report.defects.iter_mut().flat_map(|defect| &mut defect.cases)) {
        if let Some(new) = renamed.get(name) {
            name.clone_from(new);
        }
    }
    report
}

/// Returns the changes of the set of cases, one line for each kind of change.
fn changes_of_suite(
    before: &ConformanceReport,
    after: &ConformanceReport,
    renamed: &BTreeMap<CaseId, CaseId>,
) -> Vec<String> {
    let names = |report: &ConformanceReport| -> BTreeSet<CaseId> {
        report.cases.iter().map(|case| case.name.clone()).collect()
    };
    let (earlier, later) = (names(before), names(after));
    let line = |what: &str, names: Vec<String>| {
        let number = described::count(names.len(), "case");
        (!names.is_empty()).then(|| format!("{number} {what}: {}", names.join(", ")))
    };
    let only =
        |one: &BTreeSet<CaseId>, other: &BTreeSet<CaseId>| one.difference(other).map(CaseId::to_string).collect();
    let renamed = renamed.iter().map(|(old, new)| format!("{old} is now {new}")).collect();
    [
        line("only in the later report", only(&later, &earlier)),
        line("only in the earlier report", only(&earlier, &later)),
        line("renamed", renamed),
    ]
    .into_iter()
    .flatten()
    .collect()
}

impl Comparison {
    /// Returns `true` if a defect, a requirement or a case became worse.
    pub fn is_worse(&self) -> bool {
        !self.worse.is_empty() || self.defects.iter().any(|it| it.direction == Direction::Worse)
    }
}

/// Subject, field and kind of difference of a defect: equal in both reports for the same defect.
type Difference = (Subject, Option<String>, DifferenceKind);

/// A defect in one of the reports, for one of its subjects.
struct Shown {
    consequence: Consequence,
    known: bool,
    cases: BTreeSet<CaseId>,
}

fn shown(report: &ConformanceReport) -> BTreeMap<Difference, Shown> {
    let mut all = BTreeMap::new();
    for defect in &report.defects {
        let of = if defect.requirements.is_empty() {
            defects::subjects(&defect.finding)
        } else {
            defect.requirements.iter().cloned().map(Subject::Requirement).collect()
        };
        for of in of {
            let shows = |case: &&CaseReport| defects::shows(case, &of, defect.field.as_deref(), defect.difference);
            let cases = report
                .cases
                .iter()
                .filter(shows)
                .map(|case| case.name.clone())
                .collect();
            let in_report = Shown {
                consequence: defect.consequence,
                known: defect.known,
                cases,
            };
            all.insert((of, defect.field.clone(), defect.difference), in_report);
        }
    }
    all
}

fn judged(report: &ConformanceReport) -> BTreeSet<&CaseId> {
    let judged = report.cases.iter().filter(|case| case.result.is_judged());
    judged.map(|case| &case.name).collect()
}

fn moved_defects(before: &ConformanceReport, after: &ConformanceReport) -> Vec<MovedDefect> {
    let (earlier, later) = (shown(before), shown(after));
    let (judged_before, judged_after) = (judged(before), judged(after));
    let none = BTreeSet::new();
    let differences: BTreeSet<&Difference> = earlier.keys().chain(later.keys()).collect();
    // Requirements with the same changes share one line.
    let mut moved: Vec<(Vec<String>, String, MovedDefect)> = Vec::new();
    for difference in differences {
        let (old, new) = (earlier.get(difference), later.get(difference));
        let Some(current) = new.or(old) else { continue };
        let old = old.map_or(&none, |shown| &shown.cases);
        let new = new.map_or(&none, |shown| &shown.cases);
        let appeared: BTreeSet<CaseId> = new.difference(old).cloned().collect();
        let disappeared: BTreeSet<CaseId> = old.difference(new).cloned().collect();
        if appeared.is_empty() && disappeared.is_empty() {
            continue;
        }
        // A case that was not judged says nothing about the implementation.
        let direction = match current.consequence {
            Consequence::None | Consequence::Proposed => Direction::Other,
            Consequence::Remark | Consequence::Deviation => {
                if appeared.iter().any(|case| judged_before.contains(case)) {
                    Direction::Worse
                } else if appeared.is_empty() && disappeared.iter().any(|case| judged_after.contains(case)) {
                    Direction::Better
                } else {
                    Direction::Other
                }
            }
        };
        let (of, field, kind) = difference;
        let (id, what) = match (of, field) {
            (Subject::Requirement(id), Some(field)) => (Some(id.to_string()), described::differs(field, *kind)),
            (Subject::Requirement(id), None) => (Some(id.to_string()), kind.to_string()),
            (Subject::Step(title), _) => (None, title.clone()),
        };
        let entry = MovedDefect {
            headline: String::new(),
            direction,
            known: current.known,
            before: old.len(),
            after: new.len(),
            appeared,
            disappeared,
        };
        match moved.iter_mut().find(|(_, other, it)| *other == what && *it == entry) {
            Some((ids, ..)) => ids.extend(id),
            None => moved.push((id.into_iter().collect(), what, entry)),
        }
    }
    let mut moved: Vec<MovedDefect> = moved
        .into_iter()
        .map(|(ids, what, entry)| MovedDefect {
            headline: if ids.is_empty() {
                what
            } else {
                format!("{}: {what}", ids.join(", "))
            },
            ..entry
        })
        .collect();
    moved.sort_by_key(|it| it.direction);
    moved
}

impl MovedDefect {
    /// Returns the change in words: `new in 3 cases: a, b, c`.
    pub fn words(&self) -> String {
        let names = |cases: &BTreeSet<CaseId>| cases.iter().map(CaseId::as_str).collect::<Vec<_>>().join(", ");
        match (self.before, self.after) {
            (0, after) => format!("new in {}: {}", described::count(after, "case"), names(&self.appeared)),
            (before, 0) => format!(
                "gone from {}: {}",
                described::count(before, "case"),
                names(&self.disappeared)
            ),
            (before, after) => {
                let changes = [("; now in", &self.appeared), ("; no longer in", &self.disappeared)];
                let changes = changes.into_iter().filter(|(_, cases)| !cases.is_empty());
                let changes: Vec<String> = changes
                    .map(|(word, cases)| format!("{word} {}", names(cases)))
                    .collect();
                format!(
                    "in {}, was in {before}{}",
                    described::count(after, "case"),
                    changes.concat()
                )
            }
        }
    }
}

/// A result in words, with its rank.
#[derive(Clone)]
struct Ranked {
    /// The rank; a higher one is better. What a document proposes that the target does not claim has none: a change makes
    /// the implementation neither better nor worse.
    rank: Option<u8>,
    /// Set if the implementation was judged.
    is_judged: bool,
    words: String,
}

impl Ranked {
    /// Returns `true` if this result is better than an earlier one. A defect is not mended because a later run did not judge
    /// it.
    fn is_better_than(&self, earlier: &Self) -> bool {
        let is_higher = earlier.rank.zip(self.rank).is_some_and(|(earlier, now)| earlier < now);
        is_higher && (self.is_judged || !earlier.is_judged)
    }

    fn is_worse_than(&self, earlier: &Self) -> bool {
        earlier.rank.zip(self.rank).is_some_and(|(earlier, now)| earlier > now)
    }
}

/// Results by id or name.
type Results = BTreeMap<String, Ranked>;

fn requirements(report: &ConformanceReport) -> Results {
    let rank = |result| match result {
        // Known or not depends on the target file, not on the implementation.
        RequirementResult::Broken | RequirementResult::KnownDeviation => 0,
        RequirementResult::Remark => 1,
        RequirementResult::NotJudged | RequirementResult::NotShown | RequirementResult::Unsupported => 2,
        RequirementResult::Shown => 3,
    };
    let asked_for: BTreeSet<_> = report.cases.iter().flat_map(|case| &case.requirements).collect();
    // A requirement that was not tested says nothing about the implementation: the report is of a part of the cases.
    let told = report
        .requirements
        .iter()
        .filter(|it| it.result != RequirementResult::NotShown || asked_for.contains(&it.id));
    told.map(|it| {
        let is_proposed = it.consequence == Consequence::Proposed;
        let words = match it.result {
            RequirementResult::Broken | RequirementResult::KnownDeviation if is_proposed => "broken, proposed",
            result => result.words(),
        };
        let result = Ranked {
            rank: (!is_proposed).then(|| rank(it.result)),
            is_judged: !matches!(
                it.result,
                RequirementResult::NotJudged | RequirementResult::NotShown | RequirementResult::Unsupported
            ),
            words: words.to_owned(),
        };
        (it.id.to_string(), result)
    })
    .collect()
}

/// Returns the results of cases. With several seeds, the worst result of a case counts.
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
        let result = Ranked {
            rank: Some(rank(case)),
            is_judged: !matches!(
                case.result,
                CaseOutcome::Broken | CaseOutcome::Inconclusive | CaseOutcome::Unsupported
            ),
            words: case.words(),
        };
        let known = results.entry(case.name.to_string()).or_insert_with(|| result.clone());
        if result.rank < known.rank {
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
            if old.map(|it| &it.words) == new.map(|it| &it.words) {
                continue;
            }
            let to = match old.zip(new) {
                Some((old, new)) if new.is_better_than(old) => &mut self.better,
                Some((old, new)) if new.is_worse_than(old) => &mut self.worse,
                Some(_) | None => &mut self.other,
            };
            to.push(Moved {
                what: name.clone(),
                before: old.map(|it| it.words.clone()),
                after: new.map(|it| it.words.clone()),
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
        ("Baton", before.made_with(), after.made_with()),
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
