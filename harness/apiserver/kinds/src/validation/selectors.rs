//! Label selectors in specifications.

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::go_values;
use baton_apimachinery::meta;
use baton_apimachinery::metadata::names;
use serde_json::{Map, Value};

use super::fields::{list, members, text, texts};

/// Checks a label selector.
pub(super) fn validate(selector: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if let Some(labels) = members(selector, "matchLabels") {
        baton_apimachinery::metadata::validate_labels(labels, &at.child("matchLabels"), found);
    }
    let expressions = at.child("matchExpressions");
    for (index, expression) in list(selector, "matchExpressions").iter().enumerate() {
        let at = expressions.item(index);
        if !fits_its_values(expression, &at, found) {
            let operator = text(expression, "operator");
            found.invalid(&at.child("operator"), operator, "not a valid selector operator");
        }
        key_and_values(expression, &at, found);
    }
}

/// Returns the labels in the template of a workload.
pub(super) fn template_labels(spec: &Value) -> Option<&Map<String, Value>> {
    meta::at(spec, &["template", "metadata", "labels"])?.as_object()
}

/// Adds the error for a selector that does not match the labels of the template.
pub(super) fn mismatch(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let labels = template_labels(spec).cloned().map_or(Value::Null, Value::Object);
    let detail = "`selector` does not match template `labels`";
    found.invalid(&at.child("template.metadata.labels"), labels, detail);
}

/// Adds an error if the selector of a workload changed.
pub(super) fn immutable(new: &Value, old: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let selector = new.get("selector");
    if selector != old.get("selector") {
        let text = selector.map(|selector| go_values::text("v1.LabelSelector", selector));
        let text = text.unwrap_or_else(|| "null".to_owned());
        found.invalid_text(&at.child("selector"), &text, "field is immutable");
    }
}

/// Returns `true` if the operator of an expression is known; then also checks that values are set exactly where the
/// operator needs them.
pub(super) fn fits_its_values(expression: &Value, at: &FieldPath<'_>, found: &mut ErrorList) -> bool {
    let has_values = !list(expression, "values").is_empty();
    let field = at.child("values");
    match text(expression, "operator") {
        "In" | "NotIn" if !has_values => {
            found.required(&field, "must be specified when `operator` is 'In' or 'NotIn'");
        }
        "Exists" | "DoesNotExist" if has_values => {
            let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            found.forbidden(&field, detail);
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        _ => return false,
    }
    true
}

/// Checks the key and the values of an expression.
pub(super) fn key_and_values(expression: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let key = text(expression, "key");
    found.invalid_each(&at.child("key"), key, names::qualified_name(key));
    for (index, value) in texts(expression, "values").into_iter().enumerate() {
        found.invalid_each(&at.child("values").item(index), value, names::label_value(value));
    }
}

/// Returns `true` if a selector has no requirements.
pub(super) fn is_empty(selector: &Value) -> bool {
    members(selector, "matchLabels").is_none_or(Map::is_empty) && list(selector, "matchExpressions").is_empty()
}

/// Returns `true` if a selector selects these labels, or `None` if the selector is invalid.
pub(super) fn matches(selector: Option<&Value>, labels: Option<&Map<String, Value>>) -> Option<bool> {
    let Some(selector) = selector else { return Some(false) };
    let label = |key: &str| labels.and_then(|labels| labels.get(key)?.as_str());
    let mut wanted = members(selector, "matchLabels").into_iter().flatten();
    if wanted.any(|(key, value)| !is_label(key, value)) {
        return None;
    }
    let mut all = members(selector, "matchLabels")
        .is_none_or(|wanted| wanted.iter().all(|(key, value)| label(key) == value.as_str()));
    for expression in list(selector, "matchExpressions") {
        let value = label(text(expression, "key"));
        let values = texts(expression, "values");
        all &= match text(expression, "operator") {
            "In" if !values.is_empty() => value.is_some_and(|value| values.contains(&value)),
            "NotIn" if !values.is_empty() => value.is_none_or(|value| !values.contains(&value)),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            _ => return None,
        };
    }
    Some(all)
}

fn is_label(key: &str, value: &Value) -> bool {
    names::qualified_name(key).is_empty() && names::label_value(value.as_str().unwrap_or_default()).is_empty()
}
