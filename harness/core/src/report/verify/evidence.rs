//! Judges a reported case again from its timeline.

use std::{path::Path, sync::Arc, time::Duration};

use super::{Objection, VerifyContext};
use crate::{
    case::model::Case,
    catalogue::Asked,
    digest::Digest,
    event::{CaseOutcome, CaseResult},
    judge, measure,
    plan::Plan,
    report::{
        baseline,
        model::{CaseReport, ConformanceReport, EvidenceReport, Timing},
    },
    timeline::{HARNESS, Provenance, Timeline},
};

/// Returns the case with the name and the digest in the report.
pub(super) fn case<'a>(reported: &CaseReport, context: &VerifyContext<'a>) -> Result<&'a Case, Objection> {
    let id = &reported.name;
    let here = context.cases.get(id).ok_or_else(|| Objection::NoSuchCase(id.clone()))?;
    if Digest::of_case(here) == reported.digest {
        Ok(here)
    } else {
        Err(Objection::OtherCase(id.clone()))
    }
}

/// Judges a case by its timeline again; also returns the run that the timeline comes from.
pub(super) fn judge_again(
    report: &ConformanceReport,
    reported: &CaseReport,
    evidence: &EvidenceReport,
    context: &VerifyContext<'_>,
) -> Result<(CaseReport, Provenance), Objection> {
    let timeline = timeline(report, reported, evidence, context)?;
    let provenance = timeline.begin().and_then(|begin| begin.provenance.as_deref().cloned());
    let provenance = provenance.ok_or_else(|| Objection::NoProvenance {
        case: reported.name.clone(),
        file: evidence.timeline.clone(),
    })?;
    let here = case(reported, context)?;
    let asked = Asked::of(context.catalogue, &report.features, &report.claims);
    let plan = Plan::of(here).asking(asked.clone());
    let verdict = judge::judge(&plan, &timeline);
    let snapshots = (context.snapshots)(here, &verdict);
    let mut result = unjudged(here, CaseOutcome::judged(verdict, snapshots, &timeline));
    result.known = result.outcome.is_known(&here.id, &baseline::of_report(report), &asked);
    result.seed = provenance.seed;
    result.migration = measure::first_migration(&timeline, &HARNESS);
    result.virtual_time = timeline.entries().last().map(|entry| entry.at).unwrap_or_default();
    Ok((told(&result, reported), provenance))
}

/// Builds the report of a case that was not judged.
pub(super) fn not_judged(case: &Case, reported: &CaseReport, outcome: CaseOutcome) -> CaseReport {
    let result = CaseResult {
        seed: reported.seed,
        ..unjudged(case, outcome)
    };
    told(&result, reported)
}

fn unjudged(case: &Case, outcome: CaseOutcome) -> CaseResult {
    CaseResult {
        case: case.id.clone(),
        area: case.area.clone(),
        digest: Digest::of_case(case),
        seed: 0,
        title: case.title.clone(),
        requirements: case.requirements.iter().cloned().collect(),
        outcome,
        wall: Duration::ZERO,
        virtual_time: Duration::ZERO,
        migration: None,
        kubernetes: [].into(),
        timeline: None::<Arc<Timeline>>,
        evidence: None,
        log: None,
        known: false,
        accepted: Vec::new(),
        failed_tries: Vec::new(),
    }
}

/// Returns the report of a result. The wall-clock duration and the earlier tries come from the original report, because
/// no timeline has them.
fn told(result: &CaseResult, reported: &CaseReport) -> CaseReport {
    let again = CaseReport::of(result);
    CaseReport {
        failed_tries: reported.failed_tries.clone(),
        evidence: reported.evidence.clone(),
        timing: Timing {
            wall_secs: reported.timing.wall_secs,
            ..again.timing
        },
        ..again
    }
}

/// Returns the timeline of a case, if it is the reported one.
fn timeline(
    report: &ConformanceReport,
    case: &CaseReport,
    evidence: &EvidenceReport,
    context: &VerifyContext<'_>,
) -> Result<Timeline, Objection> {
    let id = &case.name;
    let file = &evidence.timeline;
    let plain = Path::new(file).file_name().is_some_and(|name| name == file.as_str());
    if !plain {
        return Err(Objection::Name {
            case: id.clone(),
            file: file.clone(),
        });
    }
    let unreadable = |reason: String| Objection::Unreadable {
        case: id.clone(),
        file: file.clone(),
        reason,
    };
    let bytes = (context.timeline)(file).map_err(|error| unreadable(error.to_string()))?;
    let found = Digest::of_bytes(&bytes);
    if found != evidence.digest {
        return Err(Objection::OtherFile {
            case: id.clone(),
            file: file.clone(),
            found,
            reported: evidence.digest.clone(),
        });
    }
    let timeline = Timeline::read(bytes.as_slice()).map_err(|error| unreadable(error.to_string()))?;
    let of = |case: &str, target: &str, backend: &str| format!("{case} by {target} on {backend} clusters");
    let reported = of(id.as_str(), &report.implementation.name, &report.backend.name);
    let begin = timeline.begin();
    let begin = begin.map(|begin| of(begin.case.as_str(), &begin.target, &begin.backend));
    let found = begin.unwrap_or_else(|| "no run".to_owned());
    if found == reported {
        Ok(timeline)
    } else {
        Err(Objection::OtherRun {
            case: id.clone(),
            file: file.clone(),
            found,
            reported,
        })
    }
}
