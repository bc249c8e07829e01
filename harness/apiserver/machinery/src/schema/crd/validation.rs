//! Validation of a whole definition; `spec` validates its spec.

use serde_json::Value;

use super::approval::{APPROVAL, approval_annotation, is_protected};
use super::{condition, conversion, spec, storage_version, versions};
use crate::field::{FieldError, FieldErrorType};
use crate::meta::text;
use crate::metadata::names::dns_subdomain;

/// Validates a new definition, without its metadata except for the name.
pub fn validate_create(crd: &Value) -> Vec<FieldError> {
    let mut errors = check_name(crd);
    errors.extend(spec::check(crd, false));
    errors.extend(check_status(crd));
    errors.extend(check_approval(crd, None));
    errors.extend(check_unknown(crd));
    errors
}

/// Validates a changed definition.
pub fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    // A definition that is served must have a readable CA bundle, unless it had none before.
    let is_strict = condition(member(old, "status"), "Established") == Some(true) && conversion::has_sound_bundle(old);
    let mut errors = spec::check(new, is_strict);
    let (new_spec, old_spec) = (member(new, "spec"), member(old, "spec"));
    let (new_names, old_names) = (member(new_spec, "names"), member(old_spec, "names"));
    let established = condition(member(old, "status"), "Established") == Some(true);
    let fixed = [
        (established, "spec.scope", new_spec, old_spec, "scope"),
        (established, "spec.names.kind", new_names, old_names, "kind"),
        (true, "spec.group", new_spec, old_spec, "group"),
        (true, "spec.names.plural", new_names, old_names, "plural"),
    ];
    for (is_fixed, field, new, old, key) in fixed {
        if is_fixed && text(new, key) != text(old, key) {
            let value = Value::from(text(new, key));
            errors.push(FieldError::with_value(
                FieldErrorType::Invalid,
                field,
                &value,
                "field is immutable",
            ));
        }
    }
    errors.extend(check_status(new));
    errors.extend(check_approval(new, Some(old)));
    if !spec::preserves_unknown(old) {
        errors.extend(check_unknown(new));
    }
    errors
}

/// Validates a changed status.
pub fn validate_status_update(new: &Value, _old: &Value) -> Vec<FieldError> {
    spec::check_names(member(member(new, "status"), "acceptedNames"), "status.acceptedNames")
}

fn member<'v>(value: &'v Value, key: &str) -> &'v Value {
    value.get(key).unwrap_or(&Value::Null)
}

fn check_unknown(crd: &Value) -> Option<FieldError> {
    let detail =
        "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
    let field = "spec.preserveUnknownFields";
    let error = || FieldError::with_value(FieldErrorType::Invalid, field, &Value::Bool(true), detail);
    spec::preserves_unknown(crd).then(error)
}

fn check_name(crd: &Value) -> Vec<FieldError> {
    let name = text(member(crd, "metadata"), "name");
    let spec = member(crd, "spec");
    let expected = format!("{}.{}", text(member(spec, "names"), "plural"), text(spec, "group"));
    let mut details = dns_subdomain(name);
    if name != expected {
        details.push("must be spec.names.plural+\".\"+spec.group".to_owned());
    }
    let finding =
        |detail: String| FieldError::with_value(FieldErrorType::Invalid, "metadata.name", &Value::from(name), &detail);
    details.into_iter().map(finding).collect()
}

fn check_status(crd: &Value) -> Vec<FieldError> {
    let status = member(crd, "status");
    let mut errors = spec::check_names(member(status, "acceptedNames"), "status.acceptedNames");
    let field = "status.storedVersions";
    let stored_value = member(status, "storedVersions");
    let stored = stored_value.as_array().map_or(&[][..], Vec::as_slice);
    if stored.is_empty() {
        let detail = "must have at least one stored version";
        errors.push(FieldError::with_value(
            FieldErrorType::Invalid,
            field,
            stored_value,
            detail,
        ));
        return errors;
    }
    let storage = versions(crd)
        .iter()
        .filter(|version| super::is_true(version, "storage"));
    for version in storage.map(|version| text(version, "name")) {
        if !stored.iter().any(|name| name == version) {
            let detail = format!("must have the storage version {version}");
            errors.push(FieldError::with_value(
                FieldErrorType::Invalid,
                field,
                stored_value,
                &detail,
            ));
        }
    }
    for (index, name) in stored.iter().enumerate() {
        let known = versions(crd).iter().any(|version| version.get("name") == Some(name));
        if !known {
            let version = name.as_str().unwrap_or_default();
            let detail = format!(
                "missing from spec.versions; {version} was previously a storage version, and must remain in \
                 spec.versions until a storage migration ensures no data remains persisted in {version} and removes \
                 {version} from status.storedVersions"
            );
            errors.push(FieldError::with_value(
                FieldErrorType::Invalid,
                format!("{field}[{index}]"),
                name,
                &detail,
            ));
        }
    }
    errors
}

fn check_approval(crd: &Value, old: Option<&Value>) -> Vec<FieldError> {
    if !is_protected(text(member(crd, "spec"), "group")) || storage_version(crd).is_none() {
        return Vec::new();
    }
    let value = approval_annotation(crd);
    if old.is_some_and(|old| approval_annotation(old) == value) {
        return Vec::new();
    }
    let field = format!("metadata.annotations[{APPROVAL}]");
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    if value.is_empty() {
        let detail = format!("protected groups must have approval annotation \"{APPROVAL}\", {see}");
        return vec![FieldError::without_value(FieldErrorType::Required, field, &detail)];
    }
    let is_url = value
        .split_once("://")
        .is_some_and(|(scheme, host)| !scheme.is_empty() && !host.is_empty());
    if value.starts_with("unapproved") || is_url {
        return Vec::new();
    }
    let detail = format!(
        "protected groups must have approval annotation \"{APPROVAL}\" with either a URL or a reason starting with \
         \"unapproved\", {see}"
    );
    vec![FieldError::with_value(
        FieldErrorType::Invalid,
        field,
        &Value::from(value),
        &detail,
    )]
}
