//! Nobody is blamed for a time in which the case had stopped the implementation, or kept a member from answering.

mod common;

use std::time::Duration;

use baton_core::{
    case::model::{Action, Fault, Invariant, Move, MoveFault, Place, WritePoint},
    plan::Plan,
    timeline::{Change, Mark},
};
use common::story::{Story, binding, cluster, failed, moved, none, with};
use rstest::rstest;
use serde_json::{Value, json};

/// A fault that begins and ends, each at some second.
#[derive(Clone)]
struct Disturbed {
    begin: Fault,
    end: Option<Fault>,
    from: f64,
    until: f64,
}

impl Disturbed {
    fn plan(&self) -> Plan {
        let faults = std::iter::once(self.begin.clone()).chain(self.end.clone());
        let mut plan = Plan::of_actions("disturbed", 2, faults.map(Action::Inject));
        plan.controller = with(true, &[]);
        plan
    }

    /// Puts the marks of its steps where they belong, in the order of time.
    fn put_into(&self, story: Story) -> Story {
        let role = Mark::RoleBound {
            role: "origin".into(),
            cluster: "member1".into(),
        };
        let mut story = story.mark(0.0, role).step(self.from, 0);
        if self.end.is_some() {
            story = story.step(self.until, 1);
        }
        story.0.sort_by_key(|entry| entry.at);
        story
    }
}

fn stopped(from: f64, until: f64) -> Disturbed {
    Disturbed {
        begin: Fault::StopController,
        end: Some(Fault::StartController),
        from,
        until,
    }
}

fn stopped_for_good(from: f64) -> Disturbed {
    Disturbed {
        end: None,
        ..stopped(from, 0.0)
    }
}

fn slow(role: &str, from: f64, until: f64) -> Disturbed {
    let delay = |secs| Fault::Delay(Place::Role(role.into()), Duration::from_secs(secs));
    Disturbed {
        begin: delay(11),
        end: Some(delay(0)),
        from,
        until,
    }
}

fn cut_off(role: &str, from: f64, until: f64) -> Disturbed {
    Disturbed {
        begin: Fault::CutOff(role.into()),
        end: Some(Fault::Heal(role.into())),
        from,
        until,
    }
}

/// A taint at second 1, and a task at second 40.
fn late() -> Story {
    Story::begin()
        .hands(0.0, "Cluster", cluster("member1", none(), "True"))
        .target(0.0, "ResourceBinding", binding("web", json!({})))
        .hands(1.0, "Cluster", cluster("member1", failed(), "True"))
        .target(40.0, "ResourceBinding", binding("web", moved()))
}

#[rstest]
#[case::it_was_stopped(stopped(0.5, 35.0), &[])]
#[case::and_ran_for_long(stopped(0.5, 5.0), &["OBS-02"])]
#[case::before_the_taint(stopped(0.1, 0.5), &["OBS-02"])]
#[case::a_member_answered_late(slow("origin", 0.5, 35.0), &[])]
#[case::a_member_was_cut_off(cut_off("member2", 0.5, 35.0), &[])]
fn an_eviction_is_late_only_by_the_time_in_which_it_could_be_made(#[case] fault: Disturbed, #[case] refuted: &[&str]) {
    let (judged, found) = fault
        .put_into(late())
        .judged_by(Invariant::LateEvictionIsExplained, &fault.plan());
    assert_eq!((judged, found), (1, refuted.iter().map(ToString::to_string).collect()));
}

#[rstest]
#[case::watches_were_held(MoveFault::HoldWatches, &[])]
#[case::a_user_removed_taints(MoveFault::FlapTaints, &["OBS-02"])]
#[case::a_user_edited_policies(MoveFault::EditPolicies, &["OBS-02"])]
fn a_move_of_users_disturbs_nothing(#[case] fault: MoveFault, #[case] refuted: &[&str]) {
    let (plan, story) = with_move(late(), 1.0, fault);
    let (judged, found) = story.judged_by(Invariant::LateEvictionIsExplained, &plan);
    assert_eq!((judged, found), (1, refuted.iter().map(ToString::to_string).collect()));
}

/// The story with a move at a moment, which lasts ten seconds.
fn with_move(story: Story, at: f64, fault: MoveFault) -> (Plan, Story) {
    let it = Move {
        at: WritePoint {
            on: Place::Control,
            kind: "ResourceBinding".to_owned(),
            verb: "patch".to_owned(),
            subresource: None,
            nth: 1,
        },
        fault,
        lasts: Duration::from_secs(10),
    };
    let mark = Mark::Moved {
        step: 0,
        text: it.to_string(),
        member: None,
        lasts_secs: it.lasts.as_secs_f64(),
    };
    let mut plan = Plan::of_actions("moved", 2, [Action::Inject(Fault::Move(it))]);
    plan.controller = with(true, &[]);
    let mut story = story.mark(at, mark);
    story.0.sort_by_key(|entry| entry.at);
    (plan, story)
}

/// A user removes a taint that is tolerated for 80 s and sets it again, and a task follows at once.
#[rstest]
#[case::watches_were_held(MoveFault::HoldWatches, &[])]
#[case::a_write_conflicted(MoveFault::Rival, &["TNT-03"])]
fn an_eviction_is_not_early_if_the_taint_changed_while_watches_were_late(
    #[case] fault: MoveFault,
    #[case] refuted: &[&str],
) {
    let story = tolerated()
        .hands(90.0, "Cluster", cluster("member1", none(), "True"))
        .hands(91.0, "Cluster", cluster("member1", failed(), "True"))
        .target(92.0, "ResourceBinding", tolerant(moved()));
    let (plan, story) = with_move(story, 85.0, fault);
    let (judged, found) = story.judged_by(Invariant::NoEvictionBeforeItsTime, &plan);
    assert_eq!((judged, found), (1, refuted.iter().map(ToString::to_string).collect()));
}

/// The time of a toleration counts from `timeAdded`, which the implementation writes when it sees the taint.
#[rstest]
#[case::watches_were_held(MoveFault::HoldWatches, &[])]
#[case::nothing_kept_it_from_writing_the_time(MoveFault::FlapTaints, &["OBS-02"])]
fn an_eviction_is_not_late_if_the_taint_was_seen_late(#[case] fault: MoveFault, #[case] refuted: &[&str]) {
    let dated = json!([{"key": "failed", "effect": "NoExecute", "timeAdded": "2025-01-01T00:00:11Z"}]);
    let story = tolerated()
        .target(11.0, "Cluster", cluster("member1", dated, "True"))
        .target(95.0, "ResourceBinding", tolerant(moved()));
    let (plan, story) = with_move(story, 1.0, fault);
    let (judged, found) = story.judged_by(Invariant::LateEvictionIsExplained, &plan);
    assert_eq!((judged, found), (1, refuted.iter().map(ToString::to_string).collect()));
}

/// A workload on a cluster that gets a taint at second 1, which the workload tolerates for 80 s.
fn tolerated() -> Story {
    Story::begin()
        .hands(0.0, "Cluster", cluster("member1", none(), "True"))
        .target(
            0.0,
            "ResourceBinding",
            tolerant(json!({"clusters": [{"name": "member1"}]})),
        )
        .hands(1.0, "Cluster", cluster("member1", failed(), "True"))
}

/// A binding that tolerates the taint `failed` for 80 s.
fn tolerant(mut spec: Value) -> Value {
    let toleration = json!({"key": "failed", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 80});
    spec["placement"] = json!({"clusterTolerations": [toleration]});
    binding("web", spec)
}

/// A task that is cleared at second 10, and an old copy that stays until some second.
fn cleared(gone: f64) -> Story {
    Story::begin()
        .hands(0.0, "Cluster", cluster("member1", failed(), "True"))
        .target(0.0, "ResourceBinding", binding("web", json!({})))
        .copy(0.0, "member1", Change::Added)
        .target(1.0, "ResourceBinding", binding("web", moved()))
        .target(
            10.0,
            "ResourceBinding",
            binding("web", json!({"clusters": [{"name": "member2"}]})),
        )
        .copy(gone, "member1", Change::Deleted)
        .hands(400.0, "ConfigMap", json!({"metadata": {"name": "end"}}))
}

#[rstest]
#[case::in_time(stopped(20.0, 150.0), 155.0, 1, &[])]
#[case::long_after_the_start(stopped(20.0, 150.0), 300.0, 1, &["GRE-10"])]
#[case::the_member_was_cut_off(cut_off("origin", 20.0, 150.0), 200.0, 1, &[])]
#[case::another_member_was_cut_off(cut_off("member2", 20.0, 150.0), 200.0, 1, &["GRE-10"])]
#[case::it_never_ran_again(stopped_for_good(20.0), 399.0, 0, &[])]
fn an_old_copy_is_left_only_if_there_was_time_to_remove_it(
    #[case] fault: Disturbed,
    #[case] gone: f64,
    #[case] judged: usize,
    #[case] refuted: &[&str],
) {
    let found = fault
        .put_into(cleared(gone))
        .judged_by(Invariant::TaskEndsWell, &fault.plan());
    assert_eq!(found, (judged, refuted.iter().map(ToString::to_string).collect()));
}

/// A workload that goes to a cluster at second 20 which has been tainted for 15 s.
fn goes_to_a_tainted_one() -> Story {
    Story::begin()
        .hands(0.0, "Cluster", cluster("member2", none(), "True"))
        .target(0.0, "ResourceBinding", binding("web", json!({})))
        .hands(5.0, "Cluster", cluster("member2", failed(), "True"))
        .target(
            20.0,
            "ResourceBinding",
            binding("web", json!({"clusters": [{"name": "member2"}]})),
        )
}

/// Replicas that are too few from second 10 to second 17.
fn too_few() -> Story {
    let divided = |second: u64| {
        json!({
            "replicas": 4,
            "placement": {"replicaScheduling": {"replicaSchedulingType": "Divided"}},
            "clusters": [{"name": "member1", "replicas": 2}, {"name": "member2", "replicas": second}],
        })
    };
    Story::begin()
        .target(0.0, "ResourceBinding", binding("web", divided(2)))
        .target(10.0, "ResourceBinding", binding("web", divided(1)))
        .target(17.0, "ResourceBinding", binding("web", divided(2)))
}

#[rstest]
#[case::it_may_not_have_heard(Invariant::DestinationFits, goes_to_a_tainted_one(), stopped(3.0, 18.0), &[])]
#[case::it_has_heard(Invariant::DestinationFits, goes_to_a_tainted_one(), stopped(3.0, 6.0), &["TNT-01"])]
#[case::it_was_stopped_meanwhile(Invariant::ReplicasAddUp, too_few(), stopped(11.0, 16.0), &[])]
#[case::it_was_stopped_before(Invariant::ReplicasAddUp, too_few(), stopped(1.0, 5.0), &["POL-11"])]
fn what_is_decided_is_judged_at_rest(
    #[case] invariant: Invariant,
    #[case] story: Story,
    #[case] fault: Disturbed,
    #[case] refuted: &[&str],
) {
    assert_eq!(fault.put_into(story).judged_by(invariant, &fault.plan()).1, refuted);
}

/// A write that changes nothing.
#[rstest]
#[case::after_a_start(stopped(1.0, 5.0), 0)]
#[case::without_a_fault(Disturbed { begin: Fault::Heal("origin".into()), end: None, from: 1.0, until: 0.0 }, 1)]
fn after_a_start_it_may_write_again_what_is_there(#[case] fault: Disturbed, #[case] found: usize) {
    let same = || binding("web", json!({}));
    let story = Story::begin()
        .target(0.0, "ResourceBinding", same())
        .target(10.0, "ResourceBinding", same());
    let (judged, _) = fault
        .put_into(story.clone())
        .judged_by(Invariant::NoWriteChangesNothing, &fault.plan());
    assert_eq!(judged, found);
    let timeline = fault.put_into(story).timeline();
    let all = baton_core::judge::invariants::judge(&timeline, &[].into(), Some(&fault.plan()));
    let title = baton_core::judge::invariants::title(Invariant::NoWriteChangesNothing);
    assert_eq!(all.findings.iter().filter(|it| it.title == title).count(), found);
}

/// The period that is over may stand in the task, in the policy or in an option.
#[rstest]
#[case::of_the_option(json!({}), &[("graceful-eviction-timeout", "12s")], &[])]
#[case::of_a_longer_option(json!({}), &[("graceful-eviction-timeout", "20s")], &["PRG-05", "PRG-14"])]
#[case::of_the_policy(json!({"failover": {"cluster": {"gracePeriodSeconds": 12}}}), &[], &[])]
#[case::of_nobody(json!({}), &[], &["PRG-05", "PRG-14"])]
fn under_gracefully_a_copy_may_go_once_its_period_is_over(
    #[case] over: Value,
    #[case] options: &[(&str, &str)],
    #[case] refuted: &[&str],
) {
    let healthy = |over: Value| {
        let mut binding = binding("web", over);
        binding["status"]["aggregatedStatus"] = json!([{"clusterName": "member1", "health": "Healthy"}]);
        binding
    };
    let mut then = moved();
    then["failover"] = over["failover"].clone();
    let story = Story::begin()
        .target(0.0, "ResourceBinding", healthy(over))
        .copy(0.0, "member1", Change::Added)
        .target(1.0, "ResourceBinding", healthy(then))
        .copy(14.0, "member1", Change::Deleted);
    let (judged, found) = story.judged(Invariant::GracefullyNeverWithoutCopy, with(true, options));
    assert_eq!((judged, found), (1, refuted.iter().map(ToString::to_string).collect()));
}

/// A copy that goes when the workload is back, or because a step of the case removes it, has nothing to do with the task.
#[rstest]
#[case::it_is_back(true, 0)]
#[case::it_is_not(false, 1)]
fn a_copy_that_goes_for_another_reason_is_not_the_tasks(#[case] back: bool, #[case] judged: usize) {
    let healthy = |over: Value| {
        let mut binding = binding("web", over);
        binding["status"]["aggregatedStatus"] = json!([{"clusterName": "member1", "health": "Healthy"}]);
        binding
    };
    let story = Story::begin()
        .target(0.0, "ResourceBinding", healthy(json!({})))
        .copy(0.0, "member1", Change::Added)
        .target(1.0, "ResourceBinding", healthy(moved()));
    let story = if back {
        story.target(2.0, "ResourceBinding", healthy(json!({})))
    } else {
        story
    };
    let story = story.copy(5.0, "member1", Change::Deleted);
    assert_eq!(
        story.judged(Invariant::GracefullyNeverWithoutCopy, with(true, &[])).0,
        judged
    );
}
