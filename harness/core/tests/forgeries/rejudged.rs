//! Reports whose timelines are judged again.

use std::collections::BTreeSet;

use baton_core::{
    case::model::Case,
    report::{
        model::{CaseOutcome, JudgedBy},
        verify::{Objection, Rejudged, rejudge},
    },
};

use super::{CONFORMING, FAILING, Forger, UNSUPPORTED, honest, reports};

fn by() -> JudgedBy {
    JudgedBy {
        baton_version: "9.9.9".to_owned(),
        suite: "5e".repeat(32),
    }
}

fn of(forger: &Forger, cases: [Case; 3]) -> Result<Rejudged, Vec<Objection>> {
    let Forger { report, files } = forger;
    reports::judged_by(cases, report, files, |context| rejudge(report, context, by()))
}

fn cases() -> [Case; 3] {
    [CONFORMING, FAILING, UNSUPPORTED].map(reports::case)
}

/// A report as a judge makes it that does not find the deviation.
fn with_a_wrong_verdict() -> Forger {
    let mut forger = honest();
    let case = forger.report.cases.iter_mut().find(|it| it.name == FAILING.into());
    let case = case.unwrap();
    case.findings.clear();
    case.elsewhere.clear();
    case.broken.clear();
    case.result = CaseOutcome::Conforms;
    forger.report.defects.clear();
    forger.recount();
    forger
}

#[test]
fn a_wrong_verdict_is_corrected_and_the_new_report_is_confirmed() {
    let wrong = with_a_wrong_verdict();
    assert_ne!(wrong.objections(), Vec::<String>::new());
    let mut corrected = with_a_wrong_verdict();
    corrected.report = of(&wrong, cases()).unwrap().report;
    assert_eq!(corrected.objections(), Vec::<String>::new());
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        corrected.report.made_with(),
        format!("{version}, judged again by 9.9.9")
    );
    corrected.report.judged_by = None;
    assert_eq!(corrected.report, honest().report);
}

#[test]
fn a_case_that_changed_since_the_run_is_not_judged() {
    let mut here = cases();
    here[1].steps.pop();
    let again = of(&honest(), here).unwrap();
    assert_eq!(again.changed, [Objection::OtherCase(FAILING.into())]);
    let case = again.report.cases.iter().find(|it| it.name == FAILING.into()).unwrap();
    assert_eq!(case.result, CaseOutcome::Broken);
    assert_eq!(case.broken, BTreeSet::new());
    assert_eq!(again.report.summary.cases.broken, 1);
    assert!(again.report.defects.is_empty());
}

/// The baseline is that of the run, and a later judge may name the same defect in another way.
#[test]
fn entries_of_the_run_are_not_outdated_by_a_later_judge() {
    let good = vec![
        reports::result(CONFORMING, "good"),
        reports::result(FAILING, "good"),
        reports::unsupported(UNSUPPORTED),
    ];
    let report = reports::report_with(&reports::known(), good, None);
    assert!(report.baseline.iter().all(|entry| entry.outdated));
    let mut forger = Forger {
        files: reports::timelines(&report),
        report,
    };
    forger.report = of(&forger, cases()).unwrap().report;
    assert!(forger.report.baseline.iter().all(|entry| !entry.outdated));
    assert_eq!(forger.objections(), Vec::<String>::new());
}

#[test]
fn other_timelines_are_refused() {
    let mut edited = honest();
    let timeline = edited.files.values_mut().next().unwrap();
    timeline.pop();
    let objections = of(&edited, cases()).unwrap_err();
    assert!(
        matches!(objections.as_slice(), [Objection::OtherFile { .. }]),
        "{objections:?}"
    );

    let mut other_run = honest();
    other_run.report.features.clear();
    let objections = of(&other_run, cases()).unwrap_err();
    assert!(
        objections.contains(&Objection::Settled("features".to_owned())),
        "{objections:?}"
    );
}

#[test]
fn a_suite_without_a_case_of_the_report_judges_nothing() {
    let none = cases().map(|case| Case {
        id: format!("{}-of-today", case.id).as_str().into(),
        ..case
    });
    let objections = of(&honest(), none).unwrap_err();
    assert!(
        objections.contains(&Objection::NoSuchCase(FAILING.into())),
        "{objections:?}"
    );
}
