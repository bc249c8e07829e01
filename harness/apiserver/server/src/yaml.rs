//! YAML as it is written: the one place that knows which crate does it.

use serde_json::Value;

/// A value as one document.
pub(crate) fn write(value: &Value) -> String {
    // Plain JSON values always have a form in YAML; JSON itself is one.
    serde_yaml::to_string(value).unwrap_or_else(|_| value.to_string())
}
