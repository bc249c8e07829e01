//! Events, in the form of the core group (in which they are stored) and in that of `events.k8s.io`.

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::meta;
use baton_apimachinery::metadata::names;
use serde_json::Value;

use super::ROOT;
use super::checks::{number, text};
use crate::resources::Resource;

/// Returns `true` if the client requests events in the form of `events.k8s.io`.
pub(super) fn is_new_style(resource: &Resource) -> bool {
    resource.group == "events.k8s.io"
}

/// The two forms name the same fields differently.
struct Names {
    object: &'static str,
    controller: &'static str,
    note: &'static str,
}

const CORE: Names = Names {
    object: "involvedObject",
    controller: "reportingComponent",
    note: "message",
};
const NEW_STYLE: Names = Names {
    object: "regarding",
    controller: "reportingController",
    note: "note",
};

/// Validates an event of the core group.
pub(super) fn core(event: &Value, found: &mut ErrorList) {
    common(event, &CORE, found);
}

/// Validates an event of `events.k8s.io`.
pub(super) fn new_style(event: &Value, found: &mut ErrorList) {
    common(event, &NEW_STYLE, found);
}

/// Validates a new event of `events.k8s.io`, which requires more fields than one of the core group.
pub(super) fn created(event: &Value, found: &mut ErrorList) {
    series(event, found);
    if has_no_time(event, "eventTime") {
        found.required(&ROOT.child("eventTime"), "");
    }
    let kind = text(event, "type");
    if !matches!(kind, "Normal" | "Warning") {
        found.invalid(&ROOT.child("type"), "", &format!("has invalid value: {kind}"));
    }
    for (field, name) in [
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
    ] {
        if !has_no_time(event, field) {
            found.invalid(&ROOT.child(name), "", "needs to be unset");
        }
    }
    if event
        .get("deprecatedCount")
        .and_then(Value::as_i64)
        .is_some_and(|count| count != 0)
    {
        found.invalid(&ROOT.child("count"), "", "needs to be unset");
    }
    let source = event.get("deprecatedSource").unwrap_or(&Value::Null);
    if !text(source, "component").is_empty() || !text(source, "host").is_empty() {
        found.invalid(&ROOT.child("source"), "", "needs to be unset");
    }
}

/// Validates the series of a repeated event.
fn series(event: &Value, found: &mut ErrorList) {
    let Some(series) = event.get("series") else { return };
    if number(series, "count") < 2 {
        found.invalid(&ROOT.child("series.count"), "", "should be at least 2");
    }
    if has_no_time(series, "lastObservedTime") {
        found.required(&ROOT.child("series.lastObservedTime"), "");
    }
}

fn has_no_time(event: &Value, field: &str) -> bool {
    event.get(field).is_none_or(Value::is_null)
}

fn common(event: &Value, fields: &Names, found: &mut ErrorList) {
    let namespace = meta::namespace(event).unwrap_or_default();
    let about = meta::str_at(event, &[fields.object, "namespace"]).unwrap_or_default();
    let is_old = has_no_time(event, "eventTime");
    let agrees = match (about.is_empty(), is_old) {
        (true, true) => matches!(namespace, "" | "default"),
        (true, false) => matches!(namespace, "default" | "kube-system"),
        (false, true) => about == namespace,
        (false, false) => true,
    };
    if !agrees {
        found.invalid(
            &ROOT.child("involvedObject.namespace"),
            about,
            "does not match event.namespace",
        );
    }
    if is_old {
        return;
    }
    let controller = text(event, fields.controller);
    let at = ROOT.child(fields.controller);
    if controller.is_empty() {
        found.required(&at, "");
    }
    found.invalid_each(&at, controller, names::qualified_name(controller));
    for field in ["reportingInstance", "action", "reason"] {
        let value = text(event, field);
        if value.is_empty() {
            found.required(&ROOT.child(field), "");
        }
        at_most(value, 128, &ROOT.child(field), found);
    }
    at_most(text(event, fields.note), 1024, &ROOT.child("message"), found);
}

fn at_most(value: &str, max: usize, at: &FieldPath<'_>, found: &mut ErrorList) {
    if value.len() > max {
        found.invalid(at, "", &format!("can have at most {max} characters"));
    }
}

/// Fields that do not change, and their names in the core group.
const FIXED: [(&str, &str); 8] = [
    ("regarding", "involvedObject"),
    ("reason", "reason"),
    ("note", "message"),
    ("type", "type"),
    ("eventTime", "eventTime"),
    ("action", "action"),
    ("reportingController", "reportingController"),
    ("reportingInstance", "reportingInstance"),
];

/// Validates a change of an event of `events.k8s.io`.
pub(super) fn change(new: &Value, old: &Value, found: &mut ErrorList) {
    if new.get("series") != old.get("series") {
        series(new, found);
    }
    for (field, name) in FIXED {
        let value = |event: &Value| event.get(field).filter(|value| !value.is_null()).cloned();
        if value(new) != value(old) {
            let given = value(new).unwrap_or_else(|| "".into());
            found.invalid(&ROOT.child(name), given, "field is immutable");
        }
    }
}
