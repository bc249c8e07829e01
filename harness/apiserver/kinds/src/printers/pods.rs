//! The cells of a pod's row: the number of ready containers, the status in a word, and the number of restarts.

use baton_apimachinery::meta;
use jiff::Timestamp;
use serde_json::Value;

use super::cells::{age, at, items, number, or_none, text};

/// The number of ready containers, of all containers.
pub(super) fn ready(pod: &Value, _: Timestamp) -> Value {
    let statuses = items(pod, &["status", "containerStatuses"]);
    let ready = statuses
        .iter()
        .filter(|status| is_ready(status) && at(status, &["state", "running"]).is_some());
    Value::from(format!(
        "{}/{}",
        ready.count(),
        items(pod, &["spec", "containers"]).len()
    ))
}

fn is_ready(status: &Value) -> bool {
    status.get("ready") == Some(&Value::Bool(true))
}

/// The status in a word.
pub(super) fn status(pod: &Value, _: Timestamp) -> Value {
    let conditions = items(pod, &["status", "conditions"]);
    let condition = |kind: &str| conditions.iter().find(|condition| text(condition, &["type"]) == kind);
    let mut word = match text(pod, &["status", "reason"]) {
        "" => text(pod, &["status", "phase"]).to_owned(),
        reason => reason.to_owned(),
    };
    if let Some(reason) = running(pod) {
        let is_ready = condition("Ready").is_some_and(|ready| text(ready, &["status"]) == "True");
        word = match reason.as_str() {
            "Completed" if any_running(pod) => if is_ready { "Running" } else { "NotReady" }.to_owned(),
            _ => reason,
        };
    }
    let is_deleted = meta::deletion_timestamp(pod).is_some();
    Value::from(match text(pod, &["status", "reason"]) {
        "NodeLost" if is_deleted => "Unknown",
        _ if is_deleted => "Terminating",
        _ => &word,
    })
}

fn any_running(pod: &Value) -> bool {
    let statuses = items(pod, &["status", "containerStatuses"]).iter();
    statuses
        .filter(|status| is_ready(status))
        .any(|status| at(status, &["state", "running"]).is_some())
}

fn ended(terminated: &Value) -> String {
    let signal = number(terminated, &["signal"]);
    match text(terminated, &["reason"]) {
        "" if signal != 0 => format!("Signal:{signal}"),
        "" => format!("ExitCode:{}", number(terminated, &["exitCode"])),
        reason => reason.to_owned(),
    }
}

/// Returns the reason for which a container waits or ended: that of the first such container.
fn running(pod: &Value) -> Option<String> {
    let mut statuses = items(pod, &["status", "containerStatuses"]).iter();
    let reason = |status: &Value| {
        let waiting = text(status, &["state", "waiting", "reason"]);
        if !waiting.is_empty() {
            return Some(waiting.to_owned());
        }
        at(status, &["state", "terminated"]).map(ended)
    };
    statuses.find_map(reason)
}

/// Returns the number of container restarts and the time since the last one.
pub(super) fn restarts(pod: &Value, now: Timestamp) -> Value {
    let statuses = items(pod, &["status", "containerStatuses"]);
    let count: i64 = statuses
        .iter()
        .map(|status| number(status, &["restartCount"]))
        .fold(0, i64::saturating_add);
    let last = statuses
        .iter()
        .map(|status| text(status, &["lastState", "terminated", "finishedAt"]))
        .max();
    match last.filter(|last| count > 0 && !last.is_empty()) {
        Some(last) => Value::from(format!(
            "{count} ({} ago)",
            age(Some(last), now).as_str().unwrap_or_default()
        )),
        None => Value::from(count.to_string()),
    }
}

/// Returns the first address of a pod.
pub(super) fn address(pod: &Value, _: Timestamp) -> Value {
    match items(pod, &["status", "podIPs"]).first() {
        Some(first) => or_none(first, &["ip"]),
        None => Value::from("<none>"),
    }
}
