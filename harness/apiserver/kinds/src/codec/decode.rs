//! Reads a JSON value into a type and writes it back, in place.

use baton_apimachinery::go_base64::{self, IllegalByte};
use baton_apimachinery::go_json::UnmarshalTypeError;
use baton_apimachinery::go_time::{self, TimeError};
use baton_apimachinery::quantity::Quantity;
use serde_json::{Map, Value};

use super::table::{Other, Presence, Sort, Struct, TYPES, Type};

/// Maximum depth: deeper than any type except schemas, and deeper than any accepted schema.
const MAX_DEPTH: usize = 300;

/// Reason for which an object does not have the form of its kind, in the words of the API server's decoder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// A value of the wrong type.
    #[error(transparent)]
    Type(#[from] UnmarshalTypeError),
    /// Bytes that are not base64.
    #[error(transparent)]
    Bytes(#[from] IllegalByte),
    /// A text that is not a time.
    #[error(transparent)]
    Time(#[from] TimeError),
    /// A value that is not a quantity.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Quantity,
    /// A value that is neither a boolean nor a schema.
    #[error("boolean or JSON schema expected")]
    Schema,
}

/// The position of the walk, for error messages.
#[derive(Default)]
struct Place {
    structure: &'static str,
    path: String,
}

/// Converts an object to its typed form.
pub(super) fn object(of: usize, object: &mut Value) -> Result<(), DecodeError> {
    let kind = Type {
        own: None,
        sort: Sort::Struct(of),
    };
    walk(&kind, object, &mut Place::default(), 0)
}

/// Returns the status of a new object.
pub(super) fn zero_status(of: usize) -> Option<Value> {
    TYPES
        .get(of)
        .members
        .get("status")
        .map(|member| zero(&member.kind.sort))
}

fn walk(kind: &Type, value: &mut Value, place: &mut Place, depth: usize) -> Result<(), DecodeError> {
    if depth > MAX_DEPTH {
        return Ok(());
    }
    match (&kind.sort, &mut *value) {
        (Sort::Struct(of), Value::Object(members)) => struct_members(TYPES.get(*of), members, place, depth),
        (Sort::List(items), Value::Array(list)) => {
            for item in list {
                if item.is_null() {
                    *item = zero(&items.sort);
                }
                walk(items, item, place, depth + 1)?;
            }
            Ok(())
        }
        (Sort::Map(values), Value::Object(map)) => {
            for each in map.values_mut() {
                if each.is_null() {
                    *each = match values.sort {
                        // Empty bytes come back from the store as an empty text.
                        Sort::Bytes => Value::from(""),
                        _ => zero(&values.sort),
                    };
                }
                walk(values, each, place, depth + 1)?;
            }
            Ok(())
        }
        (Sort::Mixed(inner, other), _) => mixed(inner, *other, value, depth),
        (Sort::Any, _) => Ok(()),
        _ => scalar(kind, value, place),
    }
}

/// Decodes a value of a type or an alternative. Its decoder starts without a path, so its errors do not name the place.
/// A value that is neither becomes `null`, except where a boolean is the alternative.
fn mixed(inner: &Type, other: Other, value: &mut Value, depth: usize) -> Result<(), DecodeError> {
    let alone = |value: &mut Value| walk(inner, value, &mut Place::default(), depth + 1);
    match (other, &mut *value) {
        (_, Value::Object(_)) => alone(value),
        (Other::Boolean, Value::Bool(_)) | (Other::Texts, Value::Array(_)) => Ok(()),
        (Other::Boolean, _) => Err(DecodeError::Schema),
        (Other::List, Value::Array(items)) => items.iter_mut().try_for_each(alone),
        (Other::List | Other::Texts, _) => {
            *value = Value::Null;
            Ok(())
        }
    }
}

fn scalar(kind: &Type, value: &mut Value, place: &Place) -> Result<(), DecodeError> {
    match (&kind.sort, &*value) {
        (Sort::Text | Sort::IntOrString, Value::String(_))
        | (Sort::Boolean, Value::Bool(_))
        | (Sort::Number, Value::Number(_)) => Ok(()),
        (Sort::Int32 | Sort::Int64, Value::Number(number)) => {
            let fits = number
                .as_i64()
                .is_some_and(|number| matches!(kind.sort, Sort::Int64) || i32::try_from(number).is_ok());
            if fits {
                Ok(())
            } else {
                Err(mismatch(kind, value, place))
            }
        }
        (Sort::IntOrString, Value::Number(number)) if number.as_i64().is_some() => Ok(()),
        (Sort::Bytes, Value::String(text)) => {
            let bytes = go_base64::decode(text)?;
            *value = Value::String(go_base64::encode(&bytes));
            Ok(())
        }
        (Sort::Bytes, Value::Array(items)) => {
            let byte = |item: &Value| match item {
                Value::Null => Some(0),
                item => item.as_u64().and_then(|number| u8::try_from(number).ok()),
            };
            match items.iter().map(byte).collect::<Option<Vec<u8>>>() {
                Some(bytes) => *value = Value::String(go_base64::encode(&bytes)),
                None => return Err(mismatch(kind, value, place)),
            }
            Ok(())
        }
        (Sort::Quantity, Value::String(text)) => replace_quantity(value, &text.clone()),
        (Sort::Quantity, Value::Number(number)) => replace_quantity(value, &number.to_string()),
        (Sort::Time | Sort::MicroTime, Value::String(text)) => {
            let time = parse_time(text, matches!(kind.sort, Sort::MicroTime))?;
            *value = Value::String(time);
            Ok(())
        }
        (Sort::Quantity, _) => Err(DecodeError::Quantity),
        _ => Err(mismatch(kind, value, place)),
    }
}

fn struct_members(
    structure: &'static Struct,
    members: &mut Map<String, Value>,
    place: &mut Place,
    depth: usize,
) -> Result<(), DecodeError> {
    let mut outcome = Ok(());
    members.retain(|field, value| {
        let Some(member) = structure.members.get(field.as_str()) else {
            return false;
        };
        if value.is_null() {
            return false;
        }
        if outcome.is_ok() {
            let (outer, length) = (place.structure, place.path.len());
            place.structure = structure.own.rsplit('.').next().unwrap_or(structure.own);
            if length > 0 {
                place.path.push('.');
            }
            place.path.push_str(&member.within);
            place.path.push_str(field);
            outcome = walk(&member.kind, value, place, depth + 1);
            place.structure = outer;
            place.path.truncate(length);
        }
        !value.is_null() && (member.presence != Presence::Omitted || !is_zero(value))
    });
    fill_in(structure, members);
    outcome
}

/// Adds the fields that the server writes even if they are not set.
fn fill_in(structure: &Struct, members: &mut Map<String, Value>) {
    for field in &structure.written_if_missing {
        let Some(member) = structure.members.get(field) else {
            continue;
        };
        match (member.presence, members.get(*field)) {
            (Presence::NullIfEmpty, found) if found.is_none_or(is_zero) => {
                members.insert((*field).to_owned(), Value::Null);
            }
            (Presence::Null, None) => {
                members.insert((*field).to_owned(), Value::Null);
            }
            (Presence::Always, None) => {
                members.insert((*field).to_owned(), zero(&member.kind.sort));
            }
            (Presence::Null | Presence::NullIfEmpty | Presence::Always | Presence::Kept | Presence::Omitted, _) => {}
        }
    }
}

/// Returns the value of an unset field of that type.
fn zero(sort: &Sort) -> Value {
    match sort {
        Sort::Struct(of) => {
            let mut members = Map::new();
            fill_in(TYPES.get(*of), &mut members);
            Value::Object(members)
        }
        Sort::List(_) | Sort::Map(_) | Sort::Bytes | Sort::Time | Sort::MicroTime | Sort::Mixed(..) | Sort::Any => {
            Value::Null
        }
        Sort::Text => Value::from(""),
        Sort::Int32 | Sort::Int64 | Sort::Number | Sort::IntOrString => Value::from(0),
        Sort::Boolean => Value::from(false),
        Sort::Quantity => Value::from("0"),
    }
}

fn mismatch(kind: &Type, value: &Value, place: &Place) -> DecodeError {
    let mut error = match place.structure {
        "" => UnmarshalTypeError::value(value, &type_name(kind)),
        structure => UnmarshalTypeError::field(value, &format!("{structure}.{}", place.path), &type_name(kind)),
    };
    if value.is_number() && matches!(kind.sort, Sort::Int32 | Sort::Int64 | Sort::IntOrString) {
        error.found = format!("number {value}");
    }
    error.into()
}

fn type_name(kind: &Type) -> String {
    if let Some(own) = kind.own {
        return own.to_owned();
    }
    match &kind.sort {
        Sort::Struct(of) => TYPES.get(*of).own.to_owned(),
        Sort::List(items) => format!("[]{}", type_name(items)),
        Sort::Map(values) => format!("map[string]{}", type_name(values)),
        Sort::Text | Sort::Time | Sort::MicroTime | Sort::Quantity => "string".to_owned(),
        Sort::Int32 | Sort::IntOrString => "int32".to_owned(),
        Sort::Int64 => "int64".to_owned(),
        Sort::Number => "float64".to_owned(),
        Sort::Boolean => "bool".to_owned(),
        Sort::Bytes => "[]uint8".to_owned(),
        Sort::Mixed(inner, _) => type_name(inner),
        Sort::Any => "interface {}".to_owned(),
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

fn replace_quantity(value: &mut Value, text: &str) -> Result<(), DecodeError> {
    let quantity = Quantity::parse(text).ok_or(DecodeError::Quantity)?;
    *value = Value::String(quantity.canonical());
    Ok(())
}

/// Returns a time as the API server writes it: UTC, whole seconds or microseconds.
fn parse_time(text: &str, micro: bool) -> Result<String, TimeError> {
    let at = go_time::parse(text, micro)?;
    let format = if micro {
        "%Y-%m-%dT%H:%M:%S%.6fZ"
    } else {
        "%Y-%m-%dT%H:%M:%SZ"
    };
    Ok(at.strftime(format).to_string())
}
