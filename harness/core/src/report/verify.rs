//! Judges the evidence of a report again, and says where it does not bear the report out.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use thiserror::Error;

use super::{
    baseline, build,
    model::{CaseOutcome, CaseReport, ConformanceReport, RequirementResult},
};
use crate::{
    case::model::Case,
    digest::Digest,
    judge::{self, Verdict},
    names::{CaseId, RequirementId},
    plan::Plan,
    timeline::{Mark, Timeline},
};

/// Where the evidence does not bear a report out.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum Objection {
    /// No timeline is named.
    #[error("{0}: the report names no timeline")]
    NoEvidence(CaseId),
    /// The timeline's name leads somewhere else.
    #[error("{case}: {file:?} is no name of a file in the folder of timelines")]
    Name {
        /// The case.
        case: CaseId,
        /// What the report names.
        file: String,
    },
    /// The timeline is not there, or cannot be read.
    #[error("{case}: {file} cannot be read: {reason}")]
    Unreadable {
        /// The case.
        case: CaseId,
        /// Its timeline.
        file: String,
        /// Why.
        reason: String,
    },
    /// The timeline is another one.
    #[error("{case}: {file} is not the timeline that was reported: its digest is {found}, reported was {reported}")]
    OtherFile {
        /// The case.
        case: CaseId,
        /// Its timeline.
        file: String,
        /// The digest that it has.
        found: Digest,
        /// The digest that the report names.
        reported: Digest,
    },
    /// The timeline belongs to another run.
    #[error("{case}: {file} is of {found}, reported was {reported}")]
    OtherRun {
        /// The case.
        case: CaseId,
        /// Its timeline.
        file: String,
        /// What the timeline says of itself.
        found: String,
        /// What the report says.
        reported: String,
    },
    /// The case is not among those at hand.
    #[error("{0}: there is no such case here")]
    NoSuchCase(CaseId),
    /// The case at hand says something else.
    #[error("{0}: the case here is not the one that was reported; its digest is another one")]
    OtherCase(CaseId),
    /// The judge says something else.
    #[error("{case}: reported as {reported}, judged as {judged}")]
    Verdict {
        /// The case.
        case: CaseId,
        /// What the report says.
        reported: &'static str,
        /// What the judge says.
        judged: &'static str,
    },
    /// The judge finds other requirements shown or broken.
    #[error("{case}: reported as {what} are {reported}, judged as {what} are {judged}")]
    Requirements {
        /// The case.
        case: CaseId,
        /// `shown`, `broken` or `not judged`.
        what: &'static str,
        /// What the report says.
        reported: String,
        /// What the judge says.
        judged: String,
    },
    /// The report does not follow from its own cases.
    #[error("{id}: reported as {reported}, but its cases make it {judged}")]
    Result {
        /// The requirement.
        id: RequirementId,
        /// What the report says.
        reported: &'static str,
        /// What follows from its cases.
        judged: &'static str,
    },
    /// An entry of the baseline holds no longer, or still does.
    #[error("{id}: reported as {reported} in the baseline, but its cases make it {judged}")]
    Baseline {
        /// The requirement.
        id: RequirementId,
        /// What the report says.
        reported: &'static str,
        /// What follows from its cases.
        judged: &'static str,
    },
    /// The numbers of the report are not those of its results.
    #[error("the summary does not count the results of the report")]
    Summary,
    /// The digest of the suite is not that of its cases.
    #[error("the digest of the set of cases does not follow from the cases")]
    Suite,
}

/// What came of a verification.
#[derive(Debug, Default)]
pub struct Verification {
    /// How many verdicts the evidence bears out.
    pub confirmed: usize,
    /// How many cases were not run, so that there is nothing to judge.
    pub not_run: usize,
    /// How many of the chosen cases the report says nothing of: the run was interrupted.
    pub missing: usize,
    /// Everything that it does not bear out.
    pub objections: Vec<Objection>,
}

/// What is needed to judge again.
pub struct VerifyContext<'a> {
    /// The cases at hand, by name.
    pub cases: &'a BTreeMap<CaseId, Case>,
    /// The content of a timeline by its file name, or why it cannot be had.
    pub timeline: &'a dyn Fn(&str) -> Result<Vec<u8>, String>,
    /// Whether all snapshots of a verdict are as their files.
    pub snapshots_fit: &'a dyn Fn(&Case, &Verdict) -> bool,
}

/// Judges the evidence of a report again.
pub fn verify(report: &ConformanceReport, context: &VerifyContext<'_>) -> Verification {
    let mut verification = Verification::default();
    for case in &report.cases {
        match case.result {
            CaseOutcome::Unsupported | CaseOutcome::Broken => verification.not_run += 1,
            CaseOutcome::Conforms | CaseOutcome::Deviates | CaseOutcome::KnownDeviation | CaseOutcome::Inconclusive => {
                match objections(report, case, context) {
                    Ok(found) if found.is_empty() => verification.confirmed += 1,
                    Ok(found) => verification.objections.extend(found),
                    Err(objection) => verification.objections.push(*objection),
                }
            }
        }
    }
    verification.missing = missing(report);
    verification.objections.extend(inconsistencies(report));
    verification
}

fn objections(
    report: &ConformanceReport,
    case: &CaseReport,
    context: &VerifyContext<'_>,
) -> Result<Vec<Objection>, Box<Objection>> {
    let id = &case.name;
    let timeline = evidence(report, case, context)?;
    let here = context.cases.get(id).ok_or_else(|| Objection::NoSuchCase(id.clone()))?;
    if Digest::of_case(here) != case.digest {
        return Err(Box::new(Objection::OtherCase(id.clone())));
    }
    let verdict = judge::judge(&Plan::of(here), &timeline);
    let fit = (context.snapshots_fit)(here, &verdict);
    let known = baseline::of_report(&report.baseline).covers(id, &verdict, !fit);
    let judged = if verdict.conforms() && fit {
        CaseOutcome::Conforms
    } else if verdict.findings.is_empty() && fit {
        CaseOutcome::Inconclusive
    } else if known.as_ref().is_some_and(|known| !known.is_empty()) {
        CaseOutcome::KnownDeviation
    } else {
        CaseOutcome::Deviates
    };
    let mut found = Vec::new();
    if judged != case.result {
        found.push(Objection::Verdict {
            case: id.clone(),
            reported: case.result.words(),
            judged: judged.words(),
        });
    }
    for (what, reported, judged) in [
        ("shown", &case.shown, &verdict.shown),
        ("broken", &case.broken, &verdict.broken()),
        (
            "not judged",
            &case.not_judged.keys().cloned().collect(),
            &verdict.not_judged.keys().cloned().collect(),
        ),
    ] {
        if reported != judged {
            found.push(Objection::Requirements {
                case: id.clone(),
                what,
                reported: ids(reported),
                judged: ids(judged),
            });
        }
    }
    Ok(found)
}

/// The timeline of a case, if it is the one that was reported.
fn evidence(
    report: &ConformanceReport,
    case: &CaseReport,
    context: &VerifyContext<'_>,
) -> Result<Timeline, Box<Objection>> {
    let id = &case.name;
    let evidence = case
        .evidence
        .as_ref()
        .ok_or_else(|| Objection::NoEvidence(id.clone()))?;
    let file = &evidence.timeline;
    let plain = Path::new(file).file_name().is_some_and(|name| name == file.as_str());
    if !plain {
        return Err(Box::new(Objection::Name {
            case: id.clone(),
            file: file.clone(),
        }));
    }
    let unreadable = |reason: String| Objection::Unreadable {
        case: id.clone(),
        file: file.clone(),
        reason,
    };
    let bytes = (context.timeline)(file).map_err(unreadable)?;
    let found = Digest::of_bytes(&bytes);
    if found != evidence.digest {
        return Err(Box::new(Objection::OtherFile {
            case: id.clone(),
            file: file.clone(),
            found,
            reported: evidence.digest.clone(),
        }));
    }
    let timeline = Timeline::read(bytes.as_slice()).map_err(|error| unreadable(error.to_string()))?;
    let of = |case: &CaseId, target: &str, backend: &str| format!("{case} by {target} on {backend} clusters");
    let reported = of(id, &report.implementation.name, &report.backend.name);
    let begin = timeline.marks().find_map(|(_, mark)| match mark {
        Mark::Begin(begin) => Some(of(&begin.case, &begin.target, &begin.backend)),
        _ => None,
    });
    let found = begin.unwrap_or_else(|| "no run".to_owned());
    if found == reported {
        Ok(timeline)
    } else {
        Err(Box::new(Objection::OtherRun {
            case: id.clone(),
            file: file.clone(),
            found,
            reported,
        }))
    }
}

/// Where a report does not follow from what it says of its cases.
fn inconsistencies(report: &ConformanceReport) -> Vec<Objection> {
    let recounted = build::requirements(report.requirements.clone(), &report.features, &report.cases);
    let words = RequirementResult::words;
    let mut found: Vec<Objection> = report
        .requirements
        .iter()
        .zip(&recounted)
        .filter(|(reported, recounted)| reported != recounted)
        .map(|(reported, recounted)| Objection::Result {
            id: reported.id.clone(),
            reported: words(reported.result),
            judged: words(recounted.result),
        })
        .collect();
    let known = baseline::judged(&report.baseline, &report.cases);
    let held = |outdated: bool| if outdated { "outdated" } else { "still known" };
    let differing = report
        .baseline
        .iter()
        .zip(&known)
        .filter(|(reported, judged)| reported != judged);
    found.extend(differing.map(|(reported, judged)| Objection::Baseline {
        id: reported.requirement.clone(),
        reported: held(reported.outdated),
        judged: held(judged.outdated),
    }));
    if build::summary(&recounted, &report.cases, report.summary.wall_secs) != report.summary {
        found.push(Objection::Summary);
    }
    let digests = report.cases.iter().map(|case| (case.name.as_str(), &case.digest));
    let whole = report.suite.shard.is_none() && missing(report) == 0;
    if whole && Digest::of_cases(digests) != report.suite.digest {
        found.push(Objection::Suite);
    }
    found
}

/// How many of the chosen cases were not reached. What the suite says as a whole cannot be told without them.
fn missing(report: &ConformanceReport) -> usize {
    let told: BTreeSet<_> = report.cases.iter().map(|case| &case.name).collect();
    match report.suite.shard {
        Some(_) => 0,
        None => report.suite.cases.saturating_sub(told.len()),
    }
}

fn ids(ids: &BTreeSet<RequirementId>) -> String {
    if ids.is_empty() {
        return "none".to_owned();
    }
    ids.iter().map(RequirementId::as_str).collect::<Vec<_>>().join(" ")
}
