//! The kind Cluster for implementations whose definitions lack it, because an aggregated API server of theirs serves it:
//! it takes every field, and taints get the time at which they were added.

use std::{net::Ipv4Addr, sync::Arc};

use baton_apiserver::test_webhook::{Review, Said, Webhook};
use jiff::{Timestamp, TimestampRound, Unit};
use kube::Client;
use serde_json::{Value, json};

use super::{FleetError, register::failover_api};
use crate::{actions, clock::Clock};

const NAME: &str = "clusters.cluster.karmada.io";

/// The definition of Cluster, if these lack it.
pub(super) fn if_missing(definitions: &[Value]) -> Result<Option<Value>, FleetError> {
    // Without any, nothing of the failover API is to be there.
    if definitions.is_empty() || definitions.iter().any(|it| it["metadata"]["name"] == NAME) {
        return Ok(None);
    }
    let own = failover_api()?.into_iter().find(|it| it["metadata"]["name"] == NAME);
    Ok(own.map(with_all_fields))
}

/// What an implementation writes there is its own affair: nothing of it is dropped.
fn with_all_fields(mut definition: Value) -> Value {
    let versions = definition["spec"]["versions"].as_array_mut();
    for version in versions.into_iter().flatten() {
        for part in ["spec", "status"] {
            version["schema"]["openAPIV3Schema"]["properties"][part] =
                json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        }
    }
    definition
}

/// Gives `NoExecute` taints of Clusters the time at which they were added, as long as what is returned lives.
pub(super) async fn date_taints(client: &Client, clock: &Clock) -> Result<Webhook, FleetError> {
    let clock = Arc::clone(clock);
    let review: Review = Arc::new(move |write: &Value| match dates(&write["object"], clock()) {
        operations if operations.is_empty() => Said::Allowed,
        operations => Said::Patched(operations),
    });
    let webhook = Webhook::serve(Ipv4Addr::LOCALHOST.into(), review).await;
    let webhook = webhook.map_err(|source| FleetError::Io {
        what: "listening for writes of Clusters".to_owned(),
        source,
    })?;
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "cluster-api.baton.dev"},
        "webhooks": [{
            "name": "cluster-api.baton.dev",
            "clientConfig": webhook.client_config(),
            "rules": [{
                "apiGroups": ["cluster.karmada.io"],
                "apiVersions": ["*"],
                "operations": ["CREATE", "UPDATE"],
                "resources": ["clusters"],
            }],
            "sideEffects": "None",
            "failurePolicy": "Fail",
            "admissionReviewVersions": ["v1"],
        }],
    });
    let applied = actions::apply(client, &configuration, "default").await;
    applied.map_err(FleetError::ClusterApi)?;
    Ok(webhook)
}

fn dates(cluster: &Value, now: Timestamp) -> Vec<Value> {
    let seconds = now.round(
        TimestampRound::new()
            .smallest(Unit::Second)
            .mode(jiff::RoundMode::Trunc),
    );
    let now = seconds.unwrap_or(now).to_string();
    let taints = cluster["spec"]["taints"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let undated = taints
        .iter()
        .enumerate()
        .filter(|(_, taint)| taint["effect"] == "NoExecute" && taint["timeAdded"].is_null());
    undated
        .map(|(index, _)| json!({"op": "add", "path": format!("/spec/taints/{index}/timeAdded"), "value": now}))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taints_without_a_time_get_one_in_whole_seconds() {
        let now: Timestamp = "2026-01-02T03:04:05.678Z".parse().unwrap();
        let cluster = json!({"spec": {"taints": [
            {"key": "a", "effect": "NoExecute", "timeAdded": "2025-01-01T00:00:00Z"},
            {"key": "b", "effect": "NoExecute"},
            {"key": "c", "effect": "NoSchedule"},
        ]}});
        let dated = json!({"op": "add", "path": "/spec/taints/1/timeAdded", "value": "2026-01-02T03:04:05Z"});
        assert_eq!(dates(&cluster, now), [dated]);
        assert!(dates(&json!({}), now).is_empty());
    }

    #[test]
    fn the_kind_is_added_where_it_is_missing() {
        let all = failover_api().unwrap();
        assert!(if_missing(&all).unwrap().is_none());
        let others: Vec<_> = all.into_iter().filter(|it| it["metadata"]["name"] != NAME).collect();
        let added = if_missing(&others).unwrap().unwrap();
        assert!(if_missing(&[]).unwrap().is_none());
        let schema = &added["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
        assert_eq!(schema["status"]["x-kubernetes-preserve-unknown-fields"], true);
    }
}
