//! Invariants of failovers as a whole say yes to good timelines and no to forged ones, which are made here.

#![expect(clippy::needless_pass_by_value, reason = "JSON is made where it is passed")]

mod common;

use std::collections::BTreeSet;

use baton_core::{
    case::model::Invariant,
    judge::invariants,
    timeline::{Change, HANDS},
};
use common::story::{Story, TARGET, binding, cluster, none, with};
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

/// The cluster that is left is no member any more.
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

/// Where clusters are watched, two events within the uncertainty tell nothing: a case that counts on their order is left
/// open, another one is not.
#[rstest]
#[case::counted_on(true)]
#[case::not_counted_on(false)]
fn what_came_first_is_told_only_where_it_is_known(#[case] counted_on: bool) {
    for gone in [9.95, 10.05] {
        let timeline = moves(Story::begin(), Some(gone), TARGET).timeline();
        let mut plan = baton_core::plan::Plan::of(&common::case("proposal/deployment-directly.yaml"));
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
