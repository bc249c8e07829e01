//! Tests of the factor that a plan can bear, and of plans with shorter periods.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::{
    case::model::{Condition, Expect, Phase, Place},
    pattern::Pattern,
};

fn plan(steps: Vec<Action>) -> Plan {
    Plan::of_actions("c", 2, steps)
}

fn policy(tolerations: &Value) -> Action {
    Action::Apply {
        on: vec![Place::Control],
        objects: vec![json!({"spec": {"placement": {"clusterTolerations": tolerations}}})],
        file: None,
        proves: BTreeSet::new(),
    }
}

#[test]
fn what_is_expected_of_a_default_stays() {
    let expects = |seconds: u64| {
        let Action::Assert(mut assertion) = consistently(60) else {
            panic!("an assertion")
        };
        let pattern = json!({"gracePeriodSeconds": {"any": [seconds, null]}});
        assertion.condition.expect = Expect::Match(Pattern::from_value(&pattern).unwrap());
        Action::Assert(assertion)
    };
    let faster = plan(vec![tolerating(&[300]), expects(600), expects(300)])
        .faster(0.05)
        .into_owned();
    let expected = |step: usize| match &faster.steps[step].action {
        Action::Assert(assertion) => assertion.condition.expect.clone(),
        _ => panic!("an assertion"),
    };
    let pattern = |seconds: u64| Pattern::from_value(&json!({"gracePeriodSeconds": {"any": [seconds, null]}}));
    assert_eq!(
        expected(1),
        Expect::Match(pattern(600).unwrap()),
        "the plan does not write 600 s"
    );
    assert_eq!(expected(2), Expect::Match(pattern(15).unwrap()));
}

fn tolerating(seconds: &[u64]) -> Action {
    let tolerations: Vec<_> = seconds.iter().map(|it| json!({"tolerationSeconds": it})).collect();
    policy(&json!(tolerations))
}

fn consistently(secs: u64) -> Action {
    Action::Assert(Assertion {
        mode: Mode::Consistently(Duration::from_secs(secs)),
        condition: Condition {
            on: Place::Control,
            of: crate::case::model::Subject::Cluster("origin".into()),
            expect: Expect::Match(Pattern::from_value(&json!({"tolerationSeconds": 300, "other": 300})).unwrap()),
        },
        phase: Phase::Evict,
        within: Some(Duration::from_secs(300)),
        proves: crate::case::claims::Claims::default(),
    })
}

fn bearable(steps: Vec<Action>) -> f64 {
    plan(steps).bearable(&ControllerSetup::default(), 0.05)
}

#[test]
fn periods_stay_whole_seconds_and_above_the_floor() {
    let near = |factor: f64, expected: f64| assert!((factor - expected).abs() < 1e-9, "{factor}");
    near(bearable(vec![tolerating(&[300])]), 0.05);
    near(bearable(vec![tolerating(&[30, 600])]), 1.0 / 3.0);
    near(bearable(vec![tolerating(&[300, 330])]), 2.0 / 30.0);
    near(bearable(vec![tolerating(&[5, 300])]), 1.0);
    near(bearable(vec![tolerating(&[0, 300])]), 0.05);
    near(bearable(vec![consistently(60)]), 1.0);
    near(
        bearable(vec![tolerating(&[300]), Action::Inject(Fault::StartController)]),
        1.0,
    );
}

/// A program's own default is as long as ever.
#[test]
fn a_plan_that_relies_on_a_default_is_not_faster() {
    let with_grace = |value: &str| {
        let mut plan = plan(vec![tolerating(&[300])]);
        plan.controller.options.insert("grace".to_owned(), value.to_owned());
        plan.bearable(&plan.controller.without_defaults(), 0.05)
    };
    assert!(with_grace("10m") < 1.0);
    assert!(with_grace(ControllerSetup::DEFAULT) >= 1.0);
}

#[test]
fn the_time_limit_of_a_wait_shrinks() {
    let wait = |within: Option<u64>| Action::Wait {
        until: Condition {
            on: Place::Control,
            of: crate::case::model::Subject::Cluster("origin".into()),
            expect: Expect::Present,
        },
        phase: Phase::Schedule,
        within: within.map(Duration::from_secs),
        otherwise: None,
    };
    let plan = plan(vec![tolerating(&[300]), wait(Some(200)), wait(None)]);
    let limits = plan
        .faster(0.05)
        .steps
        .iter()
        .map(|step| match &step.action {
            Action::Wait { within, .. } => *within,
            _ => None,
        })
        .collect::<Vec<_>>();
    assert_eq!(limits, [None, Some(Duration::from_secs(10) + MARGIN), None]);
}

#[test]
fn what_must_not_happen_is_watched_for_about_five_seconds() {
    let shows = |secs| {
        let Action::Assert(mut assertion) = consistently(secs) else {
            panic!("an assertion")
        };
        assertion.proves = crate::case::claims::Claims::of_whole(["TNT-01".into()]);
        Action::Assert(assertion)
    };
    let watched = |secs: u64| {
        let plan = plan(vec![tolerating(&[600]), shows(secs)]);
        let setup = ControllerSetup::default();
        let faster = plan.faster(plan.bearable(&setup, 0.05)).into_owned();
        faster.waits().as_secs_f64()
    };
    for secs in [5, 20, 60, 130] {
        assert!((4.5..5.5).contains(&watched(secs)), "{secs} s became {}", watched(secs));
    }
    assert!((watched(400) - 18.6).abs() < 0.1, "{}", watched(400));
    assert!(
        (bearable(vec![tolerating(&[600]), consistently(20)]) - 0.05).abs() < 1e-9,
        "it shows nothing"
    );
}

#[test]
fn a_plan_that_names_no_period_keeps_its_times() {
    let waits = Action::Elapse(Duration::from_secs(300));
    assert!((bearable(vec![waits.clone()]) - 1.0).abs() < f64::EPSILON);
    let for_ever = policy(&json!([{"operator": "Exists"}]));
    assert!((bearable(vec![for_ever, waits]) - 0.05).abs() < f64::EPSILON);
}

#[test]
fn what_is_held_is_held_for_as_long_as_the_floor() {
    let hold = || Action::Hold {
        on: Place::Control,
        of: crate::case::model::Subject::Cluster("origin".into()),
    };
    let release = || Action::Release {
        on: Place::Control,
        of: crate::case::model::Subject::Cluster("origin".into()),
    };
    let elapse = |secs| Action::Elapse(Duration::from_secs(secs));
    let for_ever = || policy(&json!([{"operator": "Exists"}]));
    let a_minute = vec![for_ever(), hold(), elapse(60), release(), elapse(20)];
    assert!((bearable(a_minute) - 1.0 / 6.0).abs() < 1e-9);
    let short = vec![for_ever(), hold(), elapse(5), release()];
    assert!((bearable(short) - 1.0).abs() < f64::EPSILON);
    assert!(
        (bearable(vec![hold(), elapse(60)]) - 1.0).abs() < f64::EPSILON,
        "it names no period"
    );
}

#[test]
fn a_plan_that_leaves_a_window_out_keeps_its_times() {
    let tainting = |taint: Value| Action::Apply {
        on: vec![Place::Control],
        objects: vec![json!({"kind": "ClusterTaintPolicy", "spec": {"taintsToAdd": [taint]}})],
        file: None,
        proves: BTreeSet::new(),
    };
    let both = json!({"key": "a", "addOnMatchSeconds": 300, "removeOnMismatchSeconds": 180});
    assert!(bearable(vec![tolerating(&[300]), tainting(both)]) < 1.0);
    let one = json!({"key": "a", "addOnMatchSeconds": 300});
    assert!((bearable(vec![tolerating(&[300]), tainting(one)]) - 1.0).abs() < f64::EPSILON);
}

#[test]
fn what_must_hold_until_shortly_before_a_period_ends_well_before_it() {
    let plan = plan(vec![
        tolerating(&[300]),
        consistently(299),
        Action::Elapse(Duration::from_secs(60)),
        Action::Elapse(Duration::from_secs(299)),
        consistently(598),
    ]);
    let faster = plan.faster(0.05);
    assert_eq!(faster.steps[0].action, tolerating(&[15]));
    let Action::Assert(assertion) = &faster.steps[1].action else {
        panic!("the second step is an assertion")
    };
    assert_eq!(assertion.mode, Mode::Consistently(Duration::from_millis(13_500)));
    assert_eq!(
        assertion.within,
        Some(Duration::from_secs(15) + MARGIN),
        "until the period is over"
    );
    let expected = Pattern::from_value(&json!({"tolerationSeconds": 15, "other": 300})).unwrap();
    assert_eq!(assertion.condition.expect, Expect::Match(expected));
    assert_eq!(faster.steps[2].action, Action::Elapse(Duration::from_secs(3)));
    assert_eq!(faster.steps[3].action, Action::Elapse(Duration::from_millis(13_500)));
    let Action::Assert(assertion) = &faster.steps[4].action else {
        panic!("the last step is an assertion")
    };
    let before_that_of_an_option = Mode::Consistently(Duration::from_millis(28_500));
    assert_eq!(assertion.mode, before_that_of_an_option);
    assert_eq!(*faster.faster(0.05), *faster, "once is enough");
}

#[test]
fn options_that_are_durations_shrink_and_others_stay() {
    let setup = ControllerSetup {
        options: [("grace", "10m"), ("rate", "0.5"), ("mode", "Gracefully")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        ..ControllerSetup::default()
    };
    let faster = faster_setup(&setup, 0.05);
    let options: Vec<_> = faster.options.values().map(String::as_str).collect();
    assert_eq!(options, ["30000ms", "Gracefully", "0.5"]);
}
