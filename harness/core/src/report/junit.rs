//! A report as JUnit XML, as CI systems show it: a test suite an area, a test a case, requirements as properties.

use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestRerun, TestSuite};

use super::model::{BaselineEntry, CaseOutcome, CaseReport, ConformanceReport, FindingReport, ReportError};
use crate::names::{CaseId, RequirementId};

/// A report as JUnit XML.
///
/// A case that deviates is a failure, one that could not be run an error, an unsupported one is skipped; one that
/// conforms only at a later try is a flaky success. A case that was run with several seeds is a test a seed.
///
/// # Errors
/// If it has no XML form.
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
    // No XML may have these, and the writer lets them pass.
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
    let mut test = TestCase::new(name, status(case));
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
    let left_open = case.not_judged.iter();
    test.add_properties(left_open.map(|(id, why)| Property::new("requirement.notJudged", format!("{id}: {why}"))));
    if let Some(evidence) = &case.evidence {
        test.add_property(Property::new("timeline", evidence.timeline.as_str()));
        test.add_property(Property::new("timeline.digest", evidence.digest.as_str()));
    }
    test
}

/// An entry of the baseline, which is no test.
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

fn status(case: &CaseReport) -> TestCaseStatus {
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
            status.set_type("known deviation").set_message(headline(case));
            status.set_description(details(case));
        }
        CaseOutcome::Inconclusive => {
            status.set_type("inconclusive").set_message(headline(case));
            status.set_description(details(case));
        }
        CaseOutcome::Deviates => {
            status.set_type("deviates").set_message(headline(case));
            status.set_description(details(case));
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

fn headline(case: &CaseReport) -> String {
    match (case.findings.first(), case.snapshots.first()) {
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

fn details(case: &CaseReport) -> String {
    let mut text = String::new();
    // Writing into a text cannot fail.
    for finding in &case.findings {
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
