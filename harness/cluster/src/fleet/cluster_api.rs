//! The kind Cluster for implementations that serve it from an aggregated API server and so have no definition of it: a
//! definition that accepts every field, and a webhook that sets the time at which taints were added.

use std::{collections::BTreeMap, io, net::IpAddr, sync::Arc};

use baton_apiserver::test_webhook::{Answer, Review, Webhook};
use jiff::{Timestamp, TimestampRound, Unit};
use kube::Client;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use super::{FleetError, register::failover_api};
use crate::{actions, clock::Clock};

/// Name of the definition of Cluster.
pub(super) const NAME: &str = "clusters.cluster.karmada.io";

/// Name of the webhook configuration that sets the time of taints.
pub(super) const WEBHOOK: &str = "cluster-api.baton.dev";

/// Returns a definition of Cluster, if `definitions` has none.
pub(super) fn if_missing(definitions: &[Value]) -> Result<Option<Value>, FleetError> {
    // An empty list means a control plane without the failover API.
    if definitions.is_empty() || definitions.iter().any(|it| it["metadata"]["name"] == NAME) {
        return Ok(None);
    }
    let own = failover_api()?.iter().find(|it| it["metadata"]["name"] == NAME);
    Ok(own.cloned().map(with_all_fields))
}

/// Keeps all fields: an implementation may write fields that the bundled definition does not have.
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

/// Webhook that sets `timeAdded` of `NoExecute` taints of Clusters. Stops when dropped.
#[derive(Debug)]
pub(super) struct Dating {
    /// `None` once it has stopped.
    webhook: Option<Webhook>,
    /// The runtime of the webhook, if it has a separate one. `None` once it has ended.
    runtime: Option<Runtime>,
}

impl Drop for Dating {
    fn drop(&mut self) {
        // Dropping a runtime waits for it, and panics on a thread that drives another runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Dating {
    /// Listens on an address of this machine that the control plane reaches.
    pub(super) async fn serve(clock: &Clock, address: IpAddr) -> Result<Self, FleetError> {
        let webhook = Webhook::serve(address, review(clock)).await;
        Ok(Self {
            webhook: Some(webhook.map_err(cannot_listen)?),
            runtime: None,
        })
    }

    /// Listens on a separate runtime, for clusters that outlive the runtimes of cases.
    pub(super) fn serve_apart(clock: &Clock, address: IpAddr) -> Result<Self, FleetError> {
        let review = review(clock);
        // `block_on` panics on a thread that drives another runtime.
        let started = std::thread::spawn(move || {
            let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
            let webhook = runtime.block_on(Webhook::serve(address, review))?;
            Ok((webhook, runtime))
        });
        let started = started.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let (webhook, runtime) = started.map_err(cannot_listen)?;
        Ok(Self {
            webhook: Some(webhook),
            runtime: Some(runtime),
        })
    }

    /// Registers the webhook with a control plane.
    pub(super) async fn register(&self, client: &Client, labels: &BTreeMap<String, String>) -> Result<(), FleetError> {
        let Some(webhook) = &self.webhook else { return Ok(()) };
        let applied = actions::apply(client, &configuration(webhook, labels), "default").await;
        applied.map_err(FleetError::ClusterApi)?;
        Ok(())
    }

    /// Stops listening. Remove the configuration first: without an answer, the control plane refuses writes of
    /// Clusters.
    pub(super) async fn stop(mut self) {
        if let Some(webhook) = self.webhook.take() {
            webhook.stop().await;
        }
    }
}

fn review(clock: &Clock) -> Review {
    let clock = Arc::clone(clock);
    Arc::new(move |write: &Value| match dates(&write["object"], clock()) {
        operations if operations.is_empty() => Answer::Allowed,
        operations => Answer::Patched(operations),
    })
}

fn cannot_listen(source: io::Error) -> FleetError {
    FleetError::Io {
        what: "listening for writes of Clusters".to_owned(),
        source,
    }
}

fn configuration(webhook: &Webhook, labels: &BTreeMap<String, String>) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": WEBHOOK, "labels": labels},
        "webhooks": [{
            "name": WEBHOOK,
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
    })
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
        assert!(if_missing(all).unwrap().is_none());
        let others: Vec<_> = all
            .iter()
            .filter(|it| it["metadata"]["name"] != NAME)
            .cloned()
            .collect();
        let added = if_missing(&others).unwrap().unwrap();
        assert!(if_missing(&[]).unwrap().is_none());
        let schema = &added["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
        assert_eq!(schema["status"]["x-kubernetes-preserve-unknown-fields"], true);
    }
}
