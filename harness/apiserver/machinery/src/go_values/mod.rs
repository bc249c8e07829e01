//! Values as the API server quotes them in its errors: not as clients write them, but as Go prints the validated types:
//! `{"Key":"a","Value":"","Effect":"NoSchedule","TimeAdded":null}`.
//!
//! `types.txt` has these types with their fields in order, in the form of [`generated`].

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::{generated, go_fmt};

static TYPES: LazyLock<HashMap<&'static str, Vec<Field>>> = LazyLock::new(|| {
    generated::lines(include_str!("types.txt"))
        .map(|line| {
            (
                line.name,
                line.fields().map(|field| Field::of(line.name, field)).collect(),
            )
        })
        .collect()
});

struct Field {
    /// The name that Go prints.
    name: &'static str,
    /// The name that clients write.
    member: String,
    kind: &'static str,
    may_be_missing: bool,
    left_out: bool,
}

impl Field {
    fn of(structure: &str, field: generated::Field<'static>) -> Self {
        Self {
            name: field.name,
            member: member(structure, field.name),
            kind: field.kind,
            may_be_missing: field.marks.contains('&'),
            left_out: field.marks.contains('?'),
        }
    }
}

/// Returns the fields of quoted types: the type, the name that Go prints, and the name that clients write.
pub fn all_fields() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let of_type = |(name, fields): (&&'static str, &'static Vec<Field>)| {
        let name = *name;
        fields
            .iter()
            .map(move |field| (name, field.name, field.member.as_str()))
    };
    TYPES.iter().flat_map(of_type)
}

/// Fields for which clients use another name.
const OTHERWISE: &[(&str, &str)] = &[
    ("CIDRs", "cidrs"),
    ("CephFS", "cephfs"),
    ("CephMonitors", "monitors"),
    ("DataDiskURI", "diskURI"),
    ("DiscoveryCHAPAuth", "chapAuthDiscovery"),
    ("EndpointsName", "endpoints"),
    ("RBDImage", "image"),
    ("RBDPool", "pool"),
    ("RadosUser", "user"),
    ("SessionCHAPAuth", "chapAuthSession"),
    ("StorageOS", "storageos"),
    ("WWIDs", "wwids"),
];

/// As [`OTHERWISE`], for schemas.
const OF_SCHEMAS: &[(&str, &str)] = &[
    ("Ref", "$ref"),
    ("Schema", "$schema"),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource"),
    ("XIntOrString", "x-kubernetes-int-or-string"),
    ("XListMapKeys", "x-kubernetes-list-map-keys"),
    ("XListType", "x-kubernetes-list-type"),
    ("XMapType", "x-kubernetes-map-type"),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields"),
    ("XValidations", "x-kubernetes-validations"),
];

/// The name of a field in JSON: `DNSPolicy` is `dnsPolicy`, `OS` is `os`.
fn member(of: &str, name: &str) -> String {
    if of == "apiextensions.JSONSchemaProps"
        && let Some((_, member)) = OF_SCHEMAS.iter().find(|(each, _)| *each == name)
    {
        return (*member).to_owned();
    }
    if let Some((_, member)) = OTHERWISE.iter().find(|(each, _)| *each == name) {
        return (*member).to_owned();
    }
    let capitals = name.bytes().take_while(u8::is_ascii_uppercase).count();
    let lowered = match capitals {
        0 | 1 => capitals,
        all if all == name.len() => all,
        // The last capital letter begins a word.
        several => several - 1,
    };
    let (first, rest) = name.split_at(lowered);
    first.to_ascii_lowercase() + rest
}

/// Formats a value of a type such as `core.Taint`, as errors quote it.
pub fn text(of: &str, value: &Value) -> String {
    let mut out = String::new();
    write(of, Some(value), &mut out);
    go_fmt::escaped(out)
}

fn structure(of: &str, members: Option<&Map<String, Value>>, out: &mut String) {
    out.push('{');
    let start = out.len();
    fields(of, members, start, out);
    out.push('}');
}

/// Fields of the pod spec that Go's types keep in the security context.
const OF_SECURITY: [&str; 5] = [
    "hostNetwork",
    "hostPID",
    "hostIPC",
    "shareProcessNamespace",
    "hostUsers",
];

fn fields(of: &str, members: Option<&Map<String, Value>>, start: usize, out: &mut String) {
    for field in TYPES.get(of).into_iter().flatten() {
        if field.name == "-" {
            let inner = match field.kind {
                "v1.ObjectMeta" => members.and_then(|members| members.get("metadata")?.as_object()),
                _ => members,
            };
            fields(field.kind, inner, start, out);
            continue;
        }
        let value = members.and_then(|members| members.get(&field.member));
        if field.left_out && is_empty(field, value) {
            continue;
        }
        if out.len() > start {
            out.push(',');
        }
        out.push_str(&go_fmt::quoted(field.name));
        out.push(':');
        if field.kind == "core.PodSecurityContext" {
            let mut context = value.and_then(Value::as_object).cloned().unwrap_or_default();
            for name in OF_SECURITY {
                if let Some(value) = members.and_then(|members| members.get(name)) {
                    context.insert(name.to_owned(), value.clone());
                }
            }
            structure(field.kind, Some(&context), out);
            continue;
        }
        match value.filter(|value| !value.is_null()) {
            None if field.may_be_missing => out.push_str("null"),
            value => write(field.kind, value, out),
        }
    }
}

/// Returns `true` if a field counts as empty. Structures never do.
fn is_empty(field: &Field, value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => {
            field.may_be_missing || !field.kind.contains('.') || field.kind.starts_with(['*', '%'])
        }
        Some(_) if field.may_be_missing => false,
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(map)) => map.is_empty() && field.kind.starts_with('%'),
        Some(Value::Number(number)) => number.as_i64() == Some(0),
        Some(Value::Bool(flag)) => !flag,
    }
}

/// Types that hold a schema or an alternative: a list of schemas, a boolean, or texts.
const OR: [&str; 3] = [
    "apiextensions.JSONSchemaPropsOrArray",
    "apiextensions.JSONSchemaPropsOrBool",
    "apiextensions.JSONSchemaPropsOrStringArray",
];

/// Returns the members of a value in a union type; each union has one of them.
fn alternatives(value: &Value) -> Map<String, Value> {
    let members = match value {
        Value::Bool(_) => json!({"allows": value}),
        Value::Array(_) => json!({"jsonSchemas": value, "property": value}),
        Value::Null | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            json!({"allows": true, "schema": value})
        }
    };
    members.as_object().cloned().unwrap_or_default()
}

/// Formats a number; a whole number has no fraction, however it was written.
fn number(value: &Value) -> String {
    match value.as_f64().filter(|number| value.is_f64() && number.fract() == 0.0) {
        Some(number) => go_fmt::float(number),
        None => value.to_string(),
    }
}

fn write(kind: &str, value: Option<&Value>, out: &mut String) {
    match (kind.split_at(1), value) {
        (("*", items), Some(Value::Array(list))) => {
            for (index, item) in list.iter().enumerate() {
                out.push(if index == 0 { '[' } else { ',' });
                write(items, Some(item), out);
            }
            out.push_str(if list.is_empty() { "[]" } else { "]" });
        }
        (("%", values), Some(Value::Object(map))) => {
            for (index, (key, value)) in map.iter().enumerate() {
                out.push(if index == 0 { '{' } else { ',' });
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write(values, Some(value), out);
            }
            out.push_str(if map.is_empty() { "{}" } else { "}" });
        }
        (("*" | "%" | "T" | "M" | "J" | "y", _), None) => out.push_str("null"),
        (("s", ""), None) => out.push_str("\"\""),
        (("b", ""), None) => out.push_str("false"),
        (("i" | "I" | "d", ""), None) => out.push('0'),
        (("Q", ""), None) => out.push_str("\"0\""),
        (("d", ""), Some(value)) => out.push_str(&number(value)),
        (_, Some(value)) if OR.contains(&kind) => structure(kind, Some(&alternatives(value)), out),
        (_, Some(Value::Object(members))) if kind.contains('.') => structure(kind, Some(members), out),
        (_, None) => structure(kind, None, out),
        (_, Some(value)) => out.push_str(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_quoted_too() {
        let taint = json!({"key": "a", "effect": "NoSchedule"});
        let expected = r#"{"Key":"a","Value":"","Effect":"NoSchedule","TimeAdded":null}"#;
        assert_eq!(text("core.Taint", &taint), expected);
    }

    #[test]
    fn fields_of_inner_types_stand_in_the_outer_one() {
        let template = json!({"metadata": {"labels": {"a": "<b>"}}, "spec": {"hostNetwork": true, "containers": []}});
        let quoted = text("core.PodTemplateSpec", &template);
        assert!(
            quoted.starts_with(r#"{"labels":{"a":"\u003cb\u003e"},"Spec":{"Volumes":null,"#),
            "{quoted}"
        );
        assert!(
            quoted.contains(r#""SecurityContext":{"HostNetwork":true,"HostPID":false,"#),
            "{quoted}"
        );
    }
}
