//! Containers of a pod.

use std::collections::BTreeSet;

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::metadata::names;
use serde_json::Value;

use super::{mounts, probes, resources, variables};
use crate::validation::checks::Check::{Do, Each, OneOf, OneOfIfSet};
use crate::validation::checks::{Check, list, number, port_number, run, text};

const PULL_POLICIES: &[&str] = &["Always", "IfNotPresent", "Never"];
const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];

/// Checks of a container that come before its mounts.
const BEFORE_MOUNTS: &[Check] = &[
    Do(name_and_image),
    OneOfIfSet("terminationMessagePolicy", &["File", "FallbackToLogsOnError"]),
    Do(ports),
    Each("env", &[Do(variables::env)]),
    Do(variables::sources),
];

/// Validates the containers of a pod, whose volumes have been validated.
pub(super) fn validate(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let volumes_at = at.child("volumes");
    let volumes: Vec<&Value> = list(spec, "volumes")
        .iter()
        .enumerate()
        .filter(|(index, _)| !found.is_about(&volumes_at.item(*index)))
        .map(|(_, volume)| volume)
        .collect();
    regular(spec, &volumes, &at.child("containers"), found);
    initial(spec, &volumes, &at.child("initContainers"), found);
}

fn regular(spec: &Value, volumes: &[&Value], at: &FieldPath<'_>, found: &mut ErrorList) {
    let containers = list(spec, "containers");
    if containers.is_empty() {
        found.required(at, "");
    }
    let mut seen = BTreeSet::new();
    for (index, container) in containers.iter().enumerate() {
        let at = at.item(index);
        common(container, volumes, &at, found);
        let name = text(container, "name");
        if !seen.insert(name) {
            found.duplicate(&at.child("name"), name);
        }
        probes::validate(container, &at, found);
    }
}

fn initial(spec: &Value, volumes: &[&Value], at: &FieldPath<'_>, found: &mut ErrorList) {
    let named = list(spec, "containers").iter();
    let mut seen: BTreeSet<&str> = named.map(|container| text(container, "name")).collect();
    for (index, container) in list(spec, "initContainers").iter().enumerate() {
        let at = at.item(index);
        common(container, volumes, &at, found);
        let name = text(container, "name");
        if seen.contains(name) {
            found.duplicate(&at.child("name"), name);
        } else if !name.is_empty() {
            seen.insert(name);
        }
        if text(container, "restartPolicy") == "Always" {
            probes::validate(container, &at, found);
        }
    }
}

/// Validates a container of any sort.
fn common(container: &Value, volumes: &[&Value], at: &FieldPath<'_>, found: &mut ErrorList) {
    run(BEFORE_MOUNTS, container, at, found);
    mounts::validate(container, volumes, at, found);
    run(&[OneOf("imagePullPolicy", PULL_POLICIES)], container, at, found);
    if let Some(wanted) = container.get("resources") {
        resources::of_container(wanted, &at.child("resources"), found);
    }
}

fn name_and_image(container: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let name = text(container, "name");
    found.required_each(&at.child("name"), name, names::dns_label(name));
    if text(container, "image").is_empty() {
        found.required(&at.child("image"), "");
    }
}

/// Rejects images of a pod with spaces around their names.
pub(super) fn trimmed_images(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    for field in ["containers", "initContainers"] {
        let at = at.child(field);
        for (index, container) in list(spec, field).iter().enumerate() {
            trimmed_image(container, &at.item(index), found);
        }
    }
}

/// Rejects an image with spaces around its name.
pub(super) fn trimmed_image(container: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let image = text(container, "image");
    if image.trim() != image {
        let detail = "must not have leading or trailing whitespace";
        found.invalid(&at.child("image"), image, detail);
    }
}

fn ports(container: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("ports");
    let mut seen = BTreeSet::new();
    for (index, port) in list(container, "ports").iter().enumerate() {
        let at = at.item(index);
        let name = text(port, "name");
        let messages = if name.is_empty() {
            Vec::new()
        } else {
            names::port_name(name)
        };
        let is_valid = !name.is_empty() && messages.is_empty();
        found.invalid_each(&at.child("name"), name, messages);
        if is_valid && !seen.insert(name) {
            found.duplicate(&at.child("name"), name);
        }
        match number(port, "containerPort") {
            0 => found.required(&at.child("containerPort"), ""),
            number => port_number(number, &at.child("containerPort"), found),
        }
        match number(port, "hostPort") {
            0 => {}
            number => port_number(number, &at.child("hostPort"), found),
        }
        run(&[OneOf("protocol", PROTOCOLS)], port, &at, found);
    }
}
