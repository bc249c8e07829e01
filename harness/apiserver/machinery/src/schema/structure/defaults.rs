//! Validation of defaults against their own schemas.

use serde_json::Value;

use super::super::node::Node;
use super::super::path::Path;
use super::super::validate::{self, Outcome};
use super::super::{defaults, prune};
use super::{invalid, required};
use crate::field::FieldError;

/// Validates the defaults of a schema that is otherwise structural.
pub fn check(node: &Node, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if node.default.is_some() && !node.embedded {
        // The root is an object of the API.
        let mut root = node.clone();
        root.embedded = true;
        root.below.embedded = true;
        walk(&root, path, &mut errors);
    } else {
        walk(node, path, &mut errors);
    }
    errors
}

fn walk(node: &Node, path: &str, errors: &mut Vec<FieldError>) {
    if let Some(default) = &node.default {
        check_default(node, default, &format!("{path}.default"), errors);
    }
    for (name, property) in &node.properties {
        walk(property, &format!("{path}.properties[{name}]"), errors);
    }
    if let Some(additional) = node.additional_schema() {
        walk(additional, &format!("{path}.additionalProperties"), errors);
    }
    if let Some(items) = node.items.as_deref() {
        walk(items, &format!("{path}.items"), errors);
    }
}

fn check_default(node: &Node, default: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let mut pruned = default.clone();
    prune::prune_inside(node, &mut pruned);
    if &pruned != default {
        errors.push(invalid(path, default, "must not have unknown fields"));
        return;
    }
    if node.embedded
        && let Some(object) = default.as_object()
    {
        let missing = ["apiVersion", "kind"]
            .into_iter()
            .filter(|key| !object.contains_key(*key));
        let found: Vec<FieldError> = missing.map(|key| required(&format!("{path}.{key}"), "")).collect();
        if !found.is_empty() {
            errors.extend(found);
            return;
        }
    }
    // Defaults below fill in the fields that this one leaves out, as they would in an object.
    let mut whole = default.clone();
    defaults::fill(node, &mut whole);
    let root = Path::root(path);
    let mut outcome = Outcome::default();
    validate::check(node, &whole, None, &root, &mut outcome);
    for error in &mut outcome.errors {
        // If a default is a list, its items are named as if they were members.
        if error.field.strip_prefix(path).is_some_and(|rest| rest.starts_with('[')) {
            error.field.insert(path.len(), '.');
        }
    }
    validate::embedded::check(node, &whole, &root, &mut outcome.errors);
    validate::keyed::check(node, &whole, None, &root, &mut outcome.errors);
    errors.append(&mut outcome.errors);
    if errors.is_empty() && node.below.rules {
        super::super::cel::rules::check(node, &whole, None, &root, errors);
    }
}
