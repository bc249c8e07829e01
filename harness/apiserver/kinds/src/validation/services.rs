//! Services.

use std::collections::BTreeSet;
use std::net::IpAddr;

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::go_values;
use baton_apimachinery::meta;
use baton_apimachinery::metadata::names;
use serde_json::{Value, json};

use super::ROOT;
use super::checks::Check::{Labels, NamedIfThere, OneOf, OneOfIfSet};
use super::checks::{list, number, port, port_number, run, text, texts};
use super::addresses;

const TYPES: &[&str] = &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];

const FAMILIES: &[&str] = &["IPv4", "IPv6"];
const FAMILY_POLICIES: &[&str] = &["PreferDualStack", "RequireDualStack", "SingleStack"];
const TRAFFIC_POLICIES: &[&str] = &["Cluster", "Local"];
const DISTRIBUTIONS: &[&str] = &["PreferClose", "PreferSameZone", "PreferSameNode"];
/// Where ranges of sources stood before they had a field.
const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
const ONLY_BALANCED: &str = "may only be used when `type` is 'LoadBalancer'";
const DAY_SECONDS: i64 = 86_400;

/// A Service's specification.
pub(super) fn service(object: &Value, found: &mut ErrorList) {
    let Some(spec) = object.get("spec") else { return };
    let at = ROOT.child("spec");
    topology(object, found);
    let all = list(spec, "ports");
    if all.is_empty() && !is_headless(spec) && text(spec, "type") != "ExternalName" {
        found.required(&at.child("ports"), "");
    }
    of_type(spec, &at, found);
    ports(all, &at.child("ports"), found);
    run(
        &[Labels("selector"), OneOf("sessionAffinity", &["ClientIP", "None"])],
        spec,
        &at,
        found,
    );
    affinity(spec, &at, found);
    cluster_addresses(spec, found);
    let field = at.child("externalIPs");
    for (index, address) in texts(spec, "externalIPs").into_iter().enumerate() {
        let field = field.item(index);
        if let Some(ip) = addresses::ip(address, &field, found) {
            addresses::reachable(ip, address, &field, found);
        }
    }
    run(&[OneOf("type", TYPES)], spec, &at, found);
    node_ports(all, text(spec, "type"), &at.child("ports"), found);
    same_ports(all, &at.child("ports"), found);
    balancer(object, spec, &at, found);
    traffic(spec, &at, found);
}

/// What routes by zones was called another name once; both names mean the same.
fn topology(object: &Value, found: &mut ErrorList) {
    const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
    const MODE: &str = "service.kubernetes.io/topology-mode";
    if let (Some(mode), Some(hints)) = (meta::annotation(object, MODE), meta::annotation(object, HINTS))
        && mode != hints
    {
        let at = ROOT.child("metadata.annotations");
        let detail = format!("must match annotations[{HINTS}] when both are specified");
        found.invalid(&at.key(MODE), mode, &detail);
    }
}

/// What depends on the type.
fn of_type(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let kind = text(spec, "type");
    if kind == "ExternalName" {
        external(spec, at, found);
    } else if is_headless(spec) && matches!(kind, "NodePort" | "LoadBalancer") {
        let detail = format!("may not be set to 'None' for {kind} services");
        found.invalid(&at.child("clusterIPs").item(0), "None", &detail);
    }
}

/// Addresses of the cluster and their families; what is checked before any is given out as well.
pub(crate) fn cluster_addresses(spec: &Value, found: &mut ErrorList) {
    if text(spec, "type") == "ExternalName" {
        return;
    }
    let at = ROOT.child("spec");
    let (single, listed) = (text(spec, "clusterIP"), texts(spec, "clusterIPs"));
    let field = at.child("clusterIPs");
    let all = spec.get("clusterIPs").cloned().unwrap_or_default();
    if listed
        .first()
        .is_some_and(|first| !single.is_empty() && *first != single)
    {
        found.invalid(&field, all.clone(), "first value must match `clusterIP`");
    } else if single.is_empty() && !listed.is_empty() {
        found.invalid(&field, all.clone(), "must be empty when `clusterIP` is not specified");
    }
    let (families, mut seen) = (texts(spec, "ipFamilies"), BTreeSet::new());
    let families_at = at.child("ipFamilies");
    for (index, family) in families.iter().enumerate() {
        if !FAMILIES.contains(family) {
            found.not_supported(&families_at.item(index), *family, FAMILIES);
        }
        if !seen.insert(family) {
            found.duplicate(&families_at.item(index), *family);
        }
    }
    run(&[OneOfIfSet("ipFamilyPolicy", FAMILY_POLICIES)], spec, &at, found);
    let before = found.len();
    let mut parsed = Vec::new();
    for (index, address) in texts(spec, "clusterIPs").into_iter().enumerate() {
        if index == 0 && address == "None" {
            if listed.len() > 1 {
                found.invalid(&field, all.clone(), "'None' must be the first and only value");
            }
        } else {
            parsed.extend(addresses::ip(address, &field.item(index), found));
        }
    }
    let all_parsed = found.len() == before;
    if listed.len() > 2 {
        found.invalid(&field, all.clone(), "may only hold up to 2 values");
    }
    if !all_parsed {
        return;
    }
    if let [first, rest @ ..] = parsed.as_slice()
        && !rest.is_empty()
        && rest.iter().all(|ip| ip.is_ipv4() == first.is_ipv4())
    {
        found.invalid(&field, all, "may specify no more than one IP for each IP family");
    }
    for (index, (ip, family)) in parsed.iter().zip(families).enumerate() {
        let is = if ip.is_ipv4() { "IPv4" } else { "IPv6" };
        if FAMILIES.contains(&family) && is != family {
            let detail = format!("expected an {family} value as indicated by `ipFamilies[{index}]`");
            found.invalid(&field.item(index), ip.to_string(), &detail);
        }
    }
}

/// The addresses come in two fields; the list may be missing.
fn is_headless(spec: &Value) -> bool {
    texts(spec, "clusterIPs") == ["None"]
}

fn external(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let has_addresses = !list(spec, "clusterIPs").is_empty();
    let has_families = !list(spec, "ipFamilies").is_empty();
    for (field, has) in [
        ("clusterIPs", has_addresses),
        ("ipFamilies", has_families),
        ("ipFamilyPolicy", spec.get("ipFamilyPolicy").is_some()),
    ] {
        if has {
            found.forbidden(&at.child(field), "may not be set for ExternalName services");
        }
    }
    let given = text(spec, "externalName");
    let name = given.strip_suffix('.').unwrap_or(given);
    found.required_each(&at.child("externalName"), name, names::dns_subdomain(name));
}

fn affinity(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("sessionAffinityConfig");
    if text(spec, "sessionAffinity") != "ClientIP" {
        return;
    }
    let config = spec.get("sessionAffinityConfig");
    let seconds = config.and_then(|config| config.get("clientIP")?.get("timeoutSeconds")?.as_i64());
    let field = at.child("clientIP.timeoutSeconds");
    match seconds {
        None => found.required(&field, "when session affinity type is ClientIP"),
        Some(seconds) if !(1..=DAY_SECONDS).contains(&seconds) => {
            let detail = format!("must be greater than 0 and less than {DAY_SECONDS}");
            found.invalid(&field, seconds, &detail);
        }
        Some(_) => {}
    }
}

fn ports(all: &[Value], at: &FieldPath<'_>, found: &mut ErrorList) {
    let mut seen = BTreeSet::new();
    for (index, each) in all.iter().enumerate() {
        let at = at.item(index);
        let name = text(each, "name");
        if name.is_empty() {
            if all.len() > 1 {
                found.required(&at.child("name"), "");
            }
        } else {
            found.invalid_each(&at.child("name"), name, names::dns_label(name));
            if !seen.insert(name) {
                found.duplicate(&at.child("name"), name);
            }
        }
        port_number(number(each, "port"), &at.child("port"), found);
        run(
            &[
                OneOf("protocol", PROTOCOLS),
                NamedIfThere("appProtocol", names::qualified_name),
            ],
            each,
            &at,
            found,
        );
        port(each.get("targetPort"), &at.child("targetPort"), found);
    }
}

fn node_ports(all: &[Value], kind: &str, at: &FieldPath<'_>, found: &mut ErrorList) {
    let mut seen = BTreeSet::new();
    for (index, each) in all.iter().enumerate() {
        let node_port = number(each, "nodePort");
        if node_port == 0 {
            continue;
        }
        let at = at.item(index);
        if kind == "ClusterIP" {
            found.forbidden(&at.child("nodePort"), "may not be used when `type` is 'ClusterIP'");
        }
        if !seen.insert((text(each, "protocol"), node_port)) {
            found.duplicate(&at.child("nodePort"), node_port);
        }
    }
}

fn same_ports(all: &[Value], at: &FieldPath<'_>, found: &mut ErrorList) {
    let mut pairs = BTreeSet::new();
    for (index, each) in all.iter().enumerate() {
        let (protocol, number) = (text(each, "protocol"), number(each, "port"));
        if !pairs.insert((protocol, number)) {
            let port = json!({"protocol": protocol, "port": number});
            found.duplicate_text(&at.item(index), &go_values::text("core.ServicePort", &port));
        }
    }
}

/// What only a balanced Service has.
fn balancer(object: &Value, spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let is_balanced = text(spec, "type") == "LoadBalancer";
    let ranges = texts(spec, "loadBalancerSourceRanges");
    let annotated = meta::annotation(object, SOURCE_RANGES);
    // Its name here is that of the field in the program that came first.
    let field = at.child("LoadBalancerSourceRanges");
    let annotations = ROOT.child("metadata.annotations");
    let annotation = annotations.key(SOURCE_RANGES);
    let place = if ranges.is_empty() { &annotation } else { &field };
    if !is_balanced && (!ranges.is_empty() || annotated.is_some()) {
        found.forbidden(place, ONLY_BALANCED);
    }
    for (index, range) in ranges.iter().enumerate() {
        addresses::cidr(range.trim(), &field.item(index), found);
    }
    if let Some(annotated) = annotated.filter(|annotated| ranges.is_empty() && !annotated.trim().is_empty()) {
        for range in annotated.split(',') {
            addresses::cidr(range.trim(), &annotation, found);
        }
    }
    if !is_balanced && spec.get("allocateLoadBalancerNodePorts").is_some() {
        found.forbidden(&at.child("allocateLoadBalancerNodePorts"), ONLY_BALANCED);
    }
    class(spec, found);
}

/// Who balances a Service: checked of a change, and of what comes of it.
fn class(spec: &Value, found: &mut ErrorList) {
    let at = ROOT.child("spec.loadBalancerClass");
    let Some(class) = spec.get("loadBalancerClass").and_then(Value::as_str) else {
        return;
    };
    if text(spec, "type") == "LoadBalancer" {
        found.invalid_each(&at, class, names::qualified_name(class));
    } else {
        found.forbidden(&at, ONLY_BALANCED);
    }
}

/// Where traffic goes.
fn traffic(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let policy = text(spec, "externalTrafficPolicy");
    if is_open(spec) {
        run(&[OneOf("externalTrafficPolicy", TRAFFIC_POLICIES)], spec, at, found);
    } else if !policy.is_empty() {
        let detail = "may only be set for externally-accessible services";
        found.invalid(&at.child("externalTrafficPolicy"), policy, detail);
    }
    let health = number(spec, "healthCheckNodePort");
    if is_health_checked(spec) {
        port_number(health, &at.child("healthCheckNodePort"), found);
    } else if health != 0 {
        let detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        found.invalid(&at.child("healthCheckNodePort"), health, detail);
    }
    run(
        &[
            OneOfIfSet("internalTrafficPolicy", TRAFFIC_POLICIES),
            OneOfIfSet("trafficDistribution", DISTRIBUTIONS),
        ],
        spec,
        at,
        found,
    );
}

/// Whether it can be reached from outside.
pub(crate) fn is_open(spec: &Value) -> bool {
    match text(spec, "type") {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" => !list(spec, "externalIPs").is_empty(),
        _ => false,
    }
}

/// Whether the nodes tell its balancer which of them have endpoints.
pub(crate) fn is_health_checked(spec: &Value) -> bool {
    text(spec, "type") == "LoadBalancer" && text(spec, "externalTrafficPolicy") == "Local"
}

/// What may not change in a Service.
pub(super) fn change(new: &Value, old: &Value, found: &mut ErrorList) {
    let none = Value::Null;
    let (new, old) = (new.get("spec").unwrap_or(&none), old.get("spec").unwrap_or(&none));
    let has_address = |spec: &Value| text(spec, "type") != "ExternalName";
    let (after, before) = (texts(new, "clusterIPs"), texts(old, "clusterIPs"));
    if let (Some(before), Some(after)) = (before.first(), after.first())
        && has_address(new)
        && has_address(old)
        && before != after
    {
        let all: Vec<Value> = texts(new, "clusterIPs").into_iter().map(Value::from).collect();
        found.invalid(&ROOT.child("spec.clusterIPs").item(0), all, "may not change once set");
    }
    let is_balanced = |spec: &Value| text(spec, "type") == "LoadBalancer";
    let given = |spec: &Value| spec.get("loadBalancerClass").cloned().unwrap_or_default();
    if is_balanced(new) && is_balanced(old) && given(new) != given(old) {
        let at = ROOT.child("spec.loadBalancerClass");
        found.invalid(&at, given(new), "may not change once set");
    }
    class(new, found);
    let health = |spec: &Value| number(spec, "healthCheckNodePort");
    if is_health_checked(new) && is_health_checked(old) && health(new) != health(old) {
        found.forbidden(&ROOT.child("spec.healthCheckNodePort"), "field is immutable");
    }
}

/// The status of a service.
pub(super) fn status(service: &Value, found: &mut ErrorList) {
    let Some(status) = service.get("status") else { return };
    let is_balanced = service.pointer("/spec/type").is_some_and(|kind| kind == "LoadBalancer");
    let at = ROOT.child("status.loadBalancer.ingress");
    let ingress = status.pointer("/loadBalancer/ingress").and_then(Value::as_array);
    let ingress = ingress.map_or(&[][..], Vec::as_slice);
    if !is_balanced && !ingress.is_empty() {
        found.forbidden(&at, "may only be used when `spec.type` is 'LoadBalancer'");
        return;
    }
    for (index, point) in ingress.iter().enumerate() {
        let at = at.item(index);
        entry(point, &at, found);
        let (ip, mode) = (text(point, "ip"), point.get("ipMode").and_then(Value::as_str));
        match mode {
            Some(_) if ip.is_empty() => {
                found.forbidden(&at.child("ipMode"), "may not be specified when `ip` is not set");
            }
            Some(_) => run(&[OneOfIfSet("ipMode", &["Proxy", "VIP"])], point, &at, found),
            None if !ip.is_empty() => found.required(&at.child("ipMode"), "must be specified when `ip` is set"),
            None => {}
        }
    }
}

/// Where a balancer takes traffic in.
pub(super) fn entry(point: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let (ip, host) = (text(point, "ip"), text(point, "hostname"));
    if !ip.is_empty() {
        addresses::ip(ip, &at.child("ip"), found);
    }
    if !host.is_empty() {
        let field = at.child("hostname");
        found.invalid_each(&field, host, names::dns_subdomain(host));
        if host.parse::<IpAddr>().is_ok() {
            found.invalid(&field, host, "must be a DNS name, not an IP address");
        }
    }
}
