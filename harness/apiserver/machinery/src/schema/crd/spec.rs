//! Validation of a definition's spec.
//!
//! The server keeps the parts that all versions share at the top of the spec, so the fields of its errors are
//! `spec.validation`, `spec.subresources` and so on if all versions agree, else `spec.versions[i].…`.

use serde_json::{Value, json};

use super::super::structure::{self, not_supported};
use super::{columns, conversion, is_true, scale, selectable, versions};
use crate::field::{FieldError, FieldErrorType};
use crate::go_values;
use crate::meta::text;
use crate::metadata::names::{dns_1035_in_one, dns_subdomain};

/// The fields that the server moves to the top of the spec if all versions agree on them.
const PER_VERSION: [&str; 4] = ["schema", "subresources", "additionalPrinterColumns", "selectableFields"];

/// Returns all errors about `spec`; with `is_strict`, the certificates of a webhook must be readable.
pub fn check(crd: &Value, is_strict: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = crd.get("spec").unwrap_or(&Value::Null);
    check_group_and_scope(spec, &mut errors);
    check_versions(crd, &mut errors);
    let names = spec.get("names").unwrap_or(&Value::Null);
    for key in ["plural", "singular", "kind", "listKind"] {
        if text(names, key).is_empty() {
            errors.push(FieldError::without_value(
                FieldErrorType::Required,
                format!("spec.names.{key}"),
                "",
            ));
        }
    }
    errors.extend(check_names(names, "spec.names"));
    check_shared(crd, &mut errors);
    let conversion = spec.get("conversion").unwrap_or(&Value::Null);
    if preserves_unknown(crd) && conversion.is_object() && text(conversion, "strategy") != "None" {
        let strategy = Value::from(text(conversion, "strategy"));
        let detail = "must be None if spec.preserveUnknownFields is true";
        errors.push(invalid("spec.conversion.strategy", &strategy, detail));
    }
    errors.extend(conversion::check(conversion, is_strict));
    errors
}

/// Returns `true` if fields outside the schema are preserved, as `preserveUnknownFields` allowed in `v1beta1`.
pub(super) fn preserves_unknown(crd: &Value) -> bool {
    crd.pointer("/spec/preserveUnknownFields") == Some(&Value::Bool(true))
}

fn has_defaults(schema: &Value) -> bool {
    structure::present(schema, "default")
        || structure::children(schema, "")
            .iter()
            .any(|(_, child)| has_defaults(child))
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

/// Returns the value that all versions share, or `None` if they differ or leave it out.
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
        if version.pointer("/schema/openAPIV3Schema").is_none_or(Value::is_null) {
            let field = format!("spec.versions[{index}].schema.openAPIV3Schema");
            errors.push(FieldError::without_value(FieldErrorType::Required, field, ""));
        }
    }
    let schemas = all
        .iter()
        .filter_map(|version| version.pointer("/schema/openAPIV3Schema"));
    if preserves_unknown(crd) && schemas.into_iter().any(has_defaults) {
        let detail = "must be false in order to use defaults in the schema";
        errors.push(invalid("spec.preserveUnknownFields", &Value::Bool(true), detail));
    }
    for (index, version) in all.iter().enumerate() {
        let name = text(version, "name");
        let field = format!("spec.versions[{index}]");
        unique &= !all.iter().take(index).any(|other| text(other, "name") == name);
        if let Some(detail) = dns_1035_in_one(name) {
            errors.push(invalid(&format!("{field}.name"), &Value::from(name), &detail));
        }
        check_deprecation(version, &field, errors);
        check_own(all, version, &field, errors);
    }
    if !unique {
        errors.push(invalid_versions(all, "must contain unique version names"));
    }
    if all.iter().filter(|version| is_true(version, "storage")).count() != 1 {
        let detail = "must have exactly one version marked as storage version";
        errors.push(match crd.pointer("/spec/versions") {
            None | Some(Value::Null) => invalid("spec.versions", &Value::Null, detail),
            Some(_) => invalid_versions(all, detail),
        });
    }
    let first = all.first().map(|version| text(version, "name")).unwrap_or_default();
    if let Some(detail) = dns_1035_in_one(first).filter(|_| !first.is_empty()) {
        errors.push(invalid("spec.version", &Value::from(first), &detail));
    }
}

/// Returns an error about all versions, which quotes them in the form and order of the server's own type.
fn invalid_versions(all: &[Value], detail: &str) -> FieldError {
    let own = |version: &Value| {
        let mut own = version.clone();
        if let Some(members) = own.as_object_mut() {
            members.retain(|key, _| !PER_VERSION.contains(&key.as_str()) || shared(all, key).is_none());
        }
        go_values::text("apiextensions.CustomResourceDefinitionVersion", &own)
    };
    let quoted: Vec<String> = all.iter().map(own).collect();
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

/// Validates names, in a spec or in the accepted names.
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

/// Validates the schemas, subresources, columns and selectable fields that all versions share.
fn check_shared(crd: &Value, errors: &mut Vec<FieldError>) {
    let all = versions(crd);
    let any_status = all
        .iter()
        .any(|version| version.pointer("/subresources/status").is_some());
    let schema = all
        .first()
        .and_then(|version| version.pointer("/schema/openAPIV3Schema"));
    for key in PER_VERSION {
        if let Some(value) = shared(all, key) {
            check_content(key, value, schema, "spec", any_status, errors);
        }
    }
}

/// Validates those that a version does not share with the others.
fn check_own(all: &[Value], version: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let status = version.pointer("/subresources/status").is_some();
    let schema = version.pointer("/schema/openAPIV3Schema");
    for key in PER_VERSION {
        if let Some(value) = version
            .get(key)
            .filter(|value| !value.is_null() && shared(all, key).is_none())
        {
            check_content(key, value, schema, path, status, errors);
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
        _ if schema.is_none_or(Value::is_null) && path != "spec" => {
            let detail = "may only be set when `version.schema.openAPIV3Schema` is not included";
            errors.push(invalid(&format!("{path}.{key}"), &Value::from(""), detail));
        }
        _ => errors.extend(selectable::check(
            value,
            schema.unwrap_or(&json!({})),
            &format!("{path}.{key}"),
        )),
    }
}
