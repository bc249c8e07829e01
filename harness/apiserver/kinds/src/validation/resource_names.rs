//! Names of resources, as containers, limit ranges and quotas use them, and amounts of them.

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::metadata::names;
use baton_apimachinery::quantity::Quantity;
use serde_json::Value;

use crate::quotas;

/// An amount of a resource, and how it is written.
pub(super) fn amount(value: Option<&Value>) -> Option<(Quantity, &str)> {
    let text = value?.as_str()?;
    Some((Quantity::parse(text)?, text))
}

/// What a container can ask for.
pub(super) fn of_container(resource: &str, at: &FieldPath<'_>, found: &mut ErrorList) {
    standard(resource, at, found);
    if !resource.contains('/') && !is_of_container(resource) {
        found.invalid(at, resource, "must be a standard resource for containers");
    }
}

/// A resource is a known one, or somebody's own.
pub(super) fn standard(resource: &str, at: &FieldPath<'_>, found: &mut ErrorList) {
    let wrong = names::qualified_name(resource);
    let known = is_of_container(resource) || is_of_quota(resource) || resource == "storage";
    if wrong.is_empty() && !resource.contains('/') && !known {
        found.invalid(at, resource, "must be a standard resource type or fully qualified");
    }
    found.invalid_each(at, resource, wrong);
}

fn is_of_container(resource: &str) -> bool {
    matches!(resource, "cpu" | "ephemeral-storage" | "memory") || is_huge(resource)
}

/// Whether these are huge pages of some size.
pub(super) fn is_huge(resource: &str) -> bool {
    resource.starts_with("hugepages-")
}

pub(super) fn is_of_quota(resource: &str) -> bool {
    let is_huge = is_huge(resource.strip_prefix("requests.").unwrap_or(resource));
    quotas::is_counted(resource) || quotas::is_measured(resource) || is_huge
}
