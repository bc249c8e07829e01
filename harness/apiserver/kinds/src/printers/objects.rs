//! Cells of jobs, events, claims and role bindings.

use baton_apimachinery::meta;
use jiff::Timestamp;
use serde_json::Value;

use super::cells::{age, at, items, number, short_duration, text};

fn job_condition(object: &Value, kind: &str) -> bool {
    let conditions = items(object, &["status", "conditions"]).iter();
    conditions
        .filter(|each| text(each, &["status"]) == "True")
        .any(|each| text(each, &["type"]) == kind)
}

pub(super) fn job_status(object: &Value, _: Timestamp) -> Value {
    let first = |kinds: &[&'static str]| kinds.iter().copied().find(|kind| job_condition(object, kind));
    let deleted = meta::deletion_timestamp(object).map(|_| "Terminating");
    let word = first(&["Complete", "Failed"])
        .or(deleted)
        .or_else(|| first(&["Suspended", "FailureTarget", "SuccessCriteriaMet"]));
    Value::from(word.unwrap_or("Running"))
}

pub(super) fn job_completions(object: &Value, _: Timestamp) -> Value {
    let done = number(object, &["status", "succeeded"]);
    let parallelism = number(object, &["spec", "parallelism"]);
    Value::from(match at(object, &["spec", "completions"]).and_then(Value::as_i64) {
        Some(wanted) => format!("{done}/{wanted}"),
        None if parallelism > 1 => format!("{done}/1 of {parallelism}"),
        None => format!("{done}/1"),
    })
}

pub(super) fn job_duration(object: &Value, now: Timestamp) -> Value {
    let time = |field: &str| text(object, &["status", field]).parse::<Timestamp>().ok();
    match (time("startTime"), time("completionTime")) {
        (None, _) => Value::from(""),
        (Some(start), end) => Value::from(short_duration(end.unwrap_or(now).as_second() - start.as_second())),
    }
}

pub(super) fn last_seen(object: &Value, now: Timestamp) -> Value {
    let series = at(object, &["series", "lastObservedTime"]);
    let time = series
        .or_else(|| at(object, &["lastTimestamp"]))
        .or_else(|| at(object, &["deprecatedLastTimestamp"]));
    age(time.or_else(|| at(object, &["eventTime"])).and_then(Value::as_str), now)
}

pub(super) fn first_seen(object: &Value, now: Timestamp) -> Value {
    let time = at(object, &["firstTimestamp"]).or_else(|| at(object, &["deprecatedFirstTimestamp"]));
    age(time.or_else(|| at(object, &["eventTime"])).and_then(Value::as_str), now)
}

fn regarding(object: &Value) -> &Value {
    object
        .get("involvedObject")
        .or_else(|| object.get("regarding"))
        .unwrap_or(&Value::Null)
}

pub(super) fn event_object(object: &Value, _: Timestamp) -> Value {
    let about = regarding(object);
    Value::from(format!(
        "{}/{}",
        text(about, &["kind"]).to_lowercase(),
        text(about, &["name"])
    ))
}

pub(super) fn event_subobject(object: &Value, _: Timestamp) -> Value {
    Value::from(text(regarding(object), &["fieldPath"]))
}

pub(super) fn event_source(object: &Value, _: Timestamp) -> Value {
    let source = object
        .get("source")
        .or_else(|| object.get("deprecatedSource"))
        .unwrap_or(&Value::Null);
    let parts = [text(source, &["component"]), text(source, &["host"])];
    Value::from(
        parts
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(", "),
    )
}

pub(super) fn event_message(object: &Value, _: Timestamp) -> Value {
    let message = [text(object, &["message"]), text(object, &["note"])].concat();
    Value::from(message.trim())
}

pub(super) fn event_count(object: &Value, _: Timestamp) -> Value {
    let counts = [
        number(object, &["series", "count"]),
        number(object, &["count"]),
        number(object, &["deprecatedCount"]),
    ];
    Value::from(counts.into_iter().find(|count| *count > 0).unwrap_or(1))
}

pub(super) fn access_modes(object: &Value, _: Timestamp) -> Value {
    let modes = items(object, &["status", "accessModes"]);
    let short = |mode: &Value| match mode.as_str() {
        Some("ReadWriteOnce") => "RWO",
        Some("ReadOnlyMany") => "ROX",
        Some("ReadWriteMany") => "RWX",
        Some("ReadWriteOncePod") => "RWOP",
        _ => "",
    };
    Value::from(modes.iter().map(short).collect::<Vec<_>>().join(","))
}

pub(super) fn phase_or_terminating(object: &Value, _: Timestamp) -> Value {
    let deleted = meta::deletion_timestamp(object).map(|_| "Terminating");
    Value::from(deleted.unwrap_or_else(|| text(object, &["status", "phase"])))
}

pub(super) fn unset(object: &Value, _: Timestamp) -> Value {
    let class = text(object, &["spec", "volumeAttributesClassName"]);
    Value::from(if class.is_empty() { "<unset>" } else { class })
}

pub(super) fn role(object: &Value, _: Timestamp) -> Value {
    Value::from(format!(
        "{}/{}",
        text(object, &["roleRef", "kind"]),
        text(object, &["roleRef", "name"])
    ))
}

fn subjects(object: &Value, kind: &str) -> Value {
    let all = items(object, &["subjects"])
        .iter()
        .filter(|each| text(each, &["kind"]) == kind);
    let name = |subject: &Value| match text(subject, &["namespace"]) {
        "" => text(subject, &["name"]).to_owned(),
        namespace => format!("{namespace}/{}", text(subject, &["name"])),
    };
    Value::from(all.map(name).collect::<Vec<_>>().join(", "))
}

pub(super) fn users(object: &Value, _: Timestamp) -> Value {
    subjects(object, "User")
}

pub(super) fn groups(object: &Value, _: Timestamp) -> Value {
    subjects(object, "Group")
}

pub(super) fn service_accounts(object: &Value, _: Timestamp) -> Value {
    subjects(object, "ServiceAccount")
}
