//! The state in which a failover is over.

use std::{collections::BTreeSet, time::Duration};

use serde_json::Value;

use super::failovers::result_of;
use crate::{
    names::ClusterName,
    select::BINDING_KINDS,
    timeline::{Entry, Event, ObjectId, World},
    workload::Workload,
};

/// Time without changes after which nothing is under way, if the state is that of a failover that is over.
pub const REST: Duration = Duration::from_secs(60);

/// Kinds that change all the time, or only tell of other changes.
const MOVING: [&str; 3] = ["Lease", "Event", "Cluster"];

/// Returns `true` if an entry shows that something is under way.
pub fn is_change(entry: &Entry) -> bool {
    match &entry.event {
        Event::Revision(revision) => !MOVING.contains(&revision.kind.as_str()),
        Event::Mark(_) => false,
    }
}

/// Returns `true` if every workload that has a binding is where its scheduling result says and nowhere else, is not unhealthy
/// there, and has no eviction task, and if no cluster of a result is about to lose it.
pub fn is_settled(world: &World) -> bool {
    let control = ClusterName::control();
    let all_over = |kind: &&str| {
        world
            .of_kind(&control, kind)
            .all(|(_, binding)| is_over(binding, world))
    };
    BINDING_KINDS.iter().all(all_over)
}

fn is_over(binding: &Value, world: &World) -> bool {
    let has_tasks = binding
        .pointer("/spec/gracefulEvictionTasks")
        .and_then(Value::as_array)
        .is_some_and(|tasks| !tasks.is_empty());
    let workload = Workload::of_binding(binding);
    let (on_control, on_members): (Vec<&ObjectId>, Vec<&ObjectId>) = world
        .objects()
        .map(|(id, _)| id)
        .filter(|id| workload.includes(id))
        .partition(|id| id.cluster.is_control());
    let copies: BTreeSet<ClusterName> = on_members.into_iter().map(|id| id.cluster.clone()).collect();
    let result = result_of(binding);
    let is_well = |cluster: &ClusterName| {
        let items = binding.pointer("/status/aggregatedStatus").and_then(Value::as_array);
        let mut items = items.into_iter().flatten();
        let is_unhealthy = |item: &Value| item["health"] == "Unhealthy";
        items.any(|item| item["clusterName"] == cluster.as_str() && !is_unhealthy(item)) && keeps(cluster, world)
    };
    !has_tasks && !on_control.is_empty() && !result.is_empty() && copies == result && result.iter().all(is_well)
}

/// Returns `true` if a cluster is ready and has no taint that evicts.
fn keeps(cluster: &ClusterName, world: &World) -> bool {
    let control = ClusterName::control();
    let mut clusters = world
        .of_kind(&control, "Cluster")
        .filter(|(id, _)| id.name == cluster.as_str());
    let has = |object: &Value, list: &str, member: (&str, &str), value: (&str, &str)| {
        let items = object.pointer(list).and_then(Value::as_array);
        let mut items = items.into_iter().flatten();
        items.any(|item| item[member.0] == member.1 && item[value.0] == value.1)
    };
    clusters.any(|(_, it)| {
        let evicts = has(it, "/spec/taints", ("effect", "NoExecute"), ("effect", "NoExecute"));
        has(it, "/status/conditions", ("type", "Ready"), ("status", "True")) && !evicts
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::timeline::{Change, Revision};

    /// Objects with their clusters.
    type Objects = Vec<(&'static str, Value)>;

    fn world(objects: &[(&str, Value)]) -> World {
        let entries = objects.iter().map(|(cluster, object)| Entry {
            at: Duration::ZERO,
            seq: 1,
            event: Event::Revision(Revision {
                cluster: ClusterName::new(*cluster),
                kind: object["kind"].as_str().unwrap().to_owned(),
                change: Change::Added,
                object: Arc::new(object.clone()),
                by: None,
            }),
        });
        World::after(&entries.collect::<Vec<_>>())
    }

    fn moved() -> Objects {
        let deployment = json!({"kind": "Deployment", "metadata": {"namespace": "default", "name": "deploy"}});
        let cluster = |name: &str, taints: Value| {
            json!({
                "kind": "Cluster", "metadata": {"name": name}, "spec": {"taints": taints},
                "status": {"conditions": [{"type": "Ready", "status": "True"}]},
            })
        };
        vec![
            (
                "control",
                cluster("member1", json!([{"key": "failed", "effect": "NoExecute"}])),
            ),
            ("control", cluster("member2", json!([]))),
            ("control", deployment.clone()),
            ("member2", deployment),
            (
                "control",
                json!({
                    "kind": "ResourceBinding", "metadata": {"namespace": "default", "name": "deploy-deployment"},
                    "spec": {
                        "resource": {"kind": "Deployment", "namespace": "default", "name": "deploy"},
                        "clusters": [{"name": "member2"}],
                    },
                    "status": {"aggregatedStatus": [{"clusterName": "member2", "health": "Healthy"}]},
                }),
            ),
        ]
    }

    #[test]
    fn a_workload_that_has_moved_is_settled() {
        assert!(is_settled(&world(&moved())));
    }

    #[test]
    fn a_failover_that_is_not_over_is_not_settled() {
        let broken = |break_it: &dyn Fn(&mut Objects)| {
            let mut objects = moved();
            break_it(&mut objects);
            is_settled(&world(&objects))
        };
        let binding = 4;
        assert!(!broken(
            &|it| it[binding].1["spec"]["gracefulEvictionTasks"] = json!([{"fromCluster": "member1"}])
        ));
        assert!(!broken(&|it| it[binding].1["spec"]["clusters"] = json!([])));
        assert!(!broken(
            &|it| it[binding].1["status"]["aggregatedStatus"][0]["health"] = json!("Unhealthy")
        ));
        assert!(!broken(&|it| it[binding].1["status"] = json!({})));
        assert!(!broken(
            &|it| it[1].1["spec"]["taints"] = json!([{"key": "failed", "effect": "NoExecute"}])
        ));
        assert!(!broken(
            &|it| it[1].1["status"]["conditions"][0]["status"] = json!("False")
        ));
        assert!(!broken(&|it| it[3].0 = "member1"));
        assert!(!broken(&|it| {
            let copy = it[3].1.clone();
            it.push(("member1", copy));
        }));
        assert!(!broken(&|it| {
            it.remove(3);
        }));
        assert!(!broken(&|it| {
            it.remove(2);
        }));
    }

    #[test]
    fn leases_events_and_clusters_show_no_change() {
        let kinds = ["Lease", "Event", "Cluster", "Work", "ResourceBinding", "Deployment"];
        let changes = kinds.map(|kind| {
            is_change(&Entry {
                at: Duration::ZERO,
                seq: 1,
                event: Event::Revision(Revision {
                    cluster: ClusterName::control(),
                    kind: kind.to_owned(),
                    change: Change::Modified,
                    object: Arc::new(json!({})),
                    by: None,
                }),
            })
        });
        assert_eq!(changes, [false, false, false, true, true, true]);
    }
}
