//! The moment and the words of a finding: where a wrong value was written, and how long a missing one was waited for.

#![expect(clippy::expect_used, reason = "what fails here fails a test")]

mod common;

use std::path::Path;

use baton_core::{
    judge::{self, Finding},
    plan::Plan,
    timeline::{Event, Mark, StepEnd},
};
use common::story::{Story, binding, cluster, failed};
use rstest::rstest;
use serde_json::{Value, json};

/// A plan that taints member1 and then looks, with the step that it looks with.
fn plan(look: &str) -> Plan {
    let text = format!(
        "
apiVersion: baton.dev/v1alpha1
kind: Case
metadata: {{name: moments}}
spec:
  title: A workload leaves its cluster
  requirements: [TNT-01]
  features: [Propagation, NoExecuteEviction]
  steps:
    - taint: {{cluster: member1, key: failed, effect: NoExecute}}
    - assert: {look}
"
    );
    let cases = common::read_bytes(Path::new("moments.yaml"), text.as_bytes()).expect("a case");
    Plan::of(&cases[0])
}

/// Judges a run in which the case taints a cluster at second 2, and the binding becomes this until the second step ends at
/// second 20. Returns the finding of that step, and the time of its entry in seconds.
fn finding(look: &str, after: &[(f64, Value)]) -> (Finding, f64) {
    let plan = plan(look);
    let end = StepEnd::TimedOut {
        phase: "evict".to_owned(),
        waited_secs: 17.0,
    };
    let text = String::new();
    let mut story = Story::in_order()
        .target(1.0, "ResourceBinding", binding("web", json!({})))
        .step(2.0, 0)
        .hands(2.0, "Cluster", cluster("member1", failed(), "True"))
        .mark(3.0, Mark::StepStarted { step: 1, text });
    for (at, over) in after {
        story = story.target(*at, "ResourceBinding", binding("web", over.clone()));
    }
    let story = story
        .target(15.0, "Event", json!({"metadata": {"name": "about-something-else"}}))
        .mark(20.0, Mark::StepEnded { step: 1, end });
    let timeline = story.timeline();
    let verdict = judge::judge(&plan, &timeline);
    let finding = verdict
        .findings
        .into_iter()
        .find(|it| it.step == Some(1))
        .expect("a finding");
    let at = timeline.entries().iter().find(|entry| entry.seq == finding.seq);
    let at = at.map(|entry| entry.at.as_secs_f64()).unwrap_or_default();
    (finding, at)
}

const TASK: &str = "{mode: observed, of: {bindingOf: {kind: Deployment, name: web}}, \
                    match: {spec: {gracefulEvictionTasks: {contains: [{fromCluster: member1, purgeMode: Directly}]}}}, \
                    proves: [TNT-01]}";

const RESULT: &str = "{mode: eventually, of: {bindingOf: {kind: Deployment, name: web}}, \
                      match: {spec: {clusters: {exactly: [{name: member2}]}}}, proves: [TNT-01]}";

fn task(mode: &str) -> Value {
    json!({"gracefulEvictionTasks": [{"fromCluster": "member1", "purgeMode": mode}]})
}

#[test]
fn a_wrong_value_was_written_by_the_first_revision_that_has_it() {
    let (finding, at) = finding(TASK, &[(5.0, task("Never")), (7.0, task("Never"))]);
    assert!((at - 5.0).abs() < 1e-9, "{finding:?}");
    assert!(finding.seen.contains("for 17 s"), "{}", finding.seen);
}

/// A revision from before the taint is never the nearest one.
#[rstest]
#[case(&[], None)]
#[case(&[(5.0, json!({"schedulerName": "other"}))], Some("the nearest at 5.000 s"))]
fn a_missing_task_was_waited_for_until_the_end(#[case] after: &[(f64, Value)], #[case] nearest: Option<&str>) {
    let (finding, at) = finding(TASK, after);
    assert!((at - 20.0).abs() < 1e-9, "{finding:?}");
    assert_eq!(
        finding.seen.contains("the nearest"),
        nearest.is_some(),
        "{}",
        finding.seen
    );
    assert!(finding.seen.contains(nearest.unwrap_or_default()), "{}", finding.seen);
}

#[test]
fn a_wrong_result_was_written_by_its_last_revision() {
    let result = |name: &str| json!({"clusters": [{"name": name}]});
    let (wrong, at) = finding(RESULT, &[(5.0, result("member3")), (9.0, result("member4"))]);
    assert!((at - 9.0).abs() < 1e-9, "{wrong:?}");
    let (unchanged, at) = finding(RESULT, &[]);
    assert!(
        (at - 20.0).abs() < 1e-9,
        "nothing was written until the end: {unchanged:?}"
    );
}

/// A webhook may give an object what its definition requires.
#[test]
fn what_was_accepted_is_shown_as_it_was_stored() {
    let plan = Plan::of(&common::case_named("required-fields-no-path"));
    let stored = |name: &str| {
        let rules = json!([{"aliasLabelName": "a", "jsonPath": ""}]);
        let failover = json!({"cluster": {"statePreservation": {"rules": rules}}});
        json!({"metadata": {"name": name, "namespace": "default"}, "spec": {"failover": failover}})
    };
    let message = String::new();
    let accepted = Mark::Answered {
        refused_with: None,
        message: message.clone(),
    };
    let story = Story::in_order()
        .mark(1.0, Mark::StepStarted { step: 0, text: message })
        .target(1.0, "PropagationPolicy", stored("other"))
        .hands(1.0, "PropagationPolicy", stored("policy"))
        .mark(1.0, accepted)
        .mark(
            1.0,
            Mark::StepEnded {
                step: 0,
                end: StepEnd::Done,
            },
        );
    let timeline = story.timeline();
    let verdict = judge::judge(&plan, &timeline);
    let finding = verdict.findings.first().expect("a finding");
    assert_eq!(finding.seen, r#"it was accepted, and stored with jsonPath: """#);
    let answer = timeline.entries().iter().find(|entry| entry.seq == finding.seq);
    assert!(answer.is_some_and(|entry| matches!(entry.event, Event::Mark(Mark::Answered { .. }))));
    let cause = baton_core::cause::of_failure(&timeline, &verdict.findings);
    assert_eq!(
        cause.map(|cause| cause.text).as_deref(),
        Some("neither a definition nor a webhook refuses it")
    );
}

/// Messages about something else would mislead: a program warns about much.
#[test]
fn a_start_without_the_warning_quotes_no_other() {
    let plan = Plan::of(&common::case_named("graceful-eviction-is-deprecated-on"));
    let started = Mark::Started {
        runs: true,
        said: vec!["v1 Endpoints is deprecated".to_owned(), "starting".to_owned()],
    };
    let text = String::new();
    let end = StepEnd::Done;
    let story = Story::in_order()
        .mark(1.0, Mark::StepStarted { step: 0, text })
        .mark(1.0, started)
        .mark(1.0, Mark::StepEnded { step: 0, end });
    let verdict = judge::judge(&plan, &story.timeline());
    let finding = verdict.all_findings().find(|it| it.step == Some(0)).expect("a finding");
    assert_eq!(
        finding.seen,
        "it started; none of its messages mentions GracefulEviction and deprecated (2 in all)"
    );
}
