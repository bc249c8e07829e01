//! Conversions between types, `size`, `type` and `dyn`.

use jiff::Timestamp;

use super::super::budget::Budget;
use super::super::duration;
use super::super::error::{CelError, Outcome};
use super::super::value::Val;
use crate::go_fmt;

pub(super) fn call<'a>(_: &mut Budget, name: &str, is_member: bool, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    let [value] = args else { return None };
    if is_member && name != "size" {
        return None;
    }
    Some(match name {
        "size" => size(value)?,
        "int" => int(value)?,
        "uint" => uint(value)?,
        "double" => double(value)?,
        "string" => string(value)?,
        "bool" => match (value, value.as_str()) {
            (Val::Bool(flag), _) => Ok(Val::Bool(*flag)),
            (_, Some("true" | "True" | "TRUE" | "t" | "1")) => Ok(Val::Bool(true)),
            (_, Some("false" | "False" | "FALSE" | "f" | "0")) => Ok(Val::Bool(false)),
            (_, Some(text)) => Err(conversion("bool", text)),
            (_, None) => return None,
        },
        "bytes" => match value {
            Val::Str(text) => Ok(Val::Bytes(text.as_str().as_bytes().into())),
            Val::Bytes(_) => Ok(value.clone()),
            _ => return None,
        },
        "timestamp" => match (value, value.as_str()) {
            (Val::Timestamp(_), _) => Ok(value.clone()),
            (Val::Int(seconds), _) => Timestamp::from_second(*seconds)
                .map(Val::Timestamp)
                .map_err(|_| CelError::Eval("timestamp overflow".to_owned())),
            (_, Some(text)) => text
                .parse()
                .map(Val::Timestamp)
                .map_err(|_| conversion("timestamp", text)),
            (_, None) => return None,
        },
        "duration" => match (value, value.as_str()) {
            (Val::Duration(_), _) => Ok(value.clone()),
            (_, Some(text)) => duration::parse(text)
                .map(Val::Duration)
                .ok_or_else(|| conversion("duration", text)),
            (_, None) => return None,
        },
        "dyn" => Ok(value.clone()),
        "type" => Ok(Val::Type(value.type_name())),
        _ => return None,
    })
}

fn conversion(kind: &str, text: &str) -> CelError {
    CelError::Eval(format!("type conversion error from string '{text}' to '{kind}'"))
}

fn whole(size: usize) -> Val<'static> {
    Val::Int(i64::try_from(size).unwrap_or(i64::MAX))
}

fn size<'a>(value: &Val<'a>) -> Option<Outcome<'a>> {
    Some(Ok(match value {
        Val::Str(text) => whole(text.as_str().chars().count()),
        Val::Bytes(bytes) => whole(bytes.len()),
        Val::List(list) => whole(list.count()),
        Val::Map(map) => whole(map.count()),
        _ => return None,
    }))
}

fn out_of_range() -> CelError {
    CelError::Eval("integer overflow".to_owned())
}

#[expect(clippy::cast_possible_truncation, reason = "checked to be in range; CEL truncates")]
fn int<'a>(value: &Val<'a>) -> Option<Outcome<'a>> {
    Some(match value {
        Val::Int(_) => Ok(value.clone()),
        Val::Uint(number) => i64::try_from(*number).map(Val::Int).map_err(|_| out_of_range()),
        Val::Double(number) if number.abs() < 9.2e18 => Ok(Val::Int(*number as i64)),
        Val::Double(_) => Err(out_of_range()),
        Val::Str(text) => text
            .as_str()
            .parse()
            .map(Val::Int)
            .map_err(|_| conversion("int", text.as_str())),
        Val::Timestamp(at) => Ok(Val::Int(at.as_second())),
        Val::Duration(duration) => Ok(Val::Int(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))),
        _ => return None,
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be in range; CEL truncates"
)]
fn uint<'a>(value: &Val<'a>) -> Option<Outcome<'a>> {
    let overflow = || CelError::Eval("unsigned integer overflow".to_owned());
    Some(match value {
        Val::Uint(_) => Ok(value.clone()),
        Val::Int(number) => u64::try_from(*number).map(Val::Uint).map_err(|_| overflow()),
        Val::Double(number) if (0.0..1.8e19).contains(number) => Ok(Val::Uint(*number as u64)),
        Val::Double(_) => Err(overflow()),
        Val::Str(text) => text
            .as_str()
            .parse()
            .map(Val::Uint)
            .map_err(|_| conversion("uint", text.as_str())),
        _ => return None,
    })
}

#[expect(clippy::cast_precision_loss, reason = "a double is asked for")]
fn double<'a>(value: &Val<'a>) -> Option<Outcome<'a>> {
    Some(match value {
        Val::Double(_) => Ok(value.clone()),
        Val::Int(number) => Ok(Val::Double(*number as f64)),
        Val::Uint(number) => Ok(Val::Double(*number as f64)),
        Val::Str(text) => text
            .as_str()
            .parse()
            .map(Val::Double)
            .map_err(|_| conversion("double", text.as_str())),
        _ => return None,
    })
}

fn string<'a>(value: &Val<'a>) -> Option<Outcome<'a>> {
    Some(Ok(match value {
        Val::Str(_) => value.clone(),
        Val::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Val::text(text),
            Err(_) => {
                return Some(Err(CelError::Eval(
                    "invalid UTF-8 in bytes, cannot convert to string".to_owned(),
                )));
            }
        },
        Val::Bool(_)
        | Val::Int(_)
        | Val::Uint(_)
        | Val::Double(_)
        | Val::Timestamp(_)
        | Val::Duration(_)
        | Val::Ip(_)
        | Val::Cidr(..)
        | Val::Quantity(_)
        | Val::Semver(_)
        | Val::Url(_) => Val::text(display(value)),
        _ => return None,
    }))
}

/// Formats a value as text.
pub fn display(value: &Val<'_>) -> String {
    match value {
        Val::Null => "null".to_owned(),
        Val::Bool(flag) => flag.to_string(),
        Val::Int(number) => number.to_string(),
        Val::Uint(number) => number.to_string(),
        Val::Double(number) => go_fmt::float(*number),
        Val::Str(text) => text.as_str().to_owned(),
        Val::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Val::Timestamp(at) => at.to_string(),
        Val::Duration(duration) => format!("{}s", duration.as_secs_f64()),
        Val::Ip(address) => address.to_string(),
        Val::Cidr(address, length) => format!("{address}/{length}"),
        Val::Quantity(quantity) => quantity.text().to_owned(),
        Val::Semver(version) => version.to_string(),
        Val::Url(url) => url.text.clone(),
        Val::Type(name) | Val::Format(name) => (*name).to_owned(),
        Val::List(list) => {
            let items: Vec<String> = list.iter().map(|item| display(&item)).collect();
            format!("[{}]", items.join(", "))
        }
        Val::Map(map) => {
            let pairs = map
                .keys()
                .into_iter()
                .filter_map(|key| Some(format!("{}: {}", display(&key), display(&map.get(&key)?))));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
        Val::Optional(Some(inner)) => format!("optional({})", display(inner)),
        Val::Optional(None) => "optional.none()".to_owned(),
        Val::Authorizer => "authorizer".to_owned(),
    }
}
