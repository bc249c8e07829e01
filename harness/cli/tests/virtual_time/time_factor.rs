//! A run with shorter periods judges as one with those of the cases. Time is virtual here, so that nothing is forgiven to a
//! slow machine: what is late or early by the factor alone would deviate.

use baton::{load::Suite, options::RunOptions, run};
use baton_core::{
    case::model::Case,
    event::{CaseOutcome, Event},
    plan::Plan,
};
use rstest::rstest;

use crate::common::roots;

#[rstest]
fn no_case_deviates_because_its_periods_are_shorter(#[values(0.05, 0.3)] time_factor: f64) {
    let roots = roots();
    let suite = Suite::load(&roots).unwrap_or_else(|error| panic!("{error}"));
    let shrinks = |case: &Case| Plan::of(case).bearable(&case.controller, time_factor) < 1.0;
    let cases: Vec<Case> = suite.cases.into_iter().filter(shrinks).collect();
    assert!(cases.len() > 50, "only {} cases have periods that shrink", cases.len());
    let timelines = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    let settings = RunOptions {
        time_factor,
        timelines: Some(timelines.path().to_owned()),
        ..RunOptions::new(roots)
    };
    let mut failed = Vec::new();
    run::run(&cases, &settings, |event| {
        if let Event::CaseEnded(result) = event
            && !matches!(result.outcome, CaseOutcome::Conforms(_))
        {
            failed.push(format!("{}: {:?}", result.case, result.outcome));
        }
    });
    assert!(failed.is_empty(), "{failed:#?}");
}
