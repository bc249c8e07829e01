//! Makes a report again from the catalogue, the cases and its timelines: [`verify`] returns the differences, [`rejudge`]
//! the new report.
//!
//! Facts that are not in timelines are taken from the report: wall-clock durations, results of earlier tries, and
//! why a case could not be run. Timelines themselves are believed.

mod differ;
mod evidence;
mod objection;
mod older;
mod one_run;
mod rejudge;

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

use super::{
    baseline, build,
    model::{CaseOutcome, CaseReport, ConformanceReport, RequirementResult},
    settled,
};
use crate::{
    case::model::Case,
    catalogue::Catalogue,
    digest::Digest,
    event::{self, SnapshotDifference},
    judge::Verdict,
    names::CaseId,
    timeline::Provenance,
};

pub use objection::Objection;
pub use rejudge::{Rejudged, rejudge};

/// The result of a verification. Numbers are of runs of cases, one for each seed.
#[derive(Debug, Default)]
pub struct Verification {
    /// Number of results that follow from their timelines.
    pub confirmed: usize,
    /// Number of results that have a timeline, or should have one.
    pub judged: usize,
    /// Number of cases that were not run, because the target or the clusters lack something.
    pub unsupported: usize,
    /// Number of cases that could not be run.
    pub broken: usize,
    /// Number of selected runs that the report does not have.
    pub missing: usize,
    /// Number of cases in this suite that were not selected.
    pub not_selected: usize,
    /// All differences and other objections.
    pub objections: Vec<Objection>,
}

/// The context for making a report again.
pub struct VerifyContext<'a> {
    /// The catalogue of requirements.
    pub catalogue: &'a Catalogue,
    /// The cases of the suite, by name.
    pub cases: &'a BTreeMap<CaseId, Case>,
    /// Returns the content of a timeline by its file name, or the error in reading it.
    pub timeline: &'a dyn Fn(&str) -> io::Result<Vec<u8>>,
    /// Returns the snapshots of a verdict that differ from their files.
    pub snapshots: &'a dyn Fn(&Case, &Verdict) -> Vec<SnapshotDifference>,
    /// File names of timelines in the same folder that the report does not name.
    pub unnamed: &'a [String],
}

/// The cases of a report, made again from their timelines.
struct Again {
    /// In the order of the report, each case or the reason why it cannot be made again.
    cases: Vec<Result<CaseReport, Objection>>,
    /// The runs that the timelines come from, in the order of the report.
    provenances: Vec<Provenance>,
    /// `true` if every timeline that the report names is there and of a case of this suite.
    all_readable: bool,
}

impl Again {
    fn of(report: &ConformanceReport, context: &VerifyContext<'_>) -> Self {
        let judge = |case: &CaseReport| {
            let evidence = case.evidence.as_ref()?;
            Some(evidence::judge_again(report, case, evidence, context))
        };
        let judged: Vec<_> = report.cases.iter().map(judge).collect();
        let all_readable = judged.iter().flatten().all(Result::is_ok);
        let provenances = judged.iter().flatten().flatten();
        let provenances: Vec<Provenance> = provenances.map(|(_, provenance)| provenance.clone()).collect();
        let cases = report.cases.iter().zip(judged).map(|(reported, again)| match again {
            Some(again) => again.map(|(case, _)| case),
            None => without_evidence(report, reported, &provenances, context),
        });
        Self {
            cases: cases.collect(),
            provenances,
            all_readable,
        }
    }

    /// Checks that the cases and their timelines are those of one whole run.
    fn objections_to_run(&self, report: &ConformanceReport, context: &VerifyContext<'_>) -> Vec<Objection> {
        let mut found = set_of_cases(report);
        found.extend(origin(report, &self.provenances, self.all_readable));
        found.extend(one_run::of_each_shard(report, &self.provenances));
        found.extend(one_run::left_out(report, &self.provenances, context));
        found
    }
}

/// Verifies a report: makes it again and compares.
pub fn verify(report: &ConformanceReport, context: &VerifyContext<'_>) -> Verification {
    let mut verification = Verification::default();
    let again = Again::of(report, context);
    let mut cases = Vec::new();
    let mut confirmed = Vec::new();
    for (reported, again) in report.cases.iter().zip(&again.cases) {
        match (reported.result, &reported.evidence) {
            (CaseOutcome::Unsupported, None) => verification.unsupported += 1,
            (CaseOutcome::Broken, None) => verification.broken += 1,
            (_, _) => verification.judged += 1,
        }
        let case = again.as_ref().unwrap_or_else(|objection| {
            verification.objections.push(objection.clone());
            reported
        });
        // The result of a case that could be judged depends on all cases, and is compared below.
        let is_judged = reported.result.is_judged() && case.result.is_judged();
        let case = CaseReport {
            result: if is_judged { reported.result } else { case.result },
            ..older::as_reported(reported, case.clone())
        };
        let differing = differ::objections(&case.name.to_string(), reported, &case);
        let judged = again.is_ok() && reported.evidence.is_some();
        confirmed.push(judged && differing.is_empty());
        verification.objections.extend(differing);
        cases.push(case);
    }
    build::settle(&mut cases);
    for ((reported, case), confirmed) in report.cases.iter().zip(&cases).zip(confirmed) {
        let result = |case: &CaseReport| BTreeMap::from([("result", case.result)]);
        let of = case.name.to_string();
        let differing = differ::objections(&of, &result(reported), &result(case));
        verification.confirmed += usize::from(confirmed && differing.is_empty());
        verification.objections.extend(differing);
    }
    verification.not_selected = context.cases.len().saturating_sub(report.suite.cases);
    verification.missing = report.missing_runs();
    verification.objections.extend(again.objections_to_run(report, context));
    verification.objections.extend(whole(report, &cases, context));
    if verification.judged == 0 {
        verification.objections.push(Objection::NothingJudged);
    }
    verification
}

/// Returns a case without a timeline, if its result allows that there is none.
fn without_evidence(
    report: &ConformanceReport,
    reported: &CaseReport,
    provenances: &[Provenance],
    context: &VerifyContext<'_>,
) -> Result<CaseReport, Objection> {
    let here = evidence::case(reported, context)?;
    let outcome = match reported.result {
        CaseOutcome::Unsupported => {
            let told = provenances.iter().find_map(|it| it.unsupported.get(&here.id).cloned());
            let lacking = || here.lacking(&report.features).map(|reason| vec![reason]);
            let reasons = told
                .or_else(lacking)
                .ok_or_else(|| Objection::NotUnsupported(here.id.clone()))?;
            event::CaseOutcome::Unsupported { reasons }
        }
        CaseOutcome::Broken => event::CaseOutcome::Broken {
            reason: reported.reasons.first().cloned().unwrap_or_default(),
        },
        CaseOutcome::Conforms
        | CaseOutcome::Remarks
        | CaseOutcome::Deviates
        | CaseOutcome::KnownDeviation
        | CaseOutcome::Inconclusive => {
            return Err(Objection::NoEvidence(here.id.clone()));
        }
    };
    Ok(evidence::not_judged(here, reported, outcome))
}

/// Checks that the cases are those that were selected, each once for each seed, each with a separate timeline.
fn set_of_cases(report: &ConformanceReport) -> Vec<Objection> {
    let mut found = Vec::new();
    let (mut runs, mut files) = (BTreeSet::new(), BTreeSet::new());
    for case in &report.cases {
        if !runs.insert((&case.name, case.seed)) {
            found.push(Objection::Twice {
                case: case.name.clone(),
                seed: case.seed,
            });
        }
        let Some(evidence) = &case.evidence else { continue };
        let new = files.insert(evidence.timeline.as_str());
        if !(files.insert(evidence.digest.as_str()) && new) {
            found.push(Objection::SharedTimeline {
                case: case.name.clone(),
                file: evidence.timeline.clone(),
            });
        }
    }
    if let Some(shard) = report.suite.shard.filter(|shard| !shard.exists()) {
        found.push(Objection::NoSuchShard(shard));
    }
    let names: BTreeSet<_> = report.cases.iter().map(|case| &case.name).collect();
    let cases = report.selected_cases();
    if names.len() > cases {
        found.push(Objection::TooMany {
            reported: names.len(),
            selected: cases,
        });
    }
    let selected = report.selected_runs();
    if report.cases.len() > selected {
        found.push(Objection::TooMany {
            reported: report.cases.len(),
            selected,
        });
    }
    let digests = report.cases.iter().map(|case| (case.name.as_str(), &case.digest));
    let whole = report.suite.shard.is_none() && report.cases.len() >= selected;
    if whole && Digest::of_cases(digests) != report.suite.digest {
        found.push(Objection::Suite);
    }
    found
}

/// Checks that all timelines come from the run of the report.
fn origin(report: &ConformanceReport, provenances: &[Provenance], all_readable: bool) -> BTreeSet<Objection> {
    let mut found = BTreeSet::new();
    let of_report = settled::of_report(report);
    for provenance in provenances {
        let differing = of_report
            .iter()
            .filter(|(what, digest)| provenance.settled.get(*what) != Some(*digest));
        found.extend(differing.map(|(what, _)| Objection::Settled(what.clone())));
    }
    let with_evidence = report.cases.iter().filter(|case| case.evidence.is_some());
    if !all_readable || provenances.is_empty() {
        return found;
    }
    for (case, provenance) in with_evidence.zip(provenances) {
        let tries = case.failed_tries.len() + 1;
        found.extend(differ::objections(
            case.name.as_str(),
            &BTreeMap::from([("number of tries", tries)]),
            &BTreeMap::from([("number of tries", provenance.attempt as usize)]),
        ));
    }
    if let Some(shard) = report.suite.shard {
        let shard = Some(shard.to_string());
        let others = provenances.iter().filter(|it| it.shard != shard);
        found.extend(others.map(|_| Objection::Settled("shard".to_owned())));
    }
    let versions: BTreeSet<_> = provenances.iter().flat_map(|it| &it.kubernetes_versions).collect();
    let reported: BTreeSet<_> = report.backend.kubernetes_versions.iter().collect();
    found.extend(differ::objections("the versions of Kubernetes", &reported, &versions));
    let date = provenances.iter().map(|it| build::date(it.started)).min();
    found.extend(differ::objections("the date", &Some(report.date), &date));
    found
}

/// Returns the parts of the report that do not follow from the catalogue, its baseline and these cases.
fn whole(report: &ConformanceReport, cases: &[CaseReport], context: &VerifyContext<'_>) -> Vec<Objection> {
    let mut again = build::concluded(
        ConformanceReport {
            cases: cases.to_vec(),
            ..report.clone()
        },
        context.catalogue,
        &baseline::of_report(report),
        &baseline::about(context.cases.values()),
    );
    let in_report: BTreeSet<&CaseId> = cases.iter().map(|case| &case.name).collect();
    // The run need not have known of a requirement that no case of it tests: it may be newer, as its cases are.
    let suite_has_more = context.cases.keys().any(|id| !in_report.contains(id));
    let reported: BTreeSet<_> = report.requirements.iter().map(|it| &it.id).collect();
    again.requirements.retain(|it| {
        let may_be_newer = suite_has_more && it.result == RequirementResult::NotShown;
        !may_be_newer || reported.contains(&it.id)
    });
    let mut found = Vec::new();
    let ids = report.requirements.iter().chain(&again.requirements).map(|it| &it.id);
    for id in ids.collect::<BTreeSet<_>>() {
        let reported: Vec<_> = report.requirements.iter().filter(|it| it.id == *id).collect();
        let again: Vec<_> = again.requirements.iter().filter(|it| it.id == *id).collect();
        match (reported.as_slice(), again.as_slice()) {
            ([reported], [again]) => found.extend(differ::objections(id.as_str(), *reported, *again)),
            (reported, again) => found.push(Objection::Requirement {
                id: id.clone(),
                reported: reported.len(),
                catalogue: again.len(),
            }),
        }
    }
    found.extend(differ::objections("the documents", &report.documents, &again.documents));
    found.extend(differ::objections("the defects", &report.defects, &again.defects));
    for (reported, mut again) in report.baseline.iter().zip(again.baseline) {
        let of = format!("{} in the baseline", again.about());
        // The run need not have known of a case that it did not select: it may be newer, or private.
        again
            .told_by
            .retain(|case| in_report.contains(case) || reported.told_by.contains(case));
        found.extend(differ::objections(&of, reported, &again));
    }
    let requirements = &again.requirements;
    let profiles = build::profiles(context.catalogue.core(), &report.features, requirements, cases);
    found.extend(differ::objections("the profiles", &report.profiles, &profiles));
    let summary = build::summary(requirements, cases, report.summary.wall_secs);
    found.extend(differ::objections("the summary", &report.summary, &summary));
    found
}
