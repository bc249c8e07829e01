//! Addresses and node ports of Services: what is given out.
//!
//! `families` says of which kinds the addresses are; `keep` what an update keeps.

mod families;
mod keep;

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use baton_apimachinery::field::{ErrorList, FieldError, FieldPath};
use serde_json::{Map, Value, json};

use self::keep::has_node_ports;
pub(super) use self::keep::keep_allocated;
use crate::validation::services as validate;

/// The address of the API server itself: the first of the range.
pub const API_SERVER: Ipv4Addr = Ipv4Addr::new(10, 96, 0, 1);
/// `10.96.0.0/16`, without network, broadcast and [`API_SERVER`].
const FIRST_ADDRESS: u32 = 0x0a60_0002;
const LAST_ADDRESS: u32 = 0x0a60_fffe;
const RANGE: &str = "10.96.0.0/16";
const FIRST_PORT: u32 = 30_000;
const LAST_PORT: u32 = 32_767;

const OUT_OF_RANGE: &str = "provided port is not in the valid range. The range of valid ports is 30000-32767";

const SPEC: FieldPath<'static> = FieldPath::Named(&FieldPath::Root, "spec");

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

    /// Gives a Service its families, addresses and node ports. `before` is what it was, if there was one. A dry run may
    /// ask for ports that there are not.
    pub fn allocate(&mut self, service: &mut Value, before: Option<&Value>, is_dry: bool) -> Result<(), Refused> {
        let seed = seed_of(service);
        let Some(spec) = service.get_mut("spec").filter(|spec| spec.is_object()) else {
            return Ok(());
        };
        if before.is_none() {
            families::one_address(spec);
        }
        // It has no such policy, and what is none is told later.
        let policy = spec.get("internalTrafficPolicy").and_then(Value::as_str);
        if spec.get("type").is_some_and(|kind| kind == "ExternalName") && matches!(policy, Some("Cluster" | "Local")) {
            keep::remove(spec, "internalTrafficPolicy");
        }
        let mut found = ErrorList::default();
        validate::cluster_addresses(spec, &mut found);
        refused(found)?;
        let (is_checked, wants_ports) = (validate::is_health_checked(spec), wants_node_ports(spec));
        let Some(spec) = spec.as_object_mut() else {
            return Ok(());
        };
        let before = before.and_then(|before| before.get("spec"));
        let kind = text(spec, "type").to_owned();
        if kind != "ExternalName" {
            families::settle(spec, before)?;
            // Who has an address keeps it; that it was changed is told later.
            let had = before.is_some_and(|before| addresses(before).next().is_some());
            if !had || text(spec, "clusterIP").is_empty() {
                self.address(spec, seed)?;
            }
        }
        self.node_ports(spec, seed, wants_ports, before.is_some(), is_dry)?;
        let was = before.filter(|before| is_checked && validate::is_health_checked(before));
        if is_checked {
            self.health_port(spec, seed, was, is_dry)?;
        }
        Ok(())
    }

    fn address(&mut self, spec: &mut Map<String, Value>, seed: u32) -> Result<(), Refused> {
        let given = text(spec, "clusterIP").to_owned();
        let address = match given.as_str() {
            "None" => given,
            "" => match pick(&mut self.addresses, FIRST_ADDRESS, LAST_ADDRESS, seed) {
                0 => {
                    let detail = "failed to allocate a serviceIP: range is full";
                    return invalid(&SPEC.child("clusterIPs"), Value::Null, detail);
                }
                address => Ipv4Addr::from(address).to_string(),
            },
            _ => {
                let Ok(address) = given.parse::<Ipv4Addr>() else {
                    return Ok(());
                };
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
                    return invalid(&SPEC.child("clusterIPs"), json!([given]), &problem);
                }
                given
            }
        };
        spec.insert("clusterIPs".to_owned(), json!([address]));
        spec.insert("clusterIP".to_owned(), address.into());
        Ok(())
    }

    /// Ports of one number over several protocols share the node port of a new Service; a change tells two of one
    /// protocol that have the same.
    fn node_ports(
        &mut self,
        spec: &mut Map<String, Value>,
        seed: u32,
        wanted: bool,
        is_change: bool,
        is_dry: bool,
    ) -> Result<(), Refused> {
        let field = SPEC.child("ports");
        let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
        let mut own: Vec<OwnPort> = Vec::new();
        for (index, port) in ports.into_iter().flatten().filter_map(Value::as_object_mut).enumerate() {
            let number = port.get("port").and_then(Value::as_i64).unwrap_or(0);
            let given = port.get("nodePort").and_then(Value::as_u64);
            let given = given
                .and_then(|port| u32::try_from(port).ok())
                .filter(|given| *given != 0);
            let same = own.iter().find(|each| each.number == number && !is_change);
            let node_port = match given {
                Some(given) if same.is_some_and(|same| same.node_port == given) => given,
                Some(given) if is_change && own.iter().any(|each| each.node_port == given) => given,
                Some(given) => {
                    if let Err(problem) = self.take_port(given, is_dry) {
                        return invalid(&field.item(index).child("nodePort"), given, problem);
                    }
                    given
                }
                None if wanted => match same {
                    Some(same) => same.node_port,
                    None => pick(&mut self.ports, FIRST_PORT, LAST_PORT, seed),
                },
                None => continue,
            };
            let protocol = text(port, "protocol").to_owned();
            if is_change
                && own
                    .iter()
                    .any(|each| each.node_port == node_port && each.protocol == protocol)
            {
                return Err(Refused::Failed(format!(
                    "duplicate nodePort: {{{protocol} {node_port}}}"
                )));
            }
            port.insert("nodePort".to_owned(), node_port.into());
            own.push(OwnPort {
                protocol,
                number,
                node_port,
            });
        }
        Ok(())
    }

    /// The port at which nodes tell the balancer whether they have endpoints.
    fn health_port(
        &mut self,
        spec: &mut Map<String, Value>,
        seed: u32,
        was: Option<&Value>,
        is_dry: bool,
    ) -> Result<(), Refused> {
        let given = spec.get("healthCheckNodePort").and_then(Value::as_i64);
        match (given.filter(|given| *given != 0), was) {
            // That it was changed is told later.
            (Some(_), Some(_)) => {}
            (Some(given), None) => {
                let taken = match u32::try_from(given) {
                    Ok(port) => self.take_port(port, is_dry),
                    Err(_) if is_dry => Ok(()),
                    Err(_) => Err(OUT_OF_RANGE),
                };
                if let Err(problem) = taken {
                    let message = format!("failed to allocate requested HealthCheck NodePort {given}: {problem}");
                    return Err(Refused::Failed(message));
                }
            }
            (None, _) => {
                let port = pick(&mut self.ports, FIRST_PORT, LAST_PORT, seed);
                spec.insert("healthCheckNodePort".to_owned(), port.into());
            }
        }
        Ok(())
    }

    fn take_port(&mut self, port: u32, is_dry: bool) -> Result<(), &'static str> {
        if !is_dry && !(FIRST_PORT..=LAST_PORT).contains(&port) {
            Err(OUT_OF_RANGE)
        } else if self.ports.insert(port) {
            Ok(())
        } else {
            Err("provided port is already allocated")
        }
    }
}

/// A port of the Service at hand that has its node port.
struct OwnPort {
    protocol: String,
    number: i64,
    node_port: u32,
}

/// Why a Service does not get what it asks for.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    /// What is wrong with it.
    Invalid(Vec<FieldError>),
    /// What a server says that did not expect it.
    Failed(String),
}

fn refused(found: ErrorList) -> Result<(), Refused> {
    if found.is_empty() {
        Ok(())
    } else {
        Err(Refused::Invalid(found.into_vec()))
    }
}

fn invalid(field: &FieldPath<'_>, value: impl Into<Value>, detail: &str) -> Result<(), Refused> {
    let mut found = ErrorList::default();
    found.invalid(field, value, detail);
    refused(found)
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

/// Whether each of its ports is given one on the nodes.
fn wants_node_ports(spec: &Value) -> bool {
    let is_balanced = spec.get("type").is_some_and(|kind| kind == "LoadBalancer");
    let declined = spec.get("allocateLoadBalancerNodePorts") == Some(&Value::Bool(false));
    has_node_ports(spec) && !(is_balanced && declined)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_ports_are_given_out_once() {
        let mut allocations = Allocations::default();
        let service = json!({"metadata": {"name": "a"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}});
        let (mut first, mut second) = (service.clone(), service);
        assert_eq!(allocations.allocate(&mut first, None, false), Ok(()));
        assert_eq!(allocations.allocate(&mut second, None, false), Ok(()));
        assert_ne!(first["spec"]["clusterIP"], second["spec"]["clusterIP"]);
        assert_ne!(
            first["spec"]["ports"][0]["nodePort"],
            second["spec"]["ports"][0]["nodePort"]
        );
        let mut third = json!({"spec": {"type": "ClusterIP", "clusterIP": "1.2.3.4"}});
        let Err(Refused::Invalid(refused)) = allocations.allocate(&mut third, None, false) else {
            panic!("the address is not one of the cluster's");
        };
        assert_eq!(
            refused[0].to_string(),
            "spec.clusterIPs: Invalid value: [\"1.2.3.4\"]: failed to allocate IP 1.2.3.4: the provided IP (1.2.3.4) \
             is not in the valid range. The range of valid IPs is 10.96.0.0/16"
        );
    }

    #[test]
    fn a_headless_service_has_no_address() {
        let mut service = json!({"spec": {"type": "ClusterIP", "clusterIP": "None", "selector": {"a": "b"}}});
        assert_eq!(Allocations::default().allocate(&mut service, None, false), Ok(()));
        assert_eq!(
            service["spec"],
            json!({
                "type": "ClusterIP", "clusterIP": "None", "clusterIPs": ["None"], "selector": {"a": "b"},
                "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
            })
        );
    }
}
