//! Requests for certificates: who asks, and when what was said about them.

use baton_apimachinery::meta::text;
use serde_json::{Map, Value, json};

/// Conditions that only the approval of a request changes.
const DECIDED: [&str; 2] = ["Approved", "Denied"];

/// Whoever makes a request asks for it, whatever it says.
pub fn set_requester(request: &mut Value, user: &Value) {
    let Some(spec) = request.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    for key in ["username", "uid", "groups", "extra"] {
        match user.get(key) {
            Some(value) => spec.insert(key.to_owned(), value.clone()),
            None => spec.remove(key),
        };
    }
}

/// A write keeps everything but the status, that of the approval everything but the conditions.
pub(super) fn update(request: &mut Map<String, Value>, before: &Map<String, Value>, subresource: Option<&str>) {
    match subresource {
        Some("approval") => {
            let conditions = request
                .get("status")
                .and_then(|status| status.get("conditions"))
                .cloned();
            let mut status = before.get("status").cloned().unwrap_or_else(|| json!({}));
            if let Some(status) = status.as_object_mut() {
                match conditions {
                    Some(conditions) => status.insert("conditions".to_owned(), conditions),
                    None => status.remove("conditions"),
                };
            }
            request.insert("status".to_owned(), status);
        }
        Some(_) => {
            let old = before.get("status").map(conditions_of).unwrap_or_default();
            if let Some(new) = request
                .get_mut("status")
                .and_then(|status| status.get_mut("conditions")?.as_array_mut())
            {
                for kind in DECIDED {
                    keep_decided(new, old, kind);
                }
            }
        }
        None => super::copy(request, before, "spec"),
    }
}

fn conditions_of(status: &Value) -> &[Value] {
    status
        .get("conditions")
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// As many conditions of a type as there were are those that there were.
fn keep_decided(new: &mut [Value], old: &[Value], kind: &str) {
    let is_decided = |condition: &&Value| text(condition, "type") == kind;
    let old: Vec<&Value> = old.iter().filter(is_decided).collect();
    let new: Vec<&mut Value> = new.iter_mut().filter(|condition| is_decided(&&**condition)).collect();
    if new.len() == old.len() {
        for (new, old) in new.into_iter().zip(old) {
            new.clone_from(old);
        }
    }
}

/// Conditions that do not say when they were written, were now.
pub fn stamp_conditions(request: &mut Value, before: &Value, now: &str) {
    let old = before.get("status").map(conditions_of).unwrap_or_default();
    let conditions = request
        .get_mut("status")
        .and_then(|status| status.get_mut("conditions")?.as_array_mut());
    for condition in conditions.into_iter().flatten() {
        let same = |other: &&Value| {
            ["type", "status"]
                .iter()
                .all(|key| text(other, key) == text(condition, key))
        };
        let since = old
            .iter()
            .filter(same)
            .map(|other| text(other, "lastTransitionTime"))
            .find(|since| !since.is_empty())
            .unwrap_or(now)
            .to_owned();
        for (key, time) in [("lastUpdateTime", now), ("lastTransitionTime", &since)] {
            if text(condition, key).is_empty()
                && let Some(members) = condition.as_object_mut()
            {
                members.insert(key.to_owned(), time.into());
            }
        }
    }
}
