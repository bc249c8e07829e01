//! Cases whose waits end early, because another case of the run waited in vain for what the same cause prevents.

use std::{collections::BTreeSet, path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use baton::{implementation::Reference, load::Suite, options::RunOptions, run};
use baton_cluster::{
    actions,
    fleet::{Fleet, TimeMode, embedded::InProcess},
    runner::{Running, Target, TargetError, Timeouts},
};
use baton_core::{
    case::model::ControllerSetup,
    event::{CaseOutcome, CaseResult, Event},
    names::Feature,
};

use crate::common::roots;

/// Two cases that wait for the binding of a Deployment.
const CASES: [&str; 2] = ["any-kind-deployment", "deployment-directly"];

/// An implementation that reports members as ready and makes no bindings.
#[derive(Debug, Clone, Copy)]
struct WithoutBindings;

#[async_trait]
impl Target for WithoutBindings {
    fn name(&self) -> &'static str {
        "an implementation without bindings"
    }

    fn features(&self) -> BTreeSet<Feature> {
        Reference.features()
    }

    async fn start(&self, fleet: &dyn Fleet, _: &ControllerSetup, _: &Path) -> Result<Box<dyn Running>, TargetError> {
        let control = fleet.control().client("without-bindings");
        for member in fleet.members() {
            let ready = actions::condition(&control, member.name().as_str(), "Ready", "True", (fleet.clock())());
            ready.await.unwrap();
        }
        Ok(Box::new(*self))
    }
}

#[async_trait]
impl Running for WithoutBindings {
    async fn stop(self: Box<Self>) {}
}

/// Runs the two cases one after the other, in real time.
fn run_both(full_waits: bool) -> [CaseResult; 2] {
    let roots = roots();
    let suite = Suite::select(&roots, &CASES.map(str::to_owned)).unwrap();
    let settings = RunOptions {
        target: Arc::new(WithoutBindings),
        backend: Arc::new(InProcess {
            time_mode: TimeMode::Real,
            doors: false,
        }),
        timeouts: Timeouts {
            schedule: Duration::from_secs(2),
            ..Timeouts::default()
        },
        jobs: 1,
        full_waits,
        ..RunOptions::new(roots)
    };
    let mut results = Vec::new();
    run::run(&suite.cases, &settings, |event| {
        if let Event::CaseEnded(result) = event {
            results.push((**result).clone());
        }
    });
    results.try_into().unwrap()
}

#[test]
fn the_second_case_ends_early_and_names_the_first() {
    let [first, second] = run_both(false);
    assert!(matches!(first.outcome, CaseOutcome::Deviates { .. }), "{first:?}");
    let cause = second.outcome.early_end().unwrap();
    assert_eq!(
        cause.group,
        "no binding refers to a Deployment that a PropagationPolicy selects"
    );
    assert_eq!(first.outcome.likely_cause().map(|it| &it.group), Some(&cause.group));
    let verdict = second.outcome.verdict().unwrap();
    assert_eq!(verdict.all_findings().count(), 0, "it blames nothing: {verdict:?}");
    let told = &verdict.inconclusive[0].seen;
    assert!(
        told.contains(&format!("the case {} waited in full", first.case)),
        "{told}"
    );
}

#[test]
fn every_case_waits_in_full_if_the_user_says_so() {
    for result in run_both(true) {
        assert!(matches!(result.outcome, CaseOutcome::Deviates { .. }), "{result:?}");
    }
}
