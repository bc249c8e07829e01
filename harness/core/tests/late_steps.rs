//! A machine that takes its time between two steps shortens the period that the first of them begins.

mod common;

use std::sync::Arc;

use baton_core::{
    case::model::{Action, Fault},
    judge::{self, Verdict},
    plan::Plan,
    timeline::{Change, Event, Mark, StepEnd},
};
use common::story::{Story, binding};
use rstest::rstest;
use serde_json::json;

/// The number of the first assertion of a plan.
fn first_assertion(plan: &Plan) -> usize {
    let mut steps = plan.steps.iter();
    let place = steps.position(|step| matches!(step.action, Action::Assert(_)));
    place.unwrap_or_default()
}

fn step(story: Story, step: usize, began: f64, ended: f64) -> Story {
    let (text, end) = (String::new(), StepEnd::Done);
    let story = story.mark(began, Mark::StepStarted { step, text });
    story.mark(ended, Mark::StepEnded { step, end })
}

fn origin_is_member1() -> Mark {
    Mark::RoleBound {
        role: "origin".into(),
        cluster: "member1".into(),
    }
}

/// The verdict on a workload that tolerates the first of two taints, at second 2, for 300 s. It leaves at second `at`; the
/// second taint comes at second `second`, and the case looks at the workload for 299 s from there.
fn leaves(at: f64, second: f64) -> Verdict {
    let plan = Plan::of(&common::case_named("shortest-toleration-shortest-first"));
    let number = first_assertion(&plan);
    let placed = |cluster: &str| binding("deploy", json!({"clusters": [{"name": cluster}]}));
    let mut story = Story::begin().target(1.0, "ResourceBinding", placed("member1"));
    for earlier in 0..number - 1 {
        story = step(story, earlier, 2.0, 2.0);
    }
    story = step(story, number - 1, 2.0, second).mark(second, origin_is_member1());
    story = step(story, number, second, second + 299.0).target(at, "ResourceBinding", placed("member2"));
    story.0.sort_by_key(|entry| entry.at);
    judge::judge(&plan, &story.timeline())
}

/// Returns `true` if a case blames an old copy that goes at second `at`. Its task has been there since second 4; the case
/// waits for the new copy until second `looked`, and then looks at the old one for 118 s.
fn goes(at: f64, looked: f64) -> bool {
    let plan = Plan::of(&common::case_named("default-period-by-option"));
    let number = first_assertion(&plan);
    let copy = |story: Story, at: f64, change: Change| {
        let mut story = story.copy(at, "member1", change);
        if let Some(Event::Revision(revision)) = story.0.last_mut().map(|entry| &mut entry.event) {
            revision.object = Arc::new(json!({"metadata": {"name": "deploy", "namespace": "default"}}));
        }
        story
    };
    let mut story = copy(Story::begin(), 1.0, Change::Added).mark(1.0, origin_is_member1());
    for earlier in 0..number - 1 {
        story = step(story, earlier, 4.0, 4.0);
    }
    story = step(story, number - 1, 4.0, looked);
    story = copy(step(story, number, looked, looked + 118.0), at, Change::Deleted);
    story.0.sort_by_key(|entry| entry.at);
    let broken = judge::judge(&plan, &story.timeline()).broken();
    broken.iter().any(|id| id.as_str() == "GRE-09")
}

#[rstest]
#[case::in_time(123.0, 4.2, false)]
#[case::in_time_though_the_wait_took_long(123.0, 6.0, false)]
#[case::too_early(100.0, 4.2, true)]
#[case::too_early_though_the_wait_took_long(100.0, 6.0, true)]
// A wait of a minute is part of the case: the period that it judges begins afterwards.
#[case::after_a_wait_that_takes_a_minute(170.0, 64.0, true)]
fn a_wait_for_the_target_shortens_a_period_a_little(#[case] at: f64, #[case] looked: f64, #[case] is_broken: bool) {
    assert_eq!(goes(at, looked), is_broken);
}

#[rstest]
#[case::in_time(302.5, 2.1, false)]
#[case::in_time_though_the_second_taint_came_late(302.5, 12.0, false)]
#[case::too_early(290.0, 2.1, true)]
#[case::too_early_though_the_second_taint_came_late(290.0, 12.0, true)]
fn a_period_counts_from_the_first_step(#[case] at: f64, #[case] second: f64, #[case] is_broken: bool) {
    let broken = leaves(at, second).broken();
    assert_eq!(broken.iter().any(|id| id.as_str() == "TNT-04"), is_broken, "{broken:?}");
}

/// Adds the steps of a plan before this one, from second `now` on, and returns when they end. Time passes in them only as the
/// case says, and while the controller starts.
fn steps_before(mut story: Story, plan: &Plan, number: usize, mut now: f64, starting: f64) -> (Story, f64) {
    for (earlier, planned) in plan.steps[..number].iter().enumerate() {
        let took = match planned.action {
            Action::Elapse(time) => time.as_secs_f64(),
            Action::Inject(Fault::StartController) => starting,
            _ => 0.0,
        };
        story = step(story, earlier, now, now + took);
        now += took;
    }
    (story, now)
}

/// Returns `true` if `restart-keeps-the-clock` blames an eviction at second `at`. The taint came at second 5 and is tolerated
/// for 300 s; the controller was stopped from second 205 to 255, and took `starting` seconds to start.
fn leaves_after_a_restart(at: f64, starting: f64) -> bool {
    let plan = Plan::of(&common::case_named("restart-keeps-the-clock"));
    let number = first_assertion(&plan);
    let placed = |clusters: serde_json::Value| binding("deploy", json!({"clusters": clusters}));
    let story = Story::in_order()
        .target(1.0, "ResourceBinding", placed(json!([{"name": "member1"}])))
        .mark(1.0, origin_is_member1());
    let (story, now) = steps_before(story, &plan, number, 5.0, starting);
    let mut story = step(story, number, now, now + 45.0).target(at, "ResourceBinding", placed(json!([])));
    story.0.sort_by_key(|entry| entry.at);
    let broken = judge::judge(&plan, &story.timeline()).broken();
    broken.iter().any(|id| id.as_str() == "TNT-07")
}

#[rstest]
#[case::in_time_though_the_controller_started_slowly(304.2, 4.5, false)]
#[case::too_early(299.0, 0.5, true)]
#[case::too_early_though_the_controller_started_slowly(295.0, 4.5, true)]
fn a_slow_start_shortens_a_period(#[case] at: f64, #[case] starting: f64, #[case] is_broken: bool) {
    assert_eq!(leaves_after_a_restart(at, starting), is_broken);
}

/// A workload of `queue-loses-its-claim` whose task is there before the step that waits for one, and gone when it begins.
#[test]
fn what_was_there_before_the_step_is_said() {
    let plan = Plan::of(&common::case_named("queue-loses-its-claim"));
    let last = plan.steps.len() - 1;
    let with = |tasks: serde_json::Value| {
        let mut object = binding("q-5", json!({"clusters": [{"name": "member1"}]}));
        object["spec"]["gracefulEvictionTasks"] = tasks;
        object
    };
    let story = Story::begin()
        .target(1.0, "ResourceBinding", with(json!([])))
        .target(3.0, "ResourceBinding", with(json!([{"fromCluster": "member1"}])))
        .target(4.0, "ResourceBinding", with(json!([])));
    let (story, now) = steps_before(story, &plan, last, 2.0, 0.0);
    let mut story = step(story, last, now, now + 110.0);
    story.0.sort_by_key(|entry| entry.at);
    let verdict = judge::judge(&plan, &story.timeline());
    let found = verdict.findings.iter().find(|it| it.step == Some(last));
    let seen = found.map_or("no finding", |it| it.seen.as_str());
    assert!(
        seen.ends_with("it was like that at 3.000 s, before this step"),
        "{seen}"
    );
}
