//! Data of the template, taken from a report.

use std::collections::BTreeMap;

use baton_core::{
    catalogue::Consequence,
    names::RequirementId,
    report::{
        ConformanceReport, described,
        model::{
            CaseOutcome, CaseReport, EvidenceReport, FindingReport, ProfileReport, RequirementReport, RequirementResult,
        },
        timeline_view::TimelineView,
    },
};
use serde::Serialize;

use super::{
    causes::CauseView,
    defects::{self, DefectGroup, Failing, SourceView},
};
use crate::show::count;

/// Data of the template.
#[derive(Serialize)]
pub(super) struct View<'a> {
    pub(super) css: &'static str,
    pub(super) js: &'static str,
    pub(super) title: String,
    pub(super) heading: &'a str,
    /// Report; `None` for a recording.
    pub(super) report: Option<&'a ConformanceReport>,
    pub(super) date: String,
    pub(super) verdict: VerdictView,
    pub(super) states: Vec<Choice<RequirementResult>>,
    pub(super) outcomes: Vec<Choice<CaseOutcome>>,
    pub(super) words: BTreeMap<RequirementResult, &'static str>,
    pub(super) profiles: Vec<ProfileView>,
    /// Likely causes of several cases or defects.
    pub(super) causes: Vec<CauseView<'a>>,
    /// Defects, grouped by their meaning for the implementation.
    pub(super) defects: Vec<DefectGroup<'a>>,
    /// Requirements in parts: those with cases, those of documents that are not claimed, and the others.
    pub(super) requirements: Vec<Part<'a>>,
    pub(super) cases: Vec<CaseView<'a>>,
    /// The first defects, and the first cases that failed without one.
    pub(super) failing: Vec<Failing>,
    /// Number of defects and failed cases beyond those.
    #[serde(rename = "moreFailing")]
    pub(super) more_failing: usize,
    /// Compressed timelines of the cases, each of some consecutive cases.
    pub(super) bundles: Vec<String>,
}

/// Profile and its result.
#[derive(Serialize)]
pub(super) struct ProfileView {
    pub(super) name: &'static str,
    pub(super) words: String,
}

/// Part of the requirements.
#[derive(Serialize)]
pub(super) struct Part<'a> {
    /// Name of the part in the page; empty for the first, which is always open.
    pub(super) key: &'static str,
    pub(super) heading: String,
    pub(super) rows: Vec<RequirementView<'a>>,
}

/// Requirement in the template.
#[derive(Serialize)]
pub(super) struct RequirementView<'a> {
    #[serde(flatten)]
    pub(super) report: &'a RequirementReport,
    pub(super) grounds: Vec<SourceView>,
}

/// Verdict below the heading.
#[derive(Serialize)]
pub(super) struct VerdictView {
    pub(super) state: CaseOutcome,
    pub(super) words: String,
}

/// Case in the template.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CaseView<'a> {
    pub(super) key: String,
    pub(super) state: CaseOutcome,
    pub(super) words: String,
    pub(super) name: String,
    pub(super) title: &'a str,
    pub(super) took: String,
    pub(super) open: bool,
    pub(super) likely_cause: Option<&'a str>,
    pub(super) reasons: &'a [String],
    pub(super) failed_tries: &'a [String],
    pub(super) findings: Vec<FindingView>,
    pub(super) snapshots: &'a [String],
    pub(super) requirements: Vec<ReferenceView<'a>>,
    pub(super) not_judged: &'a BTreeMap<RequirementId, String>,
    pub(super) evidence: Option<&'a EvidenceReport>,
    pub(super) timeline_view: Option<&'a TimelineView>,
    /// Number of the bundle with its timeline.
    pub(super) bundle: usize,
}

/// Class of an element of the page about a finding, or about a requirement in a case: it decides colour and icon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Class {
    Broken,
    KnownDeviation,
    Remark,
    Proposed,
    NotJudged,
    NotShown,
    Shown,
}

impl Class {
    fn words(self) -> &'static str {
        match self {
            Self::Broken => "broken",
            Self::KnownDeviation => "known deviation",
            Self::Remark => "remark",
            Self::Proposed => "broken, proposed",
            Self::NotJudged => "not judged",
            Self::NotShown => "not shown",
            Self::Shown => "shown",
        }
    }
}

/// Finding of a case.
#[derive(Serialize)]
pub(super) struct FindingView {
    pub(super) class: Class,
    #[serde(flatten)]
    pub(super) report: FindingReport,
}

/// Link of a case to a requirement.
#[derive(Serialize)]
pub(super) struct ReferenceView<'a> {
    pub(super) id: &'a str,
    pub(super) class: Class,
    pub(super) words: &'static str,
}

/// An option of a filter.
#[derive(Serialize)]
pub(super) struct Choice<Key> {
    pub(super) key: Key,
    pub(super) words: &'static str,
    pub(super) count: usize,
    /// Length in the bar; requirements without cases count only if cases were not run.
    pub(super) share: usize,
}

/// Groups the requirements by result; those of documents that are not claimed, and those without cases, are separate.
pub(super) fn parts(report: &ConformanceReport) -> Vec<Part<'_>> {
    let mut all: Vec<&RequirementReport> = report.requirements.iter().collect();
    all.sort_by_key(|it| RequirementResult::ALL.iter().position(|result| *result == it.result));
    let touched = |it: &&RequirementReport| {
        it.result != RequirementResult::NotShown || report.cases.iter().any(|case| case.requirements.contains(&it.id))
    };
    let (touched, untouched): (Vec<_>, Vec<_>) = all.into_iter().partition(touched);
    let is_proposed = |it: &&RequirementReport| it.consequence == Consequence::Proposed;
    let (proposed, touched): (Vec<_>, Vec<_>) = touched.into_iter().partition(is_proposed);
    let apart = [
        (
            "proposed",
            format!(
                "{} proposed, in documents that the implementation does not claim",
                proposed.len()
            ),
            proposed,
        ),
        (
            "untouched",
            format!("{} that no case of this run is about", untouched.len()),
            untouched,
        ),
    ];
    let apart = apart.into_iter().filter(|(.., rows)| !rows.is_empty());
    let part = |(key, heading, rows): (&'static str, String, Vec<_>)| Part {
        key,
        heading,
        rows: rows.into_iter().map(|it| row(report, it)).collect(),
    };
    let first = part(("", String::new(), touched));
    std::iter::once(first).chain(apart.map(part)).collect()
}

fn row<'a>(report: &ConformanceReport, requirement: &'a RequirementReport) -> RequirementView<'a> {
    RequirementView {
        report: requirement,
        grounds: defects::grounds(report, requirement),
    }
}

pub(super) fn profile(profile: &ProfileReport) -> ProfileView {
    let (shown, all) = (profile.musts.shown, profile.musts.all());
    ProfileView {
        name: profile.name.words(),
        words: format!("{}, {shown} of {all} MUST shown", profile.result.words()),
    }
}

/// Returns the link from the head of the page to a failed case.
pub(super) fn failing(view: &CaseView<'_>) -> Failing {
    let of_finding = view.findings.first().map(|finding| {
        let ids: Vec<_> = finding.report.requirements.iter().map(ToString::to_string).collect();
        format!("{} {}", ids.join(", "), finding.report.title)
    });
    let headline = of_finding.or_else(|| view.reasons.first().cloned());
    Failing {
        key: view.key.clone(),
        state: view.state,
        name: view.name.clone(),
        headline: headline
            .unwrap_or_else(|| "a snapshot differs from its file".to_owned())
            .trim()
            .to_owned(),
    }
}

/// Returns the likely cause of a case, from its timeline if the report is older.
fn likely_cause<'a>(case: &'a CaseReport, timeline_view: Option<&'a TimelineView>) -> Option<&'a str> {
    let reported = case.likely_cause.as_ref().map(|cause| cause.text.as_str());
    reported.or_else(|| timeline_view?.likely_cause.as_deref())
}

/// Returns the data of a case, which is drawn `open` or closed and whose timeline is in this bundle.
pub(super) fn view<'a>(
    report: &ConformanceReport,
    case: &'a CaseReport,
    timeline_view: Option<&'a TimelineView>,
    bundle: usize,
    open: bool,
) -> CaseView<'a> {
    let first_seed = report
        .cases
        .iter()
        .find(|other| other.name == case.name)
        .map(|it| it.seed);
    let repeated = report.cases.iter().filter(|other| other.name == case.name).count() > 1;
    // If several cases have the same name, links lead to the first one.
    let key = if first_seed == Some(case.seed) {
        format!("case-{}", case.name)
    } else {
        format!("case-{}-seed-{}", case.name, case.seed)
    };
    CaseView {
        key,
        state: case.result,
        words: case.words(),
        name: if repeated {
            format!("{} (seed {})", case.name, case.seed)
        } else {
            case.name.to_string()
        },
        title: &case.title,
        took: format!("{:.2} s", case.timing.wall_secs),
        open,
        likely_cause: likely_cause(case, timeline_view),
        reasons: &case.reasons,
        failed_tries: &case.failed_tries,
        findings: findings_of(case)
            .map(|(class, finding)| FindingView {
                class,
                report: finding.clone(),
            })
            .collect(),
        snapshots: &case.snapshots,
        requirements: references(case),
        not_judged: &case.not_judged,
        evidence: case.evidence.as_ref(),
        timeline_view,
        bundle,
    }
}

/// Returns the findings of a case, the gravest first, each with its class.
fn findings_of(case: &CaseReport) -> impl Iterator<Item = (Class, &FindingReport)> {
    let deviates = if case.result == CaseOutcome::Inconclusive {
        Class::NotJudged
    } else if case.known {
        Class::KnownDeviation
    } else {
        Class::Broken
    };
    [
        (deviates, &case.findings),
        (deviates, &case.elsewhere),
        (Class::Remark, &case.remarks),
        (Class::Proposed, &case.proposed),
    ]
    .into_iter()
    .flat_map(|(class, findings)| findings.iter().map(move |finding| (class, finding)))
}

/// Returns the requirements of a case and those that it found broken.
fn references(case: &CaseReport) -> Vec<ReferenceView<'_>> {
    let class = |id: &RequirementId| {
        let mut findings = findings_of(case);
        let found = findings.find(|(_, finding)| finding.requirements.contains(id));
        found.map_or_else(
            || match (case.shown.contains(id), case.not_judged.contains_key(id)) {
                (true, _) => Class::Shown,
                (false, true) => Class::NotJudged,
                (false, false) => Class::NotShown,
            },
            |(class, _)| class,
        )
    };
    let of = |id| {
        let class = class(id);
        ReferenceView {
            id: id.as_str(),
            class,
            words: class.words(),
        }
    };
    case.requirements.union(&case.broken).map(of).collect()
}

/// Returns the verdict of a whole report: its counts in words, and the outcome that colours them.
pub(super) fn verdict_of(report: &ConformanceReport) -> VerdictView {
    let (cases, requirements) = (&report.summary.cases, &report.summary.requirements);
    let asked = report.cases.len() - cases.unsupported;
    let mut words = vec![described::all_counted(report)];
    words.push(format!(
        "{} of {} conform",
        cases.conforming + cases.with_remarks,
        count(asked, "case")
    ));
    words.extend(described::conforming_with_defects(report));
    words.extend(report.partly());
    if !report.suite.replaced.is_empty() {
        words.push(format!(
            "{} of the built-in suite replaced",
            count(report.suite.replaced.len(), "file")
        ));
    }
    words.push(format!("{} shown", count(requirements.shown, "requirement")));
    if requirements.broken > 0 {
        words.push(format!("{} broken", requirements.broken));
    }
    if requirements.not_judged > 0 {
        words.push(format!("{} not judged", requirements.not_judged));
    }
    if requirements.known > 0 {
        words.push(format!("{} broken as the baseline says", requirements.known));
    }
    if cases.with_remarks > 0 {
        words.push(format!("{} with remarks", count(cases.with_remarks, "case")));
    }
    if cases.broken > 0 {
        words.push(format!("{} could not be run", count(cases.broken, "case")));
    }
    if cases.inconclusive > 0 {
        words.push(format!("{} inconclusive", count(cases.inconclusive, "case")));
    }
    let outdated = report.baseline.iter().filter(|entry| entry.outdated).count();
    if outdated > 0 {
        words.push(format!(
            "{} of the baseline outdated",
            if outdated == 1 {
                "1 entry".to_owned()
            } else {
                format!("{outdated} entries")
            }
        ));
    }
    let unsure = (cases.broken, cases.inconclusive);
    let state = match (
        described::new_deviations(report).count() + cases.deviating + outdated,
        unsure,
        cases.conforming + cases.with_remarks + cases.known,
    ) {
        (0, (0, 0), 0) => CaseOutcome::Unsupported,
        // The cases that were not run could say something else.
        (0, (0, 0), _) if report.partly().is_some() => CaseOutcome::Inconclusive,
        (0, (0, 0), _) => CaseOutcome::Conforms,
        (0, (0, _), _) => CaseOutcome::Inconclusive,
        (0, _, _) => CaseOutcome::Broken,
        (_, _, _) => CaseOutcome::Deviates,
    };
    VerdictView {
        state,
        words: words.join(", "),
    }
}
