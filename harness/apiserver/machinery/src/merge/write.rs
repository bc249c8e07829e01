//! Writes whose fields get owners, and the versions of their kinds.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::typed::TypeErrors;
use super::types::TypeModel;

/// The facts about a write that ownership depends on.
#[derive(Debug, Clone, Copy)]
pub struct Write<'a> {
    /// The field manager.
    pub manager: &'a str,
    /// The `apiVersion` of the object: `apps/v1`.
    pub api_version: &'a str,
    /// `status`, `scale`; empty for the object itself.
    pub subresource: &'a str,
    /// The time of the write.
    pub now: Timestamp,
    /// The other versions of the kind.
    pub versions: &'a dyn Versions,
}

/// Reason for which a write cannot be compared in the version of another owner.
#[derive(Debug, thiserror::Error)]
pub enum VersionError {
    /// The object cannot be converted.
    #[error(transparent)]
    Conversion(Box<dyn std::error::Error + Send + Sync>),
    /// The object does not fit the types of the version.
    #[error(transparent)]
    Types(#[from] TypeErrors),
    /// A step of the write failed.
    #[error("{step}: {source}")]
    Step {
        /// The failed step: `failed to prune fields`.
        step: String,
        /// The reason.
        source: Box<Self>,
    },
}

impl VersionError {
    pub(super) fn during(self, step: impl Into<String>) -> Self {
        Self::Step {
            step: step.into(),
            source: Box::new(self),
        }
    }
}

/// The conversions of objects between the versions of a kind.
pub trait Versions: fmt::Debug {
    /// The object in that version and the types of the version; `None` if the kind is not served in it.
    ///
    /// # Errors
    /// Returns the reason if the object cannot be converted.
    fn convert(&self, object: &Value, api_version: &str) -> Result<Option<View>, VersionError>;
}

/// An object in a version.
#[derive(Debug)]
pub struct View {
    /// The types of the version.
    pub model: Arc<TypeModel>,
    /// The object in that version.
    pub object: Value,
}

/// A kind with a single version.
#[derive(Debug, Clone, Copy)]
pub struct OneVersion;

impl Versions for OneVersion {
    fn convert(&self, _: &Value, _: &str) -> Result<Option<View>, VersionError> {
        Ok(None)
    }
}
