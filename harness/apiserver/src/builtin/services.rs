//! Addresses and node ports of Services: what is given out and what an update keeps.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::{Map, Value, json};

use super::validate::services as validate;
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

    /// Gives a Service its families, addresses and node ports. `before` is what it was, if there was one. A dry run may
    /// ask for ports that there are not.
    pub fn allocate(&mut self, service: &mut Value, before: Option<&Value>, is_dry: bool) -> Result<(), Refused> {
        let seed = seed_of(service);
        let Some(spec) = service.get_mut("spec").filter(|spec| spec.is_object()) else {
            return Ok(());
        };
        one_address(spec);
        // It has no such policy, and what is none is told later.
        let policy = spec.get("internalTrafficPolicy").and_then(Value::as_str);
        if spec.get("type").is_some_and(|kind| kind == "ExternalName") && matches!(policy, Some("Cluster" | "Local")) {
            remove(spec, "internalTrafficPolicy");
        }
        let mut found = Findings::default();
        validate::cluster_addresses(spec, &mut found);
        refused(found)?;
        let (is_checked, wants_ports) = (validate::is_health_checked(spec), wants_node_ports(spec));
        let Some(spec) = spec.as_object_mut() else {
            return Ok(());
        };
        let kind = text(spec, "type").to_owned();
        if kind != "ExternalName" {
            families(spec)?;
            self.address(spec, seed)?;
        }
        self.node_ports(spec, seed, wants_ports, before.is_some(), is_dry)?;
        let before = before.and_then(|before| before.get("spec"));
        let was = before.filter(|before| is_checked && validate::is_health_checked(before));
        if is_checked {
            self.health_port(spec, seed, was, is_dry)?;
        }
        Ok(())
    }

    fn address(&mut self, spec: &mut Map<String, Value>, seed: u32) -> Result<(), Refused> {
        let given = addresses(&Value::Object(spec.clone()))
            .next()
            .unwrap_or_default()
            .to_owned();
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
        let given = spec.get("healthCheckNodePort").and_then(Value::as_u64);
        let given = given
            .and_then(|port| u32::try_from(port).ok())
            .filter(|given| *given != 0);
        match (given, was) {
            (Some(given), Some(was)) => {
                let before = was.get("healthCheckNodePort").and_then(Value::as_u64);
                if before != Some(u64::from(given)) {
                    let mut found = Findings::default();
                    found.forbidden(&SPEC.child("healthCheckNodePort"), "field is immutable");
                    return refused(found);
                }
            }
            (Some(given), None) => {
                if let Err(problem) = self.take_port(given, is_dry) {
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
            Err("provided port is not in the valid range. The range of valid ports is 30000-32767")
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

fn refused(found: Findings) -> Result<(), Refused> {
    if found.is_empty() {
        Ok(())
    } else {
        Err(Refused::Invalid(found.into_vec()))
    }
}

fn invalid(field: &Field<'_>, value: impl Into<Value>, detail: &str) -> Result<(), Refused> {
    let mut found = Findings::default();
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

/// Who knows one address only means a list of one.
fn one_address(spec: &mut Value) {
    let Some(spec) = spec.as_object_mut() else { return };
    let address = text(spec, "clusterIP").to_owned();
    if !address.is_empty() && !spec.contains_key("clusterIPs") {
        spec.insert("clusterIPs".to_owned(), json!([address]));
    }
}

/// One family, except for a headless Service without selector, which might have any endpoints. The cluster has IPv4.
fn families(spec: &mut Map<String, Value>) -> Result<(), Refused> {
    let count = |field: &str| spec.get(field).and_then(Value::as_array).map_or(0, Vec::len);
    let (addresses, families) = (count("clusterIPs"), count("ipFamilies"));
    let is_headless = text(spec, "clusterIP") == "None";
    let both = is_headless && !spec.contains_key("selector");
    let policy = match text(spec, "ipFamilyPolicy") {
        "" if both => "RequireDualStack",
        "" => "SingleStack",
        given => given,
    };
    let policy = policy.to_owned();
    let policy_at = SPEC.child("ipFamilyPolicy");
    let mut found = Findings::default();
    for (several, what) in [(addresses > 1, "cluster IPs"), (families > 1, "IP families")] {
        if several && policy == "SingleStack" {
            let detail = format!("must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified");
            found.invalid(&policy_at, policy.as_str(), &detail);
        }
    }
    let all = spec.get("clusterIPs").cloned().unwrap_or_default();
    let given = all.as_array().into_iter().flatten().filter_map(Value::as_str);
    for (index, address) in given.enumerate().skip(families) {
        if address.parse::<Ipv6Addr>().is_ok() {
            let detail = "IPv6 is not configured on this cluster";
            found.invalid(&SPEC.child("clusterIPs").item(index), all.clone(), detail);
        }
    }
    refused(found)?;
    if !both {
        let mut found = Findings::default();
        if policy == "RequireDualStack" {
            let detail = "this cluster is not configured for dual-stack services";
            found.invalid(&policy_at, policy.as_str(), detail);
        }
        let given = spec.get("ipFamilies").and_then(Value::as_array).into_iter().flatten();
        for (index, family) in given.enumerate().filter(|(_, family)| *family == "IPv6") {
            let at = SPEC.child("ipFamilies");
            found.invalid(&at.item(index), family.clone(), "not configured on this cluster");
        }
        refused(found)?;
    }
    let chosen = spec.entry("ipFamilies").or_insert_with(|| json!(["IPv4"]));
    if both && policy != "SingleStack" {
        match chosen.as_array().map(Vec::as_slice) {
            Some([one]) if one == "IPv6" => *chosen = json!(["IPv6", "IPv4"]),
            Some([_]) => *chosen = json!(["IPv4", "IPv6"]),
            _ => {}
        }
    }
    spec.insert("ipFamilyPolicy".to_owned(), policy.into());
    Ok(())
}

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
    let kind = spec.get("type").and_then(Value::as_str).unwrap_or_default();
    match field {
        "externalTrafficPolicy" => validate::is_open(spec),
        "healthCheckNodePort" => validate::is_health_checked(spec),
        "allocateLoadBalancerNodePorts" | "loadBalancerClass" => kind == "LoadBalancer",
        _ => kind != "ExternalName",
    }
}

/// Whether its ports may have ports on the nodes.
fn has_node_ports(spec: &Value) -> bool {
    matches!(
        spec.get("type").and_then(Value::as_str),
        Some("NodePort" | "LoadBalancer")
    )
}

/// Whether each of its ports is given one on the nodes.
fn wants_node_ports(spec: &Value) -> bool {
    let is_balanced = spec.get("type").is_some_and(|kind| kind == "LoadBalancer");
    let declined = spec.get("allocateLoadBalancerNodePorts") == Some(&Value::Bool(false));
    has_node_ports(spec) && !(is_balanced && declined)
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
pub(super) fn keep_allocated(members: &mut Map<String, Value>, before: &Map<String, Value>) {
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

fn remove(object: &mut Value, key: &str) {
    if let Some(members) = object.as_object_mut() {
        members.remove(key);
    }
}

fn keep_addresses(new: &mut Value, old: &Value) {
    let had_ip = has("clusterIP", old) && has("clusterIP", new);
    let (Some(new), Some(old)) = (new.as_object_mut().filter(|_| had_ip), old.as_object()) else {
        return;
    };
    if text(new, "clusterIP").is_empty() {
        for key in ["clusterIP", "clusterIPs"] {
            super::prepare::copy(new, old, key);
        }
    }
    // The first of the addresses is the address, whichever of the two was written.
    if new.get("clusterIP") != old.get("clusterIP")
        && new.get("clusterIPs") == old.get("clusterIPs")
        && let Some(address) = new.get("clusterIP").cloned()
    {
        new.insert("clusterIPs".to_owned(), Value::Array(vec![address]));
    }
    for key in ["ipFamilies", "ipFamilyPolicy"] {
        if !new.contains_key(key) {
            super::prepare::copy(new, old, key);
        }
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
            let same = |other: &&Value| other.get("name").and_then(Value::as_str).unwrap_or_default() == name;
            let before = ports_of(old).filter(same).last();
            let node_port = before.and_then(|before| before.get("nodePort")).cloned();
            let node_port = node_port.filter(|port| port.as_u64().is_some_and(|port| !used.contains(&port)));
            port.extend(node_port.map(|node_port| ("nodePort".to_owned(), node_port)));
        }
    }
    if let Some(old) = old.as_object().filter(|_| of_checked)
        && !new.contains_key("healthCheckNodePort")
    {
        super::prepare::copy(new, old, "healthCheckNodePort");
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
