//! The answer to a request, before its form is known.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::handlers::codecs::body::ResponseBody;
use crate::handlers::shown::Shown;
use crate::registry::Resource;
use crate::store::write_head;

/// A successful answer.
#[derive(Debug)]
pub(crate) enum Reply {
    /// One object of a resource.
    Object {
        code: u16,
        object: Shown,
        resource: Arc<Resource>,
    },
    /// A collection.
    List(List),
    /// A `Status`, a `Scale` or another object made for the answer.
    Made { code: u16, object: Value },
    /// The lines of a watch.
    Watch(ResponseBody, &'static str),
    /// Anything that is not an API object.
    Raw {
        code: u16,
        content_type: &'static str,
        body: Bytes,
    },
}

impl Reply {
    /// Returns a review with its answer.
    pub(crate) fn of_review(mut review: Value, status: Value) -> Self {
        if let Some(members) = review.as_object_mut() {
            members.insert("status".to_owned(), status);
            members.entry("metadata").or_insert_with(|| json!({}));
        }
        Self::Made {
            code: 201,
            object: review,
        }
    }
}

/// A collection.
#[derive(Debug)]
pub(crate) struct List {
    pub(crate) resource: Arc<Resource>,
    pub(crate) items: Vec<Shown>,
    pub(crate) revision: u64,
    pub(crate) next: Option<String>,
    pub(crate) remaining: Option<usize>,
}

impl List {
    /// Returns the metadata of the list. Complete lists of custom resources always have a `continue`.
    pub(crate) fn metadata(&self, whole: bool) -> Value {
        let mut metadata = serde_json::Map::new();
        metadata.insert("resourceVersion".to_owned(), self.revision.to_string().into());
        match &self.next {
            Some(next) => {
                metadata.insert("continue".to_owned(), next.clone().into());
            }
            None if whole && self.resource.custom().is_some() => {
                metadata.insert("continue".to_owned(), "".into());
            }
            None => {}
        }
        if let Some(remaining) = self.remaining {
            metadata.insert("remainingItemCount".to_owned(), remaining.into());
        }
        metadata.into()
    }

    /// Returns the list as JSON, assembled from the JSON of its items.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        let resource = &self.resource;
        let mut out = Vec::new();
        write_head(&mut out, &resource.api_version, &resource.list_kind);
        out.extend_from_slice(b",\"metadata\":");
        out.extend_from_slice(self.metadata(true).to_string().as_bytes());
        out.extend_from_slice(b",\"items\":[");
        for (index, item) in self.items.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            // Items of built-in kinds have no type.
            if resource.custom().is_some() {
                item.with_text(|text| out.extend_from_slice(text.object()));
            } else {
                out.push(b'{');
                item.with_text(|text| out.extend_from_slice(text.rest()));
            }
        }
        out.extend_from_slice(b"]}\n");
        out
    }
}
