//! What the members report comes back to Work and binding.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::api::work::{ManifestStatus, ResourceIdentifier};
use crate::api::{AggregatedStatusItem, Binding, BindingStatus, ResourceHealth, Work, WorkStatus};
use crate::conditions::{self, ConditionUpdate};
use crate::health;
use crate::keys;

/// An object as it was seen on a member.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The object.
    pub object: &'a Value,
    /// The resource that its kind is served as, such as `deployments`.
    pub resource: &'a str,
}

/// The status of a Work whose object was seen on the member, or was seen to be absent.
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
            health: health::of(seen.object),
            first_collected: earlier
                .and_then(|earlier| earlier.first_collected)
                .or_else(|| collected.map(|_| now)),
        }
    });
    status.manifest_statuses = seen.into_iter().collect();
    status
}

/// The status of a binding: what its Works report, by cluster (POL-07), and whether all are applied. Other conditions
/// stay as they are.
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
        unhealthy_since: unhealthy_since(earlier, health, now),
        creation_timestamp: seen.and_then(|seen| seen.first_collected),
    }
}

/// Health that is not known neither starts nor stops the time (APP-03, APP-04).
fn unhealthy_since(
    earlier: Option<&AggregatedStatusItem>,
    health: ResourceHealth,
    now: Timestamp,
) -> Option<Timestamp> {
    let since = earlier.and_then(|earlier| earlier.unhealthy_since);
    match health {
        ResourceHealth::Healthy => None,
        ResourceHealth::Unhealthy => since.or(Some(now)),
        ResourceHealth::Unknown => since,
    }
}

/// The status last collected from a cluster, if any was (STP-01, STP-10).
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
}
