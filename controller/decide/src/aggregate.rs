//! Aggregates the status and health that members report into Works and bindings.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::api::work::{ManifestStatus, ResourceIdentifier};
use crate::api::{AggregatedStatusItem, Binding, BindingStatus, ResourceHealth, Work, WorkStatus};
use crate::conditions::{self, ConditionUpdate};
use crate::keys;

/// An object as observed on a member.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The object.
    pub object: &'a Value,
    /// Plural name of the resource, such as `deployments`.
    pub resource: &'a str,
    /// Health of the object.
    pub health: ResourceHealth,
}

/// Returns the status of a Work whose object exists on the member or is known to be absent.
pub fn work_status(work: &Work, seen: Option<Seen<'_>>, now: Timestamp) -> WorkStatus {
    let mut status = work.status.clone();
    let earlier = work.status.manifest_statuses.first();
    let seen = seen.zip(keys::member_object(work)).map(|(seen, target)| {
        let collected = seen
            .object
            .get("status")
            .filter(|status| status.as_object().is_none_or(|fields| !fields.is_empty()));
        ManifestStatus {
            identifier: ResourceIdentifier {
                ordinal: 0,
                group: target.gvk.group,
                version: target.gvk.version,
                kind: target.gvk.kind,
                resource: seen.resource.to_owned(),
                namespace: target.key.namespace.unwrap_or_default(),
                name: target.key.name,
            },
            status: collected.cloned(),
            health: seen.health,
            first_collected: earlier
                .and_then(|earlier| earlier.first_collected)
                .or_else(|| collected.map(|_| now)),
        }
    });
    status.manifest_statuses = seen.into_iter().collect();
    status
}

/// Returns the status of a binding: what its Works report, by cluster (POL-07), and whether all of them are applied.
/// Other conditions are kept.
pub fn binding_status(binding: &Binding, works: &BTreeMap<String, Arc<Work>>, now: Timestamp) -> BindingStatus {
    let mut status = binding.status.clone();
    status.aggregated_status = works
        .iter()
        .map(|(cluster, work)| item(binding, cluster, work, now))
        .collect();
    let not_applied: Vec<&str> = binding
        .spec
        .clusters
        .iter()
        .filter(|target| {
            !status
                .aggregated_status
                .iter()
                .any(|item| item.cluster_name == target.name && item.applied)
        })
        .map(|target| target.name.as_str())
        .collect();
    let update = if binding.spec.clusters.is_empty() {
        ConditionUpdate::no("NotScheduled", "no cluster is chosen")
    } else if not_applied.is_empty() {
        ConditionUpdate::yes("FullyAppliedSuccess", "all works have been applied")
    } else {
        ConditionUpdate::no(
            "FullyAppliedFailed",
            format!("not applied yet on {}", not_applied.join(", ")),
        )
    };
    conditions::set(&mut status.conditions, conditions::FULLY_APPLIED, update, now);
    note_unhealthy(&mut status, binding);
    status
}

fn item(binding: &Binding, cluster: &str, work: &Work, now: Timestamp) -> AggregatedStatusItem {
    let earlier = binding
        .status
        .aggregated_status
        .iter()
        .find(|item| item.cluster_name == cluster);
    let seen = work.status.manifest_statuses.first();
    let applied = conditions::get(&work.status.conditions, conditions::APPLIED);
    let is_applied = applied.is_some_and(|condition| condition.status == "True");
    let health = seen.map_or(ResourceHealth::Unknown, |seen| seen.health);
    let was_settled = earlier.and_then(|earlier| earlier.settled) == Some(true);
    AggregatedStatusItem {
        cluster_name: cluster.to_owned(),
        status: seen.and_then(|seen| seen.status.clone()),
        applied: is_applied,
        applied_message: applied
            .filter(|_| !is_applied)
            .map(|condition| condition.message.clone()),
        settled: (was_settled || health == ResourceHealth::Healthy).then_some(true),
        health,
        unhealthy_since: unhealthy_since(binding, cluster, health, now),
        creation_timestamp: seen.and_then(|seen| seen.first_collected),
    }
}

/// Returns the start of the unhealthy period. Unknown health neither starts nor ends it (APP-03, APP-04).
fn unhealthy_since(binding: &Binding, cluster: &str, health: ResourceHealth, now: Timestamp) -> Option<Timestamp> {
    let since = not_healthy_since(&binding.status, cluster);
    match health {
        ResourceHealth::Healthy => None,
        ResourceHealth::Unhealthy => since.or(Some(now)),
        ResourceHealth::Unknown => since,
    }
}

/// Returns the time at which the copy on a cluster stopped being healthy. If the binding's definition lacks the field
/// for it, the condition holds it.
pub fn not_healthy_since(status: &BindingStatus, cluster: &str) -> Option<Timestamp> {
    let mut items = status.aggregated_status.iter();
    let item = items.find(|item| item.cluster_name == cluster);
    let condition = || conditions::get(&status.conditions, &conditions::unhealthy_on(cluster));
    item.and_then(|item| item.unhealthy_since)
        .or_else(|| condition().map(|it| it.last_transition_time.0))
}

/// Records for each unhealthy copy when it stopped being healthy, if failover depends on it.
fn note_unhealthy(status: &mut BindingStatus, binding: &Binding) {
    let behavior = binding.spec.failover.as_ref();
    let counts = behavior.is_some_and(|behavior| behavior.application.is_some());
    let items = status.aggregated_status.iter().filter(|_| counts);
    let unhealthy: BTreeMap<String, (String, Timestamp)> = items
        .filter_map(|item| {
            let message = format!("not healthy on {}", item.cluster_name);
            Some((
                conditions::unhealthy_on(&item.cluster_name),
                (message, item.unhealthy_since?),
            ))
        })
        .collect();
    status
        .conditions
        .retain(|it| !it.type_.starts_with(conditions::UNHEALTHY_ON) || unhealthy.contains_key(&it.type_));
    for (condition, (message, since)) in unhealthy {
        let update = ConditionUpdate::yes("Unhealthy", message);
        conditions::set(&mut status.conditions, &condition, update, since);
    }
}

/// Returns the status last collected from a cluster, if any (STP-01, STP-10).
pub fn collected<'a>(status: &'a BindingStatus, cluster: &str) -> Option<&'a Value> {
    status
        .aggregated_status
        .iter()
        .find(|item| item.cluster_name == cluster)?
        .status
        .as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, binding};
    use serde_json::json;

    fn deployment(object: &Value) -> Seen<'_> {
        Seen {
            object,
            resource: "deployments",
            health: crate::health::of(object),
        }
    }

    fn work(status: &Value) -> Work {
        serde_json::from_value(json!({
            "metadata": {"name": "deploy-1", "namespace": "karmada-es-member1"},
            "spec": {"workload": {"manifests": [{"apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "deploy", "namespace": "ns"}}]}},
            "status": status
        }))
        .unwrap()
    }

    #[test]
    fn the_whole_status_is_collected_and_the_first_time_remembered() {
        let object = json!({"kind": "Deployment", "metadata": {"generation": 1}, "spec": {"replicas": 1},
            "status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1, "odd": {"x": 1}}});
        let mut work = work(&json!({}));
        work.status = work_status(&work, Some(deployment(&object)), at(1));
        let seen = &work.status.manifest_statuses[0];
        assert_eq!(
            (seen.status.as_ref(), seen.health),
            (object.get("status"), ResourceHealth::Healthy)
        );
        assert_eq!(work_status(&work, Some(deployment(&object)), at(2)), work.status);
        assert_eq!(work_status(&work, None, at(2)).manifest_statuses, []);
    }

    #[test]
    fn an_empty_status_is_none() {
        let object = json!({"kind": "Deployment", "spec": {}, "status": {}});
        let status = work_status(&work(&json!({})), Some(deployment(&object)), at(1));
        assert_eq!(
            (
                status.manifest_statuses[0].status.as_ref(),
                status.manifest_statuses[0].first_collected
            ),
            (None, None)
        );
    }

    #[test]
    fn the_binding_has_it_by_cluster_and_remembers_that_it_was_healthy() {
        let applied = json!({"type": "Applied", "status": "True", "reason": "r", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let report = |health: &str| {
            let seen = json!({"identifier": {"ordinal": 0, "version": "v1", "kind": "D", "name": "d"},
                "status": {"replicas": 1}, "health": health});
            BTreeMap::from([(
                "member1".to_owned(),
                Arc::new(work(
                    &json!({"conditions": [applied.clone()], "manifestStatuses": [seen]}),
                )),
            )])
        };
        let mut binding = binding(&json!({"clusters": [{"name": "member1"}]}));
        binding.status = binding_status(&binding, &report("Healthy"), at(0));
        assert_eq!(collected(&binding.status, "member1"), Some(&json!({"replicas": 1})));
        assert_eq!(collected(&binding.status, "member2"), None);
        assert_eq!(
            conditions::status(&binding.status.conditions, "FullyApplied"),
            Some("True")
        );
        binding.status = binding_status(&binding, &report("Unhealthy"), at(1));
        assert_eq!(binding.status.aggregated_status[0].settled, Some(true));
        binding.status = binding_status(&binding, &BTreeMap::new(), at(2));
        assert_eq!(
            conditions::status(&binding.status.conditions, "FullyApplied"),
            Some("False")
        );
    }
    #[test]
    fn the_time_without_health_outlives_a_definition_that_drops_its_field() {
        let applied = json!({"type": "Applied", "status": "True", "reason": "r", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let seen = |health: &str| {
            let seen = json!({"identifier": {"ordinal": 0, "version": "v1", "kind": "D", "name": "d"},
                "health": health});
            let status = json!({"conditions": [applied.clone()], "manifestStatuses": [seen]});
            BTreeMap::from([("member1".to_owned(), Arc::new(work(&status)))])
        };
        let mut binding = binding(&json!({
            "clusters": [{"name": "member1"}],
            "failover": {"application": {"decisionConditions": {}}},
        }));
        let mut since = |health: &str, seconds: i64| {
            binding.status = binding_status(&binding, &seen(health), at(seconds));
            binding.status.aggregated_status[0].unhealthy_since = None;
            not_healthy_since(&binding.status, "member1")
        };
        assert_eq!(since("Unhealthy", 1), Some(at(1)));
        assert_eq!(since("Unknown", 2), Some(at(1)));
        assert_eq!(since("Unhealthy", 3), Some(at(1)));
        assert_eq!(since("Healthy", 4), None);
        assert_eq!(since("Unhealthy", 5), Some(at(5)));
    }
}
