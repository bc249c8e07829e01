//! Bodies in the binary form that Go clients prefer: `application/vnd.kubernetes.protobuf`.
//!
//! Only reading is implemented: every client that sends this form also accepts JSON as an answer. The table of types
//! (`codec::table`) has the fields.

mod wire;

use base64::Engine as _;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use wire::{Reader, Wire};

use crate::codec::table::{Sort, TYPES, Type};

const MAGIC: &[u8] = b"k8s\0";
const MAX_DEPTH: usize = 64;

/// Reason for which a body cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ProtobufError {
    /// The body does not begin with the prefix of this form.
    #[error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")]
    NoPrefix,
    /// The body ends early, or its parts do not fit.
    #[error("unexpected EOF")]
    Malformed,
    /// Messages are nested too deep.
    #[error("proto: message is nested too deep")]
    TooDeep,
    /// The kind has no binary form here.
    #[error("no kind {kind:?} is registered for version {api_version:?}")]
    UnknownKind {
        /// The `apiVersion` in the body.
        api_version: String,
        /// The `kind` in the body.
        kind: String,
    },
}

/// Reads a body and returns it as JSON.
///
/// # Errors
/// [`ProtobufError`], in the words of the API server's decoder where it has any.
pub fn decode(body: &[u8]) -> Result<Value, ProtobufError> {
    let envelope = body.strip_prefix(MAGIC).ok_or(ProtobufError::NoPrefix)?;
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for part in Reader::new(envelope) {
        match part? {
            (1, Wire::Bytes(meta)) => {
                for part in Reader::new(meta) {
                    match part? {
                        (1, Wire::Bytes(text)) => api_version = string(text),
                        (2, Wire::Bytes(text)) => kind = string(text),
                        _ => {}
                    }
                }
            }
            (2, Wire::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let unknown = || ProtobufError::UnknownKind {
        api_version: api_version.clone(),
        kind: kind.clone(),
    };
    let mut object = message(type_of(&api_version, &kind).ok_or_else(unknown)?, raw, 0)?;
    object.insert("apiVersion".to_owned(), api_version.into());
    object.insert("kind".to_owned(), kind.into());
    Ok(Value::Object(object))
}

/// Returns the type of a kind: the options of requests are in every group.
fn type_of(api_version: &str, kind: &str) -> Option<usize> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let options = || TYPES.named(&format!("meta.v1.{kind}"));
    TYPES.of_kind(group, version, kind).or_else(options)
}

fn string(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn message(of: usize, bytes: &[u8], depth: usize) -> Result<Map<String, Value>, ProtobufError> {
    if depth > MAX_DEPTH {
        return Err(ProtobufError::TooDeep);
    }
    let fields = &TYPES.get(of).fields;
    let mut object = Map::new();
    for part in Reader::new(bytes) {
        let (number, wire) = part?;
        let Some(field) = fields.iter().find(|field| field.number == number) else {
            continue;
        };
        match (&field.kind.sort, wire) {
            (Sort::List(kind), wire) => {
                let item = value(kind, wire, depth)?;
                let list = object.entry(field.name).or_insert_with(|| json!([]));
                if let Some(list) = list.as_array_mut() {
                    list.push(item);
                }
            }
            (Sort::Map(kind), Wire::Bytes(entry)) => {
                let (key, item) = map_entry(kind, entry, depth)?;
                let map = object.entry(field.name).or_insert_with(|| json!({}));
                if let Some(map) = map.as_object_mut() {
                    map.insert(key, item);
                }
            }
            (Sort::Struct(of), Wire::Bytes(inner)) if field.name == "-" => {
                object.extend(message(*of, inner, depth + 1)?);
            }
            (_, wire) => {
                object.insert(field.name.to_owned(), value(&field.kind, wire, depth)?);
            }
        }
    }
    Ok(object)
}

fn map_entry(kind: &Type, entry: &[u8], depth: usize) -> Result<(String, Value), ProtobufError> {
    let mut key = String::new();
    let mut item = match kind.sort {
        Sort::Text | Sort::Bytes => json!(""),
        _ => Value::Null,
    };
    for part in Reader::new(entry) {
        match part? {
            (1, Wire::Bytes(text)) => key = string(text),
            (2, wire) => item = value(kind, wire, depth)?,
            _ => {}
        }
    }
    Ok((key, item))
}

fn value(kind: &Type, wire: Wire<'_>, depth: usize) -> Result<Value, ProtobufError> {
    Ok(match (&kind.sort, wire) {
        (Sort::Text, Wire::Bytes(text)) => Value::from(string(text)),
        (Sort::Bytes, Wire::Bytes(bytes)) => Value::from(base64::engine::general_purpose::STANDARD.encode(bytes)),
        (Sort::Boolean, Wire::Number(number)) => Value::from(number != 0),
        // Negative numbers are encoded as the two's complement.
        (Sort::Int32 | Sort::Int64, Wire::Number(number)) => Value::from(number.cast_signed()),
        (Sort::Number, Wire::Eight(bytes)) => Value::from(f64::from_le_bytes(bytes)),
        (Sort::Time, Wire::Bytes(bytes)) => time(bytes, "%Y-%m-%dT%H:%M:%SZ")?,
        (Sort::MicroTime, Wire::Bytes(bytes)) => time(bytes, "%Y-%m-%dT%H:%M:%S%.6fZ")?,
        (Sort::Quantity, Wire::Bytes(bytes)) => first_text(bytes)?,
        (Sort::Any, Wire::Bytes(bytes)) => json_inside(bytes)?,
        (Sort::IntOrString, Wire::Bytes(bytes)) => int_or_text(bytes)?,
        // A list in a map is a separate message.
        (Sort::List(items), Wire::Bytes(bytes)) => {
            let mut list = Vec::new();
            for part in Reader::new(bytes) {
                if let (1, wire) = part? {
                    list.push(value(items, wire, depth + 1)?);
                }
            }
            Value::Array(list)
        }
        (Sort::Mixed(inner, _), Wire::Bytes(bytes)) => {
            let mut found = Value::Null;
            for part in Reader::new(bytes) {
                match part? {
                    (1 | 2, wire @ Wire::Bytes(_)) => found = value(inner, wire, depth + 1)?,
                    (1, Wire::Number(flag)) => found = Value::from(flag != 0),
                    _ => {}
                }
            }
            found
        }
        (Sort::Struct(of), Wire::Bytes(bytes)) => Value::Object(message(*of, bytes, depth + 1)?),
        _ => return Err(ProtobufError::Malformed),
    })
}

/// Reads seconds and nanoseconds; without either, there is no time.
fn time(bytes: &[u8], format: &str) -> Result<Value, ProtobufError> {
    let (mut seconds, mut nanos) = (0, 0);
    for part in Reader::new(bytes) {
        match part? {
            (1, Wire::Number(number)) => seconds = number.cast_signed(),
            (2, Wire::Number(number)) => nanos = i32::try_from(number.cast_signed()).unwrap_or(0),
            _ => {}
        }
    }
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let at = Timestamp::new(seconds, nanos).map_err(|_| ProtobufError::Malformed)?;
    Ok(Value::from(at.strftime(format).to_string()))
}

fn first_text(bytes: &[u8]) -> Result<Value, ProtobufError> {
    let mut text = json!("0");
    for part in Reader::new(bytes) {
        if let (1, Wire::Bytes(bytes)) = part? {
            text = Value::from(string(bytes));
        }
    }
    Ok(text)
}

fn json_inside(bytes: &[u8]) -> Result<Value, ProtobufError> {
    let mut inside = Value::Null;
    for part in Reader::new(bytes) {
        if let (1, Wire::Bytes(bytes)) = part? {
            inside = serde_json::from_slice(bytes).map_err(|_| ProtobufError::Malformed)?;
        }
    }
    Ok(inside)
}

fn int_or_text(bytes: &[u8]) -> Result<Value, ProtobufError> {
    let (mut is_text, mut number, mut text) = (false, 0, String::new());
    for part in Reader::new(bytes) {
        match part? {
            (1, Wire::Number(kind)) => is_text = kind == 1,
            (2, Wire::Number(value)) => number = value.cast_signed(),
            (3, Wire::Bytes(value)) => text = string(value),
            _ => {}
        }
    }
    Ok(if is_text {
        Value::from(text)
    } else {
        Value::from(number)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut out = vec![number << 3 | 2, u8::try_from(bytes.len()).expect("short")];
        out.extend_from_slice(bytes);
        out
    }

    fn body(api_version: &str, kind: &str, object: &[u8]) -> Vec<u8> {
        let meta = [part(1, api_version.as_bytes()), part(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), part(1, &meta), part(2, object)].concat()
    }

    #[test]
    fn a_config_map_and_a_service() {
        let entry = [part(1, b"k"), part(2, b"v")].concat();
        let object = [part(1, &[part(1, b"a"), part(8, b"")].concat()), part(2, &entry)].concat();
        assert_eq!(
            decode(&body("v1", "ConfigMap", &object)),
            Ok(json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "a", "creationTimestamp": null}, "data": {"k": "v"},
            }))
        );
        let port = [vec![3 << 3, 80], part(4, &[1 << 3, 1, 3 << 3 | 2, 1, b'x'])].concat();
        let service = part(2, &part(1, &port));
        assert_eq!(
            decode(&body("v1", "Service", &service)).map(|service| service["spec"].clone()),
            Ok(json!({"ports": [{"port": 80, "targetPort": "x"}]}))
        );
    }

    #[test]
    fn fields_of_an_inlined_message_are_its_own() {
        let volume = [part(1, b"v"), part(2, &part(2, b""))].concat();
        let pod = part(2, &part(1, &volume));
        assert_eq!(
            decode(&body("v1", "Pod", &pod)).map(|pod| pod["spec"]["volumes"].clone()),
            Ok(json!([{"name": "v", "emptyDir": {}}]))
        );
    }

    #[test]
    fn definitions_have_schemas_in_schemas() {
        // Fields 24 and 30.
        let items = [vec![0xc2, 1], part(0, &part(1, &part(5, b"string")))[1..].to_vec()].concat();
        let others = vec![0xf2, 1, 2, 1 << 3, 1];
        let version = part(4, &part(1, &[part(5, b"array"), items, others].concat()));
        let definition = part(2, &part(7, &version));
        let read = decode(&body(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            &definition,
        ));
        let schema = read.map(|read| read["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone());
        let expected = json!({"type": "array", "items": {"type": "string"}, "additionalProperties": true});
        assert_eq!(schema, Ok(expected));
    }

    #[test]
    fn hostile_bodies_are_errors() {
        assert_eq!(decode(b"{}"), Err(ProtobufError::NoPrefix));
        assert_eq!(decode(b"k8s\0\x0a\xff"), Err(ProtobufError::Malformed));
        assert!(decode(&body("x/v1", "Nope", b"")).is_err());
        for length in 0..60 {
            let bytes: Vec<u8> = (0..length).map(|index: u8| index.wrapping_mul(37)).collect();
            let _ = decode(&body("v1", "Pod", &bytes));
        }
    }
}
