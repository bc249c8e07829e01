//! The scale subresource of custom resources: paths to replicas and selector.

use serde_json::{Map, Value};

use super::jsonpath;
use crate::field::{FieldError, FieldErrorType};
use crate::go_fmt;
use crate::meta::text;

/// The paths of an entry of `spec.versions`, as written: `.spec.replicas`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScalePaths {
    /// `specReplicasPath`
    pub spec_replicas: String,
    /// `statusReplicasPath`
    pub status_replicas: String,
    /// `labelSelectorPath`
    pub label_selector: Option<String>,
}

impl ScalePaths {
    /// Reads the paths of a version that has the subresource.
    pub fn of_version(version: &Value) -> Option<Self> {
        let scale = version
            .pointer("/subresources/scale")
            .filter(|scale| scale.is_object())?;
        let selector = text(scale, "labelSelectorPath");
        Some(Self {
            spec_replicas: text(scale, "specReplicasPath").to_owned(),
            status_replicas: text(scale, "statusReplicasPath").to_owned(),
            label_selector: (!selector.is_empty()).then(|| selector.to_owned()),
        })
    }

    /// Validates the replicas and the selector of an object.
    pub fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        for path in [&self.spec_replicas, &self.status_replicas] {
            let Some(value) = get(object, path) else { continue };
            let replicas = value.as_i64();
            let detail = match replicas {
                None => Some(accessor_error(path, value, "int64")),
                Some(replicas) if replicas < 0 => Some("should be a non-negative integer".to_owned()),
                Some(replicas) if replicas > i64::from(i32::MAX) => {
                    Some(format!("should be less than or equal to {}", i32::MAX))
                }
                Some(_) => None,
            };
            if let Some(detail) = detail {
                let value = Value::from(replicas.unwrap_or(0));
                errors.push(FieldError::with_value(
                    FieldErrorType::Invalid,
                    path.clone(),
                    &value,
                    &detail,
                ));
            }
        }
        if let Some(path) = &self.label_selector
            && let Some(value) = get(object, path)
            && !value.is_string()
        {
            let detail = accessor_error(path, value, "string");
            errors.push(FieldError::with_value(
                FieldErrorType::Invalid,
                path.clone(),
                &Value::from(""),
                &detail,
            ));
        }
        errors
    }
}

fn accessor_error(path: &str, value: &Value, expected: &str) -> String {
    let kind = go_fmt::type_name(value);
    format!(
        "{path} accessor error: {} is of the type {kind}, expected {expected}",
        go_fmt::plain(value)
    )
}

/// The value at a path such as `.spec.replicas`.
pub fn get<'v>(object: &'v Value, path: &str) -> Option<&'v Value> {
    path.trim_start_matches('.')
        .split('.')
        .try_fold(object, |at, name| at.get(name))
}

/// Sets the value at a path and creates missing objects; returns `false` if a value on the path is not an object.
pub fn set(object: &mut Value, path: &str, value: Value) -> bool {
    let mut at = object;
    for name in path.trim_start_matches('.').split('.') {
        if at.is_null() {
            *at = Value::Object(Map::new());
        }
        let Some(map) = at.as_object_mut() else { return false };
        at = map.entry(name).or_insert(Value::Null);
    }
    *at = value;
    true
}

/// Validates the paths of a definition.
pub(super) fn check_paths(subresources: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let Some(scale) = subresources.get("scale").filter(|scale| scale.is_object()) else {
        return errors;
    };
    for (key, prefixes, detail) in [
        ("specReplicasPath", &[".spec."][..], "should be a json path under .spec"),
        (
            "statusReplicasPath",
            &[".status."],
            "should be a json path under .status",
        ),
        (
            "labelSelectorPath",
            &[".spec.", ".status."],
            "should be a json path under either .spec or .status",
        ),
    ] {
        let value = text(scale, key);
        let field = format!("{path}.scale.{key}");
        if value.is_empty() && key == "labelSelectorPath" {
            continue;
        }
        let simple = jsonpath::check_simple(value, &field);
        if !simple.is_empty() {
            errors.extend(simple);
        } else if !prefixes.iter().any(|prefix| value.starts_with(prefix)) {
            errors.push(FieldError::with_value(
                FieldErrorType::Invalid,
                field,
                &Value::from(value),
                detail,
            ));
        }
    }
    errors
}
