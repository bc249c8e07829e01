//! Errors of strategic merge patches.

use serde_json::Value;

use crate::go_fmt;

/// Reason for which a patch cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// The patch is malformed: 400.
    #[error("{0}")]
    BadRequest(String),
    /// The patch cannot be understood: 422.
    #[error("{0}")]
    Unprocessable(String),
    /// Everything else: 500 without a reason.
    #[error("{0}")]
    Internal(String),
}

impl MergeError {
    pub(super) fn bad(message: &str) -> Self {
        Self::BadRequest(message.to_owned())
    }

    pub(super) fn type_mismatch(expected: &str, actual: &Value) -> Self {
        Self::Internal(format!(
            "expected a {expected}, but received a {}",
            go_fmt::type_name(actual)
        ))
    }
}
