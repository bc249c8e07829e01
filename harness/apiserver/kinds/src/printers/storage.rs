//! Cells of the storage kinds.

use jiff::Timestamp;
use serde_json::Value;

use super::cells::{items, joined, text};

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

/// For whom the tokens are that a CSI driver asks for; nothing stands for the API server itself.
pub(super) fn token_requests(driver: &Value, _: Timestamp) -> Value {
    let requests = items(driver, &["spec", "tokenRequests"]);
    let none = if requests.is_empty() { "<unset>" } else { "" };
    joined(
        requests.iter().map(|request| text(request, &["audience"]).to_owned()),
        none,
    )
}

/// How a CSI driver's volumes come and go.
pub(super) fn lifecycle_modes(driver: &Value, _: Timestamp) -> Value {
    let modes = items(driver, &["spec", "volumeLifecycleModes"]).iter();
    joined(modes.filter_map(Value::as_str).map(str::to_owned), "<none>")
}
