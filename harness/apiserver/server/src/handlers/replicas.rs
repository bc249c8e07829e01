//! The replicas of an object: where they are, who owns them, and the `Scale` that shows them.

use baton_apimachinery::merge::apply::disown;
use baton_apimachinery::meta;
use baton_apimachinery::schema::crd::scale::get;
use serde_json::{Value, json};

use crate::api_error::ApiError;
use crate::registry::Resource;

/// The path of the replicas in an object of a resource.
pub(super) fn spec_path(resource: &Resource) -> &str {
    let custom = resource.custom().and_then(|custom| custom.scale.as_ref());
    custom.map_or(".spec.replicas", |paths| &paths.spec_replicas)
}

/// Returns `true` if the replicas have an owner: a scale without one is not tracked.
pub(super) fn is_owned(resource: &Resource, object: &Value) -> bool {
    let entries = meta::at(object, &["metadata", "managedFields"]).and_then(Value::as_array);
    entries
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.get("fieldsV1"))
        .any(|fields| {
            let mut segments = spec_path(resource).trim_start_matches('.').split('.');
            segments
                .try_fold(fields, |fields, segment| fields.get(format!("f:{segment}")))
                .is_some()
        })
}

/// Removes the ownership of the replicas from an object with none: its `Scale` leaves the field out, so the field has
/// no owner.
pub(super) fn disown_none(resource: &Resource, object: &mut Value) {
    let path = spec_path(resource);
    if get(object, path).and_then(Value::as_i64).unwrap_or(0) == 0 {
        let segments: Vec<&str> = path.trim_start_matches('.').split('.').collect();
        disown(object, &segments);
    }
}

/// Returns the `Scale` of an object.
pub(super) fn scale_of(resource: &Resource, object: &Value) -> Result<Value, ApiError> {
    let path = spec_path(resource);
    if resource.custom().is_some() && get(object, path).is_none() {
        return Err(ApiError::internal(&format!(
            "the spec replicas field {path:?} does not exist"
        )));
    }
    Ok(lenient(resource, object))
}

/// Returns the `Scale` of an object; 0 if it has no replicas.
pub(super) fn lenient(resource: &Resource, object: &Value) -> Value {
    let whole = |path: &str| get(object, path).and_then(Value::as_i64).unwrap_or(0);
    let paths = resource.custom().and_then(|custom| custom.scale.as_ref());
    let status_path = paths.map_or(".status.replicas", |paths| &paths.status_replicas);
    let selector = match paths {
        Some(paths) => paths
            .label_selector
            .as_deref()
            .and_then(|path| get(object, path))
            .and_then(Value::as_str)
            .map(str::to_owned),
        None => object
            .get("spec")
            .and_then(|spec| spec.get("selector"))
            .map(selector_text),
    };
    let mut metadata = serde_json::Map::new();
    for key in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = meta::at(object, &["metadata", key]) {
            metadata.insert(key.to_owned(), value.clone());
        }
    }
    let replicas = whole(spec_path(resource));
    let mut status = json!({"replicas": whole(status_path)});
    if let (Some(selector), Some(status)) = (selector.filter(|text| !text.is_empty()), status.as_object_mut()) {
        status.insert("selector".to_owned(), selector.into());
    }
    json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": if replicas == 0 { json!({}) } else { json!({"replicas": replicas}) },
        "status": status,
    })
}

/// Returns a label selector in the form of a query; also accepts a map of labels.
fn selector_text(selector: &Value) -> String {
    let plain = selector.get("matchLabels").is_none() && selector.get("matchExpressions").is_none();
    let labels = if plain {
        Some(selector)
    } else {
        selector.get("matchLabels")
    };
    let mut terms: Vec<String> = labels
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    for expression in selector
        .get("matchExpressions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let key = meta::str_at(expression, &["key"]).unwrap_or_default();
        let mut values: Vec<&str> = expression
            .get("values")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        values.sort_unstable();
        terms.push(match meta::str_at(expression, &["operator"]) {
            Some("In") => format!("{key} in ({})", values.join(",")),
            Some("NotIn") => format!("{key} notin ({})", values.join(",")),
            Some("DoesNotExist") => format!("!{key}"),
            Some(_) | None => key.to_owned(),
        });
    }
    terms.sort();
    terms.join(",")
}
