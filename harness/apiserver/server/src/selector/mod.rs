//! Label and field selectors in the query of a list or a watch.

pub(crate) mod fields;

use baton_apimachinery::labels::LabelSelector;
use baton_apimachinery::meta;
use serde_json::Value;

use crate::api_error::ApiError;
use crate::registry::Resource;
use crate::store::Stored;
use fields::FieldSelector;

/// The selectors of a list or a watch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selectors {
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
}

impl Selectors {
    pub(crate) fn parse(resource: &Resource, labels: Option<&str>, fields: Option<&str>) -> Result<Self, ApiError> {
        let labels = LabelSelector::parse(labels.unwrap_or_default());
        let labels = labels.map_err(ApiError::bad_request)?;
        let fields = FieldSelector::parse(resource, fields.unwrap_or_default())?;
        Ok(Self { labels, fields })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub(crate) fn matches(&self, object: &Stored) -> bool {
        self.labels.matches_with(|key, look| object.with_label(key, look))
            && (self.fields.is_empty() || self.fields.matches(&object.value()))
    }

    /// Returns `true` if an object matches that is not in its stored form.
    pub(crate) fn matches_value(&self, object: &Value) -> bool {
        self.labels.matches_with(|key, look| look(meta::label(object, key))) && self.fields.matches(object)
    }
}
