//! States and transitions of workloads, and their map.

use std::collections::BTreeSet;

use baton_core::explore::{
    journal::{Entry, Outcome},
    map,
    states::{Phase, Transition, transitions},
};
use baton_core::timeline::Change;
use serde_json::{Value, json};

use super::{Journal, Story, line, written};
use crate::common::story::binding;

fn over(result: &[&str], from: &[&str]) -> Value {
    let result: Vec<Value> = result.iter().map(|name| json!({"name": name})).collect();
    let tasks: Vec<Value> = from.iter().map(|name| json!({"fromCluster": name})).collect();
    binding("web", json!({"clusters": result, "gracefulEvictionTasks": tasks}))
}

/// A workload moves from member1 to member2.
fn failover() -> BTreeSet<Transition> {
    let story = Story::in_order()
        .target(1.0, "ResourceBinding", over(&["member1"], &[]))
        .copy(2.0, "member1", Change::Added)
        .target(3.0, "ResourceBinding", over(&[], &["member1"]))
        .copy(4.0, "member1", Change::Deleted)
        .target(5.0, "ResourceBinding", over(&["member2"], &["member1"]))
        .copy(6.0, "member2", Change::Added)
        .target(7.0, "ResourceBinding", over(&["member2"], &[]));
    transitions(&story.timeline())
}

#[test]
fn a_failover_goes_through_its_phases() {
    let found: Vec<(String, String)> = failover().into_iter().map(|it| (it.from, it.to)).collect();
    let expected = [
        (
            "before: one in result, no task, no new",
            "before: one in result, no task, one new",
        ),
        (
            "before: one in result, no task, one new",
            "evicting: no in result, one task, no new",
        ),
        (
            "evicting: no in result, one task, no new",
            "moved: no in result, one task, no new",
        ),
        (
            "moved: no in result, one task, no new",
            "moved: one in result, one task, no new",
        ),
        (
            "moved: one in result, one task, no new",
            "moved: one in result, one task, one new",
        ),
        (
            "moved: one in result, one task, one new",
            "settled: one in result, no task, one new",
        ),
    ];
    assert_eq!(found, expected.map(|(from, to)| (from.to_owned(), to.to_owned())));
    assert_eq!(Phase::of(&found[5].1), Some(Phase::Settled));
}

#[test]
fn the_map_shows_what_only_faults_reach_and_what_deviates() {
    let baseline = failover();
    let to = |state: &str| Transition {
        from: "before: one in result, no task, one new".to_owned(),
        to: state.to_owned(),
    };
    let mut conforms = line("one", Outcome::Conforms);
    conforms.reached.insert(to("settled: one in result, no task, no new"));
    let mut deviates = line("two", Outcome::Deviates);
    deviates
        .reached
        .insert(to("moved: one in result, one task, several new"));
    let known = Entry::Known {
        known: BTreeSet::new(),
        baseline: baseline.clone(),
    };
    let text = written(1, &[known, Entry::Plan(conforms), Entry::Plan(deviates)]);
    let journal = Journal::read(&text).unwrap();
    assert_eq!(journal.baseline, baseline);
    let svg = map::svg(&journal);
    let count = |text: &str| svg.matches(text).count();
    assert_eq!(
        (
            count("<rect class=\"calm\""),
            count("<rect class=\"new\""),
            count("<rect class=\"bad\"")
        ),
        (7, 1, 1)
    );
    assert_eq!(
        (
            count("<path class=\"calm\""),
            count("<path class=\"new\""),
            count("<path class=\"bad\"")
        ),
        (6, 1, 1)
    );
    assert!(
        svg.contains("no task, one new → moved: one in result, one task, several new</title>"),
        "{svg}"
    );
    assert_eq!(map::svg(&Journal::read(&written(1, &[])).unwrap()), "");
}
