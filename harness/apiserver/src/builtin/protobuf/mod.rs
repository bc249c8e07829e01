//! Bodies in the binary form that Go clients prefer: `application/vnd.kubernetes.protobuf`.
//!
//! Only reading is needed: every client that sends this form also accepts JSON as an answer. `fields.txt` has the
//! numbers, names and types of all fields, one message per line:
//!
//! `core.v1.Secret: 1 metadata meta.v1.ObjectMeta, 2 data %y, …`
//!
//! Types: `s` text, `i` whole number, `b` boolean, `d` number, `y` bytes, `T` time, `M` time with microseconds, `Q`
//! quantity, `I` number or text, `J` JSON as it is, `E` list of texts; `*` before a type is a list, `%` a map. The name `-`
//! is a message whose fields are those of the message it is in.

mod wire;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use base64::Engine as _;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use wire::{Reader, Wire};

const MAGIC: &[u8] = b"k8s\0";
const MAX_DEPTH: usize = 64;

/// Why a body could not be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ProtobufError {
    /// It does not begin as this form does.
    #[error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")]
    NoPrefix,
    /// It ends early, or its parts do not fit.
    #[error("unexpected EOF")]
    Malformed,
    /// Messages are nested too deep.
    #[error("proto: message is nested too deep")]
    TooDeep,
    /// The kind has no such form here.
    #[error("no kind {kind:?} is registered for version {api_version:?}")]
    UnknownKind {
        /// As the body says.
        api_version: String,
        /// As the body says.
        kind: String,
    },
}

struct Field {
    number: u64,
    name: &'static str,
    kind: &'static str,
}

static MESSAGES: LazyLock<BTreeMap<&'static str, Vec<Field>>> = LazyLock::new(|| {
    include_str!("fields.txt")
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(message, fields)| (message, fields.split(", ").filter_map(field).collect()))
        .collect()
});

fn field(text: &'static str) -> Option<Field> {
    let mut parts = text.split(' ');
    Some(Field {
        number: parts.next()?.parse().ok()?,
        name: parts.next()?,
        kind: parts.next()?,
    })
}

/// Reads a body into the JSON that it stands for.
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
    let mut object = message(message_of(&api_version, &kind).ok_or_else(unknown)?, raw, 0)?;
    object.insert("apiVersion".to_owned(), api_version.into());
    object.insert("kind".to_owned(), kind.into());
    Ok(Value::Object(object))
}

/// The message of a kind: `apps/v1`, `Deployment` is `apps.v1.Deployment`. Options are in every group.
fn message_of(api_version: &str, kind: &str) -> Option<&'static str> {
    let (group, version) = api_version.split_once('/').unwrap_or(("core", api_version));
    let group = group.split('.').next().unwrap_or(group);
    let names = [format!("{group}.{version}.{kind}"), format!("meta.v1.{kind}")];
    names
        .iter()
        .find_map(|name| MESSAGES.get_key_value(name.as_str()).map(|(name, _)| *name))
}

fn string(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn message(name: &str, bytes: &[u8], depth: usize) -> Result<Map<String, Value>, ProtobufError> {
    if depth > MAX_DEPTH {
        return Err(ProtobufError::TooDeep);
    }
    let fields = MESSAGES.get(name).map_or(&[][..], Vec::as_slice);
    let mut object = Map::new();
    for part in Reader::new(bytes) {
        let (number, wire) = part?;
        let Some(field) = fields.iter().find(|field| field.number == number) else {
            continue;
        };
        match (field.kind.split_at_checked(1), wire) {
            (Some(("*", kind)), wire) => {
                let item = value(kind, wire, depth)?;
                let list = object.entry(field.name).or_insert_with(|| json!([]));
                if let Some(list) = list.as_array_mut() {
                    list.push(item);
                }
            }
            (Some(("%", kind)), Wire::Bytes(entry)) => {
                let (key, item) = map_entry(kind, entry, depth)?;
                let map = object.entry(field.name).or_insert_with(|| json!({}));
                if let Some(map) = map.as_object_mut() {
                    map.insert(key, item);
                }
            }
            (_, Wire::Bytes(inner)) if field.name == "-" => object.extend(message(field.kind, inner, depth + 1)?),
            (_, wire) => {
                object.insert(field.name.to_owned(), value(field.kind, wire, depth)?);
            }
        }
    }
    Ok(object)
}

fn map_entry(kind: &str, entry: &[u8], depth: usize) -> Result<(String, Value), ProtobufError> {
    let mut key = String::new();
    let mut item = if kind == "s" || kind == "y" {
        json!("")
    } else {
        Value::Null
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

fn value(kind: &str, wire: Wire<'_>, depth: usize) -> Result<Value, ProtobufError> {
    Ok(match (kind, wire) {
        ("s", Wire::Bytes(text)) => Value::from(string(text)),
        ("y", Wire::Bytes(bytes)) => Value::from(base64::engine::general_purpose::STANDARD.encode(bytes)),
        ("b", Wire::Number(number)) => Value::from(number != 0),
        // Negative numbers come as the two's complement.
        ("i", Wire::Number(number)) => Value::from(number.cast_signed()),
        ("d", Wire::Eight(bytes)) => Value::from(f64::from_le_bytes(bytes)),
        ("T", Wire::Bytes(bytes)) => time(bytes, "%Y-%m-%dT%H:%M:%SZ")?,
        ("M", Wire::Bytes(bytes)) => time(bytes, "%Y-%m-%dT%H:%M:%S%.6fZ")?,
        ("Q", Wire::Bytes(bytes)) => first_text(bytes)?,
        ("J", Wire::Bytes(bytes)) => json_inside(bytes)?,
        ("I", Wire::Bytes(bytes)) => int_or_text(bytes)?,
        ("E", Wire::Bytes(bytes)) => {
            let mut items = Vec::new();
            for part in Reader::new(bytes) {
                if let (1, Wire::Bytes(text)) = part? {
                    items.push(Value::from(string(text)));
                }
            }
            Value::Array(items)
        }
        (name, Wire::Bytes(bytes)) if name.contains('.') => Value::Object(message(name, bytes, depth + 1)?),
        _ => return Err(ProtobufError::Malformed),
    })
}

/// Seconds and nanoseconds; nothing at all is no time.
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
    fn hostile_bodies_are_errors() {
        assert_eq!(decode(b"{}"), Err(ProtobufError::NoPrefix));
        assert_eq!(decode(b"k8s\0\x0a\xff"), Err(ProtobufError::Malformed));
        assert!(decode(&body("x/v1", "Nope", b"")).is_err());
        for length in 0..60 {
            let bytes: Vec<u8> = (0..length).map(|index: u8| index.wrapping_mul(37)).collect();
            let _ = decode(&body("v1", "Pod", &bytes));
        }
    }

    #[test]
    fn every_type_of_a_field_is_known() {
        for (message, fields) in MESSAGES.iter() {
            for field in fields {
                let kind = field.kind.trim_start_matches(['*', '%']);
                let known = kind.len() == 1 || MESSAGES.contains_key(kind) || kind.starts_with("resource.");
                assert!(known, "{message}.{}: {kind}", field.name);
            }
        }
    }
}
