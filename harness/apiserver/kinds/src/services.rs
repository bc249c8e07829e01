//! Addresses of Services: one IPv4 address for each Service.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use serde_json::{Map, Value, json};

use crate::members::copy;

/// Address of the API server itself: the first of the range `10.96.0.0/16`.
pub const API_SERVER: Ipv4Addr = Ipv4Addr::new(10, 96, 0, 1);
const FIRST_ADDRESS: u32 = 0x0a60_0002;
const LAST_ADDRESS: u32 = 0x0a60_fffe;

/// Addresses in use.
#[derive(Debug, Default)]
pub struct Allocations {
    addresses: BTreeSet<u32>,
}

impl Allocations {
    /// Records the address of a stored Service.
    pub fn observe(&mut self, service: &Value) {
        let Some(spec) = service.get("spec") else { return };
        let address = spec.get("clusterIP").and_then(Value::as_str);
        let address = address.and_then(|address| address.parse::<Ipv4Addr>().ok());
        self.addresses.extend(address.map(u32::from));
    }

    /// Assigns an address to a Service, unless it names one itself.
    pub fn allocate(&mut self, service: &mut Value) {
        let seed = seed_of(service);
        let Some(spec) = service.get_mut("spec").and_then(Value::as_object_mut) else {
            return;
        };
        if text(spec, "type") == "ExternalName" {
            spec.remove("internalTrafficPolicy");
            return;
        }
        let mut address = text(spec, "clusterIP").to_owned();
        if address.is_empty() {
            address = Ipv4Addr::from(self.pick(seed)).to_string();
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

    /// Returns the first free address from a start that the seed gives; 0 if all are taken.
    fn pick(&mut self, seed: u32) -> u32 {
        let count = LAST_ADDRESS - FIRST_ADDRESS + 1;
        let mut numbers = (0..count).map(|step| FIRST_ADDRESS + (seed % count + step) % count);
        let free = numbers.find(|number| !self.addresses.contains(number)).unwrap_or(0);
        self.addresses.insert(free);
        free
    }
}

/// Keeps the address if an update leaves it out.
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
}

/// Returns a seed from the name of a Service, so that runs repeat.
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
    fn addresses_are_given_out_once() {
        let mut allocations = Allocations::default();
        let service = json!({"metadata": {"name": "a"}, "spec": {"type": "ClusterIP", "ports": [{"port": 80}]}});
        let (mut first, mut second) = (service.clone(), service);
        allocations.allocate(&mut first);
        allocations.allocate(&mut second);
        assert_ne!(first["spec"]["clusterIP"], second["spec"]["clusterIP"]);
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
