//! Invariants of failovers as a whole say yes to good timelines and no to forged ones, which are made here.

mod common;

use std::{collections::BTreeSet, time::Duration};

use baton_core::{
    case::model::{Action, ControllerSetup, Fault, Invariant, Move, MoveFault, Place, WritePoint},
    judge::{self, invariants},
    plan::Plan,
    timeline::{Change, Event, HANDS, Mark, StepEnd},
};
use common::story::{Story, TARGET, binding, cluster, failed, none, with};
use rstest::rstest;
use serde_json::{Value, json};

/// A binding with tasks from these clusters under Directly, and this result.
fn under_way(from: &[&str], result: &[&str]) -> Value {
    let task = |from: &&str| json!({"fromCluster": from, "purgeMode": "Directly", "reason": "TaintUntolerated"});
    let tasks: Vec<Value> = from.iter().map(task).collect();
    json!({"clusters": named(result), "gracefulEvictionTasks": tasks})
}

fn named(clusters: &[&str]) -> Value {
    clusters.iter().map(|name| json!({"name": name})).collect()
}

/// A workload on these clusters, with a copy on each.
fn placed(story: Story, on: &[&str]) -> Story {
    let story = story.target(1.0, "ResourceBinding", binding("web", json!({"clusters": named(on)})));
    on.iter()
        .fold(story, |story, cluster| story.copy(1.0, cluster, Change::Added))
}

/// A workload that leaves member1: its result names member2 at second 10, and its old copy goes at another.
fn moves(story: Story, gone: Option<f64>, by: &str) -> Story {
    let mut story =
        placed(story, &["member1"]).target(5.0, "ResourceBinding", binding("web", under_way(&["member1"], &[])));
    if let Some(gone) = gone.filter(|gone| *gone < 10.0) {
        story = story.copy(gone, "member1", Change::Deleted);
    }
    story = story.by(
        by,
        10.0,
        "ResourceBinding",
        binding("web", under_way(&["member1"], &["member2"])),
    );
    if let Some(gone) = gone.filter(|gone| *gone >= 10.0) {
        story = story.copy(gone, "member1", Change::Deleted);
    }
    story
}

/// Two clusters are left at once; each that is empty makes room for one.
fn two_are_left(gone: &[&str], result: &[&str]) -> Story {
    let story = placed(Story::in_order(), &["member1", "member2"]);
    let story = story.target(
        5.0,
        "ResourceBinding",
        binding("web", under_way(&["member1", "member2"], &[])),
    );
    let story = gone
        .iter()
        .fold(story, |story, cluster| story.copy(6.0, cluster, Change::Deleted));
    story.target(
        10.0,
        "ResourceBinding",
        binding("web", under_way(&["member1", "member2"], result)),
    )
}

/// With another placement from the moment on in which the result names the next cluster.
fn placed_elsewhere() -> Story {
    let mut then = under_way(&["member1"], &["member2"]);
    then["placement"] = json!({"clusterAffinity": {"clusterNames": ["member2"]}});
    placed(Story::in_order(), &["member1"])
        .target(5.0, "ResourceBinding", binding("web", under_way(&["member1"], &[])))
        .target(10.0, "ResourceBinding", binding("web", then))
}

/// The failed cluster has been removed from the fleet.
fn unjoined() -> Story {
    let story = Story::in_order().hands(0.0, "Cluster", cluster("member1", none(), "True"));
    placed(story, &["member1"])
        .target(5.0, "ResourceBinding", binding("web", under_way(&["member1"], &[])))
        .deleted(8.0, "Cluster", cluster("member1", none(), "True"))
        .target(
            10.0,
            "ResourceBinding",
            binding("web", under_way(&["member1"], &["member2"])),
        )
}

#[rstest]
#[case::gone_before(moves(Story::in_order(), Some(9.0), TARGET), &[])]
#[case::gone_afterwards(moves(Story::in_order(), Some(11.0), TARGET), &["PRG-13"])]
#[case::never_gone(moves(Story::in_order(), None, TARGET), &["PRG-13"])]
#[case::named_by_hand(moves(Story::in_order(), None, HANDS), &[])]
#[case::long_before(moves(Story::begin(), Some(9.0), TARGET), &[])]
#[case::long_afterwards(moves(Story::begin(), Some(11.0), TARGET), &["PRG-13"])]
#[case::one_of_two_is_empty(two_are_left(&["member1"], &["member3"]), &[])]
#[case::more_than_are_empty(two_are_left(&["member1"], &["member3", "member4"]), &["PRG-13"])]
#[case::none_of_two_is_empty(two_are_left(&[], &["member3"]), &["PRG-13", "PRG-13"])]
#[case::the_policy_has_changed(placed_elsewhere(), &[])]
#[case::the_cluster_has_left(unjoined(), &[])]
fn a_result_names_no_new_cluster_before_the_old_copy_is_gone(#[case] story: Story, #[case] refuted: &[&str]) {
    let (_, found) = story.judged(Invariant::ScheduledOnlyAfterGone, with(true, &[]));
    assert_eq!(found, refuted);
}

/// The order of two events within the uncertainty of watches is unknown: only a case that names the invariant is left open.
#[rstest]
#[case::counted_on(true)]
#[case::not_counted_on(false)]
fn what_came_first_is_told_only_where_it_is_known(#[case] counted_on: bool) {
    for gone in [9.95, 10.05] {
        let timeline = moves(Story::begin(), Some(gone), TARGET).timeline();
        let mut plan = Plan::of(&common::case("proposal/deployment-directly.yaml"));
        plan.invariants.retain(|_| false);
        plan.invariants
            .extend(counted_on.then_some(Invariant::ScheduledOnlyAfterGone));
        let judged = invariants::judge(&timeline, &BTreeSet::new(), Some(&plan));
        let title = invariants::title(Invariant::ScheduledOnlyAfterGone);
        assert!(
            judged.findings.iter().all(|it| it.title != title),
            "{:#?}",
            judged.findings
        );
        assert_eq!(judged.inconclusive.iter().any(|it| it.title == title), counted_on);
    }
}

/// A workload on member1, whose cluster gets a taint at second 3 that is not tolerated.
fn failing(over: Value) -> Story {
    let mut over = over;
    over["clusters"] = named(&["member1"]);
    Story::in_order()
        .hands(0.0, "Cluster", cluster("member1", none(), "True"))
        .hands(0.0, "Cluster", cluster("member2", none(), "True"))
        .target(1.0, "ResourceBinding", collected(over))
        .copy(1.0, "member1", Change::Added)
        .hands(3.0, "Cluster", cluster("member1", failed(), "True"))
}

/// A binding of a workload that keeps state, with the status that was collected on member1.
fn collected(over: Value) -> Value {
    let mut binding = binding("web", over);
    let rule = |alias: &str, path: &str| json!({"aliasLabelName": alias, "jsonPath": path});
    let rules = json!([rule("job", "{ .job }"), rule("step", "{.step}")]);
    binding["spec"]["failover"] = json!({"cluster": {"purgeMode": "Directly", "statePreservation": {"rules": rules}}});
    binding["status"]["aggregatedStatus"] = json!([
        {"clusterName": "member1", "health": "Healthy", "status": {"job": "a1", "step": 7}},
    ]);
    binding
}

fn keeping(state: Value, result: &[&str]) -> Value {
    let mut over = under_way(&["member1"], result);
    over["gracefulEvictionTasks"][0]["preservedLabelState"] = state;
    over["gracefulEvictionTasks"][0]["clustersBeforeFailover"] = json!(["member1"]);
    over
}

fn whole() -> Value {
    json!({"job": "a1", "step": "7"})
}

fn state_on() -> ControllerSetup {
    let mut setup = with(true, &[]);
    setup.feature_gates.insert("StatefulFailoverInjection".to_owned(), true);
    setup
}

fn found(story: Story, invariant: Invariant) -> (bool, Vec<String>) {
    let (judged, found) = story.judged(invariant, state_on());
    (judged > 0, found)
}

/// The result changes at second 5 by this revision of the binding.
fn then(story: Story, over: Value) -> Story {
    story.target(5.0, "ResourceBinding", collected(over))
}

#[rstest]
#[case::with_a_task(then(failing(json!({})), under_way(&["member1"], &[])), true, &[])]
#[case::without(then(failing(json!({})), under_way(&[], &["member2"])), true, &["TNT-11"])]
#[case::without_a_new_cluster(then(failing(json!({})), under_way(&[], &[])), true, &["TNT-11"])]
#[case::by_hand(failing(json!({})).hands(5.0, "ResourceBinding", collected(under_way(&[], &["member2"]))), false, &[])]
#[case::the_taint_is_tolerated(
    then(
        failing(json!({"placement": {"clusterTolerations": [{"operator": "Exists"}]}})),
        json!({"clusters": named(&["member2"]), "placement": {"clusterTolerations": [{"operator": "Exists"}]}}),
    ),
    false,
    &[]
)]
#[case::the_placement_has_changed(
    then(
        failing(json!({})),
        json!({"clusters": named(&["member2"]), "placement": {"clusterAffinity": {"clusterNames": ["member2"]}}}),
    ),
    false,
    &[]
)]
#[case::the_policy_was_edited(
    then(
        failing(json!({})).hands(4.0, "PropagationPolicy", json!({"metadata": {"name": "policy"}})),
        under_way(&[], &["member2"]),
    ),
    false,
    &[]
)]
#[case::the_cluster_has_left(
    then(
        failing(json!({})).deleted(4.0, "Cluster", cluster("member1", failed(), "True")),
        under_way(&[], &["member2"]),
    ),
    false,
    &[]
)]
fn a_failed_cluster_is_left_with_a_task(#[case] story: Story, #[case] judged: bool, #[case] refuted: &[&str]) {
    let refuted = refuted.iter().map(ToString::to_string).collect();
    assert_eq!(found(story, Invariant::MoveHasTask), (judged, refuted));
}

/// A task that a writer clears at second 8 with this result, before or after the new copy is healthy.
fn task_cleared(mode: &str, by: &str, result: &[&str], runs: bool) -> Story {
    let mut over = under_way(&["member1"], result);
    over["gracefulEvictionTasks"][0]["purgeMode"] = json!(mode);
    let mut story = then(failing(json!({})), over);
    if runs {
        story = story.copy(6.0, "member2", Change::Added);
    }
    let mut cleared = collected(json!({"clusters": named(result)}));
    if runs && let Some(status) = cleared["status"]["aggregatedStatus"].as_array_mut() {
        status.push(json!({"clusterName": "member2", "health": "Healthy"}));
    }
    let story = story.target(7.0, "ConfigMap", json!({"metadata": {"name": "other"}}));
    story.by(by, 8.0, "ResourceBinding", cleared)
}

fn long_after(story: Story) -> Story {
    story.hands(400.0, "ConfigMap", json!({"metadata": {"name": "end"}}))
}

#[rstest]
#[case::the_new_copy_runs(task_cleared("Gracefully", TARGET, &["member2"], true), true, &[])]
#[case::no_new_copy_yet(task_cleared("Gracefully", TARGET, &["member2"], false), true, &["GRE-04"])]
#[case::no_new_copy_yet_directly(task_cleared("Directly", TARGET, &["member2"], false), true, &["GRE-10"])]
#[case::no_result(long_after(task_cleared("Gracefully", TARGET, &[], false)), true, &["GRE-02"])]
#[case::no_result_and_nothing_is_known(task_cleared("Gracefully", TARGET, &[], false), true, &[])]
#[case::back_again(
    long_after(
        task_cleared("Gracefully", TARGET, &[], false)
            .target(9.0, "ResourceBinding", collected(json!({"clusters": named(&["member1"])}))),
    ),
    true,
    &[]
)]
#[case::by_hand(task_cleared("Gracefully", HANDS, &["member2"], false), false, &[])]
#[case::never(task_cleared("Never", TARGET, &["member2"], false), false, &[])]
fn a_task_stays_until_the_migration_is_over(#[case] story: Story, #[case] judged: bool, #[case] refuted: &[&str]) {
    let refuted = refuted.iter().map(ToString::to_string).collect();
    assert_eq!(found(story, Invariant::TaskStaysUntilOver), (judged, refuted));
}

/// A task that is written at second 15 with this state; a status that came at second 14 may not be known yet.
fn kept(state: Value, lately: Option<&str>) -> Story {
    let mut story = failing(json!({}));
    let mut binding = collected(keeping(state, &[]));
    if let Some(job) = lately {
        let mut before = collected(json!({}));
        for it in [&mut before, &mut binding] {
            it["status"]["aggregatedStatus"][0]["status"]["job"] = json!(job);
        }
        story = story.target(14.0, "ResourceBinding", before);
    }
    story.target(15.0, "ResourceBinding", binding)
}

#[rstest]
#[case::all_of_it(kept(whole(), None), &[])]
#[case::nothing(kept(json!({}), None), &["STP-02"])]
#[case::one_of_two(kept(json!({"job": "a1"}), None), &["STP-03"])]
#[case::another_value(kept(json!({"job": "b2", "step": "7"}), None), &["STP-01"])]
#[case::another_form_of_the_number(kept(json!({"job": "a1", "step": "7e0"}), None), &["STP-07"])]
#[case::the_value_before_the_last(kept(whole(), Some("a2")), &[])]
#[case::the_last_value(kept(json!({"job": "a2", "step": "7"}), Some("a2")), &[])]
// What is not a value of a label, and what is empty, is left to cases.
#[case::no_value_of_a_label(kept(json!({"step": "7"}), Some("a/b")), &[])]
#[case::an_empty_value(kept(json!({"step": "7"}), Some("")), &[])]
fn a_task_keeps_the_state(#[case] story: Story, #[case] refuted: &[&str]) {
    let refuted = refuted.iter().map(ToString::to_string).collect();
    assert_eq!(found(story, Invariant::StatePreserved), (true, refuted));
}

/// A task without state that is written at once, and a move of the first step at a moment before.
fn kept_nothing(moved: f64) -> Story {
    let mut story = failing(json!({})).mark(
        moved,
        Mark::Moved {
            step: 0,
            text: String::new(),
            member: None,
            lasts_secs: 10.0,
        },
    );
    story.0.sort_by_key(|entry| entry.at);
    story.target(3.1, "ResourceBinding", collected(keeping(json!({}), &[])))
}

/// In virtual time, a status that stood before the eviction was due is known, unless a fault held it back. Otherwise it takes
/// time.
#[rstest]
#[case::a_conflict(kept_nothing(0.5).in_virtual_time(), MoveFault::Rival, &["STP-02"])]
#[case::a_crash(kept_nothing(3.0).in_virtual_time(), MoveFault::CrashAfter, &["STP-02"])]
#[case::late_watches(kept_nothing(0.5).in_virtual_time(), MoveFault::HoldWatches, &[])]
#[case::late_watches_afterwards(kept_nothing(2.0).in_virtual_time(), MoveFault::HoldWatches, &["STP-02"])]
#[case::in_real_time(kept_nothing(0.5), MoveFault::Rival, &[])]
fn state_that_was_known_is_kept_in_spite_of_a_fault(
    #[case] story: Story,
    #[case] fault: MoveFault,
    #[case] refuted: &[&str],
) {
    let mut plan = Plan::of(&common::case("proposal/deployment-directly.yaml"));
    plan.controller = state_on();
    plan.steps[0].action = Action::Inject(Fault::Move(Move {
        at: WritePoint {
            on: Place::Control,
            kind: "ResourceBinding".to_owned(),
            verb: "patch".to_owned(),
            subresource: None,
            nth: 1,
        },
        fault,
        lasts: Duration::from_secs(10),
    }));
    let (judged, found) = story.judged_by(Invariant::StatePreserved, &plan);
    assert_eq!((judged > 0, found.as_slice()), (!refuted.is_empty(), &*owned(refuted)));
}

fn owned(ids: &[&str]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

/// With the gate off nothing need be kept or injected.
#[rstest]
fn without_the_gate_no_state_is_asked_for(
    #[values(Invariant::StatePreserved, Invariant::StateReachesCopy)] invariant: Invariant,
) {
    let story = next_copy(json!({}), json!({}), &["member1"]);
    assert_eq!(story.judged(invariant, with(true, &[])), (0, Vec::new()));
}

/// The next copy comes with these labels, once the old one is gone.
fn next_copy(state: Value, labels: Value, tasks: &[&str]) -> Story {
    let over = if tasks.is_empty() {
        under_way(&[], &["member2"])
    } else {
        keeping(state, &["member2"])
    };
    then(failing(json!({})), over)
        .copy(6.0, "member1", Change::Deleted)
        .copy_with(7.0, "member2", Change::Added, labels)
}

#[rstest]
#[case::all_of_it(next_copy(whole(), whole(), &["member1"]), &[])]
#[case::nothing(next_copy(whole(), json!({}), &["member1"]), &["REC-01"])]
#[case::one_of_two(next_copy(whole(), json!({"job": "a1"}), &["member1"]), &["REC-01"])]
#[case::another_value(next_copy(whole(), json!({"job": "b2", "step": "7"}), &["member1"]), &["REC-02"])]
#[case::no_value_of_a_label(next_copy(json!({"job": "a/b"}), json!({}), &["member1"]), &["STP-12"])]
#[case::shortened(next_copy(json!({"job": "a/b"}), json!({"job": "ab"}), &["member1"]), &["REC-02"])]
// Without a task the state is what had been collected.
#[case::without_a_task(next_copy(whole(), json!({}), &[]).in_virtual_time(), &["REC-01"])]
#[case::without_a_task_but_with_state(next_copy(whole(), whole(), &[]).in_virtual_time(), &[])]
fn the_next_copy_has_the_state(#[case] story: Story, #[case] refuted: &[&str]) {
    let refuted = refuted.iter().map(ToString::to_string).collect();
    assert_eq!(found(story, Invariant::StateReachesCopy), (true, refuted));
}

/// A copy that is created after an edit of the policy.
#[test]
fn a_copy_for_another_reason_needs_no_state() {
    let edited = then(failing(json!({})), keeping(whole(), &["member2"]))
        .hands(6.0, "PropagationPolicy", json!({"metadata": {"name": "policy"}}))
        .copy(7.0, "member2", Change::Added);
    assert_eq!(found(edited, Invariant::StateReachesCopy), (false, Vec::new()));
}

/// A workload that leaves member1 without a task: when its old copy goes, and when the new one is made.
fn alone(gone: f64, created: f64) -> Story {
    let mut story = then(failing(json!({})), under_way(&[], &["member2"]))
        .copy(4.0, "member1", Change::Modified)
        .last_by("baton-simulator")
        .copy(created, "member2", Change::Added)
        .copy(gone, "member1", Change::Deleted);
    story.0.sort_by_key(|entry| entry.at);
    story
}

/// A workload with a task under Gracefully, and the mode of its policy when the task is written. Then it is Directly.
fn told_gracefully(policy: &str) -> Story {
    let task = json!({"fromCluster": "member1", "purgeMode": "Gracefully", "reason": "TaintUntolerated"});
    let edited = collected(json!({"clusters": named(&["member2"]), "gracefulEvictionTasks": [task]}));
    let mut moved = edited.clone();
    moved["spec"]["failover"]["cluster"]["purgeMode"] = json!(policy);
    failing(json!({}))
        .copy(4.0, "member1", Change::Modified)
        .last_by("baton-simulator")
        .target(5.0, "ResourceBinding", moved)
        .target(6.0, "ResourceBinding", edited)
        .copy(7.0, "member2", Change::Added)
}

/// A workload leaves a cluster under Gracefully, a user schedules it back, and it leaves again with the same task. Only then
/// does the binding get the mode of a policy that the user has edited to Directly.
fn told_gracefully_twice() -> Story {
    let task = json!({"fromCluster": "member1", "purgeMode": "Gracefully", "reason": "TaintUntolerated"});
    let bound = |policy: &str, result: &[&str]| {
        let mut bound = collected(json!({"clusters": named(result), "gracefulEvictionTasks": [task]}));
        bound["spec"]["failover"]["cluster"]["purgeMode"] = json!(policy);
        bound
    };
    failing(json!({}))
        .target(5.0, "ResourceBinding", bound("Gracefully", &[]))
        .hands(5.5, "Cluster", cluster("member1", none(), "True"))
        .hands(6.0, "ResourceBinding", bound("Gracefully", &["member1"]))
        .hands(6.5, "Cluster", cluster("member1", failed(), "True"))
        .target(7.0, "ResourceBinding", bound("Gracefully", &["member2"]))
        .target(8.0, "ResourceBinding", bound("Directly", &["member2"]))
        .copy(9.0, "member2", Change::Added)
}

fn untainted(story: Story) -> Story {
    let mut story = story.hands(2.5, "Cluster", cluster("member1", none(), "True"));
    story.0.retain(|entry| {
        let failed_at = std::time::Duration::from_secs(3);
        entry.at != failed_at
    });
    story.0.sort_by_key(|entry| entry.at);
    story
}

#[rstest]
#[case::one_after_the_other(alone(6.0, 7.0), true, &[])]
#[case::two_at_once(alone(8.0, 7.0), true, &["PRG-03"])]
// A user's move may be made in any order.
#[case::nothing_fails(untainted(alone(8.0, 7.0)), false, &[])]
#[case::a_task_says_gracefully(told_gracefully("Gracefully"), true, &[])]
#[case::a_task_says_gracefully_twice(told_gracefully_twice(), true, &[])]
#[case::a_task_says_gracefully_against_the_policy(told_gracefully("Directly"), true, &["PRG-03"])]
// With a task, another invariant looks.
#[case::with_a_task(next_copy_beside(), true, &[])]
fn while_its_cluster_fails_a_workload_has_one_copy(
    #[case] story: Story,
    #[case] judged: bool,
    #[case] refuted: &[&str],
) {
    let refuted = refuted.iter().map(ToString::to_string).collect();
    assert_eq!(found(story, Invariant::OneCopyWhileFailing), (judged, refuted));
}

fn next_copy_beside() -> Story {
    then(failing(json!({})), under_way(&["member1"], &["member2"])).copy(7.0, "member2", Change::Added)
}

/// A workload that leaves member1 under Gracefully, and then member2 under Directly, where its copy goes at some second.
fn gracefully_then_directly(gone: f64) -> Story {
    let task = |from: &str, mode: &str| json!({"fromCluster": from, "purgeMode": mode, "reason": "ApplicationFailure"});
    let (first, second) = (task("member1", "Gracefully"), task("member2", "Directly"));
    let bound = |result: &[&str], tasks: &[&Value]| {
        binding(
            "web",
            json!({"clusters": named(result), "gracefulEvictionTasks": tasks}),
        )
    };
    let mut story = Story::begin()
        .target(0.0, "ResourceBinding", bound(&["member1"], &[]))
        .copy(0.0, "member1", Change::Added)
        .target(1.0, "ResourceBinding", bound(&[], &[&first]))
        .target(2.0, "ResourceBinding", bound(&["member2"], &[&first]))
        .copy(3.0, "member2", Change::Added)
        .target(4.0, "ResourceBinding", bound(&[], &[&first, &second]))
        .target(4.1, "ResourceBinding", bound(&["member3"], &[&first, &second]))
        .copy(6.0, "member3", Change::Added)
        .copy(gone, "member2", Change::Deleted);
    story.0.sort_by_key(|entry| entry.at);
    story
}

/// The copy that stays under Gracefully does not count.
#[rstest]
#[case::one_after_the_other(gracefully_then_directly(5.0), &[])]
#[case::two_at_once(gracefully_then_directly(7.0), &["PRG-03"])]
fn under_directly_one_copy_exists_beside_those_of_other_modes(#[case] story: Story, #[case] refuted: &[&str]) {
    let refuted = refuted.iter().map(ToString::to_string).collect();
    assert_eq!(found(story, Invariant::AtMostOneLiveCopy), (true, refuted));
}

/// A workload whose result names the cluster again that a task empties: a user writes it, and then the implementation.
fn named_again(by_user: bool) -> Story {
    let again = binding("web", under_way(&["member1"], &["member1"]));
    let mut story = Story::begin().target(
        0.0,
        "ResourceBinding",
        binding("web", json!({"clusters": named(&["member1"])})),
    );
    story = story.target(1.0, "ResourceBinding", binding("web", under_way(&["member1"], &[])));
    if by_user {
        story = story.hands(2.0, "ResourceBinding", again.clone());
    }
    story.target(3.0, "ResourceBinding", again)
}

#[rstest]
#[case::by_a_user(named_again(true), &[])]
#[case::by_the_implementation(named_again(false), &["PRG-11"])]
fn only_a_user_names_a_cluster_again_while_it_is_emptied(#[case] story: Story, #[case] refuted: &[&str]) {
    let refuted = refuted.iter().map(ToString::to_string).collect();
    assert_eq!(found(story, Invariant::ResultAndTaskDisjoint), (true, refuted));
}

/// A failover that is over at second 9; then nothing happens for a while, but a write of the implementation at a second.
fn at_rest(task_stays: bool, old_stays: bool, new_is_made: bool, wrote: Option<f64>, until: f64) -> Story {
    let mut healthy = under_way(&["member1"], &["member2"]);
    if !task_stays {
        healthy["gracefulEvictionTasks"] = json!([]);
    }
    let mut last = collected(healthy);
    last["status"]["aggregatedStatus"] = json!([{"clusterName": "member2", "health": "Healthy"}]);
    let mut story = then(failing(json!({})), under_way(&["member1"], &["member2"]));
    if !old_stays {
        story = story.copy(6.0, "member1", Change::Deleted);
    }
    if new_is_made {
        story = story.copy(7.0, "member2", Change::Added);
    }
    story = story.target(9.0, "ResourceBinding", last);
    if let Some(at) = wrote {
        story = story.target(at, "ConfigMap", json!({"metadata": {"name": "again"}}));
    }
    story.by(
        "baton-simulator",
        until,
        "ConfigMap",
        json!({"metadata": {"name": "end"}}),
    )
}

/// The story as it is recorded if the workload is of a kind whose copies are not.
fn without_copies(mut story: Story) -> Story {
    story.0.retain(|entry| match &entry.event {
        Event::Revision(it) => it.cluster.is_control(),
        Event::Mark(_) => true,
    });
    story
}

/// The story with a warning about the workload, which says why a failover is not over.
fn warned(story: Story) -> Story {
    let about = json!({"kind": "Deployment", "namespace": "default", "name": "web"});
    let mut story = story.target(
        6.5,
        "Event",
        json!({"metadata": {"name": "web.1"}, "type": "Warning", "reason": "SyncFailed", "involvedObject": about}),
    );
    story.0.sort_by_key(|entry| entry.at);
    story
}

#[rstest]
#[case::as_it_should_be(at_rest(false, false, true, None, 700.0), true, &[])]
#[case::as_it_should_be_after_a_warning(warned(at_rest(false, false, true, None, 700.0)), true, &[])]
#[case::a_task_is_left_after_a_warning(warned(at_rest(true, false, true, None, 700.0)), false, &[])]
#[case::an_old_copy_is_left_after_a_warning(warned(at_rest(false, true, true, None, 700.0)), false, &[])]
#[case::a_task_is_left(at_rest(true, false, true, None, 700.0), true, &["GRE-10"])]
#[case::an_old_copy_is_left(at_rest(false, true, true, None, 700.0), true, &["PRG-12"])]
#[case::no_new_copy(at_rest(false, false, false, None, 700.0), true, &["GRE-10"])]
#[case::there_was_no_time(at_rest(true, true, true, None, 500.0), false, &[])]
#[case::copies_are_not_recorded(without_copies(at_rest(false, false, true, None, 700.0)), true, &[])]
#[case::a_task_is_left_without_records(without_copies(at_rest(true, false, true, None, 700.0)), true, &["GRE-10"])]
fn a_workload_settles(#[case] story: Story, #[case] judged: bool, #[case] refuted: &[&str]) {
    let refuted = refuted.iter().map(ToString::to_string).collect();
    assert_eq!(found(story, Invariant::Settles), (judged, refuted));
}

/// Writes at rest are a warning and refute nothing.
#[rstest]
#[case::nobody_writes(None, 0)]
#[case::somebody_writes(Some(620.0), 1)]
#[case::somebody_wrote_before(Some(300.0), 0)]
fn at_rest_nobody_writes(#[case] wrote: Option<f64>, #[case] leads: usize) {
    let timeline = at_rest(false, false, true, wrote, 700.0).timeline();
    let mut plan = Plan::of_actions("at-rest", 2, []);
    plan.controller = state_on();
    let verdict = judge::judge(&plan, &timeline);
    let title = invariants::title(Invariant::ComesToRest);
    assert_eq!(verdict.warnings.iter().filter(|it| it.title == title).count(), leads);
    assert!(verdict.findings.iter().all(|it| it.title != title));
    assert!(Invariant::ComesToRest.proves().is_empty());
}

/// A step `settle` ends a minute after the last write, which does not count as a write at rest.
#[test]
fn the_last_write_before_settle_ends_is_not_at_rest() {
    let mut story = at_rest(false, false, true, None, 100.0)
        .mark(
            3.5,
            Mark::StepStarted {
                step: 0,
                text: String::new(),
            },
        )
        .mark(
            69.0,
            Mark::StepEnded {
                step: 0,
                end: StepEnd::Done,
            },
        );
    story.0.sort_by_key(|entry| entry.at);
    let mut plan = Plan::of_actions("at-rest", 2, [Action::Settle(Duration::from_secs(600))]);
    plan.controller = state_on();
    let verdict = judge::judge(&plan, &story.timeline());
    assert_eq!(verdict.warnings, []);
}
