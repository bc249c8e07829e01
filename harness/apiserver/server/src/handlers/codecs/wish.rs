//! The form of an answer.

use serde_json::{Value, json};

use crate::handlers::codecs::accept::{Form, MetaVersion};
use crate::handlers::query::Query;

/// The settings of an answer, apart from the reply itself.
pub(crate) struct Wish<'a> {
    pub(crate) form: Form,
    pub(crate) query: &'a Query,
    pub(crate) now: jiff::Timestamp,
    pub(crate) pretty: bool,
}

/// Returns an object's metadata.
pub(in crate::handlers) fn partial(object: &Value, version: MetaVersion) -> Value {
    let metadata = object.get("metadata").cloned().unwrap_or_else(|| json!({}));
    json!({"kind": "PartialObjectMetadata", "apiVersion": version.api_version(), "metadata": metadata})
}
