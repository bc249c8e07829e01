//! Warnings about the specifications of pods, besides those about their volumes.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use baton_apimachinery::field::FieldPath;
use baton_apimachinery::meta::text;
use baton_apimachinery::metadata::names;
use baton_apimachinery::quantity::{NANOS_OF_ONE, Quantity};
use serde_json::Value;

use super::{items, labels, null_selector};

/// What comes before the volumes: where pods run.
pub(super) fn before_volumes(spec: &Value, at: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let selected = spec.get("nodeSelector").and_then(Value::as_object);
    for key in selected.into_iter().flatten().map(|(key, _)| key) {
        if let Some(detail) = labels::deprecated(key) {
            let at = at.child("nodeSelector");
            warnings.push(format!("{}: {detail}", at.key(key)));
        }
    }
    if let Some(affinity) = spec.pointer("/affinity/nodeAffinity") {
        let at = at.child("affinity.nodeAffinity");
        node_affinity(affinity, &at, warnings);
    }
    let at = at.child("topologySpreadConstraints");
    for (index, constraint) in items(spec, "topologySpreadConstraints").iter().enumerate() {
        let at = at.item(index);
        let key = text(constraint, "topologyKey");
        if let Some(detail) = labels::deprecated(key) {
            warnings.push(format!("{}: {key} is {detail}", at.child("topologyKey")));
        }
        null_selector(constraint, &at, warnings);
    }
}

fn node_affinity(affinity: &Value, at: &FieldPath<'_>, warnings: &mut Vec<String>) {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
    if let Some(required) = affinity.get(REQUIRED) {
        let at = at.child(REQUIRED);
        let at = at.child("nodeSelectorTerms");
        for (index, term) in items(required, "nodeSelectorTerms").iter().enumerate() {
            node_term(term, false, &at.item(index), warnings);
        }
    }
    let at = at.child(PREFERRED);
    for (index, weighted) in items(affinity, PREFERRED).iter().enumerate() {
        if let Some(term) = weighted.get("preference") {
            node_term(term, true, &at.item(index).child("preference"), warnings);
        }
    }
}

/// Values of labels that a preference may have although no label has them.
fn node_term(term: &Value, with_values: bool, at: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let at = at.child("matchExpressions");
    for (index, expression) in items(term, "matchExpressions").iter().enumerate() {
        let at = at.item(index);
        let key = text(expression, "key");
        if let Some(detail) = labels::deprecated(key) {
            warnings.push(format!("{}: {key} is {detail}", at.child("key")));
        }
        let values = items(expression, "values").iter().filter_map(Value::as_str);
        for (index, value) in values.enumerate().filter(|_| with_values) {
            let at = at.child("values");
            for problem in names::label_value(value) {
                warnings.push(format!("{}: {value} is invalid, {problem}", at.item(index)));
            }
        }
    }
}

/// What comes after the volumes.
pub(super) fn after_volumes(spec: &Value, at: &FieldPath<'_>, warnings: &mut Vec<String>) {
    twice(spec, "hostAliases", "ip", at, warnings);
    twice(spec, "imagePullSecrets", "name", at, warnings);
    let field = at.child("imagePullSecrets");
    for (index, secret) in items(spec, "imagePullSecrets").iter().enumerate() {
        if secret.get("name").is_none() {
            warnings.push(format!("{}: invalid empty name \"\"", field.item(index).child("name")));
        }
    }
    fractions(spec.get("overhead"), &at.child("overhead"), warnings);
    visit(spec, at, &mut |container, at| {
        let at_resources = at.child("resources");
        for resource in BYTES {
            for kind in ["limits", "requests"] {
                let amounts = container.get("resources").and_then(|resources| resources.get(kind));
                fraction(amounts, resource, &at_resources.child(kind), warnings);
            }
        }
        variables(container, at, warnings);
    });
    ports(spec, at, warnings);
    named_ports(spec, at, warnings);
    let grace = spec.get("terminationGracePeriodSeconds").and_then(Value::as_i64);
    if grace.is_some_and(|seconds| seconds < 0) {
        let field = at.child("terminationGracePeriodSeconds");
        warnings.push(format!(
            "{field}: must be >= 0; negative values are invalid and will be treated as 1"
        ));
    }
    between_pods(spec, at, warnings);
    addresses(spec, at, warnings);
}

fn visit(spec: &Value, at: &FieldPath<'_>, each: &mut dyn FnMut(&Value, &FieldPath<'_>)) {
    for field in ["initContainers", "containers", "ephemeralContainers"] {
        let at = at.child(field);
        for (index, container) in items(spec, field).iter().enumerate() {
            each(container, &at.item(index));
        }
    }
}

/// Items of a list that have the same text in a field.
fn twice(spec: &Value, list: &str, field: &str, at: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let at = at.child(list);
    let mut seen = BTreeSet::new();
    for (index, item) in items(spec, list).iter().enumerate() {
        let value = text(item, field);
        if !seen.insert(value) {
            warnings.push(format!("{}: duplicate {field} {value:?}", at.item(index).child(field)));
        }
    }
}

/// What is counted in bytes.
const BYTES: [&str; 2] = ["memory", "ephemeral-storage"];

fn fractions(amounts: Option<&Value>, at: &FieldPath<'_>, warnings: &mut Vec<String>) {
    for resource in BYTES {
        fraction(amounts, resource, at, warnings);
    }
}

/// Less than a byte is not to be had.
fn fraction(amounts: Option<&Value>, resource: &str, at: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let amount = amounts.map(|amounts| text(amounts, resource)).unwrap_or_default();
    if Quantity::parse(amount).is_some_and(|amount| amount.nanos() % NANOS_OF_ONE != 0) {
        let at = at.key(resource);
        warnings.push(format!(
            "{at}: fractional byte value {amount:?} is invalid, must be an integer"
        ));
    }
}

/// A variable that is set twice: the first one may get lost in an apply, unless the second one is made from it.
fn variables(container: &Value, at: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let field = at.child("env");
    let mut seen = BTreeSet::new();
    for (index, variable) in items(container, "env").iter().enumerate() {
        let (name, value) = (text(variable, "name"), text(variable, "value"));
        let own = format!("$({name})");
        let uses_first = variable.get("valueFrom").is_none() && value != own && value.contains(&own);
        if !seen.insert(name) && !uses_first {
            let at = field.item(index);
            warnings.push(format!(
                "{at}: hides previous definition of {name:?}, which may be dropped when using apply"
            ));
        }
    }
}

/// A port of a container.
struct Port {
    place: String,
    address: String,
    on_host: i64,
}

impl Port {
    /// What is odd about this one after another one with the same number and protocol.
    fn beside(&self, other: &Self) -> Option<&'static str> {
        if self.on_host == other.on_host && self.address == other.address {
            return Some("duplicate");
        }
        if self.on_host == 0 || other.on_host == 0 {
            return Some("overlapping");
        }
        let is_ambiguous = self.on_host == other.on_host && self.address.is_empty() != other.address.is_empty();
        is_ambiguous.then_some("dangerously ambiguous")
    }
}

fn ports(spec: &Value, at: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let mut all: BTreeMap<(i64, String), Vec<Port>> = BTreeMap::new();
    visit(spec, at, &mut |container, at| {
        let at = at.child("ports");
        for (index, port) in items(container, "ports").iter().enumerate() {
            let number = |field: &str| port.get(field).and_then(Value::as_i64).unwrap_or(0);
            let (protocol, name) = (text(port, "protocol"), text(port, "name"));
            let this = Port {
                place: at.item(index).to_string(),
                address: text(port, "hostIP").to_owned(),
                on_host: number("hostPort"),
            };
            if !this.address.is_empty() && this.on_host == 0 {
                warnings.push(format!(
                    "{}: hostIP set without hostPort: {{Name:{name} HostPort:0 ContainerPort:{} Protocol:{protocol} \
                     HostIP:{}}}",
                    this.place,
                    number("containerPort"),
                    this.address
                ));
            }
            let others = all.entry((number("containerPort"), protocol.to_owned())).or_default();
            for other in &*others {
                if let Some(what) = this.beside(other) {
                    warnings.push(format!("{}: {what} port definition with {}", this.place, other.place));
                }
            }
            others.push(this);
        }
    });
}

fn named_ports(spec: &Value, at: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    visit(spec, at, &mut |container, at| {
        let at = at.child("ports");
        for (index, port) in items(container, "ports").iter().enumerate() {
            let (name, place) = (text(port, "name"), at.item(index).to_string());
            if let Some(other) = all.get(name) {
                warnings.push(format!(
                    "{place}: duplicate port name {name:?} with {other}, services and probes that select ports by name \
                     will use {other}"
                ));
            } else if !name.is_empty() {
                all.insert(name.to_owned(), place);
            }
        }
    });
}

fn between_pods(spec: &Value, at: &FieldPath<'_>, warnings: &mut Vec<String>) {
    for kind in ["podAffinity", "podAntiAffinity"] {
        let Some(affinity) = spec.get("affinity").and_then(|affinity| affinity.get(kind)) else {
            continue;
        };
        let at = at.child("affinity");
        let at = at.child(kind);
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        for (index, term) in items(affinity, required).iter().enumerate() {
            null_selector(term, &at.child(required).item(index), warnings);
        }
        let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
        for (index, weighted) in items(affinity, preferred).iter().enumerate() {
            if let Some(term) = weighted.get("podAffinityTerm") {
                null_selector(
                    term,
                    &at.child(preferred).item(index).child("podAffinityTerm"),
                    warnings,
                );
            }
        }
    }
}

/// Addresses that are not written as short as they can be.
fn addresses(spec: &Value, at: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let mut check = |address: &str, at: &FieldPath<'_>| {
        let Ok(IpAddr::V6(six)) = address.parse() else {
            return;
        };
        let short = six.to_string();
        if short != address {
            warnings.push(format!(
                "{at}: IPv6 address {address:?} should be in RFC 5952 canonical format ({short:?})"
            ));
        }
    };
    if let Some(config) = spec.get("dnsConfig") {
        let at = at.child("dnsConfig.nameservers");
        let servers = items(config, "nameservers").iter().filter_map(Value::as_str);
        for (index, server) in servers.enumerate() {
            check(server, &at.item(index));
        }
    }
    let at = at.child("hostAliases");
    for (index, alias) in items(spec, "hostAliases").iter().enumerate() {
        check(text(alias, "ip"), &at.item(index).child("ip"));
    }
}
