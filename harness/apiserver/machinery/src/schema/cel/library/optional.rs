//! Optional values, and the named formats that return one.

use super::super::super::formats::Format;
use super::super::budget::Budget;
use super::super::error::{CelError, Outcome};
use super::super::value::Val;
use crate::metadata::names;

/// The supported named formats, each with the format of schemas that implements it.
const FORMATS: [&str; 12] = [
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "datetime",
];

pub(super) fn call<'a>(_: &mut Budget, name: &str, is_member: bool, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    Some(Ok(match (is_member, name, args) {
        (false, "optional.of", [value]) => Val::some(value.clone()),
        (false, "optional.none", []) => Val::Optional(None),
        (false, "optional.ofNonZeroValue", [value]) => {
            if is_zero(value) {
                Val::Optional(None)
            } else {
                Val::some(value.clone())
            }
        }
        (true, "hasValue", [Val::Optional(inner)]) => Val::Bool(inner.is_some()),
        (true, "value", [Val::Optional(Some(inner))]) => inner.as_ref().clone(),
        (true, "value", [Val::Optional(None)]) => {
            return Some(Err(CelError::Eval("optional.none() dereference".to_owned())));
        }
        (true, "or" | "orValue", [Val::Optional(None), other]) => other.clone(),
        (true, "or" | "orValue", [Val::Optional(Some(inner)), _]) => {
            if name == "or" {
                args.first()?.clone()
            } else {
                inner.as_ref().clone()
            }
        }
        (false, "format.named", [Val::Str(text)]) => {
            let found = FORMATS.iter().find(|format| **format == text.as_str());
            found.map_or(Val::Optional(None), |format| Val::some(Val::Format(format)))
        }
        (true, "validate", [Val::Format(format), Val::Str(text)]) => validate(format, text.as_str()),
        (false, name, []) => {
            let format = name.strip_prefix("format.")?;
            Val::Format(FORMATS.iter().find(|known| **known == format)?)
        }
        _ => return None,
    }))
}

fn is_zero(value: &Val<'_>) -> bool {
    match value {
        Val::Null | Val::Bool(false) | Val::Int(0) | Val::Uint(0) | Val::Optional(None) => true,
        Val::Double(number) => *number == 0.0,
        Val::Str(text) => text.as_str().is_empty(),
        Val::Bytes(bytes) => bytes.is_empty(),
        Val::List(list) => list.count() == 0,
        Val::Map(map) => map.count() == 0,
        Val::Duration(duration) => duration.is_zero(),
        _ => false,
    }
}

fn validate<'a>(format: &str, text: &str) -> Val<'a> {
    let plain = text
        .strip_suffix('-')
        .filter(|_| format.ends_with("Prefix"))
        .unwrap_or(text);
    let of_schema = |name: &str, detail: &str| {
        let fits = Format::named(name).is_some_and(|format| format.accepts(text));
        if fits { Vec::new() } else { vec![detail.to_owned()] }
    };
    let problems: Vec<String> = match format {
        "dns1035Label" | "dns1035LabelPrefix" => names::dns_1035_label(plain),
        "dns1123Label" | "dns1123LabelPrefix" => names::dns_label(plain),
        "dns1123Subdomain" | "dns1123SubdomainPrefix" => names::dns_subdomain(plain),
        "qualifiedName" => names::qualified_name(text),
        "labelValue" => names::label_value(text),
        "uri" => of_schema("uri", "invalid URI"),
        "uuid" => of_schema("uuid", "does not match the UUID format"),
        "byte" => of_schema("byte", "invalid base64"),
        _ => of_schema("date-time", "invalid datetime"),
    };
    if problems.is_empty() {
        return Val::Optional(None);
    }
    Val::some(Val::list(problems.into_iter().map(Val::text).collect()))
}
