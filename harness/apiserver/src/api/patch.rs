//! Patches: JSON patch, merge patch, strategic merge patch and apply.

use std::sync::Arc;

use http::header;
use serde_json::Value;

use super::reply::Reply;
use super::{Call, Core, decode};
use crate::meta;
use crate::status::ApiError;

impl Core {
    pub(super) fn patch(self: &Arc<Self>, call: &Call, warnings: &mut Vec<String>) -> Result<Reply, ApiError> {
        let content_type = call.header(header::CONTENT_TYPE).unwrap_or_default();
        let media = content_type.split(';').next().unwrap_or_default().trim();
        match media {
            "application/json-patch+json" => self.json_patch(call, warnings),
            "application/merge-patch+json" | "application/strategic-merge-patch+json" => {
                self.merge_patch(call, warnings)
            }
            "application/apply-patch+yaml" => self.apply(call, warnings),
            _ => Err(ApiError::new(
                415,
                "UnsupportedMediaType",
                "415: Unsupported Media Type",
                Some(serde_json::json!({})),
            )),
        }
    }

    fn json_patch(self: &Arc<Self>, call: &Call, warnings: &mut Vec<String>) -> Result<Reply, ApiError> {
        let patch: json_patch::Patch =
            serde_json::from_slice(&call.body).map_err(|error| ApiError::bad_request(error.to_string()))?;
        self.change(call, warnings, |old| {
            let mut new = old.clone();
            json_patch::patch(&mut new, &patch).map_err(|error| {
                ApiError::new(
                    422,
                    "Invalid",
                    format!("the server rejected our request due to an error in our request: {error}"),
                    None,
                )
            })?;
            check_patched(call, &mut new)?;
            Ok(new)
        })
    }

    fn merge_patch(self: &Arc<Self>, call: &Call, warnings: &mut Vec<String>) -> Result<Reply, ApiError> {
        let patch = decode::json(&call.body)?;
        self.change(call, warnings, |old| {
            let mut new = old.clone();
            json_patch::merge(&mut new, &patch);
            check_patched(call, &mut new)?;
            Ok(new)
        })
    }

    fn apply(self: &Arc<Self>, call: &Call, warnings: &mut Vec<String>) -> Result<Reply, ApiError> {
        let mut applied = decode::yaml(&call.body)?;
        decode::check_type(call, &mut applied)?;
        if meta::name(&applied).is_none() {
            meta::set(&mut applied, "name", call.name.clone().unwrap_or_default());
        }
        super::write::check_name(call, &applied)?;
        super::create::check_namespace(call, &mut applied)?;
        let found = self.store.get(call.resource.bucket, &call.key()).is_some();
        if !found && call.subresource.is_none() {
            return self.create_object(call, applied, warnings);
        }
        self.change(call, warnings, |old| {
            let mut new = old.clone();
            json_patch::merge(&mut new, &applied);
            Ok(new)
        })
    }
}

/// A patch can change neither type nor name nor namespace.
fn check_patched(call: &Call, new: &mut Value) -> Result<(), ApiError> {
    decode::check_type(call, new)?;
    super::write::check_name(call, new)?;
    super::create::check_namespace(call, new)
}
