//! Judges the timelines of a report by the catalogue and the judge of today.

use std::collections::{BTreeMap, BTreeSet};

use super::{Again, Objection, VerifyContext};
use crate::report::{
    baseline, build,
    model::{CaseOutcome, CaseReport, ConformanceReport, JudgedBy},
};

/// A report that was judged again.
#[derive(Debug)]
pub struct Rejudged {
    /// The new report of the same run.
    pub report: ConformanceReport,
    /// Objections to cases that the suite does not have, or has changed since the run. Their timelines say nothing about the
    /// cases of today, so that the new report lists them as cases that could not be run.
    pub changed: Vec<Objection>,
}

/// Judges the timelines of a report again. Everything that the run fixed stays: the implementation, the selected cases, the
/// features, the claimed documents and the baseline.
///
/// # Errors
/// If the timelines are not those of the run that is reported: all objections to them.
pub fn rejudge(
    report: &ConformanceReport,
    context: &VerifyContext<'_>,
    judged_by: JudgedBy,
) -> Result<Rejudged, Vec<Objection>> {
    let again = Again::of(report, context);
    let mut objections = again.objections_to_run(report, context);
    let mut changed = Vec::new();
    let mut cases = Vec::new();
    for (reported, again) in report.cases.iter().zip(again.cases) {
        match again {
            Ok(case) => cases.push(case),
            Err(objection @ (Objection::OtherCase(_) | Objection::NoSuchCase(_))) => {
                changed.push(objection);
                cases.push(reported.not_judged_again());
            }
            Err(objection) => objections.push(objection),
        }
    }
    if changed.len() == cases.len() {
        // Nothing is left to judge; each says what to do about its case.
        objections.append(&mut changed);
    }
    if !objections.is_empty() {
        return Err(objections);
    }
    build::settle(&mut cases);
    let report = build::concluded(
        ConformanceReport {
            judged_by: Some(judged_by),
            cases,
            ..report.clone()
        },
        context.catalogue,
        &baseline::of_report(report),
        &baseline::about(context.cases.values()),
    );
    Ok(Rejudged { report, changed })
}

impl CaseReport {
    /// Returns the case without a verdict: the suite of today has another case of this name, or none.
    fn not_judged_again(&self) -> Self {
        Self {
            name: self.name.clone(),
            area: self.area.clone(),
            title: self.title.clone(),
            digest: self.digest.clone(),
            seed: self.seed,
            result: CaseOutcome::Broken,
            failed_tries: Vec::new(),
            requirements: self.requirements.clone(),
            shown: BTreeSet::new(),
            broken: BTreeSet::new(),
            not_judged: BTreeMap::new(),
            known: false,
            likely_cause: None,
            findings: Vec::new(),
            elsewhere: Vec::new(),
            remarks: Vec::new(),
            proposed: Vec::new(),
            warnings: Vec::new(),
            snapshots: Vec::new(),
            reasons: vec!["the suite has changed this case since the run; run it again".to_owned()],
            evidence: None,
            timing: self.timing.clone(),
        }
    }
}
