//! The accepted names of a definition, and the conditions that report them.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::approval::{approval_annotation, is_protected};
use crate::meta::text;

/// The names that other definitions of the group already use.
#[derive(Default)]
struct Taken<'v> {
    resources: BTreeSet<&'v str>,
    kinds: BTreeSet<&'v str>,
}

impl<'v> Taken<'v> {
    fn add(&mut self, accepted: &'v Value) {
        let short_names = accepted.get("shortNames").and_then(Value::as_array);
        let short_names = short_names.into_iter().flatten().filter_map(Value::as_str);
        self.resources.extend(
            [text(accepted, "plural"), text(accepted, "singular")]
                .into_iter()
                .chain(short_names),
        );
        self.kinds.extend([text(accepted, "kind"), text(accepted, "listKind")]);
    }
}

/// Returns the status of a definition once its names are settled, with `Established` if they are accepted; `None` if
/// nothing changes. `others` are all other definitions; `now` is the time of transitions (RFC 3339, seconds).
pub fn names_conditions<'v>(crd: &Value, others: impl Iterator<Item = &'v Value>, now: &str) -> Option<Value> {
    let spec = crd.get("spec")?;
    let group = text(spec, "group");
    let mut taken = Taken::default();
    for other in others.filter(|other| text(other.get("spec").unwrap_or(&Value::Null), "group") == group) {
        taken.add(other.pointer("/status/acceptedNames").unwrap_or(&Value::Null));
    }
    let mut status = crd.get("status").cloned().unwrap_or_else(|| json!({}));
    let before = status.clone();
    let accepted = status.get("acceptedNames").cloned().unwrap_or_else(|| json!({}));
    let (names, conflict) = settle(spec.get("names")?, &accepted, &taken);
    status.as_object_mut()?.insert("acceptedNames".to_owned(), names);
    let accepted = conflict.is_none();
    let (reason, message) = conflict.unwrap_or(("NoConflicts", "no conflicts found".to_owned()));
    set_condition(&mut status, "NamesAccepted", accepted, reason, &message, now);
    match condition(&status, "Established") {
        Some(false) | None if accepted => {
            let message = "the initial names have been accepted";
            set_condition(&mut status, "Established", true, "InitialNamesAccepted", message, now);
        }
        Some(_) => {}
        None => set_condition(
            &mut status,
            "Established",
            false,
            "NotAccepted",
            "not all names are accepted",
            now,
        ),
    }
    if let Some((conformant, reason, message)) = approval(crd, group) {
        set_condition(
            &mut status,
            "KubernetesAPIApprovalPolicyConformant",
            conformant,
            reason,
            &message,
            now,
        );
    }
    (status != before).then_some(status)
}

/// Returns the names that are accepted now, and the last conflict.
fn settle(requested: &Value, accepted: &Value, taken: &Taken<'_>) -> (Value, Option<(&'static str, String)>) {
    let mut names = accepted.as_object().cloned().unwrap_or_default();
    let mut conflict = None;
    let in_use = |name: &str, held: &str, used: &BTreeSet<&str>| {
        (name != held && used.contains(name)).then(|| format!("\"{name}\" is already in use"))
    };
    for (key, reason, used) in [
        ("plural", "PluralConflict", &taken.resources),
        ("singular", "SingularConflict", &taken.resources),
    ] {
        match in_use(text(requested, key), text(accepted, key), used) {
            Some(message) => conflict = Some((reason, message)),
            None => take(&mut names, requested, key),
        }
    }
    if requested.get("shortNames") != accepted.get("shortNames") {
        let held = accepted.get("shortNames").and_then(Value::as_array);
        let wanted = requested.get("shortNames").and_then(Value::as_array);
        let fresh = wanted
            .into_iter()
            .flatten()
            .filter(|name| !held.is_some_and(|held| held.contains(name)));
        let problems: Vec<String> = fresh
            .filter_map(Value::as_str)
            .filter_map(|name| in_use(name, "", &taken.resources))
            .collect();
        match problems.as_slice() {
            [] => take(&mut names, requested, "shortNames"),
            [only] => conflict = Some(("ShortNamesConflict", only.clone())),
            several => conflict = Some(("ShortNamesConflict", format!("[{}]", several.join(", ")))),
        }
    }
    for (key, reason) in [("kind", "KindConflict"), ("listKind", "ListKindConflict")] {
        match in_use(text(requested, key), text(accepted, key), &taken.kinds) {
            Some(message) => conflict = Some((reason, message)),
            None => take(&mut names, requested, key),
        }
    }
    take(&mut names, requested, "categories");
    (Value::Object(names), conflict)
}

fn take(names: &mut Map<String, Value>, requested: &Value, key: &str) {
    match requested.get(key) {
        Some(value) => names.insert(key.to_owned(), value.clone()),
        None => names.remove(key),
    };
}

/// Returns the status, reason and message of the approval annotation of a protected group.
fn approval(crd: &Value, group: &str) -> Option<(bool, &'static str, String)> {
    if !is_protected(group) {
        return None;
    }
    let annotation = approval_annotation(crd);
    if annotation.starts_with("unapproved") {
        return Some((false, "UnapprovedAnnotation", format!("not approved: {annotation:?}")));
    }
    Some((true, "ApprovedAnnotation", format!("approved in {annotation}")))
}

/// Returns `true` if a condition of the status is true, or `None` if the status does not have the condition.
pub fn condition(status: &Value, kind: &str) -> Option<bool> {
    let conditions = status.get("conditions").and_then(Value::as_array)?;
    let condition = conditions.iter().find(|condition| text(condition, "type") == kind)?;
    Some(text(condition, "status") == "True")
}

/// Sets a condition; its time changes only when its status changes.
pub fn set_condition(status: &mut Value, kind: &str, holds: bool, reason: &str, message: &str, now: &str) {
    let Some(map) = status.as_object_mut() else { return };
    let conditions = map.entry("conditions").or_insert(Value::Null);
    if conditions.is_null() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else {
        return;
    };
    let holds = if holds { "True" } else { "False" };
    let found = conditions.iter_mut().find(|condition| text(condition, "type") == kind);
    let same_status = found
        .as_ref()
        .is_some_and(|condition| text(condition, "status") == holds);
    let since = found
        .as_ref()
        .and_then(|condition| condition.get("lastTransitionTime").cloned());
    let since = since.filter(|_| same_status).unwrap_or_else(|| Value::from(now));
    let condition =
        json!({"type": kind, "status": holds, "reason": reason, "message": message, "lastTransitionTime": since});
    match found {
        Some(place) => *place = condition,
        None => conditions.push(condition),
    }
}
