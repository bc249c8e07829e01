//! Services.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde_json::Value;

use super::ROOT;
use super::checks::Check::{Labels, OneOf, OneOfIfSet};
use super::checks::{Check, list, port, port_number, run, text, texts};
use crate::findings::{Field, Findings};
use crate::metadata::names;

const TYPES: &[&str] = &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];

const SPEC: &[Check] = &[
    Labels("selector"),
    OneOf("sessionAffinity", &["ClientIP", "None"]),
    OneOf("type", TYPES),
    OneOfIfSet("externalTrafficPolicy", &["Cluster", "Local"]),
    OneOfIfSet("internalTrafficPolicy", &["Cluster", "Local"]),
    OneOfIfSet(
        "ipFamilyPolicy",
        &["SingleStack", "PreferDualStack", "RequireDualStack"],
    ),
];

/// A Service's specification.
pub(super) fn service(object: &Value, found: &mut Findings) {
    let Some(spec) = object.get("spec") else { return };
    let at = ROOT.child("spec");
    let kind = text(spec, "type");
    let addresses = addresses(spec);
    let is_headless = addresses.first() == Some(&"None");
    let all = list(spec, "ports");
    if all.is_empty() && !is_headless && kind != "ExternalName" {
        found.required(&at.child("ports"), "");
    }
    if kind == "ExternalName" {
        external(spec, &addresses, &at, found);
    }
    ports(all, kind, &at.child("ports"), found);
    run(SPEC, spec, &at, found);
    for (index, address) in addresses.iter().enumerate() {
        if *address != "None" && address.parse::<IpAddr>().is_err() {
            let detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
            found.invalid(&at.child("clusterIPs").item(index), *address, detail);
        }
    }
    if is_headless && matches!(kind, "NodePort" | "LoadBalancer") {
        let detail = format!("may not be set to 'None' for {kind} services");
        found.invalid(&at.child("clusterIPs").item(0), "None", &detail);
    }
}

/// The address comes in two fields; the list may be missing.
fn addresses(spec: &Value) -> Vec<&str> {
    let listed = texts(spec, "clusterIPs");
    let single = text(spec, "clusterIP");
    if listed.is_empty() && !single.is_empty() {
        vec![single]
    } else {
        listed
    }
}

fn external(spec: &Value, addresses: &[&str], at: &Field<'_>, found: &mut Findings) {
    if !addresses.is_empty() {
        found.forbidden(&at.child("clusterIPs"), "may not be set for ExternalName services");
    }
    let given = text(spec, "externalName");
    let name = given.strip_suffix('.').unwrap_or(given);
    found.required_each(&at.child("externalName"), name, names::dns_subdomain(name));
}

fn ports(all: &[Value], kind: &str, at: &Field<'_>, found: &mut Findings) {
    let mut seen = BTreeSet::new();
    let mut pairs = BTreeSet::new();
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
        let number = super::checks::number(each, "port");
        port_number(number, &at.child("port"), found);
        run(
            &[
                OneOf("protocol", PROTOCOLS),
                Check::Named("appProtocol", names::qualified_name),
            ],
            each,
            &at,
            found,
        );
        port(each.get("targetPort"), &at.child("targetPort"), found);
        if kind == "ClusterIP" && each.get("nodePort").is_some() {
            found.forbidden(&at.child("nodePort"), "may not be used when `type` is 'ClusterIP'");
        }
        let protocol = text(each, "protocol");
        if !pairs.insert((protocol, number)) {
            let message = format!(
                "{{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,\"Port\":{number},\"TargetPort\":0,\"NodePort\":0}}",
                Value::from(protocol)
            );
            found.duplicate_text(&at, &message);
        }
    }
}

/// What may not change in a Service.
pub(super) fn change(new: &Value, old: &Value, found: &mut Findings) {
    let none = Value::Null;
    let (new, old) = (new.get("spec").unwrap_or(&none), old.get("spec").unwrap_or(&none));
    let has_address = |spec: &Value| text(spec, "type") != "ExternalName";
    if !has_address(new) || !has_address(old) {
        return;
    }
    let (after, before) = (addresses(new), addresses(old));
    if let (Some(before), Some(after)) = (before.first(), after.first())
        && before != after
    {
        let all: Vec<Value> = addresses(new).into_iter().map(Value::from).collect();
        found.invalid(&ROOT.child("spec.clusterIPs").item(0), all, "may not change once set");
    }
}

/// The status of a service.
pub(super) fn status(service: &Value, found: &mut Findings) {
    let ingress = service
        .pointer("/status/loadBalancer/ingress")
        .and_then(Value::as_array);
    let is_balanced = service.pointer("/spec/type").is_some_and(|kind| kind == "LoadBalancer");
    if !is_balanced && ingress.is_some_and(|ingress| !ingress.is_empty()) {
        let detail = "may only be used when `spec.type` is 'LoadBalancer'";
        found.forbidden(&ROOT.child("status.loadBalancer.ingress"), detail);
    }
}
