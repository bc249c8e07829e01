//! Test fixtures.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::api::{Binding, Cluster};

/// Returns ready clusters by name, with these taints.
pub fn clusters(all: &[(&str, Value)]) -> BTreeMap<String, Arc<Cluster>> {
    all.iter()
        .map(|(name, taints)| ((*name).to_owned(), Arc::new(cluster(name, taints))))
        .collect()
}

/// Returns a ready cluster with these taints.
pub fn cluster(name: &str, taints: &Value) -> Cluster {
    serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {"taints": taints},
        "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Ready", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
    }))
    .unwrap()
}

/// Returns a `NoExecute` taint that is not tolerated.
pub fn no_execute() -> Value {
    json!([{"key": "down", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}])
}

/// Returns a binding of Deployment `ns/deploy` to one of `member1` to `member3`, under `Directly`; `over` is merged
/// into its spec.
pub fn binding(over: &Value) -> Binding {
    let mut spec = json!({
        "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "ns", "name": "deploy"},
        "replicas": 2,
        "placement": {
            "clusterAffinity": {"clusterNames": ["member1", "member2", "member3"]},
            "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]
        },
        "failover": {"cluster": {"purgeMode": "Directly"}}
    });
    for (key, value) in over.as_object().unwrap() {
        spec[key] = value.clone();
    }
    serde_json::from_value(json!({"metadata": {"name": "deploy-deployment", "namespace": "ns"}, "spec": spec})).unwrap()
}

/// Returns the time this many seconds after the epoch.
pub fn at(second: i64) -> jiff::Timestamp {
    "2026-01-01T00:00:00Z".parse::<jiff::Timestamp>().unwrap() + jiff::SignedDuration::from_secs(second)
}
