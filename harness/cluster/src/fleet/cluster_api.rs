//! The kind Cluster for implementations whose definitions lack it, because an aggregated API server of theirs serves it:
//! it takes every field, and taints get the time at which they were added.

use std::{collections::BTreeMap, io, net::IpAddr, sync::Arc};

use baton_apiserver::test_webhook::{Answer, Review, Webhook};
use jiff::{Timestamp, TimestampRound, Unit};
use kube::Client;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use super::{FleetError, register::failover_api};
use crate::{actions, clock::Clock};

/// The definition of Cluster.
pub(super) const NAME: &str = "clusters.cluster.karmada.io";

/// The configuration by which control planes call what dates taints.
pub(super) const WEBHOOK: &str = "cluster-api.baton.dev";

/// The definition of Cluster, if these lack it.
pub(super) fn if_missing(definitions: &[Value]) -> Result<Option<Value>, FleetError> {
    // Without any, nothing of the failover API is to be there.
    if definitions.is_empty() || definitions.iter().any(|it| it["metadata"]["name"] == NAME) {
        return Ok(None);
    }
    let own = failover_api()?.iter().find(|it| it["metadata"]["name"] == NAME);
    Ok(own.cloned().map(with_all_fields))
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

/// Gives `NoExecute` taints of Clusters the time at which they were added, until it is dropped.
#[derive(Debug)]
pub(super) struct Dating {
    /// None once it has stopped.
    webhook: Option<Webhook>,
    /// Where it runs, if not where it was made. None once it has ended.
    runtime: Option<Runtime>,
}

impl Drop for Dating {
    fn drop(&mut self) {
        // To drop a runtime is to wait for it, which panics on a thread that drives another one.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Dating {
    /// Begins to listen, on an address of this machine that the control plane reaches.
    pub(super) async fn serve(clock: &Clock, address: IpAddr) -> Result<Self, FleetError> {
        let webhook = Webhook::serve(address, review(clock)).await;
        Ok(Self {
            webhook: Some(webhook.map_err(cannot_listen)?),
            runtime: None,
        })
    }

    /// The same on a runtime of its own, for clusters that outlive the runtimes of cases.
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

    /// Makes a control plane call it.
    pub(super) async fn register(&self, client: &Client, labels: &BTreeMap<String, String>) -> Result<(), FleetError> {
        let Some(webhook) = &self.webhook else { return Ok(()) };
        let applied = actions::apply(client, &configuration(webhook, labels), "default").await;
        applied.map_err(FleetError::ClusterApi)?;
        Ok(())
    }

    /// Stops listening. Remove its configuration first: the control plane refuses writes of Clusters without an answer.
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
