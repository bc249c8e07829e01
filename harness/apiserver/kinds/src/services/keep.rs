//! What a change of a Service keeps of what was given out, and what it drops.

use std::collections::BTreeSet;

use baton_apimachinery::meta;
use serde_json::{Map, Value};

use super::text;
use crate::members::copy;
use crate::validation::services as validate;

/// Fields that not every Service has.
const NOT_OF_ALL: &[&str] = &[
    "clusterIP",
    "clusterIPs",
    "ipFamilies",
    "ipFamilyPolicy",
    "internalTrafficPolicy",
    "externalTrafficPolicy",
    "allocateLoadBalancerNodePorts",
    "healthCheckNodePort",
    "loadBalancerClass",
];

/// Whether a Service like this has a field of those.
fn has(field: &str, spec: &Value) -> bool {
    let kind = meta::text(spec, "type");
    match field {
        "externalTrafficPolicy" => validate::is_open(spec),
        "healthCheckNodePort" => validate::is_health_checked(spec),
        "allocateLoadBalancerNodePorts" | "loadBalancerClass" => kind == "LoadBalancer",
        _ => kind != "ExternalName",
    }
}

/// Whether its ports may have ports on the nodes.
pub(super) fn has_node_ports(spec: &Value) -> bool {
    matches!(
        spec.get("type").and_then(Value::as_str),
        Some("NodePort" | "LoadBalancer")
    )
}

/// The ports of a specification.
fn ports_of(spec: &Value) -> impl Iterator<Item = &Value> {
    spec.get("ports").and_then(Value::as_array).into_iter().flatten()
}

fn node_ports_of(spec: &Value) -> BTreeSet<u64> {
    ports_of(spec)
        .filter_map(|port| port.get("nodePort")?.as_u64())
        .filter(|port| *port != 0)
        .collect()
}

/// An update that does not mention what was given out keeps it; a change of type drops what the new type does not have.
pub(crate) fn keep_allocated(members: &mut Map<String, Value>, before: &Map<String, Value>) {
    let (Some(old), Some(mut new)) = (before.get("spec"), members.remove("spec")) else {
        return;
    };
    keep_addresses(&mut new, old);
    keep_ports(&mut new, old);
    for key in NOT_OF_ALL {
        if has(key, old) && !has(key, &new) && new.get(*key) == old.get(*key) {
            remove(&mut new, key);
        }
    }
    members.insert("spec".to_owned(), new);
}

pub(super) fn remove(object: &mut Value, key: &str) {
    if let Some(members) = object.as_object_mut() {
        members.remove(key);
    }
}

/// Who knows of one address only, or of none, means what there was.
fn keep_addresses(new: &mut Value, old: &Value) {
    let keeps = has("clusterIP", old) && has("clusterIP", new);
    let (Some(new), Some(old)) = (new.as_object_mut(), old.as_object()) else {
        return;
    };
    for key in ["clusterIP", "clusterIPs"] {
        if keeps && is_empty(new, key) {
            copy(new, old, key);
        }
    }
    let address = text(new, "clusterIP").to_owned();
    let is_same = address == text(old, "clusterIP");
    if is_same && is_empty(new, "clusterIPs") {
        copy(new, old, "clusterIPs");
    }
    if !is_same && new.get("clusterIPs") == old.get("clusterIPs") {
        if address.is_empty() {
            new.remove("clusterIPs");
        } else {
            new.insert("clusterIPs".to_owned(), Value::Array(vec![address.into()]));
        }
    }
}

fn is_empty(spec: &Map<String, Value>, key: &str) -> bool {
    match spec.get(key) {
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(list)) => list.is_empty(),
        Some(_) => false,
        None => true,
    }
}

/// A port keeps what it has on the nodes by its name, unless another one asks for it.
fn keep_ports(new: &mut Value, old: &Value) {
    let (had, has_them) = (has_node_ports(old), has_node_ports(new));
    let used = node_ports_of(new);
    let forget = had && !has_them && used == node_ports_of(old);
    let of_checked = validate::is_health_checked(new) && validate::is_health_checked(old);
    let Some(new) = new.as_object_mut() else { return };
    let ports = new.get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
        if forget {
            port.remove("nodePort");
        } else if had && has_them && !port.contains_key("nodePort") {
            let name = text(port, "name");
            let same = |other: &&Value| meta::text(other, "name") == name;
            let before = ports_of(old).filter(same).last();
            let node_port = before.and_then(|before| before.get("nodePort")).cloned();
            let node_port = node_port.filter(|port| port.as_u64().is_some_and(|port| !used.contains(&port)));
            port.extend(node_port.map(|node_port| ("nodePort".to_owned(), node_port)));
        }
    }
    if let Some(old) = old.as_object().filter(|_| of_checked)
        && !new.contains_key("healthCheckNodePort")
    {
        copy(new, old, "healthCheckNodePort");
    }
}
