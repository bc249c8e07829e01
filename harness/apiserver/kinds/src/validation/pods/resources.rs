//! Requests and limits of containers.

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::metadata::names;
use baton_apimachinery::quantity::{NANOS_OF_ONE, Quantity};
use serde_json::Value;

use crate::validation::checks::members;

/// Validates `resources` of a container.
pub(crate) fn of_container(resources: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let limits = members(resources, "limits");
    let limits_at = at.child("limits");
    for (resource, value) in limits.into_iter().flatten() {
        amount(resource, value, &limits_at.key(resource), found);
    }
    let requests_at = at.child("requests");
    for (resource, value) in members(resources, "requests").into_iter().flatten() {
        amount(resource, value, &requests_at.key(resource), found);
        let limit = limits.and_then(|limits| limits.get(resource));
        within(resource, value, limit, at, found);
    }
}

fn nanos(value: &Value) -> i128 {
    value.as_str().and_then(Quantity::parse).map_or(0, Quantity::nanos)
}

/// Reports whether nodes have the resource without a device plugin.
fn is_native(resource: &str) -> bool {
    !resource.contains('/') || resource.contains("kubernetes.io/")
}

fn is_of_container(resource: &str) -> bool {
    matches!(resource, "cpu" | "ephemeral-storage" | "memory") || resource.starts_with("hugepages-")
}

fn amount(resource: &str, value: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let errors = names::qualified_name(resource);
    let is_standard = resource.contains('/') || is_of_container(resource) || resource == "storage";
    if errors.is_empty() && !is_standard {
        found.invalid(at, resource, "must be a standard resource type or fully qualified");
    }
    found.invalid_each(at, resource, errors);
    if !resource.contains('/') && !is_of_container(resource) {
        found.invalid(at, resource, "must be a standard resource for containers");
    }
    if nanos(value) < 0 {
        found.invalid(at, value.clone(), "must be greater than or equal to 0");
    }
    if !is_native(resource) && nanos(value) % NANOS_OF_ONE != 0 {
        found.invalid(at, value.clone(), "must be an integer");
    }
}

/// Checks that a request is at most the limit, and equals the limit if the resource cannot be overcommitted.
fn within(resource: &str, request: &Value, limit: Option<&Value>, at: &FieldPath<'_>, found: &mut ErrorList) {
    let is_exact = !is_native(resource) || resource.starts_with("hugepages-");
    let relation = match limit {
        None if is_exact => {
            let detail = "Limit must be set for non overcommitable resources";
            found.required(&at.child("limits"), detail);
            return;
        }
        Some(limit) if is_exact && nanos(request) != nanos(limit) => "equal to",
        Some(limit) if nanos(request) > nanos(limit) => "less than or equal to",
        Some(_) | None => return,
    };
    let limit = limit.and_then(Value::as_str).unwrap_or_default();
    let detail = format!("must be {relation} {resource} limit of {limit}");
    found.invalid(&at.child("requests"), request.clone(), &detail);
}
