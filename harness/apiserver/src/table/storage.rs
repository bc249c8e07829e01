//! Cells of the storage kinds.

use jiff::Timestamp;
use serde_json::Value;

use super::cells::{at, items, text};

/// The name of a storage class, and whether claims that name none get it.
pub(super) fn storage_class_name(class: &Value, _: Timestamp) -> Value {
    let name = text(class, &["metadata", "name"]);
    let is_default = [
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ];
    let annotated = |annotation: &&str| text(class, &["metadata", "annotations", annotation]) == "true";
    if is_default.iter().any(annotated) {
        Value::from(format!("{name} (default)"))
    } else {
        Value::from(name)
    }
}

fn flag(object: &Value, path: &[&str]) -> Value {
    Value::from(at(object, path).and_then(Value::as_bool).unwrap_or_default())
}

pub(super) fn attach_required(driver: &Value, _: Timestamp) -> Value {
    flag(driver, &["spec", "attachRequired"])
}

pub(super) fn pod_info_on_mount(driver: &Value, _: Timestamp) -> Value {
    flag(driver, &["spec", "podInfoOnMount"])
}

pub(super) fn storage_capacity(driver: &Value, _: Timestamp) -> Value {
    flag(driver, &["spec", "storageCapacity"])
}

pub(super) fn requires_republish(driver: &Value, _: Timestamp) -> Value {
    flag(driver, &["spec", "requiresRepublish"])
}

pub(super) fn attached(attachment: &Value, _: Timestamp) -> Value {
    flag(attachment, &["status", "attached"])
}

/// For whom the tokens are that a CSI driver asks for.
pub(super) fn token_requests(driver: &Value, _: Timestamp) -> Value {
    let audiences = items(driver, &["spec", "tokenRequests"]).iter();
    let audiences = audiences
        .map(|request| text(request, &["audience"]))
        .collect::<Vec<_>>();
    Value::from(if audiences.is_empty() {
        "<unset>".to_owned()
    } else {
        audiences.join(",")
    })
}

/// How a CSI driver's volumes come and go.
pub(super) fn lifecycle_modes(driver: &Value, _: Timestamp) -> Value {
    let modes = items(driver, &["spec", "volumeLifecycleModes"]).iter();
    let modes = modes.filter_map(Value::as_str).collect::<Vec<_>>();
    Value::from(if modes.is_empty() {
        "<none>".to_owned()
    } else {
        modes.join(",")
    })
}
