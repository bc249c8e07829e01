//! What is wrong with the spec of a definition.
//!
//! The server keeps what all versions have in common at the top of the spec, so the fields of its findings are
//! `spec.validation`, `spec.subresources` and so on when all versions agree, else `spec.versions[i].…`.

use serde_json::{Value, json};

use super::super::structure::{self, not_supported};
use super::{columns, conversion, is_true, scale, selectable, versions};
use crate::error::{FieldError, FieldErrorType};
use crate::meta::text;
use crate::metadata::names::{dns_1035_in_one, dns_subdomain};

const PER_VERSION: [(&str, &str); 4] = [
    ("Schema", "schema"),
    ("Subresources", "subresources"),
    ("AdditionalPrinterColumns", "additionalPrinterColumns"),
    ("SelectableFields", "selectableFields"),
];

/// All findings about `spec`.
pub(super) fn check(crd: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = crd.get("spec").unwrap_or(&Value::Null);
    check_group_and_scope(spec, &mut errors);
    check_versions(crd, &mut errors);
    let names = spec.get("names").unwrap_or(&Value::Null);
    for key in ["plural", "singular", "kind", "listKind"] {
        let derived = text(names, "kind").is_empty() && matches!(key, "singular" | "listKind");
        if text(names, key).is_empty() && !derived {
            errors.push(FieldError::without_value(
                FieldErrorType::Required,
                format!("spec.names.{key}"),
                "",
            ));
        }
    }
    errors.extend(check_names(names, "spec.names"));
    check_contents(crd, &mut errors);
    if spec.get("preserveUnknownFields") == Some(&Value::Bool(true)) {
        let detail =
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.push(invalid("spec.preserveUnknownFields", &Value::Bool(true), detail));
    }
    errors.extend(conversion::check(spec.get("conversion").unwrap_or(&Value::Null)));
    errors
}

fn invalid(field: &str, value: &Value, detail: &str) -> FieldError {
    FieldError::with_value(FieldErrorType::Invalid, field, value, detail)
}

fn check_group_and_scope(spec: &Value, errors: &mut Vec<FieldError>) {
    let group = text(spec, "group");
    let details = dns_subdomain(group);
    if group.is_empty() {
        errors.push(FieldError::without_value(FieldErrorType::Required, "spec.group", ""));
    } else if !details.is_empty() {
        errors.push(invalid("spec.group", &Value::from(group), &details.join(",")));
    } else if !group.contains('.') {
        errors.push(invalid(
            "spec.group",
            &Value::from(group),
            "should be a domain with at least one dot",
        ));
    }
    match text(spec, "scope") {
        "" => errors.push(FieldError::without_value(FieldErrorType::Required, "spec.scope", "")),
        "Cluster" | "Namespaced" => {}
        other => errors.push(not_supported("spec.scope", other, &["Cluster", "Namespaced"])),
    }
}

/// What all versions agree on; `None` when they differ or leave it out.
fn shared<'v>(versions: &'v [Value], key: &str) -> Option<&'v Value> {
    let first = versions.first()?.get(key).filter(|value| !value.is_null())?;
    versions
        .iter()
        .all(|version| version.get(key) == Some(first))
        .then_some(first)
}

fn check_versions(crd: &Value, errors: &mut Vec<FieldError>) {
    let all = versions(crd);
    let mut unique = true;
    for (index, version) in all.iter().enumerate() {
        let name = text(version, "name");
        let field = format!("spec.versions[{index}]");
        unique &= !all.iter().take(index).any(|other| text(other, "name") == name);
        if let Some(detail) = dns_1035_in_one(name) {
            errors.push(invalid(&format!("{field}.name"), &Value::from(name), &detail));
            if index == 0 && !name.is_empty() {
                errors.push(invalid("spec.version", &Value::from(name), &detail));
            }
        }
        check_deprecation(version, &field, errors);
        if version.pointer("/schema/openAPIV3Schema").is_none_or(Value::is_null) {
            let field = format!("{field}.schema.openAPIV3Schema");
            errors.push(FieldError::without_value(FieldErrorType::Required, field, ""));
        }
    }
    if !unique {
        errors.push(invalid_versions(all, "must contain unique version names"));
    }
    if all.iter().filter(|version| is_true(version, "storage")).count() != 1 {
        let detail = "must have exactly one version marked as storage version";
        errors.push(invalid_versions(all, detail));
    }
}

/// A finding about all versions, which quotes them as the server's own type has them, members in its order.
fn invalid_versions(all: &[Value], detail: &str) -> FieldError {
    let mut quoted: Vec<String> = Vec::new();
    for version in all {
        let mut members = vec![format!("\"Name\":{}", Value::from(text(version, "name")))];
        for (name, key) in [
            ("Served", "served"),
            ("Storage", "storage"),
            ("Deprecated", "deprecated"),
        ] {
            members.push(format!("\"{name}\":{}", is_true(version, key)));
        }
        let warning = version.get("deprecationWarning").unwrap_or(&Value::Null);
        members.push(format!("\"DeprecationWarning\":{warning}"));
        for (name, key) in PER_VERSION {
            let own = version.get(key).filter(|_| shared(all, key).is_none());
            members.push(format!("\"{name}\":{}", own.unwrap_or(&Value::Null)));
        }
        quoted.push(format!("{{{}}}", members.join(",")));
    }
    FieldError {
        error_type: FieldErrorType::Invalid,
        field: "spec.versions".to_owned(),
        message: format!("Invalid value: [{}]: {detail}", quoted.join(",")),
    }
}

fn check_deprecation(version: &Value, field: &str, errors: &mut Vec<FieldError>) {
    let Some(value) = version.get("deprecationWarning").filter(|value| value.is_string()) else {
        return;
    };
    let warning = value.as_str().unwrap_or_default();
    let mut details = Vec::new();
    if is_true(version, "deprecated") {
        if warning.len() > 256 {
            details.push("must be <= 256 characters long".to_owned());
        }
        if warning.is_empty() {
            details.push("must not be an empty string".to_owned());
        }
        if let Some((index, _)) = warning.char_indices().find(|(_, letter)| letter.is_control()) {
            details.push(format!(
                "must only contain printable UTF-8 characters; non-printable character found at index {index}"
            ));
        }
    } else {
        details.push("can only be set for deprecated versions".to_owned());
    }
    errors.extend(
        details
            .iter()
            .map(|detail| invalid(&format!("{field}.deprecationWarning"), value, detail)),
    );
}

/// Names as such, in a spec or as accepted.
pub(super) fn check_names(names: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for key in ["plural", "singular"] {
        let name = text(names, key);
        if let Some(detail) = dns_1035_in_one(name).filter(|_| !name.is_empty()) {
            errors.push(invalid(&format!("{path}.{key}"), &Value::from(name), &detail));
        }
    }
    for key in ["kind", "listKind"] {
        let name = text(names, key);
        if let Some(detail) = dns_1035_in_one(&name.to_lowercase()).filter(|_| !name.is_empty()) {
            let detail = format!("may have mixed case, but should otherwise match: {detail}");
            errors.push(invalid(&format!("{path}.{key}"), &Value::from(name), &detail));
        }
    }
    let kind = text(names, "kind");
    if !kind.is_empty() && kind == text(names, "listKind") {
        let detail = "kind and listKind may not be the same";
        errors.push(invalid(&format!("{path}.listKind"), &Value::from(kind), detail));
    }
    for key in ["shortNames", "categories"] {
        for (index, name) in names
            .get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .enumerate()
        {
            if let Some(detail) = dns_1035_in_one(name.as_str().unwrap_or_default()) {
                errors.push(invalid(&format!("{path}.{key}[{index}]"), name, &detail));
            }
        }
    }
    errors
}

/// Schemas, subresources, columns and selectable fields: once when shared, else per version.
fn check_contents(crd: &Value, errors: &mut Vec<FieldError>) {
    let all = versions(crd);
    let any_status = all
        .iter()
        .any(|version| version.pointer("/subresources/status").is_some());
    for (_, key) in PER_VERSION {
        if let Some(value) = shared(all, key) {
            let schema = all
                .first()
                .and_then(|version| version.pointer("/schema/openAPIV3Schema"));
            check_content(key, value, schema, "spec", any_status, errors);
            continue;
        }
        for (index, version) in all.iter().enumerate() {
            if let Some(value) = version.get(key).filter(|value| !value.is_null()) {
                let status = version.pointer("/subresources/status").is_some();
                let schema = version.pointer("/schema/openAPIV3Schema");
                check_content(key, value, schema, &format!("spec.versions[{index}]"), status, errors);
            }
        }
    }
}

fn check_content(
    key: &str,
    value: &Value,
    schema: Option<&Value>,
    path: &str,
    status: bool,
    errors: &mut Vec<FieldError>,
) {
    match key {
        "schema" => {
            let name = if path == "spec" { "validation" } else { "schema" };
            if let Some(schema) = schema.filter(|schema| !schema.is_null()) {
                errors.extend(structure::check(
                    schema,
                    &format!("{path}.{name}.openAPIV3Schema"),
                    status,
                ));
            }
        }
        "subresources" => errors.extend(scale::check_paths(value, &format!("{path}.subresources"))),
        "additionalPrinterColumns" => errors.extend(columns::check(value, &format!("{path}.{key}"))),
        _ => errors.extend(selectable::check(
            value,
            schema.unwrap_or(&json!({})),
            &format!("{path}.{key}"),
        )),
    }
}
