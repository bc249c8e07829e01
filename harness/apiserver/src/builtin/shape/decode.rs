//! Reading a JSON value into a [`Shape`] and writing it back, in place.

use serde_json::{Map, Value};

use super::{Node, Presence, Shape, Struct};
use crate::builtin::quantity::Quantity;
use crate::{go_base64, go_time};

const QUANTITY_ERROR: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
/// Deeper than any type; only values without a type are recursive, and they are not walked.
const MAX_DEPTH: usize = 100;

/// Where the walk is: for the words of an error.
struct Place<'a> {
    structure: &'a str,
    path: String,
}

impl Shape {
    /// Brings an object into its typed form; the error is that of the API server's decoder.
    pub(super) fn decode(&self, object: &mut Value) -> Result<(), String> {
        let mut place = Place {
            structure: "",
            path: String::new(),
        };
        self.walk(0, object, &mut place, 0)
    }

    /// The status of an object that has none yet.
    pub(super) fn zero_status(&self) -> Option<Value> {
        match self.nodes.first() {
            Some(Node::Struct(structure)) => structure.fields.get("status").map(|member| self.zero(member.node)),
            _ => None,
        }
    }

    fn walk<'a>(&'a self, node: usize, value: &mut Value, place: &mut Place<'a>, depth: usize) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Ok(());
        }
        match &self.nodes[node] {
            Node::Struct(structure) => {
                let Value::Object(members) = value else {
                    return Err(self.mismatch(node, value, place));
                };
                self.members(structure, members, place, depth)
            }
            Node::List(items) => {
                let Value::Array(list) = value else {
                    return Err(self.mismatch(node, value, place));
                };
                for item in list {
                    if item.is_null() {
                        *item = self.zero(*items);
                    }
                    self.walk(*items, item, place, depth + 1)?;
                }
                Ok(())
            }
            Node::Map(values) => {
                let Value::Object(map) = value else {
                    return Err(self.mismatch(node, value, place));
                };
                for each in map.values_mut() {
                    if each.is_null() {
                        *each = match self.nodes[*values] {
                            // No bytes come back from the store as an empty text.
                            Node::Bytes => Value::from(""),
                            _ => self.zero(*values),
                        };
                    }
                    self.walk(*values, each, place, depth + 1)?;
                }
                Ok(())
            }
            Node::Any => Ok(()),
            _ => self.scalar(node, value, place),
        }
    }

    fn scalar(&self, node: usize, value: &mut Value, place: &Place<'_>) -> Result<(), String> {
        match (&self.nodes[node], &*value) {
            (Node::Text, Value::String(_)) | (Node::Boolean, Value::Bool(_)) | (Node::Number, Value::Number(_)) => {
                Ok(())
            }
            (Node::Integer { bits }, Value::Number(number)) => {
                let fits = number
                    .as_i64()
                    .is_some_and(|number| *bits == 64 || i32::try_from(number).is_ok());
                if fits {
                    Ok(())
                } else {
                    Err(self.mismatch(node, value, place))
                }
            }
            (Node::IntOrString, Value::String(_)) => Ok(()),
            (Node::IntOrString, Value::Number(number)) if number.as_i64().is_some() => Ok(()),
            (Node::Bytes, Value::String(text)) => {
                let bytes = go_base64::decode(text)?;
                *value = Value::String(go_base64::encode(&bytes));
                Ok(())
            }
            (Node::Quantity, Value::String(text)) => replace_quantity(value, &text.clone()),
            (Node::Quantity, Value::Number(number)) => replace_quantity(value, &number.to_string()),
            (Node::Time | Node::MicroTime, Value::String(text)) => {
                let time = parse_time(text, matches!(self.nodes[node], Node::MicroTime))?;
                *value = Value::String(time);
                Ok(())
            }
            _ => Err(self.mismatch(node, value, place)),
        }
    }

    fn members<'a>(
        &'a self,
        structure: &'a Struct,
        members: &mut Map<String, Value>,
        place: &mut Place<'a>,
        depth: usize,
    ) -> Result<(), String> {
        let mut outcome = Ok(());
        members.retain(|field, value| {
            let Some(member) = structure.fields.get(field) else {
                return false;
            };
            if value.is_null() {
                return false;
            }
            if outcome.is_ok() {
                let (outer, length) = (place.structure, place.path.len());
                place.structure = &structure.name;
                if length > 0 {
                    place.path.push('.');
                }
                place.path.push_str(field);
                outcome = self.walk(member.node, value, place, depth + 1);
                place.structure = outer;
                place.path.truncate(length);
            }
            member.presence != Presence::Omitted || !is_zero(value)
        });
        self.fill_in(structure, members);
        outcome
    }

    /// Fills in what is written even where nobody set it.
    fn fill_in(&self, structure: &Struct, members: &mut Map<String, Value>) {
        for field in &structure.written_if_missing {
            let Some(member) = structure.fields.get(field) else {
                continue;
            };
            match (member.presence, members.get(field)) {
                (Presence::Null, found) if found.is_none_or(is_zero) => {
                    members.insert(field.clone(), Value::Null);
                }
                (Presence::Always, None) => {
                    members.insert(field.clone(), self.zero(member.node));
                }
                (Presence::Null | Presence::Always | Presence::Kept | Presence::Omitted, _) => {}
            }
        }
    }

    /// The value of a field of that type that nobody set.
    fn zero(&self, node: usize) -> Value {
        match &self.nodes[node] {
            Node::Struct(structure) => {
                let mut members = Map::new();
                self.fill_in(structure, &mut members);
                Value::Object(members)
            }
            Node::List(_) | Node::Map(_) | Node::Bytes | Node::Time | Node::MicroTime | Node::Any => Value::Null,
            Node::Text => Value::from(""),
            Node::Integer { .. } | Node::Number | Node::IntOrString => Value::from(0),
            Node::Boolean => Value::from(false),
            Node::Quantity => Value::from("0"),
        }
    }

    fn mismatch(&self, node: usize, value: &Value, place: &Place<'_>) -> String {
        let wanted = self.type_name(node);
        let found = match value {
            Value::Null => "null".to_owned(),
            Value::Bool(_) => "bool".to_owned(),
            Value::Number(number) if matches!(self.nodes[node], Node::Integer { .. }) => format!("number {number}"),
            Value::Number(_) => "number".to_owned(),
            Value::String(_) => "string".to_owned(),
            Value::Array(_) => "array".to_owned(),
            Value::Object(_) => "object".to_owned(),
        };
        if place.structure.is_empty() {
            return format!("json: cannot unmarshal {found} into Go value of type {wanted}");
        }
        format!(
            "json: cannot unmarshal {found} into Go struct field {}.{} of type {wanted}",
            place.structure, place.path
        )
    }

    fn type_name(&self, node: usize) -> String {
        match &self.nodes[node] {
            Node::Struct(structure) => format!("{}.{}", structure.package, structure.name),
            Node::List(items) => format!("[]{}", self.type_name(*items)),
            Node::Map(values) => format!("map[string]{}", self.type_name(*values)),
            Node::Text | Node::Time | Node::MicroTime | Node::Quantity | Node::IntOrString => "string".to_owned(),
            Node::Integer { bits } => format!("int{bits}"),
            Node::Number => "float64".to_owned(),
            Node::Boolean => "bool".to_owned(),
            Node::Bytes => "[]uint8".to_owned(),
            Node::Any => "interface {}".to_owned(),
        }
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
    }
}

fn replace_quantity(value: &mut Value, text: &str) -> Result<(), String> {
    let quantity = Quantity::parse(text).ok_or(QUANTITY_ERROR)?;
    *value = Value::String(quantity.canonical());
    Ok(())
}

/// A time as the API server writes it: UTC, whole seconds or microseconds.
fn parse_time(text: &str, micro: bool) -> Result<String, String> {
    let at = go_time::parse(text, micro)?;
    let format = if micro {
        "%Y-%m-%dT%H:%M:%S%.6fZ"
    } else {
        "%Y-%m-%dT%H:%M:%SZ"
    };
    Ok(at.strftime(format).to_string())
}
