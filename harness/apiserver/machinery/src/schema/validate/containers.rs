//! Keywords of lists and objects.

use serde_json::{Map, Value};

use super::super::node::{Additional, ListType, Node};
use super::super::path::Path;
use super::keyed::find_by_keys;
use super::{Outcome, check};
use crate::field::{FieldError, FieldErrorType};

pub(super) fn check_list(node: &Node, items: &[Value], old: Option<&Vec<Value>>, path: &Path<'_>, out: &mut Outcome) {
    out.checks += 1;
    if let Some(schema) = node.items.as_deref() {
        for (index, item) in items.iter().enumerate() {
            let old = old.filter(|_| node.list_type == ListType::Map);
            let old = old.and_then(|old| find_by_keys(node, old, item));
            check(schema, item, old, &path.index(index), out);
        }
    }
    let count = items.len();
    if let Some(least) = node.min_items
        && (count as u64) < least
    {
        out.invalid(
            path,
            &Value::from(count),
            &format!("should have at least {least} items"),
        );
    }
    if let Some(most) = node.max_items
        && count as u64 > most
    {
        out.too_many(path, count, most);
    }
}

pub(super) fn check_object(
    node: &Node,
    map: &Map<String, Value>,
    old: Option<&Map<String, Value>>,
    path: &Path<'_>,
    out: &mut Outcome,
) {
    out.checks += 1;
    let count = map.len();
    if let Some(least) = node.min_properties
        && (count as u64) < least
    {
        out.invalid(
            path,
            &Value::from(count),
            &format!("should have at least {least} properties"),
        );
    }
    if let Some(most) = node.max_properties
        && count as u64 > most
    {
        out.too_many(path, count, most);
    }
    for name in &node.required {
        require(map, name, path, out);
    }
    if node.embedded {
        for name in ["apiVersion", "kind"]
            .into_iter()
            .filter(|name| !node.required.iter().any(|other| other == name))
        {
            require(map, name, path, out);
        }
    }
    for (key, value) in map {
        let old = old.and_then(|old| old.get(key));
        if let Some(property) = node.properties.get(key) {
            check(property, value, old, &path.field(key), out);
            continue;
        }
        match &node.additional {
            Some(Additional::Schema(schema)) => check(schema, value, old, &path.key(key), out),
            Some(Additional::Any(false)) => out.invalid(&path.key(key), value, "is a forbidden property"),
            Some(Additional::Any(true)) | None => {}
        }
    }
}

fn require(map: &Map<String, Value>, name: &str, path: &Path<'_>, out: &mut Outcome) {
    if !map.contains_key(name) {
        out.errors.push(FieldError::without_value(
            FieldErrorType::Required,
            path.field(name).dotted_field(),
            "",
        ));
    }
}
