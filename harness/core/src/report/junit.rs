//! JUnit XML for CI systems: a test suite per area, a test per case, requirements as properties.

use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestRerun, TestSuite};

use super::{
    causes, described,
    model::{BaselineEntry, CaseOutcome, CaseReport, ConformanceReport, Defect, FindingReport, ReportError},
};
use crate::{
    catalogue::Consequence,
    names::{CaseId, RequirementId},
};

/// Returns a report as JUnit XML.
///
/// A case that deviates is a failure that names its defects; a case that only shows defects of other cases is a success
/// with the property `defect.elsewhere`. A case that deviates as the baseline says is skipped, one that could not be
/// run is an error, an unsupported one is skipped; one that
/// conforms only at a later try is a flaky success. A case that was run with several seeds is a test a seed.
///
/// # Errors
/// If the report has no XML form.
pub fn xml(report: &ConformanceReport) -> Result<String, ReportError> {
    let mut areas: BTreeMap<&str, Vec<&CaseReport>> = BTreeMap::new();
    for case in &report.cases {
        areas.entry(&case.area).or_default().push(case);
    }
    let mut junit = Report::new("baton");
    junit.set_time(secs(report.summary.wall_secs));
    for (area, cases) in areas {
        let mut suite = TestSuite::new(area);
        suite.add_properties(about(report));
        suite.set_time(cases.iter().map(|case| secs(case.timing.wall_secs)).sum());
        suite.add_test_cases(cases.into_iter().map(|case| test(report, case)));
        junit.add_test_suite(suite);
    }
    let xml = junit.to_string().map_err(ReportError::Junit)?;
    // XML must not contain these characters, and the writer does not remove them.
    Ok(xml.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}"))
}

fn about(report: &ConformanceReport) -> Vec<Property> {
    let mut properties = vec![
        Property::new("implementation", report.implementation.name.as_str()),
        Property::new("backend", report.backend.name.as_str()),
        Property::new("baton.version", report.baton_version.as_str()),
        Property::new("suite.digest", report.suite.digest.as_str()),
    ];
    if let Some(version) = &report.implementation.version {
        properties.push(Property::new("implementation.version", version.as_str()));
    }
    if let Some(words) = report.partly() {
        properties.push(Property::new("partial", words));
    }
    properties.extend(
        report
            .suite
            .replaced
            .iter()
            .map(|file| Property::new("suite.replaced", file.as_str())),
    );
    let defects = described::counted(described::new_deviations(report));
    properties.push(Property::new("defects", defects));
    let causes = causes::of(report);
    properties.extend(
        causes
            .iter()
            .map(|group| Property::new("likely.cause", group.headline())),
    );
    for (name, consequence) in [("remark", Consequence::Remark), ("proposed", Consequence::Proposed)] {
        let defects = described::with(report, consequence);
        let of = |defect| {
            Property::new(
                name,
                format!("{} ({})", described::headline(defect), described::cases(defect)),
            )
        };
        properties.extend(defects.map(of));
    }
    properties.extend(report.baseline.iter().map(entry));
    properties
}

fn test(report: &ConformanceReport, case: &CaseReport) -> TestCase {
    let repeated = report.cases.iter().filter(|other| other.name == case.name).count() > 1;
    let name = if repeated {
        format!("{} (seed {})", case.name, case.seed)
    } else {
        case.name.to_string()
    };
    let mut test = TestCase::new(name, status(report, case));
    test.set_classname(format!("baton.{}", case.area));
    test.set_time(secs(case.timing.wall_secs));
    test.add_property(Property::new("title", case.title.as_str()));
    for (key, ids) in [
        ("requirement", &case.requirements),
        ("requirement.shown", &case.shown),
        (
            if case.known {
                "requirement.known"
            } else {
                "requirement.broken"
            },
            &case.broken,
        ),
    ] {
        test.add_properties(ids.iter().map(|id| Property::new(key, id.as_str())));
    }
    test.add_properties(shown(report, case).map(|defect| {
        let key = match (defect.consequence, case.findings.is_empty(), defect.known) {
            (Consequence::Deviation, true, _) => "defect.elsewhere",
            (Consequence::Deviation, false, true) => "defect.known",
            (Consequence::Deviation, false, false) => "defect",
            (Consequence::Remark, ..) => "remark",
            (Consequence::Proposed | Consequence::None, ..) => "proposed",
        };
        Property::new(key, described::headline(defect))
    }));
    if let Some(cause) = &case.likely_cause {
        test.add_property(Property::new("likely.cause", cause.group.as_str()));
    }
    let left_open = case.not_judged.iter();
    test.add_properties(left_open.map(|(id, why)| Property::new("requirement.notJudged", format!("{id}: {why}"))));
    if let Some(evidence) = &case.evidence {
        test.add_property(Property::new("timeline", evidence.timeline.as_str()));
        test.add_property(Property::new("timeline.digest", evidence.digest.as_str()));
    }
    test
}

/// Returns the defects that a case shows.
fn shown<'r>(report: &'r ConformanceReport, case: &'r CaseReport) -> impl Iterator<Item = &'r Defect> {
    let is_judged = case.result.is_judged();
    report
        .defects
        .iter()
        .filter(move |defect| is_judged && defect.cases.contains(&case.name))
}

/// An entry of the baseline, which is not a test.
fn entry(entry: &BaselineEntry) -> Property {
    let cases: Vec<_> = entry.cases.iter().map(CaseId::as_str).collect();
    let name = if entry.outdated {
        "baseline.outdated"
    } else {
        "baseline"
    };
    let field = entry.field.as_deref().unwrap_or_default();
    let of = format!("{} {field} {} {}", entry.about(), entry.difference, cases.join(" "));
    Property::new(name, format!("{}: {}", of.trim_end(), entry.reason))
}

fn status(report: &ConformanceReport, case: &CaseReport) -> TestCaseStatus {
    let mut status = match case.result {
        CaseOutcome::Conforms | CaseOutcome::Remarks => TestCaseStatus::success(),
        CaseOutcome::Unsupported | CaseOutcome::KnownDeviation | CaseOutcome::Inconclusive => TestCaseStatus::skipped(),
        CaseOutcome::Deviates => TestCaseStatus::non_success(NonSuccessKind::Failure),
        CaseOutcome::Broken => TestCaseStatus::non_success(NonSuccessKind::Error),
    };
    match case.result {
        CaseOutcome::Conforms | CaseOutcome::Remarks => {}
        CaseOutcome::Unsupported => {
            status.set_message(case.reasons.join("; "));
        }
        CaseOutcome::KnownDeviation => {
            status.set_type("known deviation").set_message(message(report, case));
            status.set_description(details(report, case));
        }
        CaseOutcome::Inconclusive => {
            status.set_type("inconclusive").set_message(headline(case));
            status.set_description(details(report, case));
        }
        CaseOutcome::Deviates => {
            status.set_type("deviates").set_message(message(report, case));
            status.set_description(details(report, case));
        }
        CaseOutcome::Broken => {
            status.set_type("broken").set_message(case.reasons.join("; "));
        }
    }
    for failed in &case.failed_tries {
        let mut rerun = TestRerun::new(NonSuccessKind::Failure);
        rerun.set_message(failed.as_str());
        status.add_rerun(rerun);
    }
    status
}

/// Returns the defects of a case and its first finding or differing snapshot, in one line.
fn message(report: &ConformanceReport, case: &CaseReport) -> String {
    let mut defects: Vec<&Defect> = shown(report, case)
        .filter(|defect| defect.consequence == Consequence::Deviation)
        .collect();
    // Known defects come last, because they fail no case.
    defects.sort_by_key(|defect| defect.known);
    let headlines: Vec<String> = defects.iter().map(|defect| described::headline(defect)).collect();
    if headlines.is_empty() {
        headline(case)
    } else {
        format!("{}; {}", headlines.join("; "), headline(case))
    }
}

fn headline(case: &CaseReport) -> String {
    match (
        case.findings.iter().chain(&case.elsewhere).next(),
        case.snapshots.first(),
    ) {
        (Some(finding), _) => {
            let ids = ids(finding);
            format!(
                "{ids}{}: expected {}, seen {}",
                finding.title, finding.expected, finding.seen
            )
        }
        (None, Some(snapshot)) => format!("the snapshot {snapshot} is not as its file"),
        (None, None) => "deviates".to_owned(),
    }
}

fn details(report: &ConformanceReport, case: &CaseReport) -> String {
    let mut text = String::new();
    // Writing into a text cannot fail.
    for defect in shown(report, case).filter(|defect| defect.consequence == Consequence::Deviation) {
        let (headline, cases) = (described::headline(defect), described::cases(defect));
        let _ = writeln!(text, "defect {headline} ({cases})");
        for requirement in described::requirements(defect, report) {
            let (level, id) = (requirement.level.word(), &requirement.id);
            let _ = writeln!(text, "  {level} {id}: {}", requirement.text);
            if let Some(source) = requirement.sources.first() {
                let _ = writeln!(text, "  ground    {}", described::ground(source, report));
            }
        }
        if let Some(command) = described::command(defect) {
            let _ = writeln!(text, "  run it    {command}");
        }
    }
    for finding in case.findings.iter().chain(&case.elsewhere) {
        let _ = writeln!(text, "{}{}", ids(finding), finding.title);
        let _ = writeln!(text, "  expected  {}\n  seen      {}", finding.expected, finding.seen);
        for difference in &finding.differences {
            let _ = writeln!(text, "            {difference}");
        }
        if let Some(object) = &finding.object {
            let _ = writeln!(text, "  object    {object}");
        }
        let _ = writeln!(text, "  moment    {:.3} s, entry {}", finding.at_secs, finding.entry);
    }
    if let Some(cause) = &case.likely_cause {
        let _ = writeln!(text, "  likely cause: {}", cause.text);
    }
    for snapshot in &case.snapshots {
        let _ = writeln!(text, "the snapshot {snapshot} is not as its file");
    }
    text
}

fn ids(finding: &FindingReport) -> String {
    let ids: Vec<_> = finding.requirements.iter().map(RequirementId::as_str).collect();
    if ids.is_empty() {
        String::new()
    } else {
        format!("{}: ", ids.join(", "))
    }
}

fn secs(secs: f64) -> Duration {
    Duration::try_from_secs_f64(secs).unwrap_or_default()
}
