//! Addresses and node ports of Services: what is given out and what an update keeps.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use serde_json::{Map, Value, json};

use crate::error::FieldError;
use crate::findings::{Field, Findings};

/// `10.96.0.0/16`, without network, broadcast and the address of the API server itself.
const FIRST_ADDRESS: u32 = 0x0a60_0002;
const LAST_ADDRESS: u32 = 0x0a60_fffe;
const RANGE: &str = "10.96.0.0/16";
const FIRST_PORT: u32 = 30_000;
const LAST_PORT: u32 = 32_767;

const SPEC: Field<'static> = Field::Named(&Field::Root, "spec");

/// Addresses and node ports in use.
#[derive(Debug, Default)]
pub struct Allocations {
    addresses: BTreeSet<u32>,
    ports: BTreeSet<u32>,
}

impl Allocations {
    /// What a stored Service uses.
    pub fn observe(&mut self, service: &Value) {
        let Some(spec) = service.get("spec") else { return };
        self.addresses
            .extend(addresses(spec).filter_map(|address| address.parse::<Ipv4Addr>().ok().map(u32::from)));
        let ports = spec.get("ports").and_then(Value::as_array).into_iter().flatten();
        let ports = ports
            .chain([spec])
            .flat_map(|port| [port.get("nodePort"), port.get("healthCheckNodePort")]);
        self.ports.extend(
            ports
                .flatten()
                .filter_map(Value::as_u64)
                .filter_map(|port| u32::try_from(port).ok()),
        );
    }

    /// Gives a validated Service its families, addresses and node ports, and tells which of those that it asks for
    /// it cannot have.
    pub fn allocate(&mut self, service: &mut Value) -> Vec<FieldError> {
        let mut found = Findings::default();
        let seed = seed_of(service);
        if let Some(spec) = service.get_mut("spec").and_then(Value::as_object_mut) {
            let kind = text(spec, "type").to_owned();
            if kind != "ExternalName" {
                families(spec);
                self.address(spec, seed, &mut found);
            }
            let wants_ports = match kind.as_str() {
                "NodePort" => true,
                "LoadBalancer" => spec.get("allocateLoadBalancerNodePorts").and_then(Value::as_bool) != Some(false),
                _ => false,
            };
            self.node_ports(spec, seed, wants_ports, &mut found);
            if kind == "LoadBalancer"
                && text(spec, "externalTrafficPolicy") == "Local"
                && !spec.contains_key("healthCheckNodePort")
            {
                let port = pick(&mut self.ports, FIRST_PORT, LAST_PORT, seed);
                spec.insert("healthCheckNodePort".to_owned(), port.into());
            }
        }
        found.into_vec()
    }

    fn address(&mut self, spec: &mut Map<String, Value>, seed: u32, found: &mut Findings) {
        let given = addresses(&Value::Object(spec.clone()))
            .next()
            .unwrap_or_default()
            .to_owned();
        let address = match given.as_str() {
            "None" => given,
            "" => match pick(&mut self.addresses, FIRST_ADDRESS, LAST_ADDRESS, seed) {
                0 => {
                    return found.invalid(
                        &SPEC.child("clusterIPs"),
                        Value::Null,
                        "failed to allocate a serviceIP: range is full",
                    );
                }
                address => Ipv4Addr::from(address).to_string(),
            },
            _ => {
                let Ok(address) = given.parse::<Ipv4Addr>() else { return };
                let problem = if !(FIRST_ADDRESS - 1..=LAST_ADDRESS).contains(&u32::from(address)) {
                    Some(format!(
                        "failed to allocate IP {given}: the provided IP ({given}) is not in the valid range. \
                         The range of valid IPs is {RANGE}"
                    ))
                } else if self.addresses.insert(u32::from(address)) {
                    None
                } else {
                    Some(format!(
                        "failed to allocate IP {given}: provided IP is already allocated"
                    ))
                };
                if let Some(problem) = problem {
                    return found.invalid(&SPEC.child("clusterIPs"), json!([given]), &problem);
                }
                given
            }
        };
        spec.insert("clusterIPs".to_owned(), json!([address]));
        spec.insert("clusterIP".to_owned(), address.into());
    }

    fn node_ports(&mut self, spec: &mut Map<String, Value>, seed: u32, wanted: bool, found: &mut Findings) {
        let field = SPEC.child("ports");
        let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
        let mut shared: Vec<(i64, u32)> = Vec::new();
        for (index, port) in ports.into_iter().flatten().filter_map(Value::as_object_mut).enumerate() {
            let number = port.get("port").and_then(Value::as_i64).unwrap_or(0);
            let given = port
                .get("nodePort")
                .and_then(Value::as_u64)
                .and_then(|port| u32::try_from(port).ok());
            match given.filter(|given| *given != 0) {
                Some(given) => {
                    let problem = if !(FIRST_PORT..=LAST_PORT).contains(&given) {
                        "provided port is not in the valid range. The range of valid ports is 30000-32767"
                    } else if self.ports.insert(given) || shared.iter().any(|(_, each)| *each == given) {
                        shared.push((number, given));
                        continue;
                    } else {
                        "provided port is already allocated"
                    };
                    found.invalid(&field.item(index).child("nodePort"), given, problem);
                }
                None if wanted => {
                    // The same port over another protocol shares the node port.
                    let same = shared.iter().find(|(each, _)| *each == number).map(|(_, port)| *port);
                    let node_port = same.unwrap_or_else(|| pick(&mut self.ports, FIRST_PORT, LAST_PORT, seed));
                    shared.push((number, node_port));
                    port.insert("nodePort".to_owned(), node_port.into());
                }
                None => {}
            }
        }
    }
}

/// The first free number from a place that the seed gives; 0 if all are taken.
fn pick(taken: &mut BTreeSet<u32>, first: u32, last: u32, seed: u32) -> u32 {
    let count = last - first + 1;
    let free = (0..count)
        .map(|step| first + (seed % count + step) % count)
        .find(|number| !taken.contains(number));
    free.inspect(|number| {
        taken.insert(*number);
    })
    .unwrap_or(0)
}

/// A number that depends on the Service's name only, so that runs repeat.
fn seed_of(service: &Value) -> u32 {
    let text = |key: &str| {
        service
            .get("metadata")
            .and_then(|metadata| metadata.get(key)?.as_str())
            .unwrap_or_default()
    };
    let bytes = text("namespace").bytes().chain([b'/']).chain(text("name").bytes());
    bytes.fold(2_166_136_261, |hash: u32, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(16_777_619)
    })
}

fn addresses(spec: &Value) -> impl Iterator<Item = &str> {
    let list = spec
        .get("clusterIPs")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let single = spec.get("clusterIP").and_then(Value::as_str);
    single.into_iter().chain(list).filter(|address| !address.is_empty())
}

fn text<'a>(spec: &'a Map<String, Value>, key: &str) -> &'a str {
    spec.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// One family, except for a headless Service without selector, which might have any endpoints.
fn families(spec: &mut Map<String, Value>) {
    let is_headless = text(spec, "clusterIP") == "None" || spec.get("clusterIPs") == Some(&json!(["None"]));
    let both = is_headless && !spec.contains_key("selector");
    if !spec.contains_key("ipFamilyPolicy") {
        let count = spec.get("ipFamilies").and_then(Value::as_array).map_or(0, Vec::len);
        let policy = if both || count > 1 {
            "RequireDualStack"
        } else {
            "SingleStack"
        };
        spec.insert("ipFamilyPolicy".to_owned(), policy.into());
    }
    let families = if both && text(spec, "ipFamilyPolicy") != "SingleStack" {
        json!(["IPv4", "IPv6"])
    } else {
        json!(["IPv4"])
    };
    spec.entry("ipFamilies").or_insert(families);
}

/// Fields that only some types of Service have: (field, types that have it).
const OF_TYPES: &[(&str, &[&str])] = &[
    ("clusterIP", &["ClusterIP", "NodePort", "LoadBalancer"]),
    ("clusterIPs", &["ClusterIP", "NodePort", "LoadBalancer"]),
    ("ipFamilies", &["ClusterIP", "NodePort", "LoadBalancer"]),
    ("ipFamilyPolicy", &["ClusterIP", "NodePort", "LoadBalancer"]),
    ("internalTrafficPolicy", &["ClusterIP", "NodePort", "LoadBalancer"]),
    ("externalTrafficPolicy", &["NodePort", "LoadBalancer"]),
    ("allocateLoadBalancerNodePorts", &["LoadBalancer"]),
    ("healthCheckNodePort", &["LoadBalancer"]),
    ("loadBalancerClass", &["LoadBalancer"]),
];

/// An update that does not mention what was given out keeps it; a change of type drops what the new type does not have.
pub(super) fn keep_allocated(members: &mut Map<String, Value>, before: &Map<String, Value>) {
    let Some(old) = before.get("spec").and_then(Value::as_object) else {
        return;
    };
    let Some(new) = members.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    let (old_type, new_type) = (text(old, "type"), text(new, "type").to_owned());
    let had_ip = old_type != "ExternalName" && new_type != "ExternalName";
    if had_ip && text(new, "clusterIP").is_empty() {
        for key in ["clusterIP", "clusterIPs"] {
            super::prepare::copy(new, old, key);
        }
    }
    // The first of the addresses is the address, whichever of the two was written.
    if had_ip
        && new.get("clusterIP") != old.get("clusterIP")
        && new.get("clusterIPs") == old.get("clusterIPs")
        && let Some(address) = new.get("clusterIP").cloned()
    {
        new.insert("clusterIPs".to_owned(), Value::Array(vec![address]));
    }
    if had_ip {
        for key in ["ipFamilies", "ipFamilyPolicy"] {
            if !new.contains_key(key) {
                super::prepare::copy(new, old, key);
            }
        }
    }
    for (key, types) in OF_TYPES {
        if old_type != new_type && !types.contains(&new_type.as_str()) && new.get(*key) == old.get(*key) {
            new.remove(*key);
        }
    }
    let has_ports = |kind: &str| matches!(kind, "NodePort" | "LoadBalancer");
    let old_ports = old.get("ports").and_then(Value::as_array).cloned().unwrap_or_default();
    let new_ports = new.get_mut("ports").and_then(Value::as_array_mut);
    for port in new_ports.into_iter().flatten().filter_map(Value::as_object_mut) {
        let same = |key: &str, other: &Value| other.get(key) == port.get(key);
        let old = old_ports
            .iter()
            .find(|other| same("port", other) && same("protocol", other));
        let node_port = old.and_then(|old| old.get("nodePort")).cloned();
        if has_ports(old_type) && has_ports(&new_type) && !port.contains_key("nodePort") {
            port.extend(node_port.map(|node_port| ("nodePort".to_owned(), node_port)));
        } else if !has_ports(&new_type) && node_port.is_some() && port.get("nodePort") == node_port.as_ref() {
            port.remove("nodePort");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_ports_are_given_out_once() {
        let mut allocations = Allocations::default();
        let service = json!({"metadata": {"name": "a"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}});
        let (mut first, mut second) = (service.clone(), service);
        assert_eq!(allocations.allocate(&mut first), []);
        assert_eq!(allocations.allocate(&mut second), []);
        assert_ne!(first["spec"]["clusterIP"], second["spec"]["clusterIP"]);
        assert_ne!(
            first["spec"]["ports"][0]["nodePort"],
            second["spec"]["ports"][0]["nodePort"]
        );
        let refused = allocations.allocate(&mut json!({"spec": {"type": "ClusterIP", "clusterIP": "1.2.3.4"}}));
        assert_eq!(
            refused.first().map(ToString::to_string).as_deref(),
            Some(
                "spec.clusterIPs: Invalid value: [\"1.2.3.4\"]: failed to allocate IP 1.2.3.4: the provided IP (1.2.3.4) \
                 is not in the valid range. The range of valid IPs is 10.96.0.0/16"
            )
        );
    }

    #[test]
    fn a_headless_service_has_no_address() {
        let mut service = json!({"spec": {"type": "ClusterIP", "clusterIP": "None", "selector": {"a": "b"}}});
        assert_eq!(Allocations::default().allocate(&mut service), []);
        assert_eq!(
            service["spec"],
            json!({
                "type": "ClusterIP", "clusterIP": "None", "clusterIPs": ["None"], "selector": {"a": "b"},
                "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
            })
        );
    }
}
