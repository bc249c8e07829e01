//! Writing YAML: the one place that knows which crate does it.

use serde_json::Value;

/// Writes a value as one document.
pub(crate) fn write(value: &Value) -> String {
    // Plain JSON values always have a form in YAML, and JSON itself is YAML.
    serde_yaml::to_string(value).unwrap_or_else(|_| value.to_string())
}
