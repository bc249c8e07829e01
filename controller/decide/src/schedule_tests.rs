use super::*;
use crate::testing;
use crate::testing::{at, binding, clusters, no_execute};
use proptest::prelude::*;
use serde_json::{Value, json};

fn decide_with(spec: &Value, members: &[(&str, Value)], occupied: &[&str]) -> (Vec<String>, Decision) {
    let binding = binding(spec);
    let clusters = clusters(members);
    let occupied = occupied.iter().map(|name| (*name).to_owned()).collect();
    let decision = decide(Snapshot {
        binding: &binding,
        clusters: &clusters,
        occupied: &occupied,
        now: at(0),
    });
    (
        decision.clusters.iter().map(|target| target.name.clone()).collect(),
        decision,
    )
}

fn on(name: &str) -> Value {
    json!([{"name": name, "replicas": 2}])
}

fn task(from: &str, mode: &str) -> Value {
    json!([{"fromCluster": from, "purgeMode": mode, "reason": "TaintUntolerated", "producer": "TaintManager"}])
}

#[test]
fn one_cluster_of_those_that_fit() {
    let free = json!([]);
    let no_schedule = json!([{"key": "k", "effect": "NoSchedule"}]);
    let rather_not = json!([{"key": "k", "effect": "PreferNoSchedule"}]);
    for (members, expected) in [
        (
            vec![("member1", free.clone()), ("member2", free.clone())],
            vec!["member1"],
        ),
        (
            vec![("member1", no_execute()), ("member2", free.clone())],
            vec!["member2"],
        ),
        (
            vec![("member1", no_schedule), ("member2", free.clone())],
            vec!["member2"],
        ),
        (
            vec![("member1", rather_not), ("member2", free.clone())],
            vec!["member2"],
        ),
        (vec![("other", free)], vec![]),
    ] {
        assert_eq!(decide_with(&json!({}), &members, &[]).0, expected, "{members:?}");
    }
}

#[test]
fn what_runs_stays_whatever_the_taints() {
    let members = [("member1", json!([])), ("member2", no_execute())];
    assert_eq!(
        decide_with(&json!({"clusters": on("member2")}), &members, &["member2"]).0,
        ["member2"]
    );
}

#[test]
fn a_cluster_that_is_not_ready_takes_nothing() {
    let binding = binding(&json!({}));
    let mut clusters = clusters(&[("member1", json!([]))]);
    Arc::make_mut(clusters.get_mut("member1").unwrap())
        .status
        .conditions
        .clear();
    let decision = decide(Snapshot {
        binding: &binding,
        clusters: &clusters,
        occupied: &BTreeSet::new(),
        now: at(0),
    });
    assert!(decision.clusters.is_empty());
    assert_eq!(decision.scheduled.reason, "NoClusterFits");
}

#[test]
fn directly_waits_until_the_old_object_is_gone() {
    let members = [("member1", no_execute()), ("member2", json!([]))];
    let spec = json!({"gracefulEvictionTasks": task("member1", "Directly")});
    let (chosen, decision) = decide_with(&spec, &members, &["member1"]);
    assert_eq!(
        (chosen, decision.scheduled.reason.as_str()),
        (vec![], "WaitingForPurge")
    );
    assert_eq!(decide_with(&spec, &members, &[]).0, ["member2"]);
}

#[test]
fn a_move_by_policy_waits_too_when_two_copies_must_not_be() {
    let spec = json!({
        "clusters": on("member1"),
        "placement": {
            "clusterAffinity": {"clusterNames": ["member2"]},
            "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]
        }
    });
    let members = [("member1", json!([])), ("member2", json!([]))];
    assert!(decide_with(&spec, &members, &["member1"]).0.is_empty());
    assert_eq!(decide_with(&spec, &members, &[]).0, ["member2"]);
}

#[test]
fn gracefully_does_not_wait() {
    let members = [("member1", no_execute()), ("member2", json!([]))];
    let spec = json!({"gracefulEvictionTasks": task("member1", "Gracefully"), "failover": null});
    assert_eq!(decide_with(&spec, &members, &["member1"]).0, ["member2"]);
}

#[test]
fn nothing_fits_and_the_origin_recovers() {
    for mode in ["Directly", "Gracefully"] {
        let spec = json!({"gracefulEvictionTasks": task("member1", mode)});
        let tainted = [("member1", no_execute()), ("member2", no_execute())];
        let (chosen, decision) = decide_with(&spec, &tainted, &[]);
        assert_eq!((chosen, decision.tasks.len()), (vec![], 1), "{mode}");
        let recovered = [("member1", json!([])), ("member2", no_execute())];
        let (chosen, decision) = decide_with(&spec, &recovered, &[]);
        assert_eq!(
            (chosen, decision.tasks.len()),
            (vec!["member1".to_owned()], 0),
            "{mode}"
        );
    }
}

#[test]
fn scheduling_has_not_succeeded_when_the_origin_recovers() {
    let spec = json!({"gracefulEvictionTasks": task("member1", "Gracefully"), "failover": null});
    let members = [("member1", json!([])), ("member2", json!([]))];
    let (chosen, decision) = decide_with(&spec, &members, &["member1"]);
    assert_eq!((chosen, decision.tasks.len()), (vec!["member1".to_owned()], 0));
}

#[test]
fn a_cluster_whose_taint_was_tolerated_long_enough_takes_nothing() {
    let taint = json!([{"key": "down", "effect": "NoExecute", "timeAdded": at(0).to_string()}]);
    let fits = |seconds: i64| {
        let toleration = json!({"key": "down", "operator": "Exists", "tolerationSeconds": seconds});
        let spec = json!({"placement": {"clusterTolerations": [toleration]}});
        !decide_with(&spec, &[("member1", taint.clone())], &[]).0.is_empty()
    };
    assert_eq!([0, 1].map(fits), [false, true]);
}

#[test]
fn the_way_back_to_a_copy_that_stays_waits_for_one_that_is_purged() {
    let tasks = [task("member1", "Gracefully"), task("member2", "Directly")];
    let tasks: Vec<Value> = tasks.iter().flat_map(|it| it.as_array().cloned().unwrap()).collect();
    let spec = json!({"gracefulEvictionTasks": tasks});
    let members = [
        ("member1", json!([])),
        ("member2", no_execute()),
        ("member3", json!([])),
    ];
    let (chosen, decision) = decide_with(&spec, &members, &["member1", "member2"]);
    assert_eq!((chosen, decision.tasks.len()), (vec![], 2));
    let (chosen, decision) = decide_with(&spec, &members, &["member1"]);
    assert_eq!((chosen, decision.tasks.len()), (vec!["member1".to_owned()], 1));
}

#[test]
fn the_origin_is_no_choice_while_another_cluster_fits() {
    let spec = json!({"gracefulEvictionTasks": task("member1", "Directly")});
    assert_eq!(
        decide_with(&spec, &[("member1", json!([])), ("member2", json!([]))], &[]).0,
        ["member2"]
    );
}

#[test]
fn replicas_are_doubled_or_divided() {
    let spread = |strategy: &str| {
        json!({"replicas": 3, "placement": {
            "clusterAffinity": {"clusterNames": ["member1", "member2"]},
            "replicaScheduling": {"replicaSchedulingType": strategy}
        }})
    };
    let members = [("member1", json!([])), ("member2", json!([]))];
    let replicas = |strategy| {
        decide_with(&spread(strategy), &members, &[])
            .1
            .clusters
            .iter()
            .map(|one| one.replicas.unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(replicas("Duplicated"), [3, 3]);
    assert_eq!(replicas("Divided"), [2, 1]);
}

#[test]
fn fewer_than_min_groups_is_no_result() {
    let spec =
        json!({"placement": {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}]}});
    assert!(decide_with(&spec, &[("member1", json!([]))], &[]).0.is_empty());
    assert_eq!(
        decide_with(&spec, &[("member1", json!([])), ("member2", json!([]))], &[])
            .0
            .len(),
        2
    );
}

#[test]
fn a_predecessor_is_blocked_for_its_time() {
    let spec = |seconds: Value| {
        json!({
            "activeEvictionHistory": [{"clusterName": "member1", "creationTimestamp": "2026-01-01T00:00:00Z"}],
            "failover": {"application": {"decisionConditions": {}, "blockPredecessorSeconds": seconds}}
        })
    };
    let members = [("member1", json!([]))];
    let (chosen, decision) = decide_with(&spec(json!(30)), &members, &[]);
    assert_eq!((chosen.len(), decision.again), (0, Some(at(30))));
    assert_eq!(decide_with(&spec(json!(null)), &members, &[]).1.again, Some(at(600)));
    assert_eq!(
        decide_with(&spec(json!(0)), &members, &[]).1.again,
        Some(Timestamp::MAX)
    );
}

fn taints() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!([])),
        Just(no_execute()),
        Just(json!([{"key": "k", "effect": "NoSchedule"}]))
    ]
}

proptest! {
    /// Invariants in any state: no more clusters than allowed, none with a pending `Directly` task, no new cluster
    /// while an old copy exists, and deciding again on the result changes nothing.
    #[test]
    fn a_result_is_within_bounds_and_settles(
        current in proptest::option::of(1..=3_u8),
        tasks in proptest::collection::vec((1..=3_u8, any::<bool>()), 0..3),
        occupied in proptest::collection::btree_set(1..=3_u8, 0..3),
        tainted in proptest::collection::vec(taints(), 3),
    ) {
        let name = |number: u8| format!("member{number}");
        let tasks: Vec<Value> = tasks.iter().map(|(from, directly)| json!({
            "fromCluster": name(*from), "purgeMode": if *directly { "Directly" } else { "Gracefully" },
            "reason": "TaintUntolerated", "producer": "TaintManager"
        })).collect();
        let mut binding = binding(&json!({"gracefulEvictionTasks": tasks}));
        if let Some(current) = current {
            binding.spec.clusters = vec![TargetCluster { name: name(current), replicas: Some(2) }];
        }
        let members: Vec<(String, Value)> =
            tainted.into_iter().zip(1..=3).map(|(taints, number)| (name(number), taints)).collect();
        let members: Vec<(&str, Value)> = members.iter().map(|(name, taints)| (name.as_str(), taints.clone())).collect();
        let clusters = clusters(&members);
        let occupied: BTreeSet<String> = occupied.into_iter().map(name).collect();

        let decision = decide(Snapshot { binding: &binding, clusters: &clusters, occupied: &occupied, now: at(0) });
        prop_assert!(decision.clusters.len() <= 1);
        for target in &decision.clusters {
            let purging = decision.tasks.iter()
                .any(|task| task.from_cluster == target.name && mode_of(task) == PurgeMode::Directly);
            prop_assert!(!purging);
            let is_new = binding.spec.clusters.iter().all(|old| old.name != target.name)
                && !occupied.contains(&target.name);
            let stuck = occupied.iter().any(|name| *name != target.name && !decision.tasks.iter()
                .any(|task| task.from_cluster == *name && mode_of(task) != PurgeMode::Directly));
            prop_assert!(!(is_new && stuck), "new cluster while an old copy exists");
        }
        binding.spec.clusters.clone_from(&decision.clusters);
        binding.spec.graceful_eviction_tasks.clone_from(&decision.tasks);
        let second = decide(Snapshot { binding: &binding, clusters: &clusters, occupied: &occupied, now: at(0) });
        prop_assert_eq!(second.clusters, decision.clusters);
        prop_assert_eq!(second.tasks, decision.tasks);
    }
}

#[test]
fn a_drained_cluster_takes_nobody_and_nobody_leaves_it_for_nowhere() {
    let taint = json!([{"key": "cluster.karmada.io/drain", "effect": "NoSchedule"}]);
    let mut clusters = testing::clusters(&[("member1", taint), ("member2", json!([]))]);
    let mark = |cluster: &Arc<Cluster>| Arc::new(drain::mark(cluster, drain::Request::default(), testing::at(0)));
    let marked = mark(&clusters["member1"]);
    clusters.insert("member1".to_owned(), marked);
    let tolerant = json!({"clusterAffinity": {"clusterNames": ["member1", "member2"]},
        "clusterTolerations": [{"operator": "Exists"}]});
    let binding = testing::binding(&json!({"clusters": [{"name": "member1"}], "placement": tolerant}));
    let occupied = BTreeSet::new();
    let leaves = |clusters: &BTreeMap<String, Arc<Cluster>>, name| {
        let snapshot = Snapshot {
            binding: &binding,
            clusters,
            occupied: &occupied,
            now: at(1),
        };
        can_leave(snapshot, name)
    };
    assert!(leaves(&clusters, "member1"));
    let marked = mark(&clusters["member2"]);
    clusters.insert("member2".to_owned(), marked);
    assert!(!leaves(&clusters, "member1"));
    clusters.remove("member1");
    assert!(!leaves(&clusters, "member2"));
}

#[test]
fn a_binding_of_another_scheduler_is_not_ours() {
    for (name, expected) in [
        (json!(null), true),
        (json!(""), true),
        (json!("default-scheduler"), true),
        (json!("another-scheduler"), false),
    ] {
        assert_eq!(
            is_ours(&binding(&json!({"schedulerName": name})).spec),
            expected,
            "{name}"
        );
    }
}
