//! The document of version 2 in the binary form for Go clients.
//!
//! The messages are those of gnostic's `openapi_v2`: definitions with complete schemas and, of the paths, only what
//! clients look up: the query parameters of a patch.

use baton_apimachinery::meta;
use serde_json::{Map, Value};

/// A message in the making.
#[derive(Default)]
struct Message(Vec<u8>);

/// The encoding of a field.
#[derive(Clone, Copy)]
enum Wire {
    Varint = 0,
    Fixed64 = 1,
    Bytes = 2,
}

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }

    fn key(&mut self, field: u64, wire: Wire) {
        self.varint(field << 3 | wire as u64);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.key(field, Wire::Bytes);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, field: u64, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    fn message(&mut self, field: u64, message: &Self) {
        self.bytes(field, &message.0);
    }

    fn double(&mut self, field: u64, number: f64) {
        self.key(field, Wire::Fixed64);
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn number(&mut self, field: u64, number: u64) {
        self.key(field, Wire::Varint);
        self.varint(number);
    }

    /// Returns a message that contains one other message.
    fn of(field: u64, message: &Self) -> Self {
        let mut outer = Self::default();
        outer.message(field, message);
        outer
    }
}

/// Returns a document of version 2.
pub(super) fn document(document: &Value) -> Vec<u8> {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut info = Message::default();
    info.text(1, &text(document.pointer("/info/title")));
    info.text(2, &text(document.pointer("/info/version")));
    let mut out = Message::default();
    out.text(1, &text(document.get("swagger")));
    out.message(2, &info);
    let mut paths = Message::default();
    for (path, item) in members(document.get("paths")) {
        if let Some(operation) = item.get("patch") {
            let item = Message::of(8, &patch(operation));
            paths.message(2, &named(path, &item));
        }
    }
    out.message(8, &paths);
    out.message(9, &schemas(members(document.get("definitions"))));
    out.0
}

fn members(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flatten()
}

fn named(name: &str, value: &Message) -> Message {
    let mut named = Message::default();
    named.text(1, name);
    named.message(2, value);
    named
}

/// Returns any value as YAML; JSON is YAML.
fn any(value: &Value) -> Message {
    let mut any = Message::default();
    any.text(2, &value.to_string());
    any
}

/// Writes the parts of a patch operation that clients look up: its query parameters and its kind.
fn patch(operation: &Value) -> Message {
    let mut out = Message::default();
    let parameters = operation.get("parameters").and_then(Value::as_array);
    for parameter in parameters.into_iter().flatten() {
        let text = |key: &str| meta::text(parameter, key);
        if text("in") == "query" {
            let mut query = Message::default();
            query.text(2, "query");
            query.text(4, text("name"));
            query.text(6, text("type"));
            let item = Message::of(1, &Message::of(2, &Message::of(3, &query)));
            out.message(8, &item);
        }
    }
    for (name, value) in members(Some(operation)).filter(|(name, _)| name.starts_with("x-")) {
        out.message(13, &named(name, &any(value)));
    }
    out
}

fn schemas<'a>(all: impl Iterator<Item = (&'a String, &'a Value)>) -> Message {
    let mut out = Message::default();
    for (name, value) in all {
        out.message(1, &named(name, &schema(value)));
    }
    out
}

/// The encoding of a keyword.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Double,
    Number,
    Boolean,
    Texts,
    Any,
    Anys,
    Schemas,
    Properties,
    /// One or several types.
    Types,
    /// The schema of items.
    Items,
    /// A schema or a boolean.
    Others,
}

/// The keywords of a schema and their fields.
const KEYWORDS: &[(&str, u64, Form)] = &[
    ("$ref", 1, Form::Text),
    ("format", 2, Form::Text),
    ("title", 3, Form::Text),
    ("description", 4, Form::Text),
    ("default", 5, Form::Any),
    ("multipleOf", 6, Form::Double),
    ("maximum", 7, Form::Double),
    ("exclusiveMaximum", 8, Form::Boolean),
    ("minimum", 9, Form::Double),
    ("exclusiveMinimum", 10, Form::Boolean),
    ("maxLength", 11, Form::Number),
    ("minLength", 12, Form::Number),
    ("pattern", 13, Form::Text),
    ("maxItems", 14, Form::Number),
    ("minItems", 15, Form::Number),
    ("uniqueItems", 16, Form::Boolean),
    ("maxProperties", 17, Form::Number),
    ("minProperties", 18, Form::Number),
    ("required", 19, Form::Texts),
    ("enum", 20, Form::Anys),
    ("additionalProperties", 21, Form::Others),
    ("type", 22, Form::Types),
    ("items", 23, Form::Items),
    ("allOf", 24, Form::Schemas),
    ("properties", 25, Form::Properties),
    ("example", 30, Form::Any),
];

fn schema(schema: &Value) -> Message {
    let mut out = Message::default();
    let Value::Object(members) = schema else { return out };
    for (keyword, field, form) in KEYWORDS {
        if let Some(value) = members.get(*keyword) {
            keyword_of(&mut out, *field, *form, value);
        }
    }
    extensions(&mut out, members);
    out
}

fn extensions(out: &mut Message, members: &Map<String, Value>) {
    for (name, value) in members.iter().filter(|(name, _)| name.starts_with("x-")) {
        out.message(31, &named(name, &any(value)));
    }
}

fn keyword_of(out: &mut Message, field: u64, form: Form, value: &Value) {
    let list = || value.as_array().into_iter().flatten();
    match form {
        Form::Text => out.text(field, value.as_str().unwrap_or_default()),
        Form::Double => out.double(field, value.as_f64().unwrap_or_default()),
        Form::Number => out.number(field, value.as_u64().unwrap_or_default()),
        Form::Boolean => out.number(field, u64::from(value.as_bool().unwrap_or_default())),
        Form::Texts => list().filter_map(Value::as_str).for_each(|text| out.text(field, text)),
        Form::Any => out.message(field, &any(value)),
        Form::Anys => list().for_each(|each| out.message(field, &any(each))),
        Form::Schemas => list().for_each(|each| out.message(field, &schema(each))),
        Form::Properties => out.message(field, &schemas(self::members(Some(value)))),
        Form::Types => {
            let mut types = Message::default();
            types.text(1, value.as_str().unwrap_or_default());
            out.message(field, &types);
        }
        Form::Items => out.message(field, &Message::of(1, &schema(value))),
        Form::Others => {
            let mut others = Message::default();
            match value.as_bool() {
                Some(allowed) => others.number(2, u64::from(allowed)),
                None => others.message(1, &schema(value)),
            }
            out.message(field, &others);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schemas_are_messages() {
        let written = schema(&json!({"type": "object", "required": ["a"], "x-y": {"b": 1}}));
        assert_eq!(
            written.0,
            [
                &b"\x9a\x01\x01a"[..],
                b"\xb2\x01\x08\x0a\x06object",
                b"\xfa\x01\x10\x0a\x03x-y\x12\x09\x12\x07{\"b\":1}",
            ]
            .concat()
        );
    }

    #[test]
    fn long_messages_have_long_lengths() {
        let mut message = Message::default();
        message.text(1, &"x".repeat(300));
        assert_eq!(message.0.get(..4), Some(&b"\x0a\xac\x02x"[..]));
    }
}
