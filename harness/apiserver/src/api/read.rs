//! Get and list.

use std::sync::Arc;

use serde_json::Value;

use super::reply::{List, Reply, Shown};
use super::{Call, Core};
use crate::registry::Resource;
use crate::selector::Selectors;
use crate::status::ApiError;
use crate::store::Stored;

impl Core {
    pub(super) fn get(&self, call: &Call) -> Result<Reply, ApiError> {
        let stored = self.find(call)?;
        Ok(Reply::Object {
            code: 200,
            object: show(&call.resource, &stored),
        })
    }

    /// The object that a call names.
    pub(super) fn find(&self, call: &Call) -> Result<Arc<Stored>, ApiError> {
        self.store
            .get(call.resource.bucket, &call.key())
            .ok_or_else(|| ApiError::not_found(call.about(call.name.as_deref().unwrap_or_default())))
    }

    pub(super) fn list(&self, call: &Call) -> Result<Reply, ApiError> {
        let selectors = Selectors::parse(
            &call.resource,
            call.query.get("labelSelector"),
            call.query.get("fieldSelector"),
        )?;
        let (objects, revision) = self.store.list(call.resource.bucket, &call.prefix());
        let items = objects
            .iter()
            .filter(|stored| selectors.matches(&stored.value))
            .map(|stored| show(&call.resource, stored))
            .collect();
        Ok(Reply::List(List {
            resource: call.resource.clone(),
            items,
            revision,
            next: None,
            remaining: None,
        }))
    }
}

/// An object as a version of its resource shows it.
pub(super) fn show(resource: &Resource, stored: &Arc<Stored>) -> Shown {
    if stored.value.get("apiVersion").and_then(Value::as_str) == Some(&resource.api_version) {
        return Shown::Stored(stored.clone());
    }
    Shown::Value(Arc::new(convert(&stored.value, resource)))
}

/// An object in the version of a resource.
pub(super) fn convert(value: &Value, resource: &Resource) -> Value {
    let mut value = value.clone();
    if let Some(members) = value.as_object_mut() {
        members.insert("apiVersion".to_owned(), resource.api_version.clone().into());
        members.insert("kind".to_owned(), resource.kind.clone().into());
    }
    value
}
