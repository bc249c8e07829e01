//! Containers of a pod.

use std::collections::BTreeSet;

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::metadata::names;
use serde_json::Value;

use super::{claims, mounts, probes, resources, restarts, security, uses_host_network, variables};
use crate::validation::checks::Check::{Do, Each, OneOf, OneOfIfSet};
use crate::validation::checks::{Check, list, number, port_number, run, text};

const PULL_POLICIES: &[&str] = &["Always", "IfNotPresent", "Never"];
const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];

/// What is checked of each container before its mounts.
const BEFORE_MOUNTS: &[Check] = &[
    Do(name_and_image),
    OneOfIfSet("terminationMessagePolicy", &["File", "FallbackToLogsOnError"]),
    Do(ports),
    Each("env", &[Do(variables::env)]),
    Do(variables::sources),
];

/// What the checks of a container need to know of its pod.
struct Pod<'a> {
    spec: &'a Value,
    /// The volumes that nothing is wrong with.
    volumes: Vec<&'a Value>,
    claims: BTreeSet<&'a str>,
}

impl<'a> Pod<'a> {
    fn new(spec: &'a Value, at: &FieldPath<'_>, found: &ErrorList) -> Self {
        let at = at.child("volumes");
        let volumes = list(spec, "volumes").iter().enumerate();
        Self {
            spec,
            volumes: volumes
                .filter(|(index, _)| !found.is_about(&at.item(*index)))
                .map(|(_, volume)| volume)
                .collect(),
            claims: claims::names_of(spec),
        }
    }
}

/// Checks the containers of all sorts in a pod's specification, whose volumes have been checked.
pub(crate) fn validate(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let pod = Pod::new(spec, at, found);
    regular(&pod, &at.child("containers"), found);
    initial(&pod, &at.child("initContainers"), found);
    ephemeral(&pod, &at.child("ephemeralContainers"), found);
}

/// Calls `each` with every container of a pod's specification and its place.
pub(crate) fn visit(spec: &Value, at: &FieldPath<'_>, each: &mut dyn FnMut(&Value, &FieldPath<'_>)) {
    for field in ["initContainers", "containers", "ephemeralContainers"] {
        let at = at.child(field);
        for (index, container) in list(spec, field).iter().enumerate() {
            each(container, &at.item(index));
        }
    }
}

fn regular(pod: &Pod<'_>, at: &FieldPath<'_>, found: &mut ErrorList) {
    let containers = list(pod.spec, "containers");
    if containers.is_empty() {
        found.required(at, "");
    }
    let mut seen = BTreeSet::new();
    for (index, container) in containers.iter().enumerate() {
        let at = at.item(index);
        common(container, pod, &at, found);
        let name = text(container, "name");
        if !seen.insert(name) {
            found.duplicate(&at.child("name"), name);
        }
        probes::validate(container, pod.spec, &at, found);
        restarts::validate(container, &at, found);
    }
    shared_host_ports(containers, at, found);
}

fn initial(pod: &Pod<'_>, at: &FieldPath<'_>, found: &mut ErrorList) {
    let named = list(pod.spec, "containers").iter();
    let mut seen: BTreeSet<&str> = named.map(|container| text(container, "name")).collect();
    for (index, container) in list(pod.spec, "initContainers").iter().enumerate() {
        let (all_at, at) = (at, at.item(index));
        common(container, pod, &at, found);
        restarts::of_init_container(container, &at, found);
        let name = text(container, "name");
        if seen.contains(name) {
            found.duplicate(&at.child("name"), name);
        } else if !name.is_empty() {
            seen.insert(name);
        }
        // They run one after the other, so each is looked at as if it were the only one.
        shared_host_ports(std::slice::from_ref(container), all_at, found);
        if text(container, "restartPolicy") == "Always" {
            probes::validate(container, pod.spec, &at, found);
        } else {
            probes::none(container, &at, found);
            restarts::not_on_resize(container, &at, found);
        }
    }
}

/// What an ephemeral container cannot have.
const NOT_EPHEMERAL: &[&str] = &[
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
];

fn ephemeral(pod: &Pod<'_>, at: &FieldPath<'_>, found: &mut ErrorList) {
    const FORBIDDEN: &str = "cannot be set for an Ephemeral Container";
    let named = |field: &'static str| list(pod.spec, field).iter().map(|each| text(each, "name"));
    let targets: BTreeSet<&str> = named("containers").chain(named("initContainers")).collect();
    let mut seen = targets.clone();
    for (index, container) in list(pod.spec, "ephemeralContainers").iter().enumerate() {
        let at = at.item(index);
        common(container, pod, &at, found);
        trimmed_image(container, &at, found);
        let name = text(container, "name");
        if !seen.insert(name) {
            found.duplicate(&at.child("name"), name);
        }
        let target = text(container, "targetContainerName");
        if !target.is_empty() && !targets.contains(target) {
            found.not_found(&at.child("targetContainerName"), target);
        }
        for field in NOT_EPHEMERAL {
            let is_set = container.get(field).is_some_and(|value| match value {
                Value::Object(members) => *field != "resources" || !members.is_empty(),
                other => !other.is_null(),
            });
            if is_set {
                found.forbidden(&at.child(field), FORBIDDEN);
            }
        }
        let mounts_at = at.child("volumeMounts");
        for (index, mount) in list(container, "volumeMounts").iter().enumerate() {
            let at = mounts_at.item(index);
            for field in ["subPath", "subPathExpr"] {
                if !text(mount, field).is_empty() {
                    found.forbidden(&at.child(field), FORBIDDEN);
                }
            }
        }
    }
}

/// What is checked of containers of all sorts.
fn common(container: &Value, pod: &Pod<'_>, at: &FieldPath<'_>, found: &mut ErrorList) {
    run(BEFORE_MOUNTS, container, at, found);
    mounts::validate(container, &pod.volumes, at, found);
    run(&[OneOf("imagePullPolicy", PULL_POLICIES)], container, at, found);
    if let Some(wanted) = container.get("resources") {
        resources::of_container(wanted, &at.child("resources"), found);
    }
    restarts::on_resize(container, text(pod.spec, "restartPolicy"), at, found);
    if let Some(context) = container.get("securityContext") {
        let own_users = pod.spec.get("hostUsers").and_then(Value::as_bool) == Some(false);
        security::of_container(context, own_users, &at.child("securityContext"), found);
    }
}

fn name_and_image(container: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let name = text(container, "name");
    found.required_each(&at.child("name"), name, names::dns_label(name));
    if text(container, "image").is_empty() {
        found.required(&at.child("image"), "");
    }
}

/// Images have no spaces around them.
pub(crate) fn trimmed_images(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    for field in ["containers", "initContainers"] {
        let at = at.child(field);
        for (index, container) in list(spec, field).iter().enumerate() {
            trimmed_image(container, &at.item(index), found);
        }
    }
}

/// An image has no spaces around it.
pub(crate) fn trimmed_image(container: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
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
        if let Some(number) = port
            .get("hostPort")
            .and_then(Value::as_i64)
            .filter(|number| *number != 0)
        {
            port_number(number, &at.child("hostPort"), found);
        }
        run(&[OneOf("protocol", PROTOCOLS)], port, &at, found);
    }
}

fn shared_host_ports(containers: &[Value], at: &FieldPath<'_>, found: &mut ErrorList) {
    let mut taken = BTreeSet::new();
    for (index, container) in containers.iter().enumerate() {
        let at = at.item(index);
        let at = at.child("ports");
        for (index, port) in list(container, "ports").iter().enumerate() {
            let (protocol, address) = (text(port, "protocol"), text(port, "hostIP"));
            let number = number(port, "hostPort");
            if number != 0 && !taken.insert((protocol, address, number)) {
                let at = at.item(index);
                found.duplicate(&at.child("hostPort"), format!("{protocol}/{address}/{number}"));
            }
        }
    }
}

/// In the network of the node, the ports of containers are those of the node.
pub(crate) fn ports_of_host(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if !uses_host_network(spec) {
        return;
    }
    let at = at.child("containers");
    for (index, container) in list(spec, "containers").iter().enumerate() {
        let at = at.item(index);
        let at = at.child("ports");
        for (index, port) in list(container, "ports").iter().enumerate() {
            let number = number(port, "hostPort");
            // A template that says nothing gets it with its pods, where it is filled in before it is looked at.
            if number != 0 && number != crate::validation::checks::number(port, "containerPort") {
                let at = at.item(index);
                let detail = "must match `containerPort` when `hostNetwork` is true";
                found.invalid(&at.child("hostPort"), number, detail);
            }
        }
    }
}
