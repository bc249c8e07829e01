//! Services.

use std::collections::BTreeSet;
use std::net::IpAddr;

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::go_values;
use baton_apimachinery::metadata::names;
use serde_json::{Value, json};

use super::ROOT;
use super::checks::Check::{Labels, OneOf};
use super::checks::{list, number, port, port_number, run, text, texts};

const TYPES: &[&str] = &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];

/// Validates a Service.
pub(super) fn body(service: &Value, found: &mut ErrorList) {
    let Some(spec) = service.get("spec") else { return };
    let at = ROOT.child("spec");
    let all = list(spec, "ports");
    let is_headless = texts(spec, "clusterIPs") == ["None"];
    let kind = text(spec, "type");
    if all.is_empty() && !is_headless && kind != "ExternalName" {
        found.required(&at.child("ports"), "");
    }
    if kind == "ExternalName" {
        let name = text(spec, "externalName");
        let name = name.strip_suffix('.').unwrap_or(name);
        found.required_each(&at.child("externalName"), name, names::dns_subdomain(name));
    } else if is_headless && matches!(kind, "NodePort" | "LoadBalancer") {
        let detail = format!("may not be set to 'None' for {kind} services");
        found.invalid(&at.child("clusterIPs").item(0), "None", &detail);
    }
    address(spec, &at.child("clusterIPs"), found);
    ports(all, &at.child("ports"), found);
    same_ports(all, &at.child("ports"), found);
    let checks = &[
        Labels("selector"),
        OneOf("sessionAffinity", &["ClientIP", "None"]),
        OneOf("type", TYPES),
    ];
    run(checks, spec, &at, found);
    if kind == "ClusterIP" {
        for (index, _) in all.iter().enumerate().filter(|(_, port)| number(port, "nodePort") != 0) {
            let at = at.child("ports");
            let detail = "may not be used when `type` is 'ClusterIP'";
            found.forbidden(&at.item(index).child("nodePort"), detail);
        }
    }
}

fn address(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let address = text(spec, "clusterIP");
    if !matches!(address, "" | "None") && address.parse::<IpAddr>().is_err() {
        let detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        found.invalid(&at.item(0), address, detail);
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
        run(&[OneOf("protocol", PROTOCOLS)], each, &at, found);
        port(each.get("targetPort"), &at.child("targetPort"), found);
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

/// Checks that the address of a Service does not change.
pub(super) fn change(new: &Value, old: &Value, found: &mut ErrorList) {
    let address = |service: &Value| service.pointer("/spec/clusterIP").cloned().unwrap_or_default();
    let (after, before) = (address(new), address(old));
    if !before.is_null() && !after.is_null() && before != after {
        let at = ROOT.child("spec.clusterIPs");
        found.invalid(&at.item(0), vec![after], "may not change once set");
    }
}
