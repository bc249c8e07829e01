//! Objects in the version of a caller, and in the stored version.
//!
//! Much of this can fail because of conversion webhooks: see [`crate::conversion`].

use std::sync::Arc;

use baton_apikinds::versions;
use baton_apimachinery::schema::crd;
use serde_json::Value;

use super::Call;
use super::shown::Shown;
use crate::api_error::ApiError;
use crate::conversion::{ConversionError, Conversions};
use crate::registry::Resource;
use crate::registry::custom::CustomVersion;
use crate::selector::Selectors;
use crate::store::Stored;

impl Call {
    /// Returns a stored object as the call sees it.
    pub(super) fn show(&self, stored: &Arc<Stored>) -> Result<Shown, ApiError> {
        let shown = show(&self.resource, &self.conversions, stored);
        self.conversions.settled()?;
        Ok(shown)
    }

    /// Returns stored objects as the call sees them.
    pub(super) fn show_all(&self, stored: &[Arc<Stored>]) -> Result<Vec<Shown>, ApiError> {
        let shown = stored
            .iter()
            .map(|stored| show(&self.resource, &self.conversions, stored));
        let shown = shown.collect();
        self.conversions.settled()?;
        Ok(shown)
    }

    /// Checks that [`Self::to_storage`] will not fail; call it before a commit for the object.
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

/// An object before it is stored.
#[derive(Debug, Clone)]
pub(super) struct ToStore {
    /// The object in its stored version.
    pub(super) object: Value,
    /// The object in the version of the call, if that differs.
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

/// The view of a stored object, without another conversion.
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

/// Returns an object with the metadata of a later state that differs in nothing else.
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

/// Returns an object in the version of its resource; until all conversions are settled, it may be in another one.
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

/// Returns an object in the version of a resource, as [`show`].
pub(super) fn in_version(resource: &Resource, conversions: &Conversions, value: &Value) -> Value {
    let Some(custom) = resource.custom() else {
        return versions::convert(value, &resource.api_version);
    };
    // An object that was stored before the definition changed gets the new defaults.
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

/// Returns an object in its stored version, without fields that this version does not know.
fn to_storage(resource: &Resource, conversions: &Conversions, object: Value) -> Value {
    let Some(custom) = resource.custom() else {
        return versions::convert(&object, &resource.storage_api_version);
    };
    let converted = converted(custom, conversions, object, &resource.storage_api_version);
    let mut object = conversions.needed(converted);
    if let Some(schema) = &custom.storage_schema {
        schema.prune(&mut object);
        // The reference sets defaults whenever it reads the object.
        schema.apply_defaults(&mut object);
    }
    object
}

/// The object in another version, or the error of the conversion webhook.
type Converted = Result<Value, Arc<ConversionError>>;

/// Returns an object in the version of a resource, including fields that the version does not know.
pub(super) fn as_it_is(resource: &Resource, conversions: &Conversions, object: &Value) -> Converted {
    match resource.custom() {
        None => Ok(versions::convert(object, &resource.api_version)),
        Some(custom) => converted(custom, conversions, object.clone(), &resource.api_version),
    }
}

fn converted(custom: &CustomVersion, conversions: &Conversions, mut object: Value, to: &str) -> Converted {
    if let Some(converter) = &custom.converter {
        return conversions.convert(converter, object, to);
    }
    crd::set_version(&mut object, to);
    Ok(object)
}
