//! Pods and pod templates.

pub(super) mod affinities;
pub(super) mod changes;
pub(super) mod claims;
pub(super) mod containers;
pub(super) mod dns;
pub(super) mod gated;
pub(super) mod mounts;
pub(super) mod probes;
pub(super) mod projected;
pub(super) mod resizes;
pub(super) mod resources;
pub(super) mod restarts;
pub(super) mod security;
pub(super) mod spreads;
pub(super) mod variables;
pub(super) mod volumes;
pub(super) mod windows;

use std::collections::BTreeSet;

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::meta;
use baton_apimachinery::metadata::{names, validate_labels};
use serde_json::{Value, json};

use self::affinities::BETWEEN_PODS;
use super::ROOT;
use super::checks::Check::{Do, Each, In, Labels, Named, OneOf};
use super::checks::{Check, is_true, list, members, number, run, text, texts};
use super::addresses;

const RESTART_POLICIES: &[&str] = &["Always", "OnFailure", "Never"];
const DNS_POLICIES: &[&str] = &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const MAX_HOSTNAME: usize = 64;
const TAINT_EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];

const POD_SPEC: &[Check] = &[
    Do(claims::of_pod),
    Do(containers::validate),
    Do(containers::ports_of_host),
    OneOf("restartPolicy", RESTART_POLICIES),
    OneOf("dnsPolicy", DNS_POLICIES),
    Labels("nodeSelector"),
    Do(security::of_pod),
    In("affinity", AFFINITY),
    Do(dns::config),
    Do(readiness_gates),
    Do(scheduling_gates),
    Do(spreads::spreads),
    Do(windows::host_processes),
    Do(own_users),
    Do(hostname_override),
    Named("serviceAccountName", names::dns_subdomain),
    Named("nodeName", names::dns_subdomain),
    Do(active_deadline),
    Named("hostname", names::dns_label),
    Named("subdomain", names::dns_label),
    Do(tolerations),
    Do(host_aliases),
    Named("priorityClassName", names::dns_subdomain),
    Do(runtime_class),
    Do(preemption),
    Do(windows::system),
    Do(variables::files),
];

/// What a new pod cannot have.
pub(super) fn created(pod: &Value, found: &mut ErrorList) {
    let Some(spec) = pod.get("spec") else { return };
    let at = ROOT.child("spec");
    if !list(spec, "ephemeralContainers").is_empty() {
        found.forbidden(&at.child("ephemeralContainers"), "cannot be set on create");
    }
    if !list(spec, "schedulingGates").is_empty() && !text(spec, "nodeName").is_empty() {
        let detail = "cannot be set until all schedulingGates have been cleared";
        found.forbidden(&at.child("nodeName"), detail);
    }
}

/// A Pod's specification.
pub(super) fn pod(object: &Value, found: &mut ErrorList) {
    deletion_cost(object, &ROOT.child("metadata.annotations"), found);
    volumes::of_pod(object, found);
    if let Some(spec) = object.get("spec") {
        run(POD_SPEC, spec, &ROOT.child("spec"), found);
        volumes::tokens(spec, &ROOT.child("spec"), found);
        containers::trimmed_images(spec, &ROOT.child("spec"), found);
    }
}

/// How much it costs to delete a pod is a number, written as short as it can be.
fn deletion_cost(object: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    const COST: &str = "controller.kubernetes.io/pod-deletion-cost";
    let Some(cost) = meta::annotation(object, COST) else {
        return;
    };
    let is_short = cost == "0" || cost.starts_with(['-', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
    if !is_short || cost.parse::<i32>().is_err() {
        found.invalid(&at.key(COST), cost, "must be a 32bit integer");
    }
}

/// The addresses in a pod's status.
pub(super) fn status(pod: &Value, found: &mut ErrorList) {
    let Some(status) = pod.get("status") else { return };
    let at = ROOT.child("status.podIPs");
    for (index, address) in list(status, "podIPs").iter().enumerate() {
        addresses::ip(text(address, "ip"), &at.item(index), found);
    }
    let at = ROOT.child("status.hostIPs");
    for (index, address) in list(status, "hostIPs").iter().enumerate() {
        let (at, ip) = (at.item(index), text(address, "ip"));
        if index == 0 && ip != text(status, "hostIP") {
            found.invalid(&at.child("ip"), ip, "must be equal to `hostIP`");
        }
        addresses::ip(ip, &at, found);
    }
}

/// A template of pods.
pub(super) fn template(template: Option<&Value>, at: &FieldPath<'_>, found: &mut ErrorList) {
    let Some(template) = template else { return };
    if let Some(metadata) = template.get("metadata") {
        if let Some(labels) = members(metadata, "labels") {
            validate_labels(labels, &at.child("labels"), found);
        }
        for key in members(metadata, "annotations")
            .into_iter()
            .flatten()
            .map(|(key, _)| key)
        {
            found.invalid_each(
                &at.child("annotations"),
                key,
                names::qualified_name(&key.to_lowercase()),
            );
        }
    }
    deletion_cost(template, &at.child("annotations"), found);
    if let Some(spec) = template.get("spec") {
        volumes::of_template(spec, &at.child("spec"), found);
        run(POD_SPEC, spec, &at.child("spec"), found);
        if !list(spec, "ephemeralContainers").is_empty() {
            let detail = "ephemeral containers not allowed in pod template";
            found.forbidden(&at.child("spec.ephemeralContainers"), detail);
        }
    }
}

/// What is the node's own cannot be had with users of one's own.
fn own_users(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if spec.get("hostUsers").and_then(Value::as_bool) != Some(false) {
        return;
    }
    let detail = "when `hostUsers` is false";
    // The last two are told in other letters than they are written in.
    for (field, told) in [
        ("hostNetwork", "hostNetwork"),
        ("hostPID", "HostPID"),
        ("hostIPC", "HostIPC"),
    ] {
        if is_true(spec, field) {
            found.forbidden(&at.child(told), detail);
        }
    }
    containers::visit(spec, at, &mut |container, at| {
        if !list(container, "volumeDevices").is_empty() {
            found.forbidden(&at.child("volumeDevices"), detail);
        }
    });
}

fn hostname_override(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let Some(name) = spec.get("hostnameOverride").and_then(Value::as_str) else {
        return;
    };
    let at = at.child("hostnameOverride");
    if is_true(spec, "setHostnameAsFQDN") {
        found.forbidden(&at, "may not be specified when setHostnameAsFQDN is true");
    }
    if uses_host_network(spec) {
        found.forbidden(&at, "may not be specified when hostNetwork is true");
    }
    if name.len() > MAX_HOSTNAME {
        found.too_long(&at, MAX_HOSTNAME);
    }
    found.invalid_each(&at, name, names::dns_subdomain(name));
}

fn runtime_class(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if let Some(name) = spec.get("runtimeClassName").and_then(Value::as_str) {
        found.invalid_each(&at.child("runtimeClassName"), name, names::dns_subdomain(name));
    }
}

fn preemption(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if spec.get("preemptionPolicy").is_some() {
        let check = OneOf("preemptionPolicy", &["PreemptLowerPriority", "Never"]);
        run(&[check], spec, at, found);
    }
}

fn host_aliases(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("hostAliases");
    for (index, alias) in list(spec, "hostAliases").iter().enumerate() {
        let at = at.item(index);
        addresses::ip(text(alias, "ip"), &at.child("ip"), found);
        let names_at = at.child("hostnames");
        for (index, name) in texts(alias, "hostnames").iter().enumerate() {
            found.invalid_each(&names_at.item(index), name, names::dns_subdomain(name));
        }
    }
}

fn readiness_gates(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("readinessGates");
    for (index, gate) in list(spec, "readinessGates").iter().enumerate() {
        let (at, kind) = (at.item(index), text(gate, "conditionType"));
        found.invalid_each(&at.child("conditionType"), kind, names::qualified_name(kind));
    }
}

fn scheduling_gates(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let mut seen = BTreeSet::new();
    let field = at.child("schedulingGates");
    for (index, gate) in list(spec, "schedulingGates").iter().enumerate() {
        let name = text(gate, "name");
        found.invalid_each(&field.item(index), name, names::qualified_name(name));
        if !seen.insert(name) {
            found.duplicate(&field.item(index), name);
        }
    }
}

fn active_deadline(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if let Some(seconds) = spec.get("activeDeadlineSeconds").and_then(Value::as_i64)
        && !(1..=i64::from(i32::MAX)).contains(&seconds)
    {
        found.invalid(
            &at.child("activeDeadlineSeconds"),
            seconds,
            "must be between 1 and 2147483647, inclusive",
        );
    }
}

pub(super) fn tolerations(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("tolerations");
    for (index, toleration) in list(spec, "tolerations").iter().enumerate() {
        self::toleration(toleration, &at.item(index), found);
    }
}

fn toleration(toleration: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let (key, operator, effect) = (
        text(toleration, "key"),
        text(toleration, "operator"),
        text(toleration, "effect"),
    );
    if !key.is_empty() {
        found.invalid_each(&at.child("key"), key, names::qualified_name(key));
    }
    let field = at.child("operator");
    if key.is_empty() && operator != "Exists" {
        let detail = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        found.invalid(&field, operator, detail);
    }
    if toleration.get("tolerationSeconds").is_some() && effect != "NoExecute" {
        found.invalid(
            &at.child("effect"),
            effect,
            "effect must be 'NoExecute' when `tolerationSeconds` is set",
        );
    }
    let value = text(toleration, "value");
    match operator {
        "" | "Equal" => {
            let messages = names::label_value(value);
            if !messages.is_empty() {
                found.invalid(&field, value, &messages.join(";"));
            }
        }
        "Exists" if !value.is_empty() => {
            found.invalid(&field, value, "value must be empty when `operator` is 'Exists'");
        }
        "Exists" => {}
        // Comparing is off; the message does not say so.
        "Lt" | "Gt" => found.not_supported(&field, operator, &["Equal", "Exists", "Lt", "Gt"]),
        other => found.not_supported(&field, other, &["Equal", "Exists"]),
    }
    if !effect.is_empty() && !TAINT_EFFECTS.contains(&effect) {
        found.not_supported(&at.child("effect"), effect, TAINT_EFFECTS);
    }
}

const AFFINITY: &[Check] = &[
    In("nodeAffinity", NODE_AFFINITY),
    In("podAffinity", BETWEEN_PODS),
    In("podAntiAffinity", BETWEEN_PODS),
];

/// A selector of nodes.
pub(super) const NODE_SELECTOR: &[Check] = &[Do(node_terms), Each("nodeSelectorTerms", NODE_TERM)];
const NODE_TERM: &[Check] = &[
    Each("matchExpressions", &[Do(node_requirement), Do(node_labels)]),
    Each("matchFields", &[Do(node_field)]),
];
const NODE_PREFERENCE: &[Check] = &[
    Each("matchExpressions", &[Do(node_requirement)]),
    Each("matchFields", &[Do(node_field)]),
];
const NODE_AFFINITY: &[Check] = &[
    In("requiredDuringSchedulingIgnoredDuringExecution", NODE_SELECTOR),
    Each(
        "preferredDuringSchedulingIgnoredDuringExecution",
        &[Do(weight), In("preference", NODE_PREFERENCE)],
    ),
];

fn node_terms(selector: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if list(selector, "nodeSelectorTerms").is_empty() {
        found.required(
            &at.child("nodeSelectorTerms"),
            "must have at least one node selector term",
        );
    }
}

/// Nodes can be selected by their name alone.
fn node_field(requirement: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    match text(requirement, "operator") {
        "In" | "NotIn" if list(requirement, "values").len() != 1 => {
            let detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
            found.required(&at.child("values"), detail);
        }
        "In" | "NotIn" => {}
        other => found.invalid(&at.child("operator"), other, "not a valid selector operator"),
    }
    let key = text(requirement, "key");
    if key != "metadata.name" {
        found.invalid(&at.child("key"), key, "not a valid field selector key");
        return;
    }
    for (index, name) in texts(requirement, "values").into_iter().enumerate() {
        let at = at.child("values");
        found.invalid_each(&at.item(index), name, names::dns_subdomain(name));
    }
}

fn node_requirement(requirement: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let values = list(requirement, "values");
    let field = at.child("values");
    match text(requirement, "operator") {
        "In" | "NotIn" if values.is_empty() => {
            found.required(&field, "must be specified when `operator` is 'In' or 'NotIn'");
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            found.forbidden(
                &field,
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            );
        }
        "Gt" | "Lt" if values.len() != 1 => {
            found.required(&field, "must be specified single value when `operator` is 'Lt' or 'Gt'");
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        other => found.invalid(&at.child("operator"), other, "not a valid selector operator"),
    }
    let key = text(requirement, "key");
    found.invalid_each(&at.child("key"), key, names::qualified_name(key));
}

fn node_labels(requirement: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("values");
    for (index, value) in texts(requirement, "values").into_iter().enumerate() {
        found.invalid_each(&at.item(index), value, names::label_value(value));
    }
}

/// How much a preference counts.
pub(super) fn weight(term: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let weight = number(term, "weight");
    if !(1..=100).contains(&weight) {
        found.invalid(&at.child("weight"), weight, "must be in the range 1-100");
    }
}

/// Whether a pod uses the network of its host.
pub(super) fn uses_host_network(spec: &Value) -> bool {
    is_true(spec, "hostNetwork")
}
