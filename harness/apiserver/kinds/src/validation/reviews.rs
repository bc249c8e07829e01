//! Questions about what somebody may do.

use baton_apimachinery::field::{ErrorList, FieldError, FieldPath};
use baton_apimachinery::go_values;
use baton_apimachinery::labels::LabelSelector;
use serde_json::{Map, Value};

use super::checks::{list, text};
use super::{ROOT, selectors};

/// Who is asked about, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Whoever asks.
    Oneself,
    /// Anybody.
    Anybody,
    /// Anybody, in one namespace.
    Within,
}

/// What is wrong with a review of access.
pub fn access(review: &Value, asked: Asked) -> Vec<FieldError> {
    let mut found = ErrorList::default();
    let spec = review.get("spec").unwrap_or(&Value::Null);
    let at = ROOT.child("spec");
    let given = |field: &str| spec.get(field).filter(|value| !value.is_null());
    let (of_resource, of_path) = (given("resourceAttributes"), given("nonResourceAttributes"));
    let shown = of_path.map(|of| go_values::text("authorization.NonResourceAttributes", of));
    match (of_resource, &shown) {
        (Some(_), Some(shown)) => {
            let detail = "cannot be specified in combination with resourceAttributes";
            found.invalid_text(&at.child("nonResourceAttributes"), shown, detail);
        }
        (None, None) => {
            let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            found.invalid(&at.child("resourceAttributes"), Value::Null, detail);
        }
        (Some(_), None) | (None, Some(_)) => {}
    }
    if asked != Asked::Oneself && text(spec, "user").is_empty() && list(spec, "groups").is_empty() {
        found.invalid(&at.child("user"), "", "at least one of user or group must be specified");
    }
    if let Some(attributes) = of_resource {
        selected(attributes, &at.child("resourceAttributes"), &mut found);
    }
    let none = Map::new();
    let metadata = review.get("metadata").and_then(Value::as_object).unwrap_or(&none);
    let (free, detail) = match asked {
        Asked::Within => ("namespace", "must be empty except for namespace"),
        Asked::Oneself | Asked::Anybody => ("", "must be empty"),
    };
    if metadata.keys().any(|key| key != free) {
        found.invalid(&ROOT.child("metadata"), metadata.clone(), detail);
    }
    if asked == Asked::Within {
        let namespace = of_resource.map(|attributes| text(attributes, "namespace"));
        if let Some(namespace) =
            namespace.filter(|given| Some(*given) != metadata.get("namespace").and_then(Value::as_str))
        {
            let field = at.child("resourceAttributes.namespace");
            found.invalid(&field, namespace, "must match metadata.namespace");
        }
        if let Some(shown) = shown {
            let detail = "disallowed on this kind of request";
            found.invalid_text(&at.child("nonResourceAttributes"), &shown, detail);
        }
    }
    found.into_vec()
}

const SELECTORS: [&str; 2] = ["fieldSelector", "labelSelector"];

/// By what the resources are selected. Who asks may know more operators.
fn selected(attributes: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    for name in SELECTORS {
        let Some(selector) = attributes.get(name).filter(|selector| !selector.is_null()) else {
            continue;
        };
        let at = at.child(name);
        let (raw, requirements) = (text(selector, "rawSelector"), list(selector, "requirements"));
        let all = at.child("requirements");
        if !raw.is_empty() && !requirements.is_empty() {
            let detail = "may not specified at the same time as requirements";
            found.invalid(&at.child("rawSelector"), raw, detail);
        }
        if raw.is_empty() && requirements.is_empty() {
            let detail = format!("when {at} is specified, requirements or rawSelector is required");
            found.required(&all, &detail);
        }
        for (index, requirement) in requirements.iter().enumerate() {
            let at = all.item(index);
            if name == "labelSelector" {
                selectors::fits_its_values(requirement, &at, found);
                selectors::key_and_values(requirement, &at, found);
                continue;
            }
            if text(requirement, "key").is_empty() {
                found.required(&at.child("key"), "must be specified");
            }
            selectors::fits_its_values(requirement, &at, found);
        }
    }
}

/// What is not understood of the selectors of a review without errors.
pub fn ignored(review: &Value) -> Vec<String> {
    let mut ignored = Vec::new();
    for name in SELECTORS {
        let selector = review.pointer(&format!("/spec/resourceAttributes/{name}"));
        let Some(selector) = selector.filter(|selector| !selector.is_null()) else {
            continue;
        };
        let (raw, requirements) = (text(selector, "rawSelector"), list(selector, "requirements"));
        let is_understood = |requirement: &Value| {
            let values = list(requirement, "values").len();
            match text(requirement, "operator") {
                "In" | "NotIn" => name == "labelSelector" || values == 1,
                "Exists" | "DoesNotExist" => name == "labelSelector",
                _ => false,
            }
        };
        let understood = requirements.iter().filter(|each| is_understood(each)).count();
        let is_readable = match name {
            "labelSelector" => LabelSelector::parse(raw).is_ok(),
            _ => raw.split(',').all(|term| term.is_empty() || term.contains('=')),
        };
        if understood < requirements.len() || !is_readable {
            let partially = if understood > 0 { "partially " } else { "" };
            ignored.push(format!(
                "spec.resourceAttributes.{name} {partially}ignored due to parse error"
            ));
        }
    }
    ignored
}
