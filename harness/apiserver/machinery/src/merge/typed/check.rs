//! Type checks of values, in the words of the structured merge library.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

use serde_json::Value;

use super::super::set::written;
use super::{ListKind, NodeId, Scalar, Shape, TypeModel, item_element, member};
use crate::go_fmt;
use crate::merge::types::MapNode;

/// The type errors of a value, each with its path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct TypeErrors(Vec<String>);

impl fmt::Display for TypeErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [single] => f.write_str(single),
            several => write!(f, "errors:\n  {}", several.join("\n  ")),
        }
    }
}

/// Checks the types of a value. `duplicates` allows items with the same keys.
pub fn check(model: &TypeModel, value: &Value, duplicates: bool) -> Result<(), TypeErrors> {
    let mut checker = Checker {
        model,
        duplicates,
        errors: Vec::new(),
    };
    checker.value(model.root, value, &mut String::new());
    if checker.errors.is_empty() {
        Ok(())
    } else {
        Err(TypeErrors(checker.errors))
    }
}

struct Checker<'m> {
    model: &'m TypeModel,
    duplicates: bool,
    errors: Vec<String>,
}

impl Checker<'_> {
    fn error(&mut self, path: &str, message: &str) {
        self.errors.push(if path.is_empty() {
            message.to_owned()
        } else {
            format!("{path}: {message}")
        });
    }

    fn value(&mut self, id: NodeId, value: &Value, path: &mut String) {
        if value.is_null() {
            return;
        }
        match (Shape::of(self.model, id, value), value) {
            (Shape::Scalar(scalar), _) => {
                if let Some(message) = scalar_error(scalar, value) {
                    self.error(path, &message);
                }
            }
            (Shape::List { items, kind }, Value::Array(list)) => self.list(items, kind, list, path),
            (Shape::List { .. }, _) => self.error(path, &format!("expected list, got &{{{}}}", go_fmt::plain(value))),
            (Shape::Map(map), Value::Object(members)) => self.map(map, members, path),
            (Shape::Map(_), _) => self.error(path, &format!("expected map, got &{{{}}}", go_fmt::plain(value))),
        }
    }

    fn list(&mut self, items: NodeId, kind: &ListKind, list: &[Value], path: &mut String) {
        let length = path.len();
        let mut seen = BTreeSet::new();
        for (index, item) in list.iter().enumerate() {
            let element = match kind {
                ListKind::Atomic => None,
                ListKind::Set | ListKind::Map(_) => match item_element(kind, item) {
                    Ok(element) => Some(element),
                    Err(message) => {
                        self.error(path, &format!("element {index}: {message}"));
                        return;
                    }
                },
            };
            match &element {
                None => {
                    let _ = write!(path, "[{index}]");
                }
                Some(element) => path.push_str(&written(element)),
            }
            self.value(items, item, path);
            let step = path.split_off(length);
            if element.is_some_and(|element| !seen.insert(element)) && !self.duplicates {
                self.error(path, &format!("duplicate entries for key {step}"));
            }
        }
    }

    fn map(&mut self, map: Option<&MapNode>, members: &serde_json::Map<String, Value>, path: &mut String) {
        let length = path.len();
        for (name, value) in members {
            path.push('.');
            path.push_str(name);
            if map.is_some_and(|map| map.member(name).is_none()) {
                self.error(path, "field not declared in schema");
                path.truncate(length);
                return;
            }
            self.value(member(map, name), value, path);
            path.truncate(length);
        }
    }
}

fn scalar_error(scalar: Scalar, value: &Value) -> Option<String> {
    let is_scalar = value.is_string() || value.is_number() || value.is_boolean();
    match scalar {
        Scalar::Any | Scalar::IntOrString | Scalar::Quantity => {
            (!is_scalar).then(|| format!("expected any scalar, got &{{{}}}", go_fmt::plain(value)))
        }
        Scalar::String | Scalar::Bytes | Scalar::Time | Scalar::MicroTime => (!value.is_string()).then(|| {
            format!(
                "expected string, got &value.valueUnstructured{{Value:{}}}",
                go_fmt::go_syntax(value)
            )
        }),
        Scalar::Boolean => {
            (!value.is_boolean()).then(|| format!("expected boolean, got &{{{}}}", go_fmt::plain(value)))
        }
        Scalar::Int32 | Scalar::Int64 | Scalar::Number => {
            (!value.is_number()).then(|| format!("expected numeric (int or float), got {}", go_fmt::type_name(value)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::types::custom;
    use super::*;
    use serde_json::json;

    #[test]
    fn errors_are_worded_as_the_api_server_does() {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "n": {"type": "integer"}, "s": {"type": "string"}, "o": {"type": "object", "additionalProperties": {"type": "string"}},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "properties": {"name": {"type": "string"}}}}}}}});
        let model = custom(&schema, false, None);
        for (spec, message) in [
            (json!({"nope": 1}), ".spec.nope: field not declared in schema"),
            (
                json!({"n": "x"}),
                ".spec.n: expected numeric (int or float), got string",
            ),
            (
                json!({"s": 1}),
                ".spec.s: expected string, got &value.valueUnstructured{Value:1}",
            ),
            (json!({"o": ["x"]}), ".spec.o: expected map, got &{[x]}"),
            (
                json!({"set": ["z", "z"]}),
                ".spec.set: duplicate entries for key [=\"z\"]",
            ),
            (
                json!({"map": [{"name": "q"}, {"name": "q"}]}),
                ".spec.map: duplicate entries for key [name=\"q\"]",
            ),
            (
                json!({"map": [{}]}),
                ".spec.map: element 0: associative list with keys has an element that omits all key fields [\"name\"] (and doesn't have default values for any key fields)",
            ),
        ] {
            let errors = check(&model, &json!({"spec": spec}), false).unwrap_err();
            assert_eq!(errors.to_string(), message);
        }
        assert_eq!(
            check(&model, &json!({"spec": {"set": ["z", "z"], "n": null}}), true),
            Ok(())
        );
    }
}
