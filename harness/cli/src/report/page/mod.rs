//! The page: one self-contained HTML file for people.
//!
//! Its template, styles and script are files under `page/`. Data is inserted escaped; timelines are compressed, several in a
//! bundle, and the script decompresses and draws one when its case is opened.

mod bundles;
mod causes;
pub mod defects;
mod view;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use baton_core::{
    judge::{Finding, Judged},
    names::CaseId,
    report::{
        ConformanceReport, described,
        model::{CaseOutcome, CaseReport, FindingReport, RequirementResult},
        timeline_view::TimelineView,
    },
    timeline::Timeline,
};
use minijinja::{AutoEscape, Environment, Value, value::Serde};

use crate::show::count;
use bundles::CASES_IN_BUNDLE;
use defects::Failing;
use view::{CaseView, Choice, Class, FindingView, Part, VerdictView, View};

const TEMPLATE: &str = include_str!("page.html");
const STYLES: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Number of defects whose clearest case is open at first; more would be slow to draw.
const OPEN_AT_FIRST: usize = 3;

/// Number of defects and failed cases that are linked from the head.
const LINKED: usize = 10;

/// Views of timelines, by case and seed.
pub type TimelineViews = BTreeMap<(CaseId, u64), TimelineView>;

/// Counts the requirements by result. In the bar, those that no case was about have a share if cases were not run.
fn states(report: &ConformanceReport, parts: &[Part<'_>]) -> Vec<Choice<RequirementResult>> {
    let is_partial = report.partly().is_some();
    let choice = |result: RequirementResult| {
        let with = |part: &Part<'_>| part.rows.iter().filter(|it| it.report.result == result).count();
        let count = parts.iter().map(with).sum();
        Choice {
            key: result,
            words: result.words(),
            count,
            share: if is_partial {
                count
            } else {
                parts.first().map(with).unwrap_or_default()
            },
        }
    };
    RequirementResult::ALL.into_iter().map(choice).collect()
}

/// Renders the page of a report, with the timelines that there are views of.
///
/// # Errors
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
            view::view(report, case, timeline_view, bundle, opened.contains(&case.name))
        })
        .collect();
    let unexplained = views.iter().filter(|view| {
        let is_explained = || {
            new.iter()
                .any(|defect| defect.cases.iter().any(|case| case.as_str() == view.name))
        };
        view.state == CaseOutcome::Broken || (view.state == CaseOutcome::Deviates && !is_explained())
    });
    let mut failing: Vec<Failing> = defects::links(report).chain(unexplained.map(view::failing)).collect();
    let all_failing = failing.len();
    failing.truncate(LINKED);
    let requirements = view::parts(report);
    let states = states(report, &requirements);
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
        verdict: view::verdict_of(report),
        states,
        outcomes: outcomes.into(),
        words: RequirementResult::ALL
            .into_iter()
            .map(|result| (result, result.words()))
            .collect(),
        profiles: report.profiles.iter().map(view::profile).collect(),
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
/// # Errors
/// If the template does not fit its data.
pub fn of_recording(name: &str, timeline: &Timeline, judged: &Judged) -> Result<String, minijinja::Error> {
    let broken = judged.findings.iter().map(|finding| (Class::Broken, finding));
    let open = judged.inconclusive.iter().map(|finding| (Class::NotJudged, finding));
    let findings: Vec<(Class, &Finding)> = broken.chain(open).collect();
    let entries: Vec<u64> = findings.iter().map(|(_, finding)| finding.seq).collect();
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
        findings: findings
            .into_iter()
            .map(|(class, finding)| FindingView {
                class,
                report: FindingReport::of(finding),
            })
            .collect(),
        snapshots: &[],
        requirements: Vec::new(),
        not_judged: &not_judged,
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
