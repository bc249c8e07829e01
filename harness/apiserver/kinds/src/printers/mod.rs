//! The columns in which `kubectl get` shows the built-in kinds.
//!
//! [`columns`] is the table per kind; a [`Column`] gives its cell for an object and a time. `cells` and `objects` have
//! the cells that are not just the value at a path, `pods` the status of a pod.

mod cells;
mod kinds;
mod objects;
mod pods;

use jiff::Timestamp;
use serde_json::{Value, json};

pub use cells::age;
pub use kinds::columns;

/// A column of a table.
#[derive(Debug)]
pub struct Column {
    /// `Ready`.
    pub name: &'static str,
    /// `string`, `integer` or `date`.
    pub kind: &'static str,
    /// `name` for the column of the name, else empty.
    pub format: &'static str,
    /// 0 is always shown, 1 with `-o wide`.
    pub priority: i64,
    cell: Cell,
}

#[derive(Debug)]
enum Cell {
    /// `metadata.name`.
    Name,
    /// The time since `metadata.creationTimestamp`.
    Age,
    /// The text or number at a path; empty if there is none.
    At(&'static [&'static str]),
    /// The same as [`Cell::At`]; `<none>` if there is none.
    OrNone(&'static [&'static str]),
    /// The number at a path, 0 if there is none.
    Count(&'static [&'static str]),
    /// The number of items at a path.
    Length(&'static [&'static str]),
    /// The result of a function.
    Of(fn(&Value, Timestamp) -> Value),
}

impl Column {
    /// The cell of an object.
    pub fn cell(&self, object: &Value, now: Timestamp) -> Value {
        match &self.cell {
            Cell::Name => Value::from(cells::text(object, &["metadata", "name"])),
            Cell::Age => cells::age_of(object, now),
            Cell::At(path) => cells::at(object, path).cloned().unwrap_or_else(|| Value::from("")),
            Cell::OrNone(path) => cells::or_none(object, path),
            Cell::Count(path) => cells::at(object, path).cloned().unwrap_or_else(|| Value::from(0)),
            Cell::Length(path) => Value::from(cells::length(object, path)),
            Cell::Of(function) => function(object, now),
        }
    }
}

/// Returns the conditions of a row: that a pod has completed or failed.
pub fn conditions(group: &str, kind: &str, object: &Value) -> Option<Value> {
    if (group, kind) != ("", "Pod") {
        return None;
    }
    let (reason, message) = match cells::text(object, &["status", "phase"]) {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!([{"type": "Completed", "status": "True", "reason": reason, "message": message}]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(group: &str, kind: &str, object: &Value) -> Vec<Value> {
        let now: Timestamp = "2020-01-01T01:00:00Z".parse().expect("a time");
        columns(group, kind)
            .iter()
            .map(|column| column.cell(object, now))
            .collect()
    }

    #[test]
    fn rows_of_kinds() {
        let metadata = json!({"name": "a", "creationTimestamp": "2020-01-01T00:00:00Z"});
        for (group, kind, object, expected) in [
            (
                "",
                "ConfigMap",
                json!({"data": {"k": "v"}, "binaryData": {"b": ""}}),
                json!(["a", 2, "60m"]),
            ),
            (
                "",
                "Service",
                json!({"spec": {"type": "ClusterIP", "clusterIP": "None", "selector": {"a": "b"}, "ports": [{"port": 80, "protocol": "TCP"}]}}),
                json!(["a", "ClusterIP", "None", "<none>", "80/TCP", "60m", "a=b"]),
            ),
            (
                "apps",
                "Deployment",
                json!({"spec": {"replicas": 2, "selector": {"matchLabels": {"x": "y"}}, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}},
                    "status": {"readyReplicas": 1, "replicas": 2}}),
                json!(["a", "1/2", 0, 0, "60m", "c", "i", "x=y"]),
            ),
            ("x", "Other", json!({}), json!(["a", "60m"])),
        ] {
            let mut object = object;
            if object.get("metadata").is_none() {
                object["metadata"] = metadata.clone();
            }
            assert_eq!(json!(row(group, kind, &object)), expected, "{kind}");
        }
    }

    #[test]
    fn a_crashing_pod() {
        let pod = json!({"metadata": {"name": "b"}, "spec": {"nodeName": "n1", "containers": [{}, {}]}, "status": {
            "phase": "Running", "podIP": "10.0.0.7", "podIPs": [{"ip": "10.0.0.7"}], "containerStatuses": [
                {"ready": true, "restartCount": 2, "state": {"running": {}}},
                {"ready": false, "restartCount": 0, "state": {"waiting": {"reason": "CrashLoopBackOff"}}},
            ],
        }});
        assert_eq!(
            json!(row("", "Pod", &pod)),
            json!([
                "b",
                "1/2",
                "CrashLoopBackOff",
                "2",
                "<unknown>",
                "10.0.0.7",
                "n1",
                "<none>",
                "<none>"
            ])
        );
    }

    #[test]
    fn hostile_objects_have_rows_too() {
        for column in columns("", "Pod")
            .iter()
            .chain(columns("", "Service"))
            .chain(columns("apps", "Deployment"))
        {
            column.cell(
                &json!({"metadata": [], "spec": 1, "status": {"containerStatuses": {}}}),
                Timestamp::UNIX_EPOCH,
            );
        }
    }
}
