//! Decodes objects: keys, types, and whether they are gone.

use std::sync::Arc;

use baton_decide::api::Resource;
use baton_decide::keys::ObjectKey;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::compact::{CompactObject, RecentObjects};

/// Returns the key of an object; `None` if the object has no name.
pub fn key_of(object: &Value) -> Option<ObjectKey> {
    let metadata = object.get("metadata")?;
    Some(ObjectKey::new(
        metadata.get("namespace").and_then(Value::as_str),
        metadata.get("name")?.as_str()?,
    ))
}

pub(super) fn revision_of(object: &Value) -> u64 {
    let revision = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
    revision.and_then(|revision| revision.parse().ok()).unwrap_or(u64::MAX)
}

/// Returns true for an object that is marked for deletion and has no finalizers: it is gone, and a response shows this
/// before the watch does. Objects with a grace period, such as pods, remain for a while.
pub(super) fn is_gone(object: &Value) -> bool {
    let metadata = object.get("metadata");
    let field = |key: &str| {
        metadata
            .and_then(|metadata| metadata.get(key))
            .filter(|value| !value.is_null())
    };
    let held = field("finalizers")
        .and_then(Value::as_array)
        .is_some_and(|finalizers| !finalizers.is_empty());
    let lingers = field("deletionGracePeriodSeconds")
        .and_then(Value::as_i64)
        .is_some_and(|seconds| seconds > 0);
    field("deletionTimestamp").is_some() && !held && !lingers
}

pub(super) fn typed<T: DeserializeOwned>(object: Value) -> Option<T> {
    let key = key_of(&object);
    serde_json::from_value(object)
        .inspect_err(|error| log_undecodable(key, error))
        .ok()
}

/// Compacts an object; `look` sees it before.
pub(super) fn compact<T>(object: &Value, recent: &Arc<RecentObjects>, look: impl FnOnce(&T)) -> Option<CompactObject<T>>
where
    T: DeserializeOwned + Send + Sync + 'static,
{
    let compact = CompactObject::new(object, recent).inspect_err(|error| log_undecodable(key_of(object), error));
    let (compact, read) = compact.ok()?;
    look(&read);
    Some(compact)
}

fn log_undecodable(key: Option<ObjectKey>, error: &serde_json::Error) {
    let name = key.map(|key| key.to_string()).unwrap_or_default();
    tracing::error!(name, %error, "cannot decode an object; it is skipped");
}

/// Returns the object with `apiVersion` and `kind`, as the API server requires.
pub fn with_kind<S: serde::Serialize, T: serde::Serialize>(
    resource: &Resource<S, T>,
    kind: &kube::core::ApiResource,
) -> Result<Value, serde_json::Error> {
    let mut object = serde_json::to_value(resource)?;
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".to_owned(), Value::String(kind.api_version.clone()));
        fields.insert("kind".to_owned(), Value::String(kind.kind.clone()));
    }
    Ok(object)
}
