//! Claims to volumes, drivers, and the secrets of service accounts.

use serde_json::{Map, Value};

use super::object_in;

/// A claim says twice what its volume is filled from: what says it once says it twice from now on.
///
/// `before` is the claim as it was. What is filled from nothing may be asked to be filled from a claim or a snapshot
/// alone, unless the newer of the two fields says so.
pub(super) fn data_sources(claim: &mut Map<String, Value>, before: Option<&Map<String, Value>>) {
    let has = |field: &str| {
        let spec = before.and_then(|before| before.get("spec"));
        spec.is_some_and(|spec| spec.get(field).is_some())
    };
    let Some(spec) = object_in(claim, "spec") else { return };
    let namespace = spec
        .get("dataSourceRef")
        .and_then(|reference| reference.get("namespace"));
    let is_elsewhere = namespace.is_some_and(|namespace| namespace != "");
    if is_elsewhere && !has("dataSourceRef") {
        spec.remove("dataSourceRef");
    }
    let was_filled = has("dataSource") || has("dataSourceRef");
    if !was_filled && !spec.contains_key("dataSourceRef") && !spec.get("dataSource").is_some_and(is_claim_or_snapshot) {
        spec.remove("dataSource");
    }
    match (spec.get("dataSource"), spec.get("dataSourceRef")) {
        (Some(source), None) => {
            let source = source.clone();
            spec.insert("dataSourceRef".to_owned(), source);
        }
        (None, Some(reference)) if !is_elsewhere => {
            let mut source = reference.clone();
            if let Some(source) = source.as_object_mut() {
                source.remove("namespace");
            }
            spec.insert("dataSource".to_owned(), source);
        }
        _ => {}
    }
}

fn is_claim_or_snapshot(source: &Value) -> bool {
    let text = |field: &str| source.get(field).and_then(Value::as_str).unwrap_or_default();
    matches!(
        (text("kind"), text("apiGroup")),
        ("PersistentVolumeClaim", "") | ("VolumeSnapshot", "snapshot.storage.k8s.io")
    )
}

/// A volume that is written says since when it has its phase, unless somebody says something else.
pub fn stamp_phase(new: &mut Value, old: &Value, now: &str) {
    const SINCE: &str = "lastPhaseTransitionTime";
    let of = |object: &Value, field: &str| object.get("status").and_then(|status| status.get(field)).cloned();
    let (given, before) = (of(new, SINCE), of(old, SINCE));
    let is_same = of(new, "phase") == of(old, "phase");
    let since = match (is_same, given) {
        (true, None) => before,
        (false, given) if given.is_none() || given == before => Some(now.into()),
        (true | false, _) => return,
    };
    if let (Some(since), Some(status)) = (since, new.get_mut("status").and_then(Value::as_object_mut)) {
        status.insert(SINCE.to_owned(), since);
    }
}

/// What a driver says of scheduling is not served yet.
pub(super) fn drop_scheduling(driver: &mut Map<String, Value>) {
    if let Some(spec) = driver.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("preventPodSchedulingIfMissing");
    }
}

/// A service account refers to its secrets by their names alone.
pub(super) fn names_of_secrets(account: &mut Map<String, Value>) {
    let secrets = account.get_mut("secrets").and_then(Value::as_array_mut);
    for secret in secrets.into_iter().flatten().filter_map(Value::as_object_mut) {
        secret.retain(|field, _| field == "name");
    }
}
