//! The page: one self-contained HTML file for people.
//!
//! Its template, styles and script are files under `page/`. Data is inserted escaped; timelines are compressed, several in a
//! bundle, and the script decompresses and draws one when its case is opened.

mod bundles;
mod causes;
pub mod defects;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use baton_core::{
    catalogue::Consequence,
    judge::{Finding, Judged},
    names::{CaseId, RequirementId},
    report::{
        ConformanceReport, described,
        model::{
            CaseOutcome, CaseReport, EvidenceReport, FindingReport, ProfileReport, RequirementReport, RequirementResult,
        },
        timeline_view::TimelineView,
    },
    timeline::Timeline,
};
use minijinja::{AutoEscape, Environment, Value, value::Serde};
use serde::Serialize;

use crate::show::count;
use bundles::CASES_IN_BUNDLE;
use causes::CauseView;
use defects::{DefectGroup, SourceView};

const TEMPLATE: &str = include_str!("page.html");
const STYLES: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Number of defects whose clearest case is open at first; more would be slow to draw.
const OPEN_AT_FIRST: usize = 3;

/// Number of defects and failed cases that are linked from the head.
const LINKED: usize = 10;

/// Views of timelines, by case and seed.
pub type TimelineViews = BTreeMap<(CaseId, u64), TimelineView>;

/// Data of the template.
#[derive(Serialize)]
struct View<'a> {
    css: &'static str,
    js: &'static str,
    title: String,
    heading: &'a str,
    /// Report; `None` for a recording.
    report: Option<&'a ConformanceReport>,
    date: String,
    verdict: VerdictView,
    states: Vec<Choice<RequirementResult>>,
    outcomes: Vec<Choice<CaseOutcome>>,
    words: BTreeMap<RequirementResult, &'static str>,
    profiles: Vec<ProfileView>,
    /// Likely causes of several cases or defects.
    causes: Vec<CauseView<'a>>,
    /// Defects, grouped by their meaning for the implementation.
    defects: Vec<DefectGroup<'a>>,
    /// Requirements in parts: those with cases, those of documents that are not claimed, and the others.
    requirements: Vec<Part<'a>>,
    cases: Vec<CaseView<'a>>,
    /// The first defects, and the first cases that failed without one.
    failing: Vec<Failing>,
    /// Number of defects and failed cases beyond those.
    #[serde(rename = "moreFailing")]
    more_failing: usize,
    /// Compressed timelines of the cases, each of some consecutive cases.
    bundles: Vec<String>,
}

/// Profile and its result.
#[derive(Serialize)]
struct ProfileView {
    name: &'static str,
    words: String,
}

/// Part of the requirements.
#[derive(Serialize)]
struct Part<'a> {
    /// Name of the part in the page; empty for the first, which is always open.
    key: &'static str,
    heading: String,
    rows: Vec<RequirementView<'a>>,
}

/// Requirement in the template.
#[derive(Serialize)]
struct RequirementView<'a> {
    #[serde(flatten)]
    report: &'a RequirementReport,
    grounds: Vec<SourceView>,
}

/// Defect or failed case, as the head of the page links it.
#[derive(Serialize)]
struct Failing {
    key: String,
    state: CaseOutcome,
    name: String,
    headline: String,
}

/// Verdict below the heading.
#[derive(Serialize)]
struct VerdictView {
    state: CaseOutcome,
    words: String,
}

/// Case in the template.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CaseView<'a> {
    key: String,
    state: CaseOutcome,
    words: String,
    name: String,
    title: &'a str,
    took: String,
    open: bool,
    likely_cause: Option<&'a str>,
    reasons: &'a [String],
    failed_tries: &'a [String],
    findings: Vec<FindingReport>,
    snapshots: &'a [String],
    requirements: Vec<String>,
    shown: Vec<String>,
    broken: Vec<String>,
    not_judged: &'a BTreeMap<RequirementId, String>,
    /// State of the broken requirements: broken, or known to be.
    broken_as: RequirementResult,
    evidence: Option<&'a EvidenceReport>,
    timeline_view: Option<&'a TimelineView>,
    /// Number of the bundle with its timeline.
    bundle: usize,
}

/// An option of a filter.
#[derive(Serialize)]
struct Choice<Key> {
    key: Key,
    words: &'static str,
    count: usize,
    /// Length in the bar; requirements without cases do not count.
    share: usize,
}

/// Renders the page of a report, with the timelines that there are views of.
///
/// If the template does not fit its data.
pub fn of_report(report: &ConformanceReport, timeline_views: &TimelineViews) -> Result<String, minijinja::Error> {
    let new: Vec<_> = described::new_deviations(report).collect();
    let opened: BTreeSet<&CaseId> = new
        .iter()
        .take(OPEN_AT_FIRST)
        .filter_map(|it| it.cases.first())
        .collect();
    let mut cases: Vec<&CaseReport> = report.cases.iter().collect();
    let rank = |case: &CaseReport| CaseOutcome::ALL.iter().position(|outcome| *outcome == case.result);
    cases.sort_by_key(|case| rank(case));
    let views: Vec<CaseView<'_>> = cases
        .into_iter()
        .enumerate()
        .map(|(number, case)| {
            let timeline_view = timeline_views.get(&(case.name.clone(), case.seed));
            let bundle = number / CASES_IN_BUNDLE;
            view(report, case, timeline_view, bundle, opened.contains(&case.name))
        })
        .collect();
    let unexplained = views.iter().filter(|view| {
        let is_explained = || {
            new.iter()
                .any(|defect| defect.cases.iter().any(|case| case.as_str() == view.name))
        };
        view.state == CaseOutcome::Broken || (view.state == CaseOutcome::Deviates && !is_explained())
    });
    let mut failing: Vec<Failing> = defects::links(report).chain(unexplained.map(failing)).collect();
    let all_failing = failing.len();
    failing.truncate(LINKED);
    let requirements = parts(report);
    let states = RequirementResult::ALL.map(|result| {
        let with = |part: &Part<'_>| part.rows.iter().filter(|it| it.report.result == result).count();
        Choice {
            key: result,
            words: result.words(),
            count: requirements.iter().map(with).sum(),
            share: requirements.first().map(with).unwrap_or_default(),
        }
    });
    let outcomes = CaseOutcome::ALL.map(|outcome| {
        let count = report.cases.iter().filter(|case| case.result == outcome).count();
        Choice {
            key: outcome,
            words: outcome.words(),
            count,
            share: count,
        }
    });
    render(&View {
        css: STYLES,
        js: SCRIPT,
        title: format!("Conformance of {}", report.implementation.name),
        heading: &report.implementation.name,
        report: Some(report),
        date: report.date.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        verdict: verdict_of(report),
        states: states.into(),
        outcomes: outcomes.into(),
        words: RequirementResult::ALL
            .into_iter()
            .map(|result| (result, result.words()))
            .collect(),
        profiles: report.profiles.iter().map(profile).collect(),
        causes: causes::shared(report),
        defects: defects::groups(report),
        requirements,
        more_failing: all_failing - failing.len(),
        failing,
        bundles: bundles_of(&views)?,
        cases: views,
    })
}

/// Renders the page of a recording, judged by the invariants.
///
/// If the template does not fit its data.
pub fn of_recording(name: &str, timeline: &Timeline, judged: &Judged) -> Result<String, minijinja::Error> {
    let findings: Vec<&Finding> = judged.findings.iter().chain(&judged.inconclusive).collect();
    let entries: Vec<u64> = findings.iter().map(|finding| finding.seq).collect();
    let timeline_view = TimelineView::of(timeline, &entries);
    let not_judged = BTreeMap::new();
    let (state, words) = match (judged.findings.len(), judged.inconclusive.len()) {
        (0, 0) => (CaseOutcome::Conforms, "nothing to object to".to_owned()),
        (0, open) => (CaseOutcome::Inconclusive, format!("{} unknown", count(open, "order"))),
        (found, _) => (CaseOutcome::Deviates, count(found, "finding")),
    };
    let view = CaseView {
        key: "recording".to_owned(),
        state,
        words: words.clone(),
        name: name.to_owned(),
        title: "",
        took: timeline
            .entries()
            .last()
            .map(|entry| format!("{:.1} s", entry.at.as_secs_f64()))
            .unwrap_or_default(),
        open: true,
        likely_cause: timeline_view.likely_cause.as_deref(),
        reasons: &[],
        failed_tries: &[],
        findings: findings.into_iter().map(FindingReport::of).collect(),
        snapshots: &[],
        requirements: Vec::new(),
        shown: Vec::new(),
        broken: Vec::new(),
        not_judged: &not_judged,
        broken_as: RequirementResult::Broken,
        evidence: None,
        timeline_view: Some(&timeline_view),
        bundle: 0,
    };
    let cases = vec![view];
    render(&View {
        css: STYLES,
        js: SCRIPT,
        title: format!("Recording {name}"),
        heading: name,
        report: None,
        date: String::new(),
        verdict: VerdictView { state, words },
        states: Vec::new(),
        outcomes: Vec::new(),
        words: BTreeMap::new(),
        profiles: Vec::new(),
        causes: Vec::new(),
        defects: Vec::new(),
        requirements: Vec::new(),
        bundles: bundles_of(&cases)?,
        cases,
        failing: Vec::new(),
        more_failing: 0,
    })
}

/// Returns bundles of the timelines of these cases, in their order.
fn bundles_of(cases: &[CaseView<'_>]) -> Result<Vec<String>, minijinja::Error> {
    let bundle = |cases: &[CaseView<'_>]| {
        let timelines = cases
            .iter()
            .filter_map(|case| Some((case.key.as_str(), case.timeline_view?)));
        let failed = |source| {
            let kind = minijinja::ErrorKind::BadSerialization;
            minijinja::Error::new(kind, "a timeline cannot be compressed").with_source(source)
        };
        bundles::bundle(&timelines.collect::<Vec<_>>()).map_err(failed)
    };
    cases.chunks(CASES_IN_BUNDLE).map(bundle).collect()
}

/// Groups the requirements by result; those of documents that are not claimed, and those without cases, are separate.
fn parts(report: &ConformanceReport) -> Vec<Part<'_>> {
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

fn profile(profile: &ProfileReport) -> ProfileView {
    let (shown, all) = (profile.musts.shown, profile.musts.all());
    ProfileView {
        name: profile.name.words(),
        words: format!("{}, {shown} of {all} MUST shown", profile.result.words()),
    }
}

fn failing(view: &CaseView<'_>) -> Failing {
    let of_finding = view.findings.first().map(|finding| {
        let ids: Vec<_> = finding.requirements.iter().map(ToString::to_string).collect();
        format!("{} {}", ids.join(", "), finding.title)
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

fn render(view: &View<'_>) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_function("links", links);
    // Most lines are repeated for hundreds of cases: their indentation would be a twentieth of the page.
    let template: Vec<&str> = TEMPLATE.lines().map(str::trim_start).collect();
    environment.add_template_owned("page", template.join("\n"))?;
    environment.get_template("page")?.render(Value::from(Serde(view)))
}

/// Links to cases. Names of cases consist of lower-case letters, digits and `-`; other characters are made harmless.
fn links(names: Vec<String>) -> String {
    let mut html = String::new();
    for name in names {
        let name: String = name
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || *c == '-')
            .collect();
        let comma = if html.is_empty() { "" } else { ", " };
        // Writing into a text cannot fail.
        let _ = write!(html, "{comma}<a href=\"#case-{name}\">{name}</a>");
    }
    html
}

/// Returns the likely cause of a case, from its timeline if the report is older.
fn likely_cause<'a>(case: &'a CaseReport, timeline_view: Option<&'a TimelineView>) -> Option<&'a str> {
    let reported = case.likely_cause.as_ref().map(|cause| cause.text.as_str());
    reported.or_else(|| timeline_view?.likely_cause.as_deref())
}

fn view<'a>(
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
    let ids = |ids: &std::collections::BTreeSet<_>| ids.iter().map(ToString::to_string).collect::<Vec<String>>();
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
        findings: [&case.findings, &case.elsewhere, &case.remarks, &case.proposed]
            .into_iter()
            .flatten()
            .cloned()
            .collect(),
        snapshots: &case.snapshots,
        requirements: ids(&case.requirements.union(&case.broken).cloned().collect()),
        shown: ids(&case.shown),
        broken: ids(&case.broken),
        not_judged: &case.not_judged,
        broken_as: if case.known {
            RequirementResult::KnownDeviation
        } else {
            RequirementResult::Broken
        },
        evidence: case.evidence.as_ref(),
        timeline_view,
        bundle,
    }
}

fn verdict_of(report: &ConformanceReport) -> VerdictView {
    let (cases, requirements) = (&report.summary.cases, &report.summary.requirements);
    let asked = report.cases.len() - cases.unsupported;
    let mut words = vec![described::all_counted(report)];
    words.push(format!(
        "{} of {} conform",
        cases.conforming + cases.with_remarks,
        count(asked, "case")
    ));
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
        words.push(count(requirements.known, "known deviation"));
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
