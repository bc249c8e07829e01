//! Objects in the version that a caller speaks, and in the one in which they are stored.
//!
//! Custom resources with a conversion webhook are the reason why much of this can fail: see [`crate::conversion`].

use std::sync::Arc;

use baton_apikinds::versions;
use baton_apimachinery::schema::crd;
use serde_json::Value;

use super::Call;
use super::codecs::reply::Shown;
use crate::api_error::ApiError;
use crate::conversion::Conversions;
use crate::registry::Resource;
use crate::registry::custom::CustomVersion;
use crate::selector::Selectors;
use crate::store::Stored;

impl Call {
    /// A stored object as the call sees it.
    pub(super) fn show(&self, stored: &Arc<Stored>) -> Result<Shown, ApiError> {
        let shown = show(&self.resource, &self.conversions, stored);
        self.conversions.settled()?;
        Ok(shown)
    }

    /// Stored objects as the call sees them.
    pub(super) fn show_all(&self, stored: &[Arc<Stored>]) -> Result<Vec<Shown>, ApiError> {
        let shown = stored
            .iter()
            .map(|stored| show(&self.resource, &self.conversions, stored));
        let shown = shown.collect();
        self.conversions.settled()?;
        Ok(shown)
    }

    /// Makes sure that [`Self::to_storage`] will not fail: to be called before anything is committed for the object.
    pub(super) fn convert_ahead(&self, object: &Value) -> Result<(), ApiError> {
        self.conversions.settled()?;
        match self.resource.converter() {
            Some(_) => self.to_storage(object.clone()).map(drop),
            None => Ok(()),
        }
    }

    /// Returns the object after a deletion, as the call sees it. `seen` is the object before.
    pub(super) fn left(&self, seen: &Shown, left: &Shown) -> Shown {
        let resource = &*self.resource;
        match left {
            _ if resource.converter().is_some() => Shown::Value(Arc::new(marked_as(&seen.value(), &left.value()))),
            Shown::Stored(stored) => show(resource, &self.conversions, stored),
            Shown::Value(value) => Shown::Value(Arc::new(in_version(resource, &self.conversions, value))),
        }
    }

    /// Returns the object in its stored version, and in the version of the answer.
    pub(super) fn to_storage(&self, object: Value) -> Result<ToStore, ApiError> {
        let resource = &*self.resource;
        if resource.api_version == resource.storage_api_version {
            return Ok(ToStore { object, shown: None });
        }
        let object = to_storage(resource, &self.conversions, object);
        self.conversions.settled()?;
        let shown = in_version(resource, &self.conversions, &object);
        self.conversions.settled()?;
        Ok(ToStore {
            object,
            shown: Some(shown),
        })
    }
}

/// An object that is about to be stored.
#[derive(Debug, Clone)]
pub(super) struct ToStore {
    /// In the version in which it is stored.
    pub(super) object: Value,
    /// In the version of the call, if that is another one.
    shown: Option<Value>,
}

impl ToStore {
    /// Returns the answer to a dry run.
    pub(super) fn unstored(self) -> Shown {
        Shown::Value(Arc::new(self.shown.unwrap_or(self.object)))
    }

    /// Splits into the object to store and the view of it after the commit.
    pub(super) fn take(self) -> (Value, AsSent) {
        (self.object, AsSent(self.shown))
    }
}

/// How an object is shown that has been stored: it need not be converted again for that.
#[derive(Debug)]
pub(super) struct AsSent(Option<Value>);

impl AsSent {
    pub(super) fn of(self, stored: &Arc<Stored>) -> Shown {
        match self.0 {
            None => Shown::Stored(stored.clone()),
            Some(shown) => Shown::Value(Arc::new(marked_as(&shown, &stored.value()))),
        }
    }
}

/// An object with the metadata of a later state of it, in which nothing else has changed.
pub(super) fn marked_as(shown: &Value, later: &Value) -> Value {
    let mut object = shown.clone();
    let (Some(metadata), Some(later)) = (
        object.get_mut("metadata").and_then(Value::as_object_mut),
        later.get("metadata").and_then(Value::as_object),
    ) else {
        return object;
    };
    let converts = |key: &str| matches!(key, "labels" | "annotations");
    metadata.retain(|key, _| converts(key));
    metadata.extend(
        later
            .iter()
            .filter(|(key, _)| !converts(key))
            .map(|(key, value)| (key.clone(), value.clone())),
    );
    object
}

/// An object as a version of its resource shows it; while conversions are not settled, it need not be that.
pub(super) fn show(resource: &Resource, conversions: &Conversions, stored: &Arc<Stored>) -> Shown {
    let outdated = resource.custom().is_some_and(|custom| stored.revision < custom.changed);
    if stored.is_in(&resource.api_version) && !outdated {
        return Shown::Stored(stored.clone());
    }
    Shown::Value(Arc::new(in_version(resource, conversions, &stored.value())))
}

/// Returns `true` if a stored object matches in the version of the resource.
pub(super) fn matches(
    selectors: &Selectors,
    resource: &Resource,
    conversions: &Conversions,
    stored: &Arc<Stored>,
) -> bool {
    if resource.converter().is_none() || selectors.is_empty() {
        return selectors.matches(stored);
    }
    match show(resource, conversions, stored) {
        Shown::Stored(stored) => selectors.matches(&stored),
        Shown::Value(object) => selectors.matches_value(&object),
    }
}

/// An object in the version of a resource, as [`show`].
pub(super) fn in_version(resource: &Resource, conversions: &Conversions, value: &Value) -> Value {
    let Some(custom) = resource.custom() else {
        return versions::convert(value, &resource.api_version);
    };
    // What was stored before the definition changed gets defaults that are new since then.
    let mut value = value.clone();
    if let Some(schema) = &custom.storage_schema {
        schema.apply_defaults(&mut value);
    }
    let converted = converted(custom, conversions, value, &resource.api_version);
    let mut value = conversions.needed(converted);
    if let Some(schema) = &custom.schema {
        schema.prune(&mut value);
    }
    value
}

/// An object in the version that it is stored in, without what that version does not know.
fn to_storage(resource: &Resource, conversions: &Conversions, object: Value) -> Value {
    let Some(custom) = resource.custom() else {
        return versions::convert(&object, &resource.storage_api_version);
    };
    let converted = converted(custom, conversions, object, &resource.storage_api_version);
    let mut object = conversions.needed(converted);
    if let Some(schema) = &custom.storage_schema {
        schema.prune(&mut object);
        // The reference does so whenever it reads the object.
        schema.apply_defaults(&mut object);
    }
    object
}

/// An object in the version of a resource, with whatever that version does not know.
///
/// # Errors
/// If a webhook should convert it and cannot, the reason.
pub(super) fn as_it_is(resource: &Resource, conversions: &Conversions, object: &Value) -> Result<Value, String> {
    match resource.custom() {
        None => Ok(versions::convert(object, &resource.api_version)),
        Some(custom) => converted(custom, conversions, object.clone(), &resource.api_version),
    }
}

fn converted(custom: &CustomVersion, conversions: &Conversions, mut object: Value, to: &str) -> Result<Value, String> {
    if let Some(converter) = &custom.converter {
        return conversions.convert(converter, object, to);
    }
    crd::set_version(&mut object, to);
    Ok(object)
}
