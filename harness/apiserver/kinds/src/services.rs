//! Addresses and node ports of Services: one IPv4 address each.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use serde_json::{Map, Value, json};

use crate::members::copy;

/// Address of the API server itself: the first of the range `10.96.0.0/16`.
pub const API_SERVER: Ipv4Addr = Ipv4Addr::new(10, 96, 0, 1);
const FIRST_ADDRESS: u32 = 0x0a60_0002;
const LAST_ADDRESS: u32 = 0x0a60_fffe;
const FIRST_PORT: u32 = 30_000;
const LAST_PORT: u32 = 32_767;

/// Addresses and node ports in use.
#[derive(Debug, Default)]
pub struct Allocations {
    addresses: BTreeSet<u32>,
    ports: BTreeSet<u32>,
}

impl Allocations {
    /// Notes the address and the node ports of a stored Service.
    pub fn observe(&mut self, service: &Value) {
        let Some(spec) = service.get("spec") else { return };
        let address = spec.get("clusterIP").and_then(Value::as_str);
        let address = address.and_then(|address| address.parse::<Ipv4Addr>().ok());
        self.addresses.extend(address.map(u32::from));
        let ports = spec.get("ports").and_then(Value::as_array).into_iter().flatten();
        let ports = ports.filter_map(|port| u32::try_from(port.get("nodePort")?.as_u64()?).ok());
        self.ports.extend(ports);
    }

    /// Gives a Service its address and node ports, unless it names them itself.
    pub fn allocate(&mut self, service: &mut Value) {
        let seed = seed_of(service);
        let Some(spec) = service.get_mut("spec").and_then(Value::as_object_mut) else {
            return;
        };
        let kind = text(spec, "type").to_owned();
        if kind == "ExternalName" {
            spec.remove("internalTrafficPolicy");
            return;
        }
        self.address(spec, seed);
        if matches!(kind.as_str(), "LoadBalancer" | "NodePort") {
            let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
            for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
                if port.get("nodePort").and_then(Value::as_u64).unwrap_or(0) == 0 {
                    let free = pick(&mut self.ports, FIRST_PORT, LAST_PORT, seed);
                    port.insert("nodePort".to_owned(), free.into());
                }
            }
        }
    }

    fn address(&mut self, spec: &mut Map<String, Value>, seed: u32) {
        let mut address = text(spec, "clusterIP").to_owned();
        if address.is_empty() {
            address = Ipv4Addr::from(pick(&mut self.addresses, FIRST_ADDRESS, LAST_ADDRESS, seed)).to_string();
        }
        // A headless Service without selector may have endpoints of both families.
        let both = address == "None" && !spec.contains_key("selector");
        let (families, policy) = if both {
            (json!(["IPv4", "IPv6"]), "RequireDualStack")
        } else {
            (json!(["IPv4"]), "SingleStack")
        };
        spec.insert("clusterIPs".to_owned(), json!([address]));
        spec.insert("clusterIP".to_owned(), address.into());
        spec.entry("ipFamilies").or_insert(families);
        spec.entry("ipFamilyPolicy").or_insert_with(|| policy.into());
    }
}

/// Keeps the address and the node ports where an update leaves them out.
pub(super) fn keep_allocated(members: &mut Map<String, Value>, before: &Map<String, Value>) {
    let old = before.get("spec").and_then(Value::as_object);
    let new = members.get_mut("spec").and_then(Value::as_object_mut);
    let (Some(old), Some(new)) = (old, new) else { return };
    if text(new, "type") == "ExternalName" || text(old, "type") == "ExternalName" {
        return;
    }
    for key in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if new.get(key).is_none_or(|value| value == "") {
            copy(new, old, key);
        }
    }
    let has_node_ports = matches!(text(new, "type"), "LoadBalancer" | "NodePort");
    let kept = old
        .get("ports")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    let ports = new.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten();
    for port in ports.filter_map(Value::as_object_mut) {
        let same = |other: &&Value| ["port", "protocol"].iter().all(|key| other.get(key) == port.get(*key));
        let node_port = kept.iter().find(same).and_then(|other| other.get("nodePort")).cloned();
        match node_port {
            Some(node_port) if has_node_ports => {
                port.entry("nodePort").or_insert(node_port);
            }
            // The new type has none.
            Some(node_port) if port.get("nodePort") == Some(&node_port) => {
                port.remove("nodePort");
            }
            _ => {}
        }
    }
}

/// The first free number from a place that the seed gives; 0 if all are taken.
fn pick(taken: &mut BTreeSet<u32>, first: u32, last: u32, seed: u32) -> u32 {
    let count = last - first + 1;
    let mut numbers = (0..count).map(|step| first + (seed % count + step) % count);
    let free = numbers.find(|number| !taken.contains(number)).unwrap_or(0);
    taken.insert(free);
    free
}

/// Seed from the name of a Service, so that runs repeat.
fn seed_of(service: &Value) -> u32 {
    let text = |pointer: &str| service.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let namespace = text("/metadata/namespace").bytes();
    let bytes = namespace.chain([b'/']).chain(text("/metadata/name").bytes());
    bytes.fold(2_166_136_261, |hash: u32, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(16_777_619)
    })
}

fn text<'a>(spec: &'a Map<String, Value>, key: &str) -> &'a str {
    spec.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_ports_are_given_out_once() {
        let mut allocations = Allocations::default();
        let service = json!({"metadata": {"name": "a"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}});
        let (mut first, mut second) = (service.clone(), service);
        allocations.allocate(&mut first);
        allocations.allocate(&mut second);
        assert_ne!(first["spec"]["clusterIP"], second["spec"]["clusterIP"]);
        assert_ne!(
            first["spec"]["ports"][0]["nodePort"],
            second["spec"]["ports"][0]["nodePort"]
        );
    }

    #[test]
    fn a_headless_service_has_no_address() {
        let mut service = json!({"spec": {"type": "ClusterIP", "clusterIP": "None", "selector": {"a": "b"}}});
        Allocations::default().allocate(&mut service);
        assert_eq!(
            service["spec"],
            json!({
                "type": "ClusterIP", "clusterIP": "None", "clusterIPs": ["None"], "selector": {"a": "b"},
                "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
            })
        );
    }
}
