//! Field selectors: `metadata.name=a,spec.nodeName!=b`, over the few fields that a resource supports.

use baton_apimachinery::meta;
use serde_json::Value;

use crate::api_error::ApiError;
use crate::registry::Resource;

/// A parsed field selector; all requirements must hold.
#[derive(Debug, Clone, Default)]
pub(crate) struct FieldSelector(Vec<Requirement>);

#[derive(Debug, Clone)]
struct Requirement {
    field: String,
    value: String,
    equal: bool,
    /// Value of the field if the object does not have it.
    absent: &'static str,
}

impl FieldSelector {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.0.iter().all(|requirement| {
            let value = value_at(object, &requirement.field);
            let value = value.as_deref().unwrap_or(requirement.absent);
            (value == requirement.value) == requirement.equal
        })
    }

    /// Parses a selector and checks that the resource supports its fields.
    pub(crate) fn parse(resource: &Resource, text: &str) -> Result<Self, ApiError> {
        let mut requirements = Vec::new();
        let mut terms = split_terms(text);
        terms.sort_unstable();
        for term in terms {
            if term.is_empty() {
                continue;
            }
            let Some((field, equal, value)) = split_term(term) else {
                return Err(ApiError::bad_request(format!(
                    "invalid selector: '{text}'; can't understand '{term}'"
                )));
            };
            let value = unescape(value);
            let field = stored_name(resource, field);
            check_field(resource, &field)?;
            let builtin = resource.custom().is_none();
            let absent = if builtin { absent(&field) } else { "" };
            // Jobs have another name for a selectable field.
            let field = match field.as_str() {
                "status.successful" if builtin => "status.succeeded".to_owned(),
                _ => field,
            };
            requirements.push(Requirement {
                field,
                value,
                equal,
                absent,
            });
        }
        Ok(Self(requirements))
    }
}

/// Returns the name of a field in the stored object: events are stored as those of the core group.
fn stored_name(resource: &Resource, field: &str) -> String {
    if resource.custom().is_some() || resource.group != "events.k8s.io" {
        return field.to_owned();
    }
    match field.split_once('.') {
        Some(("regarding", rest)) => format!("involvedObject.{rest}"),
        None if field == "reportingController" => "reportingComponent".to_owned(),
        Some(_) | None => field.to_owned(),
    }
}

/// Splits at commas that are not escaped.
fn split_terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let mut start = 0;
    let mut escaped = false;
    for (index, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

fn split_term(term: &str) -> Option<(&str, bool, &str)> {
    let index = term.find(['=', '!'])?;
    let (field, rest) = term.split_at(index);
    if let Some(value) = rest.strip_prefix("!=") {
        return Some((field, false, value));
    }
    let value = rest.strip_prefix("==").or_else(|| rest.strip_prefix('='))?;
    Some((field, true, value))
}

fn unescape(value: &str) -> String {
    let mut result = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => result.extend(chars.next()),
            c => result.push(c),
        }
    }
    result
}

/// The selectable fields of built-in resources, apart from name and namespace: (group, plural, fields).
const SELECTABLE: &[(&str, &str, &[&str])] = &[
    (
        "",
        "events",
        &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
    ),
    ("", "namespaces", &["status.phase"]),
    ("", "nodes", &["spec.unschedulable"]),
    (
        "",
        "pods",
        &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
    ),
    ("", "secrets", &["type"]),
    ("", "services", &["spec.clusterIP", "spec.type"]),
    ("", "replicationcontrollers", &["status.replicas"]),
    ("apps", "replicasets", &["status.replicas"]),
    ("batch", "jobs", &["status.successful"]),
    (
        "certificates.k8s.io",
        "certificatesigningrequests",
        &["spec.signerName"],
    ),
];

/// Checks a field. Some resources word an unknown field differently, because of their conversion to the internal
/// version.
fn check_field(resource: &Resource, field: &str) -> Result<(), ApiError> {
    if field == "metadata.name"
        || (field == "metadata.namespace" && (resource.namespaced || resource.custom().is_none()))
    {
        return Ok(());
    }
    if let Some(custom) = resource.custom() {
        let selectable = custom.spec.get("selectableFields").and_then(Value::as_array);
        let known = selectable
            .into_iter()
            .flatten()
            .filter_map(|each| each.get("jsonPath").and_then(Value::as_str))
            .any(|path| path.trim_start_matches('.') == field);
        return if known { Ok(()) } else { Err(not_supported(field)) };
    }
    let table = SELECTABLE
        .iter()
        .find(|(group, plural, _)| group_of(resource) == *group && resource.plural == *plural);
    match table {
        Some((_, _, fields)) if fields.contains(&field) => Ok(()),
        Some(_) => Err(not_supported(field)),
        None => Err(ApiError::bad_request(format!(
            "{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        ))),
    }
}

fn group_of(resource: &Resource) -> &str {
    if resource.group == "events.k8s.io" {
        ""
    } else {
        &resource.group
    }
}

fn not_supported(field: &str) -> ApiError {
    ApiError::bad_request(format!("field label not supported: {field}"))
}

/// Returns the value that a selector uses if a built-in object leaves the field out.
fn absent(field: &str) -> &'static str {
    match field {
        "spec.unschedulable" | "spec.hostNetwork" => "false",
        "status.replicas" | "status.successful" => "0",
        _ => "",
    }
}

/// Returns the value of a field as a selector sees it: text as it is, numbers and booleans written out.
fn value_at(object: &Value, field: &str) -> Option<String> {
    let path: Vec<&str> = field.split('.').collect();
    match meta::at(object, &path) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        Some(Value::Bool(value)) => Some(value.to_string()),
        // The source of an event is its component, or its reporter.
        Some(Value::Object(source)) if field == "source" => {
            let component = source
                .get("component")
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty());
            component
                .or_else(|| meta::str_at(object, &["reportingComponent"]))
                .map(str::to_owned)
        }
        Some(Value::Null | Value::Array(_) | Value::Object(_)) | None => None,
    }
}

impl FieldSelector {
    /// Returns the selector of a single object.
    pub(crate) fn name(name: &str) -> Self {
        Self(vec![Requirement {
            field: "metadata.name".to_owned(),
            value: name.to_owned(),
            equal: true,
            absent: "",
        }])
    }
}
