//! Causes after a workload has its binding: the first stage of its way to a cluster, or from one to another, that is
//! missing.

use serde_json::Value;

use super::{Cause, absent::selected, bindings, has_no_members, list, text};
use crate::{
    timeline::{ObjectId, World},
    workload::Workload,
};

/// A binding with its workload.
struct Bound<'w> {
    world: &'w World,
    id: &'w ObjectId,
    binding: &'w Value,
    workload: Workload,
}

/// Returns the first stage that is missing for some binding, in the order in which a failover needs them.
pub(super) fn first_missing<'w>(world: &'w World) -> Option<Cause> {
    let all: Vec<Bound<'w>> = bound(world).collect();
    let stages: [fn(&Bound<'w>) -> Option<Cause>; 10] = [
        |bound| {
            bound
                .without_cluster()
                .map(|cause| bound.other_placement().unwrap_or(cause))
        },
        |bound| bound.not_evicted().map(|cause| bound.other_failover().unwrap_or(cause)),
        Bound::on_fewer_clusters,
        Bound::left_behind,
        Bound::without_copy,
        Bound::not_collected,
        Bound::without_health,
        Bound::other_placement,
        Bound::other_failover,
        Bound::task_remains,
    ];
    stages.iter().find_map(|stage| all.iter().find_map(stage))
}

/// Returns a stage that is missing for a workload, if it is one that an implementation finishes at once or never.
pub(super) fn certain(world: &World, workload: &Workload) -> Option<Cause> {
    let bound = bound(world).find(|bound| bound.workload == *workload)?;
    let unplaced = bound.without_cluster().and_then(|_| bound.other_placement());
    let placed = unplaced.or_else(|| bound.on_fewer_clusters());
    placed.or_else(|| bound.not_evicted().and_then(|_| bound.other_failover()))
}

fn bound(world: &World) -> impl Iterator<Item = Bound<'_>> {
    let bound = bindings(world).map(move |(id, binding)| Bound {
        world,
        id,
        binding,
        workload: Workload::of_binding(binding),
    });
    bound.filter(|bound| !bound.workload.kind.is_empty())
}

impl<'w> Bound<'w> {
    fn clusters(&self) -> Vec<&'w str> {
        let clusters = list(self.binding, "/spec/clusters").iter();
        clusters.filter_map(|cluster| cluster["name"].as_str()).collect()
    }

    /// Returns the copies of the workload on members.
    fn copies(&self) -> impl Iterator<Item = (&'w ObjectId, &'w Value)> {
        let objects = self.world.objects().map(|(id, object)| (id, &**object));
        objects.filter(|(id, _)| !id.cluster.is_control() && self.workload.includes(id))
    }

    fn copy_on(&self, cluster: &str) -> Option<&'w Value> {
        let mut copies = self.copies();
        let (_, copy) = copies.find(|(id, _)| id.cluster.as_str() == cluster)?;
        Some(copy)
    }

    /// Returns what the binding says of the copy on a cluster.
    fn collected(&self, cluster: &str) -> Option<&'w Value> {
        let mut items = list(self.binding, "/status/aggregatedStatus").iter();
        items.find(|item| item["clusterName"] == cluster)
    }

    fn in_words(&self) -> String {
        format!("{} {}", self.id.kind, self.id.name)
    }

    /// Finds a binding whose placement is not that of its policy. It may have the right clusters all the same.
    fn other_placement(&self) -> Option<Cause> {
        self.other_than_policy("placement")
    }

    /// Finds a binding whose behavior on failures is not that of its policy. Only evictions depend on it.
    fn other_failover(&self) -> Option<Cause> {
        self.other_than_policy("failover")
    }

    fn other_than_policy(&self, field: &str) -> Option<Cause> {
        let mut policies = selected(self.world).filter(|(_, template)| self.workload.includes(template));
        let (policy, _) = policies.next()?;
        if policies.any(|(other, _)| other != policy) {
            return None;
        }
        let spec = &self.world.get(policy)?["spec"];
        if spec[field] == self.binding["spec"][field] {
            return None;
        }
        let text = format!(
            "`spec.{field}` of {} is not that of {} {}, which selects its workload",
            self.in_words(),
            policy.kind,
            policy.name
        );
        Some(Cause::new(
            format!("a binding does not have the `spec.{field}` of its policy"),
            text,
        ))
    }

    fn without_cluster(&self) -> Option<Cause> {
        if !self.clusters().is_empty() {
            return None;
        }
        let mut tasks = list(self.binding, "/spec/gracefulEvictionTasks").iter();
        let since = tasks.next_back().and_then(|task| task["fromCluster"].as_str());
        let since = since.map(|from| format!(" after its eviction from {from}"));
        let text = format!(
            "{} has no cluster in `spec.clusters`{}",
            self.in_words(),
            since.unwrap_or_default()
        );
        Some(Cause::new("a binding has no cluster", text))
    }

    /// Finds a `NoExecute` taint on a cluster that the workload is still scheduled to.
    fn not_evicted(&self) -> Option<Cause> {
        if !list(self.binding, "/spec/placement/clusterTolerations").is_empty() {
            return None;
        }
        let clusters = self.clusters();
        clusters.iter().find_map(|name| {
            let key = taints(self.world, name).find_map(|(key, effect)| (effect == "NoExecute").then_some(key))?;
            let text = format!(
                "{name} has the taint {key}:NoExecute, and {} is still scheduled to it",
                self.in_words()
            );
            Some(Cause::new("a workload stays on a cluster with a NoExecute taint", text))
        })
    }

    /// Finds a binding on fewer clusters than its placement names, where nothing limits their number.
    fn on_fewer_clusters(&self) -> Option<Cause> {
        let placement = self.binding.pointer("/spec/placement")?;
        let is_divided = placement["replicaScheduling"]["replicaSchedulingType"] == "Divided";
        if is_divided || !list(placement, "/spreadConstraints").is_empty() {
            return None;
        }
        let (clusters, named) = (self.clusters(), list(placement, "/clusterAffinity/clusterNames"));
        let mut fitting = named.iter().filter_map(Value::as_str);
        let left_out = fitting.find(|name| !clusters.contains(name) && taints(self.world, name).next().is_none())?;
        let text = format!(
            "{} is scheduled to {}: its placement names {left_out}, too, and has no `spreadConstraints`",
            self.in_words(),
            clusters.join(" and ")
        );
        Some(Cause::new(
            "a workload is scheduled to fewer clusters than its placement names",
            text,
        ))
    }

    /// Finds a copy on a cluster that the workload is not scheduled to.
    fn left_behind(&self) -> Option<Cause> {
        let clusters = self.clusters();
        let (id, copy) = self.copies().find(|(id, _)| !clusters.contains(&id.cluster.as_str()))?;
        let (kind, name, cluster) = (&id.kind, &id.name, &id.cluster);
        let held: Vec<&str> = list(copy, "/metadata/finalizers")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        if text(copy, "/metadata/deletionTimestamp").is_none() {
            let text = format!(
                "{kind} {name} on {cluster} is not deleted, though {} is not scheduled to {cluster}",
                self.in_words()
            );
            return Some(Cause::new("a copy is not deleted", text));
        }
        let held = if held.is_empty() {
            "nothing".to_owned()
        } else {
            held.join(", ")
        };
        let text = format!("{kind} {name} on {cluster} is being deleted; its finalizers: {held}");
        Some(Cause::new("a copy is being deleted", text))
    }

    fn without_copy(&self) -> Option<Cause> {
        let clusters = self.clusters();
        let without = clusters.iter().find(|name| self.copy_on(name).is_none())?;
        let text = format!(
            "{} is scheduled to {without}, but there is no {} {} on {without}",
            self.in_words(),
            self.workload.kind,
            self.workload.name
        );
        Some(Cause::new("a cluster of `spec.clusters` lacks its copy", text))
    }

    /// Finds a copy whose status is not in the binding.
    fn not_collected(&self) -> Option<Cause> {
        let clusters = self.clusters();
        let not_collected = clusters.iter().find(|name| {
            let has_status = self.copy_on(name).is_some_and(|copy| !has_no_members(&copy["status"]));
            has_status && self.collected(name).is_none_or(|item| has_no_members(&item["status"]))
        })?;
        let text = format!(
            "{} has no status of {} {} on {not_collected}, which has one there",
            self.in_words(),
            self.workload.kind,
            self.workload.name
        );
        Some(Cause::new("the status of a copy is not in its binding", text))
    }

    /// Finds a collected status without a health.
    fn without_health(&self) -> Option<Cause> {
        let clusters = self.clusters();
        let without = clusters.iter().find(|name| {
            let item = self.collected(name);
            item.is_some_and(|item| item["health"].as_str().is_none_or(|health| health != "Healthy"))
        })?;
        let health = self.collected(without).and_then(|item| item["health"].as_str());
        if health == Some("Unhealthy") && !self.binding["spec"]["failover"]["application"].is_null() {
            let text = format!(
                "{} says of {} {} on {without}: health Unhealthy, and it is still scheduled to {without}",
                self.in_words(),
                self.workload.kind,
                self.workload.name
            );
            return Some(Cause::new("a workload stays on a cluster where it is Unhealthy", text));
        }
        let text = format!(
            "{} says of {} {} on {without}: health {}",
            self.in_words(),
            self.workload.kind,
            self.workload.name,
            health.unwrap_or("is not set")
        );
        Some(Cause::new(
            format!("the health of a {} is not Healthy", self.workload.kind),
            text,
        ))
    }

    fn task_remains(&self) -> Option<Cause> {
        let task = list(self.binding, "/spec/gracefulEvictionTasks").first()?;
        let from = task["fromCluster"].as_str().unwrap_or("nowhere");
        let text = format!("{} still has the eviction task from {from}", self.in_words());
        Some(Cause::new("an eviction task remains", text))
    }
}

/// Returns the taints of a member that keep workloads away: key and effect.
fn taints<'w>(world: &'w World, member: &str) -> impl Iterator<Item = (&'w str, &'w str)> {
    let mut clusters = world.objects().filter(|(id, _)| id.kind == "Cluster");
    let cluster = clusters.find(|(id, _)| id.name == member).map(|(_, it)| &**it);
    let taints = cluster.map(|it| list(it, "/spec/taints")).unwrap_or_default().iter();
    let pairs = taints.filter_map(|taint| Some((taint["key"].as_str()?, taint["effect"].as_str()?)));
    pairs.filter(|(_, effect)| matches!(*effect, "NoSchedule" | "NoExecute"))
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use serde_json::json;

    use super::*;
    use crate::{
        names::ClusterName,
        timeline::{Change, Entry, Event, Revision},
    };

    const BINDING: &str = "ResourceBinding";

    /// Returns the text of the missing stage, for objects with the names of their clusters; the namespace of all is
    /// `default`.
    fn missing(objects: &[(&str, &str, Value)]) -> Option<String> {
        let entries = (1..).zip(objects).map(|(seq, (cluster, kind, object))| {
            let mut object = object.clone();
            object["metadata"]["namespace"] = json!("default");
            Entry {
                at: Duration::ZERO,
                seq,
                event: Event::Revision(Revision {
                    cluster: ClusterName::new(*cluster),
                    kind: (*kind).to_owned(),
                    change: Change::Added,
                    object: Arc::new(object),
                    by: None,
                }),
            }
        });
        let entries: Vec<Entry> = entries.collect();
        first_missing(&World::after(&entries)).map(|cause| cause.text)
    }

    fn binding(clusters: &Value, rest: &Value) -> Value {
        let resource = json!({"kind": "Job", "namespace": "default", "name": "job"});
        let mut binding = json!({"metadata": {"name": "b"}, "spec": {"resource": resource, "clusters": clusters}});
        for (key, value) in rest.as_object().unwrap() {
            binding["spec"][key] = value.clone();
        }
        binding
    }

    fn collected(item: &Value) -> Value {
        let mut binding = binding(&json!([{"name": "member1"}]), &json!({}));
        binding["status"] = json!({"aggregatedStatus": [item]});
        binding
    }

    fn copy(status: &Value) -> Value {
        json!({"metadata": {"name": "job"}, "status": status})
    }

    #[test]
    fn the_first_stage_that_is_missing_is_the_cause() {
        let nothing = json!({});
        let here = json!([{"name": "member1"}]);
        let scheduled = binding(&here, &nothing);
        let running = copy(&json!({"active": 1}));
        let with_health =
            |health: &str| collected(&json!({"clusterName": "member1", "status": {"active": 1}, "health": health}));
        let control = |binding: &Value| ("control", BINDING, binding.clone());
        let on = |cluster: &'static str, copy: &Value| (cluster, "Job", copy.clone());
        let found = [
            missing(&[control(&binding(&json!([]), &nothing))]),
            missing(&[control(&scheduled)]),
            missing(&[control(&scheduled), on("member1", &running)]),
            missing(&[control(&with_health("Unknown")), on("member1", &running)]),
            missing(&[
                control(&with_health("Healthy")),
                on("member1", &running),
                on("member2", &running),
            ]),
            missing(&[control(&with_health("Healthy")), on("member1", &running)]),
        ];
        assert_eq!(
            found.map(Option::unwrap_or_default),
            [
                "ResourceBinding b has no cluster in `spec.clusters`",
                "ResourceBinding b is scheduled to member1, but there is no Job job on member1",
                "ResourceBinding b has no status of Job job on member1, which has one there",
                "ResourceBinding b says of Job job on member1: health Unknown",
                "Job job on member2 is not deleted, though ResourceBinding b is not scheduled to member2",
                "",
            ]
        );
    }

    #[test]
    fn an_eviction_that_does_not_begin_or_does_not_end_is_a_cause() {
        let taints = json!([{"key": "baton.dev/failed", "effect": "NoExecute"}]);
        let member = (
            "control",
            "Cluster",
            json!({"metadata": {"name": "member1"}, "spec": {"taints": taints}}),
        );
        let here = json!([{"name": "member1"}]);
        let stays = missing(&[("control", BINDING, binding(&here, &json!({}))), member.clone()]);
        let told = "member1 has the taint baton.dev/failed:NoExecute, and ResourceBinding b is still scheduled to it";
        assert_eq!(stays.as_deref(), Some(told));
        let tasks = json!({"gracefulEvictionTasks": [{"fromCluster": "member1"}]});
        let evicted = missing(&[("control", BINDING, binding(&json!([]), &tasks)), member]);
        let told = "ResourceBinding b has no cluster in `spec.clusters` after its eviction from member1";
        assert_eq!(evicted.as_deref(), Some(told));
        let running = ("member2", "Job", copy(&json!({})));
        let moved = missing(&[
            ("control", BINDING, binding(&json!([{"name": "member2"}]), &tasks)),
            running,
        ]);
        assert_eq!(
            moved.as_deref(),
            Some("ResourceBinding b still has the eviction task from member1")
        );
    }

    #[test]
    fn a_placement_on_fewer_clusters_and_a_changed_policy_are_causes() {
        let names = json!({"clusterAffinity": {"clusterNames": ["member1", "member2"]}});
        let here = json!([{"name": "member1"}]);
        let fewer = binding(&here, &json!({"placement": names}));
        let told = "ResourceBinding b is scheduled to member1: its placement names member2, too, and has no `spreadConstraints`";
        assert_eq!(missing(&[("control", BINDING, fewer.clone())]).as_deref(), Some(told));
        let selectors = json!([{"kind": "Job", "name": "job"}]);
        let policy =
            json!({"metadata": {"name": "p"}, "spec": {"resourceSelectors": selectors, "failover": {"cluster": {}}}});
        let taints = json!([{"key": "baton.dev/failed", "effect": "NoExecute"}]);
        let failed = json!({"metadata": {"name": "member1"}, "spec": {"taints": taints}});
        let mut objects = vec![
            ("control", "PropagationPolicy", policy),
            ("control", "Job", copy(&json!({}))),
            ("member1", "Job", copy(&json!({}))),
            ("control", BINDING, fewer),
        ];
        // Before a cluster fails, it is not the failover behavior that is missing.
        assert_eq!(missing(&objects).as_deref(), Some(told));
        objects.push(("control", "Cluster", failed));
        let told =
            "`spec.failover` of ResourceBinding b is not that of PropagationPolicy p, which selects its workload";
        assert_eq!(missing(&objects).as_deref(), Some(told));
    }
}
