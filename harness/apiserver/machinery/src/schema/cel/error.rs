//! Errors of expressions.

use super::value::Val;

/// Reason for which an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CelError {
    /// The expression failed, in the words of CEL.
    #[error("{0}")]
    Eval(String),
    /// The expression cost too much and was stopped.
    #[error("operation cancelled: actual cost limit exceeded")]
    Cost,
}

impl CelError {
    /// Returns the error for arguments that no function accepts.
    pub fn no_overload() -> Self {
        Self::Eval("no such overload".to_owned())
    }

    /// Returns the error for a missing member.
    pub fn no_key(key: &str) -> Self {
        Self::Eval(format!("no such key: {key}"))
    }
}

/// The value of an expression, or the error.
pub type Outcome<'a> = Result<Val<'a>, CelError>;
