//! Field managers and field validation of a request.

use std::fmt::Display;
use std::sync::Arc;

use baton_apimachinery::field::{FieldError, FieldErrorType};
use baton_apimachinery::go_fmt;
use baton_apimachinery::merge::apply::{self, VersionError, Versions, View, Write};
use baton_apimachinery::merge::field_validation;
use baton_apimachinery::yaml;
use serde_json::Value;

use super::versioning::as_it_is;
use super::{Call, Core};
use crate::api_error::{About, ApiError};
use crate::conversion::Conversions;
use crate::registry::{Catalogue, Resource};

/// Maximum length of a field manager's name in bytes.
const MAX_MANAGER_BYTES: usize = 128;

/// Treatment of unknown and duplicate fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Validation {
    /// They are dropped.
    Ignore,
    /// They are dropped with a warning.
    Warn,
    /// They are an error.
    Strict,
}

impl Call {
    pub(super) fn validation(&self) -> Validation {
        match self.query.get("fieldValidation") {
            Some("Ignore") => Validation::Ignore,
            Some("Strict") => Validation::Strict,
            _ => Validation::Warn,
        }
    }

    /// Returns the field manager of the request.
    pub(super) fn manager(&self) -> String {
        apply::manager_or_user_agent(self.query.get("fieldManager"), &self.caller.user_agent)
    }

    /// Returns the media type of the body without parameters.
    pub(super) fn media(&self) -> &str {
        let content_type = self.header(http::header::CONTENT_TYPE).unwrap_or_default();
        content_type.split(';').next().unwrap_or_default().trim()
    }

    /// Returns `true` if the body is JSON, not YAML.
    pub(super) fn is_json(&self) -> bool {
        self.media() != "application/yaml"
    }

    pub(super) fn is_apply(&self) -> bool {
        self.verb == super::Verb::Patch && self.media() == "application/apply-patch+yaml"
    }

    /// Returns the request as a write, for the managed fields.
    pub(super) fn write<'a>(&'a self, manager: &'a str, versions: &'a dyn Versions, core: &Core) -> Write<'a> {
        Write {
            manager,
            api_version: &self.resource.api_version,
            subresource: self.subresource.as_deref().unwrap_or_default(),
            now: (core.options.clock)(),
            versions,
        }
    }
}

/// A resource, with all served resources.
#[derive(Debug)]
pub(super) struct Served<'a> {
    catalogue: Arc<Catalogue>,
    resource: &'a Resource,
    conversions: &'a Conversions,
}

impl Versions for Served<'_> {
    fn convert(&self, object: &Value, api_version: &str) -> Result<Option<View>, VersionError> {
        let other = self.catalogue.of_kind(api_version, &self.resource.kind);
        let Some(other) = other.filter(|other| other.bucket == self.resource.bucket) else {
            return Ok(None);
        };
        let model = other.model().clone();
        let object = as_it_is(other, self.conversions, object);
        let object = object.map_err(|error| VersionError::Conversion(error.into()))?;
        Ok(Some(View { model, object }))
    }
}

impl Core {
    /// Returns the versions of the resource of a call.
    pub(super) fn served<'a>(&self, call: &'a Call) -> Served<'a> {
        Served {
            catalogue: self.registry.current(),
            resource: &call.resource,
            conversions: &call.conversions,
        }
    }

    /// Makes the caller the owner of the fields that it changed; an apply has already done so.
    pub(super) fn track(&self, call: &Call, old: Option<&Value>, new: &mut Value) {
        if !call.is_apply() {
            let manager = call.manager();
            let versions = self.served(call);
            let write = call.write(&manager, &versions, self);
            apply::update(call.resource.model(), old, new, &write);
        }
    }
}

/// Checks the options about fields in the query. `kind` is that of the options: `PatchOptions`.
pub(super) fn check_options(call: &Call, kind: &str) -> Result<(), ApiError> {
    let mut errors = Vec::new();
    let manager = call.query.get("fieldManager").unwrap_or_default();
    if kind == "PatchOptions" {
        if !call.is_apply() && call.query.get("force").is_some() {
            let detail = "may not be specified for non-apply patch";
            errors.push(FieldError::without_value(FieldErrorType::Forbidden, "force", detail));
        }
        if call.is_apply() && manager.is_empty() {
            let detail = "is required for apply patch";
            errors.push(FieldError::without_value(
                FieldErrorType::Required,
                "fieldManager",
                detail,
            ));
        }
    }
    if manager.len() > MAX_MANAGER_BYTES {
        let detail = format!("may not be more than {MAX_MANAGER_BYTES} bytes");
        errors.push(FieldError::without_value(
            FieldErrorType::TooLong,
            "fieldManager",
            &detail,
        ));
    }
    if let Some((position, control)) = manager.char_indices().find(|(_, character)| character.is_control()) {
        let detail = format!(
            "invalid character U+{:04X} (at position {position})",
            u32::from(control)
        );
        errors.push(FieldError {
            error_type: FieldErrorType::Invalid,
            field: "fieldManager".to_owned(),
            message: format!("Invalid value: {}: {detail}", go_fmt::quoted(manager)),
        });
    }
    if let Some(other) = call.query.get("fieldValidation")
        && !matches!(other, "" | "Ignore" | "Warn" | "Strict")
    {
        let detail = "supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"";
        errors.push(FieldError::with_value(
            FieldErrorType::NotSupported,
            "fieldValidation",
            &other.into(),
            detail,
        ));
    }
    errors.extend(check_dry_run(&call.query.all("dryRun")));
    verdict(kind, &errors)
}

/// Validates the values of `dryRun`.
pub(super) fn check_dry_run(values: &[&str]) -> Option<FieldError> {
    let fits = values.iter().all(|value| *value == "All");
    let error = || {
        let detail = "supported values: \"All\"";
        FieldError::with_value(FieldErrorType::NotSupported, "dryRun", &values.into(), detail)
    };
    (!fits).then(error)
}

fn verdict(kind: &str, errors: &[FieldError]) -> Result<(), ApiError> {
    if errors.is_empty() {
        return Ok(());
    }
    let about = About {
        group: "meta.k8s.io",
        kind,
        name: "",
    };
    Err(ApiError::invalid(about, errors))
}

/// Returns the duplicate and, for built-in kinds, unknown fields of the object in the body of a create or update.
pub(super) fn findings_of_body(call: &Call) -> Vec<String> {
    if call.validation() == Validation::Ignore {
        return Vec::new();
    }
    let model = call.resource.model();
    if call.is_json() {
        return field_validation::document(Some(model), &call.body);
    }
    let mut findings = Vec::from_iter(yaml::duplicate_keys(&call.body));
    if let (true, Ok(object)) = (model.is_builtin(), yaml::read(&call.body)) {
        findings.append(&mut field_validation::unknown_fields(model, &object));
    }
    findings
}

/// The unknown and duplicate fields of an object; an error if the validation is strict.
#[derive(Debug, thiserror::Error)]
#[error("{}", field_validation::message(.0))]
pub(super) struct StrictError(Vec<String>);

/// Adds the findings to the warnings, or returns them as an error.
pub(super) fn report(call: &Call, findings: Vec<String>, warnings: &mut Vec<String>) -> Result<(), StrictError> {
    match call.validation() {
        Validation::Ignore => Ok(()),
        Validation::Strict if !findings.is_empty() => Err(StrictError(findings)),
        Validation::Strict | Validation::Warn => {
            warnings.extend(findings);
            Ok(())
        }
    }
}

/// Returns the error for an object that its kind cannot decode.
pub(super) fn cannot_be_handled(call: &Call, error: &impl Display) -> ApiError {
    let (kind, version) = (&call.resource.kind, &call.resource.version);
    ApiError::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {kind}: {error}"
    ))
}

/// Returns the error for a patch whose result cannot be read, or fails strict validation.
pub(super) fn invalid_patch(quoted: String, error: &impl ToString) -> ApiError {
    let about = About {
        group: "",
        kind: "",
        name: "",
    };
    let finding = FieldError::with_value(
        FieldErrorType::Invalid,
        "patch",
        &Value::String(quoted),
        &error.to_string(),
    );
    ApiError::invalid(about, &[finding])
}
