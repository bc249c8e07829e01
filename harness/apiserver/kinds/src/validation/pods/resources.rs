//! What containers and pods ask for.

use std::collections::BTreeSet;

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::quantity::{NANOS_OF_ONE, Quantity};
use serde_json::Value;

use super::claims;
use crate::aggregate;
use crate::quotas;
use crate::validation::checks::{list, members, text};
use crate::validation::resource_names;

/// A rule for the names of resources.
type NameRule = fn(&str, &FieldPath<'_>, &mut ErrorList);

/// What a container asks for; `known` are the claims of its pod.
pub(crate) fn of_container(resources: &Value, known: &BTreeSet<&str>, at: &FieldPath<'_>, found: &mut ErrorList) {
    validate(resources, resource_names::of_container, known, at, found);
}

/// What all containers of a pod get together.
pub(crate) fn of_pod(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let Some(resources) = spec.get("resources") else {
        return;
    };
    let at = at.child("resources");
    if spec.get("os").is_some_and(|os| text(os, "name") == "windows") {
        found.forbidden(&at, "may not be set for a windows pod");
        return;
    }
    if !list(resources, "claims").is_empty() {
        let detail = "claims may not be set for Resources at pod-level";
        found.forbidden(&at.child("claims"), detail);
    }
    validate(resources, name_of_pod, &claims::names_of(spec), &at, found);
    enough_for_all(spec, resources, &at, found);
}

/// A known resource that a pod as a whole can ask for.
fn name_of_pod(resource: &str, at: &FieldPath<'_>, found: &mut ErrorList) {
    let before = found.len();
    resource_names::standard(resource, at, found);
    if found.len() == before && !aggregate::is_of_pod(resource) {
        found.not_supported(at, resource, &["cpu", "hugepages-", "memory"]);
    }
}

fn nanos(value: &Value) -> i128 {
    value.as_str().and_then(Quantity::parse).map_or(0, Quantity::nanos)
}

fn written(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Whether a resource is one of the system's own.
fn is_native(resource: &str) -> bool {
    !resource.contains('/') || resource.contains("kubernetes.io/")
}

fn validate(resources: &Value, rule: NameRule, known: &BTreeSet<&str>, at: &FieldPath<'_>, found: &mut ErrorList) {
    let limits_at = at.child("limits");
    for (resource, value) in members(resources, "limits").into_iter().flatten() {
        let field = limits_at.key(resource);
        amount(resource, value, rule, &field, found);
        whole_pages(resource, value, &field, found);
    }
    let requests_at = at.child("requests");
    for (resource, value) in members(resources, "requests").into_iter().flatten() {
        let field = requests_at.key(resource);
        amount(resource, value, rule, &field, found);
        let limit = members(resources, "limits").and_then(|limits| limits.get(resource));
        within(resource, value, limit, at, found);
        whole_pages(resource, value, &field, found);
    }
    huge_pages(resources, at, found);
    claims::wanted(resources, known, at, found);
}

fn amount(resource: &str, value: &Value, rule: NameRule, at: &FieldPath<'_>, found: &mut ErrorList) {
    rule(resource, at, found);
    if nanos(value) < 0 {
        found.invalid(at, value.clone(), "must be greater than or equal to 0");
    }
    let is_counted = !is_native(resource) || quotas::is_counted(resource);
    if is_counted && nanos(value) % NANOS_OF_ONE != 0 {
        found.invalid(at, value.clone(), "must be an integer");
    }
}

/// Of what cannot be promised twice, exactly what is limited is asked for; of all else, not more.
fn within(resource: &str, request: &Value, limit: Option<&Value>, at: &FieldPath<'_>, found: &mut ErrorList) {
    let is_exact = !is_native(resource) || resource_names::is_huge(resource);
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
    let limit = limit.map(written).unwrap_or_default();
    let detail = format!("must be {relation} {resource} limit of {limit}");
    found.invalid(&at.child("requests"), request.clone(), &detail);
}

fn whole_pages(resource: &str, value: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if !resource_names::is_huge(resource) {
        return;
    }
    let size = resource.strip_prefix("hugepages-").and_then(Quantity::parse);
    let size = size.map_or(0, Quantity::nanos);
    if size <= 0 || nanos(value) % size != 0 {
        let amount = written(value);
        let detail = format!("{amount} is not positive integer multiple of {resource}");
        found.invalid(at, value.clone(), &detail);
    }
}

/// Huge pages come with something to compute with.
fn huge_pages(resources: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let asked = ["limits", "requests"].map(|kind| members(resources, kind));
    let names = || asked.iter().flatten().flat_map(|amounts| amounts.keys());
    if names().any(|name| resource_names::is_huge(name))
        && !names().any(|name| matches!(name.as_str(), "cpu" | "memory"))
    {
        found.forbidden(at, "HugePages require cpu or memory");
    }
}

/// A pod has enough for all of its containers, and none of them gets more than the pod.
fn enough_for_all(spec: &Value, resources: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let of_pod = |kind: &str, resource: &str| members(resources, kind)?.get(resource);
    for kind in ["requests", "limits"] {
        let at = at.child(kind);
        for (resource, sum) in aggregate::of_containers(spec, kind) {
            let Some(given) =
                of_pod(kind, &resource).filter(|_| kind == "requests" || resource_names::is_huge(&resource))
            else {
                continue;
            };
            if sum.nanos() > nanos(given) {
                let sum = sum.canonical();
                let detail = format!("must be greater than or equal to aggregate container {kind} of {sum}");
                found.invalid(&at.key(&resource), given.clone(), &detail);
            }
        }
    }
    let at = at.child("containers");
    for (index, container) in list(spec, "containers").iter().enumerate() {
        let at = at.item(index);
        let limits = container
            .get("resources")
            .and_then(|resources| members(resources, "limits"));
        for (resource, limit) in limits.into_iter().flatten() {
            let Some(given) = of_pod("limits", resource).filter(|given| nanos(limit) > nanos(given)) else {
                continue;
            };
            let detail = format!("must be less than or equal to pod limits of {}", written(given));
            found.invalid(&at.key(resource).child("limits"), limit.clone(), &detail);
        }
    }
}
