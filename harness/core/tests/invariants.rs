//! Invariants say yes to good timelines and no to spoiled ones. The spoiled ones are made here, of the good ones.

#![expect(
    clippy::unwrap_used,
    reason = "what is committed can be read, or the test has failed"
)]

mod common;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use baton_core::{
    case::model::Invariant,
    catalogue::Consequence,
    event::CaseOutcome,
    judge::{self, Finding, Weighed},
    names::RequirementId,
    plan::Plan,
    timeline::{Change, Entry, Event, Mark, Revision, StepEnd, Timeline},
};
use rstest::rstest;
use serde_json::{Value, json};

fn judged(mut entries: Vec<Entry>) -> judge::Judged {
    for (seq, entry) in (1..).zip(&mut entries) {
        entry.seq = seq;
    }
    judge::judge_recording(&Timeline::new(entries).unwrap())
}

/// The invariants that a timeline breaks.
fn broken(entries: Vec<Entry>) -> BTreeSet<String> {
    let judged = judged(entries);
    let titles = judged
        .findings
        .iter()
        .filter_map(|it| it.title.strip_prefix("invariant "));
    titles.map(str::to_owned).collect()
}

fn good(case: &str) -> Vec<Entry> {
    common::spoiled::good(case).entries().to_vec()
}

fn object(entry: &mut Entry) -> Option<(&str, &mut Value)> {
    match &mut entry.event {
        Event::Revision(revision) => Some((&revision.kind, Arc::make_mut(&mut revision.object))),
        Event::Mark(_) => None,
    }
}

fn bindings(entries: &mut [Entry], mut edit: impl FnMut(&mut Value)) {
    for (kind, object) in entries.iter_mut().filter_map(object) {
        if kind == "ResourceBinding" {
            edit(object);
        }
    }
}

fn tasks(binding: &mut Value) -> Option<&mut Vec<Value>> {
    binding
        .pointer_mut("/spec/gracefulEvictionTasks")
        .and_then(Value::as_array_mut)
        .filter(|tasks| !tasks.is_empty())
}

/// Spoils a timeline, and gives what it is then.
type Spoil = fn(Vec<Entry>) -> Vec<Entry>;

fn two_tasks(mut entries: Vec<Entry>) -> Vec<Entry> {
    bindings(&mut entries, |binding| {
        if let Some(tasks) = tasks(binding) {
            tasks.push(tasks[0].clone());
        }
    });
    entries
}

fn two_bindings(mut entries: Vec<Entry>) -> Vec<Entry> {
    let first = entries
        .iter()
        .position(|entry| matches!(&entry.event, Event::Revision(it) if it.kind == "ResourceBinding"));
    let mut twin = entries[first.unwrap()].clone();
    object(&mut twin).unwrap().1["metadata"]["name"] = json!("twin");
    entries.insert(first.unwrap() + 1, twin);
    entries
}

/// The binding tolerates every taint for an hour.
fn evicted_early(mut entries: Vec<Entry>) -> Vec<Entry> {
    bindings(&mut entries, |binding| {
        binding["spec"]["placement"]["clusterTolerations"] = json!([{"operator": "Exists", "tolerationSeconds": 3600}]);
    });
    entries
}

fn under_gracefully(mut entries: Vec<Entry>) -> Vec<Entry> {
    bindings(&mut entries, |binding| {
        for task in tasks(binding).into_iter().flatten() {
            task["purgeMode"] = json!("Gracefully");
        }
    });
    entries
}

/// Changes the labels of the new copy; its first revision has the number 0.
fn labels(entries: &mut [Entry], edit: impl Fn(usize, &mut Value)) {
    let cluster = |entry: &Entry| match &entry.event {
        Event::Revision(it) if it.kind == "Deployment" && !it.cluster.is_control() => Some(it.cluster.clone()),
        _ => None,
    };
    // The last one that is created.
    let created = entries
        .iter()
        .filter(|entry| matches!(&entry.event, Event::Revision(it) if it.change == Change::Added));
    let destination = created.filter_map(cluster).next_back();
    let copies = entries
        .iter_mut()
        .filter(|entry| cluster(entry) == destination)
        .enumerate();
    for (number, entry) in copies {
        edit(number, &mut object(entry).unwrap().1["metadata"]["labels"]);
    }
}

fn label_late(mut entries: Vec<Entry>) -> Vec<Entry> {
    labels(&mut entries, |number, labels| {
        if number == 0 {
            *labels = json!({});
        }
    });
    entries
}

fn label_lost(mut entries: Vec<Entry>) -> Vec<Entry> {
    labels(&mut entries, |number, labels| {
        if number == 1 {
            *labels = json!({});
        }
    });
    entries
}

#[rstest]
#[case::two_tasks(two_tasks, "oneTaskPerCluster")]
#[case::two_bindings(two_bindings, "oneBindingPerWorkload")]
#[case::evicted_early(evicted_early, "noEvictionBeforeItsTime")]
#[case::other_mode(under_gracefully, "labelsOnlyUnderDirectly")]
#[case::label_late(label_late, "labelsFromFirstRevision")]
#[case::label_lost(label_lost, "labelsUntilHealthy")]
fn a_spoiled_timeline_is_found(#[case] spoil: Spoil, #[case] invariant: &str) {
    let entries = good("deployment-directly");
    assert!(broken(entries.clone()).is_empty());
    let broken = broken(spoil(entries));
    assert!(broken.contains(invariant), "{broken:?}");
}

/// A failover during which something with the workload's containers comes on the new cluster, before the old copy goes.
fn with_shadow(at_task: bool, by: &str, kind: &str, edit: fn(&mut Value)) -> Vec<Entry> {
    let mut entries = good("deployment-directly");
    let of_member = |entry: &Entry| {
        matches!(&entry.event, Event::Revision(it) if it.kind == "Deployment" && it.change == Change::Added
            && !it.cluster.is_control())
    };
    let origin = entries.iter().position(of_member).unwrap();
    let written = judge::failovers::tasks(&entries).remove(0).written.seq;
    let task = entries.iter().position(|entry| entry.seq == written).unwrap();
    let mut shadow = entries[origin].clone();
    let Event::Revision(it) = &mut shadow.event else {
        return entries;
    };
    kind.clone_into(&mut it.kind);
    it.cluster = "member2".into();
    it.by = Some(by.to_owned());
    let object = Arc::make_mut(&mut it.object);
    object["metadata"]["name"] = json!("another");
    object["metadata"]["uid"] = json!("another");
    edit(object);
    entries.insert(if at_task { task + 1 } else { origin + 1 }, shadow);
    entries
}

fn as_pod(object: &mut Value) {
    object["spec"] = object["spec"]["template"]["spec"].clone();
}

fn unchanged(_: &mut Value) {}

fn elsewhere(object: &mut Value) {
    object["metadata"]["namespace"] = json!("hidden");
}

fn with_another_command(object: &mut Value) {
    as_pod(object);
    object["spec"]["containers"][0]["command"] = json!(["true"]);
}

fn with_another_image(object: &mut Value) {
    object["spec"]["template"]["spec"]["containers"][0]["image"] = json!("agent");
}

fn with_the_image_in_other_words(object: &mut Value) {
    let image = &mut object["spec"]["template"]["spec"]["containers"][0]["image"];
    *image = json!(format!("docker.io/library/{}:latest", image.as_str().unwrap()));
}

fn with_a_sidecar(object: &mut Value) {
    let containers = &mut object["spec"]["template"]["spec"]["containers"];
    containers
        .as_array_mut()
        .unwrap()
        .insert(0, json!({"name": "sidecar", "image": "agent"}));
}

fn owned(object: &mut Value) {
    as_pod(object);
    object["metadata"]["ownerReferences"] = json!([{"uid": "x"}]);
}

#[rstest]
#[case::under_another_name(true, "controller", "Deployment", unchanged, true)]
#[case::as_a_bare_pod(true, "controller", "Pod", as_pod, true)]
#[case::in_another_namespace(true, "controller", "Deployment", elsewhere, true)]
#[case::with_the_image_in_other_words(true, "controller", "Deployment", with_the_image_in_other_words, true)]
#[case::with_a_sidecar(true, "controller", "Deployment", with_a_sidecar, true)]
// It was there before the failure, and still is when the task is written.
#[case::in_advance(false, "controller", "Deployment", unchanged, true)]
// What a step of the case makes is not the implementation's.
#[case::by_the_harness(true, "baton", "Deployment", unchanged, false)]
// A pod that loads the image in advance runs another command.
#[case::another_command(true, "controller", "Pod", with_another_command, false)]
#[case::another_image(true, "controller", "Deployment", with_another_image, false)]
// What has an owner was created by the cluster for something else.
#[case::owned(true, "controller", "Pod", owned, false)]
fn a_shadow_copy_is_a_copy(
    #[case] at_task: bool,
    #[case] by: &str,
    #[case] kind: &str,
    #[case] edit: fn(&mut Value),
    #[case] is_broken: bool,
) {
    let broken = broken(with_shadow(at_task, by, kind, edit));
    let expected: BTreeSet<String> = is_broken.then(|| "atMostOneLiveCopy".to_owned()).into_iter().collect();
    assert_eq!(broken, expected);
}

/// The old copy is gone, but something with its containers stays on its cluster when the new copy is created.
#[test]
fn a_shadow_copy_on_the_origin_is_found_when_the_new_copy_is_created() {
    let mut entries = with_shadow(true, "controller", "Deployment", unchanged);
    for entry in &mut entries {
        if let Event::Revision(it) = &mut entry.event
            && it.object["metadata"]["uid"] == "another"
        {
            it.cluster = "member1".into();
        }
    }
    assert_eq!(broken(entries), BTreeSet::from(["atMostOneLiveCopy".to_owned()]));
}

/// An object whose containers become those of the workload later is a shadow copy from then on.
#[test]
fn an_object_may_become_a_shadow_copy() {
    let mut entries = with_shadow(true, "controller", "Deployment", with_another_image);
    let at = entries
        .iter()
        .position(|entry| matches!(&entry.event, Event::Revision(it) if it.object["metadata"]["uid"] == "another"))
        .unwrap();
    let mut changed = with_shadow(true, "controller", "Deployment", unchanged).remove(at);
    if let Event::Revision(it) = &mut changed.event {
        it.change = Change::Modified;
    }
    entries.insert(at + 1, changed);
    assert_eq!(broken(entries), BTreeSet::from(["atMostOneLiveCopy".to_owned()]));
}

/// The first copy gets the labels of the later task, on its own or from the template.
fn labelled_in_advance(by: &str, on_template: bool) -> BTreeSet<String> {
    let mut entries = good("deployment-directly");
    let task = judge::failovers::tasks(&entries).remove(0);
    let mut is_done = false;
    for entry in &mut entries {
        let Event::Revision(it) = &mut entry.event else {
            continue;
        };
        if it.kind != "Deployment" || entry.seq >= task.written.seq || it.cluster.is_control() && !on_template {
            continue;
        }
        let labels = &mut Arc::make_mut(&mut it.object)["metadata"]["labels"];
        for (key, value) in &task.state {
            labels[key.as_str()] = json!(value);
        }
        if !it.cluster.is_control() {
            it.by = Some(by.to_owned());
            is_done = true;
        }
    }
    assert!(is_done);
    broken(entries)
}

#[test]
fn no_copy_gets_the_labels_before_the_first_failover() {
    assert!(labelled_in_advance("controller", false).contains("noLabelOnPredecessor"));
    assert!(!labelled_in_advance("controller", true).contains("noLabelOnPredecessor"));
    assert!(!labelled_in_advance("baton", false).contains("noLabelOnPredecessor"));
}

/// When a copy without labels was made, and went at once.
#[derive(Clone, Copy)]
enum Made {
    BeforeTheTask,
    AfterTheTask,
    AfterTheLabelled,
}

/// A failover in which a copy without labels comes and goes on a cluster.
fn with_bare_copy(made: Made, cluster: &str, by: &str) -> Vec<Entry> {
    let mut entries = good("deployment-directly");
    let of = |entry: &Entry| match &entry.event {
        Event::Revision(it) => Some((it.kind.clone(), it.change, it.cluster.is_control())),
        Event::Mark(_) => None,
    };
    let is_task = |entry: &Entry| match &entry.event {
        Event::Revision(it) => tasks(&mut (*it.object).clone()).is_some(),
        Event::Mark(_) => false,
    };
    let labelled = entries
        .iter()
        .rposition(|entry| of(entry) == Some(("Deployment".to_owned(), Change::Added, false)));
    let labelled = labelled.unwrap();
    let task = entries.iter().position(is_task).unwrap();
    let at = match made {
        Made::BeforeTheTask => task,
        Made::AfterTheTask => labelled,
        Made::AfterTheLabelled => labelled + 1,
    };
    let mut copy = entries[labelled].clone();
    object(&mut copy).unwrap().1["metadata"]["labels"] = json!({});
    let mut copies = [Change::Deleted, Change::Added].map(|change| (change, copy.clone()));
    for (change, copy) in &mut copies {
        let Event::Revision(it) = &mut copy.event else { continue };
        it.change = *change;
        it.cluster = cluster.into();
        it.by = Some(by.to_owned());
    }
    for (_, copy) in copies {
        entries.insert(at, copy);
    }
    entries
}

#[rstest]
#[case::before_the_task(Made::BeforeTheTask, "member2", "controller", true)]
#[case::after_the_task(Made::AfterTheTask, "member2", "controller", true)]
#[case::on_a_third_cluster(Made::AfterTheTask, "member3", "controller", true)]
// What a step of the case makes is not the implementation's.
#[case::by_the_harness(Made::AfterTheTask, "member2", "baton", false)]
// The origin, when it comes back, is never given the labels.
#[case::on_the_origin(Made::AfterTheTask, "member1", "controller", false)]
// What is made later, for another reason, needs none.
#[case::afterwards(Made::AfterTheLabelled, "member3", "controller", false)]
fn no_copy_without_labels_comes_before_the_one_with_them(
    #[case] made: Made,
    #[case] cluster: &str,
    #[case] by: &str,
    #[case] is_broken: bool,
) {
    let broken = broken(with_bare_copy(made, cluster, by));
    assert_eq!(broken.contains("labelsFromFirstRevision"), is_broken, "{broken:?}");
}

/// A second copy comes and goes, on a third cluster: right after the first one, or when the task has been cleared.
fn with_a_move(later: bool) -> Vec<Entry> {
    let mut entries = good("deployment-directly");
    let is_copy = |entry: &Entry| match &entry.event {
        Event::Revision(it) => it.kind == "Deployment" && it.change == Change::Added && !it.cluster.is_control(),
        Event::Mark(_) => false,
    };
    let copy = entries.iter().rposition(is_copy).unwrap();
    let at = if later {
        let task = judge::failovers::tasks(&entries).remove(0);
        let is_clear = |entry: &Entry| task.cleared.is_some_and(|cleared| entry.seq >= cleared.seq);
        entries.iter().position(is_clear).unwrap()
    } else {
        copy
    };
    for change in [Change::Deleted, Change::Added] {
        let mut second = entries[copy].clone();
        second.at = entries[at].at;
        if let Event::Revision(it) = &mut second.event {
            it.change = change;
            it.cluster = "member3".into();
        }
        entries.insert(at + 1, second);
    }
    entries
}

/// A policy that moves a workload later may do it in any order.
#[test]
fn two_copies_at_once_are_a_fault_in_a_migration_only() {
    assert_eq!(
        broken(with_a_move(false)),
        BTreeSet::from(["atMostOneLiveCopy".to_owned()])
    );
    assert_eq!(broken(with_a_move(true)), BTreeSet::new());
}

/// A task may be cleared with the decision where the new copy goes.
#[test]
fn the_order_is_judged_where_the_task_is_cleared_before_the_new_copy_is_there() {
    let mut entries = good("deployment-directly");
    let mut is_over = false;
    bindings(&mut entries, |binding| {
        let named = binding.pointer("/spec/clusters").and_then(Value::as_array);
        let has_new = named.is_some_and(|named| !named.is_empty());
        if tasks(binding).is_some() && (has_new || is_over) {
            is_over = true;
            binding["spec"]["gracefulEvictionTasks"] = json!([]);
        }
    });
    assert!(is_over);
    let judged = judged(entries);
    assert!(judged.findings.is_empty(), "{:?}", judged.findings);
    assert!(
        judged
            .judged
            .contains_key(&Invariant::OriginGoneBeforeDestinationCreated),
        "{:?}",
        judged.judged
    );
}

/// A workload that a user had moved there and back again before the failover has been there for another reason.
#[test]
fn a_copy_on_a_cluster_that_the_result_named_before_the_task_may_lack_labels() {
    let mut entries = with_bare_copy(Made::BeforeTheTask, "member2", "controller");
    let bare = entries.iter().rposition(|entry| match &entry.event {
        Event::Revision(it) => it.change == Change::Deleted && it.cluster.as_str() == "member2",
        Event::Mark(_) => false,
    });
    let before = entries[..bare.unwrap()].iter().rev();
    let binding = before.into_iter().find(|entry| match &entry.event {
        Event::Revision(it) => it.kind == "ResourceBinding",
        Event::Mark(_) => false,
    });
    let there = binding.unwrap().clone();
    let mut moved = there.clone();
    object(&mut moved).unwrap().1["spec"]["clusters"] = json!([{"name": "member2"}]);
    entries.insert(bare.unwrap() + 1, there);
    entries.insert(bare.unwrap() - 1, moved);
    let broken = broken(entries);
    assert!(!broken.contains("labelsFromFirstRevision"), "{broken:?}");
}

fn entry(at: u64, cluster: &str, kind: &str, change: Change, object: Value) -> Entry {
    Entry {
        at: Duration::from_secs(at),
        seq: 0,
        event: Event::Revision(Revision {
            cluster: cluster.into(),
            kind: kind.to_owned(),
            change,
            object: Arc::new(object),
            by: Some("a-controller".to_owned()),
        }),
    }
}

/// A copy of the Deployment `web` that comes, changes or goes.
fn web(at: u64, cluster: &str, change: Change) -> Entry {
    let object = json!({"metadata": {"name": "web", "namespace": "default"}});
    entry(at, cluster, "Deployment", change, object)
}

/// A revision of its binding: tasks, scheduling result, aggregated status.
fn binding(at: u64, change: Change, tasks: &Value, clusters: &Value, statuses: &Value) -> Entry {
    let object = json!({
        "metadata": {"name": "web-deployment", "namespace": "default"},
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"},
            "clusters": clusters,
            "gracefulEvictionTasks": tasks,
        },
        "status": {"aggregatedStatus": statuses},
    });
    entry(at, "control", "ResourceBinding", change, object)
}

/// A workload that leaves member1 Gracefully: how long the old copy is kept, and whether the new one is healthy by
/// then.
fn gracefully(kept: u64, period: Option<u64>, new_is_healthy: bool, old_is_healthy: bool) -> Vec<Entry> {
    let health = |healthy: bool| if healthy { "Healthy" } else { "Unhealthy" };
    let old = json!({"clusterName": "member1", "health": health(old_is_healthy)});
    let new = json!({"clusterName": "member2", "health": health(new_is_healthy)});
    let task = json!([{"fromCluster": "member1", "purgeMode": "Gracefully", "gracePeriodSeconds": period}]);
    let (one, two) = (json!([{"name": "member1"}]), json!([{"name": "member2"}]));
    vec![
        web(0, "control", Change::Added),
        binding(0, Change::Added, &json!([]), &one, &json!([old])),
        web(1, "member1", Change::Added),
        binding(2, Change::Modified, &task, &two, &json!([old])),
        web(2, "member2", Change::Added),
        binding(2, Change::Modified, &task, &two, &json!([old, new])),
        web(2 + kept, "member1", Change::Deleted),
    ]
}

/// A workload that leaves two clusters Directly, one after the other; on the first it stays. It was on both of them
/// from the begin, or it has come to the second only because the first failed.
fn two_leave(together: bool) -> Vec<Entry> {
    let task = |cluster: &str| json!({"fromCluster": cluster, "purgeMode": "Directly"});
    let (one, two) = (json!({"name": "member1"}), json!({"name": "member2"}));
    let before = if together { json!([one, two]) } else { json!([one]) };
    let none = json!([]);
    let (first, both) = (json!([task("member1")]), json!([task("member1"), task("member2")]));
    let mut entries = vec![
        web(0, "control", Change::Added),
        binding(0, Change::Added, &none, &before, &none),
        web(1, "member1", Change::Added),
        binding(3, Change::Modified, &first, &json!([two]), &none),
        binding(5, Change::Modified, &both, &none, &none),
        web(5, "member2", Change::Modified),
        web(6, "member2", Change::Deleted),
    ];
    entries.insert(if together { 3 } else { 4 }, web(3, "member2", Change::Added));
    entries
}

#[rstest]
#[case::from_the_begin(true, false)]
#[case::because_the_first_failed(false, true)]
fn on_two_clusters_there_may_be_two_copies(#[case] together: bool, #[case] is_broken: bool) {
    let broken = broken(two_leave(together));
    assert_eq!(broken.contains("atMostOneLiveCopy"), is_broken, "{broken:?}");
}

/// The same, too early by what the binding says; but a Work in which health is collected has said before what it says
/// of a workload on a cluster.
fn gracefully_by_work(cluster: &str, workload: &str, health: &str) -> Vec<Entry> {
    let mut entries = gracefully(5, Some(100), false, true);
    let said =
        json!({"identifier": {"kind": "Deployment", "namespace": "default", "name": workload}, "health": health});
    let object = json!({
        "metadata": {"name": "web-1", "namespace": format!("karmada-es-{cluster}")},
        "status": {"manifestStatuses": [said]},
    });
    let work = entry(6, "control", "Work", Change::Modified, object);
    entries.insert(entries.len() - 1, work);
    entries
}

#[rstest]
#[case::new_copy_is_healthy(gracefully(5, Some(100), true, true), false)]
#[case::new_copy_is_healthy_by_its_work(gracefully_by_work("member2", "web", "Healthy"), false)]
#[case::its_work_says_otherwise(gracefully_by_work("member2", "web", "Unhealthy"), true)]
#[case::the_work_of_the_old_copy(gracefully_by_work("member1", "web", "Healthy"), true)]
#[case::the_work_of_another_workload(gracefully_by_work("member2", "db", "Healthy"), true)]
#[case::period_is_over(gracefully(100, Some(100), false, true), false)]
#[case::old_copy_was_sick(gracefully(5, Some(100), false, false), true)]
#[case::period_of_a_sick_copy_is_over(gracefully(100, Some(100), false, false), false)]
#[case::too_early(gracefully(90, Some(100), false, true), true)]
#[case::at_once(gracefully(1, None, false, true), true)]
fn under_gracefully_there_is_always_a_copy(#[case] entries: Vec<Entry>, #[case] is_broken: bool) {
    let broken = broken(entries);
    assert_eq!(broken.contains("gracefullyNeverWithoutCopy"), is_broken, "{broken:?}");
}

/// That something was left after a clean-up of 20 s.
fn not_cleaned_up() -> Entry {
    let end = StepEnd::TimedOut {
        phase: "clear".to_owned(),
        waited_secs: 20.0,
    };
    Entry {
        at: Duration::from_secs(30),
        seq: 0,
        event: Event::Mark(Mark::CleanedUp { end, hurried: false }),
    }
}

#[rstest]
#[case::of_the_workload(json!([{"kind": "Deployment", "metadata": {"name": "web", "namespace": "default"}}]), true)]
#[case::of_nothing(json!([]), true)]
#[case::of_a_namespace(json!([{"kind": "Namespace", "metadata": {"name": "default"}}]), false)]
fn a_work_is_left_over_if_it_is_of_the_workload(#[case] manifests: Value, #[case] is_broken: bool) {
    let work = json!({
        "metadata": {"name": "web-1", "namespace": "karmada-es-member1"},
        "spec": {"workload": {"manifests": manifests}},
    });
    let (result, none) = (json!([{"name": "member1"}]), json!([]));
    let broken = broken(vec![
        binding(0, Change::Added, &none, &result, &none),
        entry(1, "control", "Work", Change::Added, work),
        binding(2, Change::Deleted, &none, &result, &none),
        not_cleaned_up(),
    ]);
    assert_eq!(broken.contains("nothingLeftAfterCleanUp"), is_broken, "{broken:?}");
}

/// A binding that belongs to a workload goes with it, by the garbage collector of its cluster.
#[rstest]
#[case::that_is_gone(true)]
#[case::that_is_there(false)]
fn what_the_garbage_collector_has_not_removed_is_held_against_nobody(#[case] is_gone: bool) {
    let template = |at, change| {
        let object = json!({"metadata": {"name": "web", "namespace": "default", "uid": "template"}});
        entry(at, "control", "Deployment", change, object)
    };
    let owner = json!([{"kind": "Deployment", "name": "web", "uid": "template"}]);
    let mut owned = binding(1, Change::Added, &json!([]), &json!([]), &json!([]));
    object(&mut owned).unwrap().1["metadata"]["ownerReferences"] = owner;
    let mut entries = vec![template(0, Change::Added), owned];
    entries.extend(is_gone.then(|| template(2, Change::Deleted)));
    entries.push(not_cleaned_up());
    let judged = judged(entries);
    let of = |findings: &[Finding]| findings.iter().any(|it| it.title.ends_with("nothingLeftAfterCleanUp"));
    assert_eq!((of(&judged.findings), of(&judged.inconclusive)), (!is_gone, is_gone));
}

/// A run in which an invariant that the case counts on had nothing to judge: it shows nothing, and refutes nothing.
#[test]
fn what_had_nothing_to_judge_is_neither_shown_nor_refuted() {
    let case = common::case("proposal/deployment-directly.yaml");
    let mut plan = Plan::of(&case);
    let timeline = Timeline::new(good("deployment-directly")).unwrap();
    assert!(judge::judge(&plan, &timeline).conforms());
    plan.invariants.insert(Invariant::OneInstanceWrites);
    let verdict = judge::judge(&plan, &timeline);
    assert_eq!(verdict.findings, []);
    assert!(!verdict.conforms() && !verdict.inconclusive.is_empty());
    assert!(verdict.broken().is_empty() && verdict.open().is_empty());
    let id = "EVQ-07".into();
    assert!(verdict.not_judged.contains_key(&id) && !verdict.shown.contains(&id));
    let outcome = CaseOutcome::judged(verdict, Vec::new(), &timeline);
    assert!(matches!(outcome, CaseOutcome::Inconclusive { .. }) && outcome.failed());
}

/// Explanation of a late eviction: none, an Event at some second, or a condition at some second.
#[derive(Clone, Copy)]
enum Seen {
    Nothing,
    Event(u64),
    Condition(u64),
}

/// A taint at 1 s that is tolerated for 10 s, and a task at 50 s. `busy`: another workload is evicted at 30 s; `rules`:
/// the binding has rules for preserving state.
fn late(seen: Seen, busy: bool, rules: bool) -> Vec<Entry> {
    let entry = |at: u64, kind: &str, object: Value| Entry {
        at: Duration::from_millis(at),
        seq: 0,
        event: Event::Revision(Revision {
            cluster: "control".into(),
            kind: kind.to_owned(),
            change: Change::Modified,
            object: Arc::new(object),
            by: Some("a-controller".to_owned()),
        }),
    };
    let cluster = |taints: Value| json!({"metadata": {"name": "member1"}, "spec": {"taints": taints}});
    let rules = if rules {
        json!([{"aliasLabelName": "a", "jsonPath": "{ .x }"}])
    } else {
        json!([])
    };
    let binding = |name: &str, tasks: Value, conditions: Value| {
        json!({
            "metadata": {"name": format!("{name}-deployment"), "namespace": "default"},
            "spec": {
                "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": name},
                "placement": {"clusterTolerations": [{"operator": "Exists", "tolerationSeconds": 10}]},
                "failover": {"cluster": {"statePreservation": {"rules": rules}}},
                "clusters": [{"name": "member1"}],
                "gracefulEvictionTasks": tasks,
            },
            "status": {"conditions": conditions},
        })
    };
    let task = || json!([{"fromCluster": "member1", "purgeMode": "Directly", "reason": "TaintUntolerated"}]);
    let none = || json!([]);
    let mut entries = vec![
        entry(0, "Cluster", cluster(none())),
        entry(0, "ResourceBinding", binding("web", none(), none())),
        entry(0, "ResourceBinding", binding("db", none(), none())),
        entry(1000, "Cluster", cluster(json!([{"key": "k", "effect": "NoExecute"}]))),
    ];
    let waits = || json!([{"type": "EvictionPending", "status": "True", "reason": "Queued", "message": "waits"}]);
    let mut standing = none();
    match seen {
        Seen::Nothing => {}
        Seen::Event(at) => entries.push(entry(
            at,
            "Event",
            json!({
                "metadata": {"name": "e", "namespace": "default"},
                "type": "Normal", "reason": "EvictionQueued", "message": "waits",
                "involvedObject": {"kind": "Deployment", "namespace": "default", "name": "web"},
            }),
        )),
        Seen::Condition(at) => {
            standing = waits();
            entries.push(entry(at, "ResourceBinding", binding("web", none(), waits())));
        }
    }
    if busy {
        entries.push(entry(30_000, "ResourceBinding", binding("db", task(), none())));
    }
    entries.push(entry(50_000, "ResourceBinding", binding("web", task(), standing)));
    entries
}

#[rstest]
#[case::in_time(Seen::Event(11_000), true, true, &[])]
// On clusters elsewhere the implementation's clock may be a little ahead of what the observer hears.
#[case::a_little_before(Seen::Event(10_980), true, true, &[])]
#[case::a_condition_that_stands(Seen::Condition(2_000), true, true, &[])]
#[case::long_before(Seen::Event(2_000), true, true, &["OBS-02"])]
#[case::waits_for_its_turn(Seen::Nothing, true, true, &["OBS-02"])]
#[case::waits_for_its_state(Seen::Nothing, false, true, &["STP-06"])]
#[case::has_no_state(Seen::Nothing, false, false, &["OBS-02"])]
fn a_late_eviction_is_explained(#[case] seen: Seen, #[case] busy: bool, #[case] rules: bool, #[case] blamed: &[&str]) {
    let judged = judged(late(seen, busy, rules));
    // With nothing about either, the workload that is evicted before it is late without a word too.
    let of_web = |it: &&judge::Finding| {
        let late = it.title == judge::invariants::title(Invariant::LateEvictionIsExplained);
        late && it.object.as_ref().is_some_and(|object| object.name == "web-deployment")
    };
    let findings = judged.findings.iter().filter(of_web);
    let ids: Vec<_> = findings
        .flat_map(|it| &it.requirements)
        .map(ToString::to_string)
        .collect();
    assert_eq!(ids, blamed);
}

#[test]
fn a_requirement_without_a_consequence_is_held_against_no_target() {
    let found = |allowed: &[&str]| {
        let asked = allowed
            .iter()
            .map(|id| (RequirementId::new(*id), Consequence::None))
            .collect();
        let judged = judged(late(Seen::Nothing, true, true));
        let found = Weighed::of(judged.findings, &asked, Consequence::Deviation);
        let ids = found.deviations.iter().flat_map(|finding| &finding.requirements);
        ids.map(ToString::to_string).collect::<BTreeSet<_>>()
    };
    let all = found(&[]);
    assert!(all.contains("OBS-02"), "{all:?}");
    let mut others = all.clone();
    others.remove("OBS-02");
    assert_eq!(found(&["OBS-02"]), others);
    assert_eq!(found(&["RAT-01"]), all);
}

#[test]
fn a_finding_goes_where_the_gravest_of_its_requirements_belongs() {
    let finding = |ids: &[&str]| judge::Finding {
        requirements: ids.iter().map(|id| RequirementId::new(*id)).collect(),
        field: None,
        kind: judge::DifferenceKind::Other,
        title: ids.join(" "),
        step: None,
        expected: String::new(),
        seen: String::new(),
        object: None,
        seq: 1,
        at: Duration::ZERO,
        mismatches: Vec::new(),
        follows: None,
    };
    let asked = [
        ("A-01", Consequence::Deviation),
        ("B-01", Consequence::Remark),
        ("C-01", Consequence::Proposed),
        ("D-01", Consequence::None),
    ];
    let asked = asked.map(|(id, consequence)| (RequirementId::new(id), consequence));
    let all = [
        &["A-01", "B-01"][..],
        &["B-01", "C-01"],
        &["C-01", "D-01"],
        &["D-01"],
        &[],
    ];
    let found = Weighed::of(
        all.map(finding).into(),
        &asked.clone().into_iter().collect(),
        Consequence::Remark,
    );
    let titles = |findings: &[judge::Finding]| findings.iter().map(|it| it.title.clone()).collect::<Vec<_>>();
    assert_eq!(titles(&found.deviations), ["A-01 B-01"]);
    assert_eq!(
        titles(&found.remarks),
        ["B-01 C-01", ""],
        "a finding without requirements is as grave as said"
    );
    assert_eq!(titles(&found.proposed), ["C-01 D-01"]);
    assert_eq!(found.proposed[0].requirements, ["C-01".into()].into());
    assert_eq!(found.allowed, ["D-01".into()].into());

    let with_step = |ids: &[&str], step, follows| judge::Finding {
        step: Some(step),
        follows,
        ..finding(ids)
    };
    let misread = [with_step(&["B-01"], 4, None), with_step(&[], 6, Some(4))];
    let found = Weighed::of(misread.into(), &asked.into_iter().collect(), Consequence::Deviation);
    let remarks = found.remarks.iter().map(|it| it.step).collect::<Vec<_>>();
    assert_eq!(
        remarks,
        [Some(4), Some(6)],
        "a finding that follows from a remark is a remark"
    );
}
