//! Unknown and duplicate fields, for `fieldValidation=Strict` and the warnings of `Warn`.
//!
//! Errors are complete messages: `unknown field "spec.foo"`, `duplicate field "data.k"`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::types::{Node, NodeId, TypeModel, UNTYPED};

/// The members of an operation of a JSON patch.
const PATCH_MEMBERS: &[&str] = &["op", "path", "from", "value"];

/// Returns the duplicate and (with a model of a built-in kind) unknown fields of a JSON document, in the order of the
/// document. A document that does not parse has none, because the parser reports its error.
pub fn document(model: Option<&TypeModel>, json: &[u8]) -> Vec<String> {
    let deduced;
    let model = if let Some(model) = model.filter(|model| model.is_builtin()) {
        model
    } else {
        deduced = TypeModel::deduced();
        &deduced
    };
    let mut walk = Walk {
        model,
        path: String::new(),
        findings: Vec::new(),
    };
    let seed = At {
        walk: &mut walk,
        id: model.root,
    };
    let parsed = seed.deserialize(&mut serde_json::Deserializer::from_slice(json));
    if parsed.is_err() {
        return Vec::new();
    }
    walk.findings
}

/// Duplicate fields of a JSON document.
pub fn duplicate_keys(json: &[u8]) -> Vec<String> {
    document(None, json)
}

/// Unknown fields of an object, in alphabetical order.
pub fn unknown_fields(model: &TypeModel, object: &Value) -> Vec<String> {
    let mut findings = Vec::new();
    unknown(model, model.root, object, &mut String::new(), &mut findings);
    if !model.is_builtin() {
        findings.sort();
    }
    findings
}

/// Unknown members of the operations of a JSON patch.
pub fn json_patch(patch: &Value) -> Vec<String> {
    let mut findings = Vec::new();
    for (index, operation) in patch.as_array().into_iter().flatten().enumerate() {
        for name in operation.as_object().into_iter().flatten().map(|(name, _)| name) {
            if !PATCH_MEMBERS.contains(&name.as_str()) {
                findings.push(format!("json patch unknown field \"[{index}].{name}\""));
            }
        }
    }
    findings
}

/// The error about an unknown field: `unknown field "spec.foo"`.
pub fn unknown_field(path: &str) -> String {
    format!("unknown field {path:?}")
}

/// Returns the error of `fieldValidation=Strict`.
pub fn message(findings: &[String]) -> String {
    format!("strict decoding error: {}", findings.join(", "))
}

fn unknown(model: &TypeModel, id: NodeId, value: &Value, path: &mut String, findings: &mut Vec<String>) {
    let length = path.len();
    match (model.node(id), value) {
        (Node::Map(map), Value::Object(members)) => {
            for (name, inner) in members {
                push(path, name);
                match map.member(name) {
                    None => findings.push(format!("unknown field {path:?}")),
                    Some(next) => unknown(model, next, inner, path, findings),
                }
                path.truncate(length);
            }
        }
        (Node::List(list), Value::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                let _ = write!(path, "[{index}]");
                unknown(model, list.items, item, path, findings);
                path.truncate(length);
            }
        }
        (Node::Untyped | Node::Scalar(_) | Node::List(_) | Node::Map(_), _) => {}
    }
}

fn push(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}

struct Walk<'m> {
    model: &'m TypeModel,
    path: String,
    findings: Vec<String>,
}

/// The position of the parser in the types.
struct At<'a, 'm> {
    walk: &'a mut Walk<'m>,
    id: NodeId,
}

impl<'de> DeserializeSeed<'de> for At<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for At<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("any JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let id = match self.walk.model.node(self.id) {
            Node::List(list) => list.items,
            Node::Untyped | Node::Scalar(_) | Node::Map(_) => UNTYPED,
        };
        let length = self.walk.path.len();
        for index in 0_usize.. {
            let _ = write!(self.walk.path, "[{index}]");
            let next = items.next_element_seed(At { walk: self.walk, id })?;
            self.walk.path.truncate(length);
            if next.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut seen: BTreeSet<String> = BTreeSet::new();
        let length = self.walk.path.len();
        while let Some(name) = members.next_key::<String>()? {
            push(&mut self.walk.path, &name);
            let id = match self.walk.model.node(self.id) {
                Node::Map(map) => map.member(&name),
                Node::Untyped | Node::Scalar(_) | Node::List(_) => Some(UNTYPED),
            };
            match id {
                None => {
                    let finding = format!("unknown field {:?}", self.walk.path);
                    self.walk.findings.push(finding);
                    members.next_value::<IgnoredAny>()?;
                }
                Some(id) => {
                    if !seen.insert(name) {
                        let finding = format!("duplicate field {:?}", self.walk.path);
                        self.walk.findings.push(finding);
                    }
                    members.next_value_seed(At { walk: self.walk, id })?;
                }
            }
            self.walk.path.truncate(length);
        }
        Ok(())
    }
}
