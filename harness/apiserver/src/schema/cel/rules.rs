//! Evaluates rules.
use serde_json::Value;

use super::super::node::Node;
use super::super::path::Path;
use crate::error::FieldError;

/// Evaluates every rule.
pub fn check(_node: &Node, _value: &Value, _old: Option<&Value>, _path: &Path<'_>, _errors: &mut Vec<FieldError>) {}
