//! Determines the health of an object by its kind (APP-10).

use serde_json::Value;

use crate::api::ResourceHealth::{self, Healthy, Unhealthy, Unknown};

/// Returns the health of a member object. Without a status the health is unknown, except for kinds without a status.
pub fn of(object: &Value) -> ResourceHealth {
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    let status = object
        .get("status")
        .filter(|status| status.as_object().is_none_or(|fields| !fields.is_empty()));
    let Some(status) = status else {
        return if object.get("spec").is_some() { Unknown } else { Healthy };
    };
    let object = Object { object, status };
    match kind {
        "Deployment" | "StatefulSet" | "ReplicaSet" | "ReplicationController" => object.replicated(kind),
        "DaemonSet" => object.daemon_set(),
        "Job" => object.job(),
        "Pod" => object.pod(),
        "FlinkDeployment" => object.flink(),
        _ => object.by_conditions(),
    }
}

struct Object<'a> {
    object: &'a Value,
    status: &'a Value,
}

impl Object<'_> {
    fn number(&self, field: &str) -> i64 {
        self.status.get(field).and_then(Value::as_i64).unwrap_or(0)
    }

    /// Returns true if the status describes the current spec; `None` if the kind's controller has not reported yet.
    fn is_observed(&self) -> Option<bool> {
        let observed = self.status.get("observedGeneration").and_then(Value::as_i64)?;
        let generation = self.object.pointer("/metadata/generation").and_then(Value::as_i64);
        Some(generation.is_none_or(|generation| observed >= generation))
    }

    fn replicated(&self, kind: &str) -> ResourceHealth {
        let wanted = self
            .object
            .pointer("/spec/replicas")
            .and_then(Value::as_i64)
            .unwrap_or(1);
        let is_updated = match kind {
            "Deployment" | "StatefulSet" => self.number("updatedReplicas") >= wanted,
            _ => true,
        };
        // A StatefulSet without `minReadySeconds` may report ready replicas alone.
        let available = self.number("availableReplicas").max(if kind == "StatefulSet" {
            self.number("readyReplicas")
        } else {
            0
        });
        match self.is_observed() {
            None => Unknown,
            Some(true) if is_updated && available >= wanted => Healthy,
            Some(_) => Unhealthy,
        }
    }

    fn daemon_set(&self) -> ResourceHealth {
        let wanted = self.number("desiredNumberScheduled");
        match self.is_observed() {
            None => Unknown,
            Some(true)
                if self.number("updatedNumberScheduled") >= wanted && self.number("numberAvailable") >= wanted =>
            {
                Healthy
            }
            Some(_) => Unhealthy,
        }
    }

    fn job(&self) -> ResourceHealth {
        if self.condition("Failed") == Some("True") {
            return Unhealthy;
        }
        let runs =
            self.condition("Complete") == Some("True") || self.number("active") > 0 || self.number("succeeded") > 0;
        if runs { Healthy } else { Unknown }
    }

    fn pod(&self) -> ResourceHealth {
        match self.status.get("phase").and_then(Value::as_str) {
            Some("Succeeded") => Healthy,
            Some("Running") if self.condition("Ready") == Some("True") => Healthy,
            Some("Running" | "Pending" | "Failed") => Unhealthy,
            _ => Unknown,
        }
    }

    fn flink(&self) -> ResourceHealth {
        match self.status.pointer("/jobStatus/state").and_then(Value::as_str) {
            Some("RUNNING" | "FINISHED") => Healthy,
            Some(_) => Unhealthy,
            None => Unknown,
        }
    }

    /// Returns the health of kinds without a specific rule: from their conditions, and healthy if these do not show it.
    fn by_conditions(&self) -> ResourceHealth {
        for type_ in ["Ready", "Available", "Healthy"] {
            match self.condition(type_) {
                Some("True") => return Healthy,
                Some("False") => return Unhealthy,
                Some(_) => return Unknown,
                None => {}
            }
        }
        match self.is_observed() {
            Some(false) => Unknown,
            Some(true) | None => Healthy,
        }
    }

    fn condition(&self, type_: &str) -> Option<&str> {
        let conditions = self.status.get("conditions")?.as_array()?;
        conditions
            .iter()
            .find(|one| one.get("type").and_then(Value::as_str) == Some(type_))?
            .get("status")?
            .as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn health_per_kind() {
        let condition = |type_: &str, status: &str| json!([{"type": type_, "status": status}]);
        for (kind, status, expected) in [
            ("Deployment", json!({}), Unknown),
            ("Deployment", json!({"replicas": 2}), Unknown),
            (
                "Deployment",
                json!({"observedGeneration": 1, "updatedReplicas": 2, "availableReplicas": 2}),
                Healthy,
            ),
            (
                "Deployment",
                json!({"observedGeneration": 1, "updatedReplicas": 2}),
                Unhealthy,
            ),
            (
                "Deployment",
                json!({"observedGeneration": 0, "updatedReplicas": 2, "availableReplicas": 2}),
                Unhealthy,
            ),
            (
                "StatefulSet",
                json!({"observedGeneration": 1, "updatedReplicas": 2, "readyReplicas": 2}),
                Healthy,
            ),
            (
                "StatefulSet",
                json!({"observedGeneration": 1, "updatedReplicas": 2, "readyReplicas": 1}),
                Unhealthy,
            ),
            (
                "DaemonSet",
                json!({"observedGeneration": 1, "desiredNumberScheduled": 1}),
                Unhealthy,
            ),
            ("Job", json!({"active": 1}), Healthy),
            ("Job", json!({"conditions": condition("Failed", "True")}), Unhealthy),
            ("Job", json!({"startTime": "x"}), Unknown),
            (
                "Pod",
                json!({"phase": "Running", "conditions": condition("Ready", "True")}),
                Healthy,
            ),
            (
                "Pod",
                json!({"phase": "Running", "conditions": condition("Ready", "False")}),
                Unhealthy,
            ),
            ("Pod", json!({"phase": "Pending"}), Unhealthy),
            ("FlinkDeployment", json!({"jobStatus": {"state": "RUNNING"}}), Healthy),
            (
                "FlinkDeployment",
                json!({"jobStatus": {"state": "RECONCILING"}}),
                Unhealthy,
            ),
            ("FlinkDeployment", json!({"lifecycleState": "CREATED"}), Unknown),
            ("Widget", json!({"phase": "x"}), Healthy),
            ("Widget", json!({"conditions": condition("Ready", "False")}), Unhealthy),
            ("Widget", json!({"conditions": condition("Ready", "Unknown")}), Unknown),
            ("Widget", json!({"observedGeneration": 0}), Unknown),
        ] {
            let object =
                json!({"kind": kind, "metadata": {"generation": 1}, "spec": {"replicas": 2}, "status": status});
            assert_eq!(of(&object), expected, "{object}");
        }
        assert_eq!(of(&json!({"kind": "ConfigMap", "data": {}})), Healthy);
    }
}
