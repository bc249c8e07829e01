//! Ingresses, their classes, and network policies.

pub(super) mod addresses;
pub(super) mod ranges;
pub(super) mod slices;

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::meta;
use baton_apimachinery::metadata::names;
use serde_json::Value;

use super::ROOT;
use super::checks::Check::{Do, Each, In, Name, Named, NamedIfThere, OneOfIfSet};
use super::checks::{Check, list, port, run, text, texts};

const PATH_TYPES: &[&str] = &["Exact", "ImplementationSpecific", "Prefix"];

const INGRESS: &[Check] = &[
    Do(backend_or_rules),
    In("defaultBackend", &[Do(backend)]),
    Each(
        "rules",
        &[Do(host), In("http", &[Do(has_paths), Each("paths", &[Do(path)])])],
    ),
    Each("tls", &[Do(tls_hosts), Named("secretName", names::dns_subdomain)]),
    Do(ingress_class),
];

const PEER: &[Check] = &[
    Check::Selector("podSelector"),
    Check::Selector("namespaceSelector"),
    In("ipBlock", &[Do(ip_block)]),
    Do(peer),
];

const POLICY: &[Check] = &[
    Check::Selector("podSelector"),
    Each("ingress", &[Each("ports", &[Do(policy_port)]), Each("from", PEER)]),
    Each("egress", &[Each("ports", &[Do(policy_port)]), Each("to", PEER)]),
    Do(policy_types),
];

/// Something of a kind of a group.
const REFERENCE: &[Check] = &[
    NamedIfThere("apiGroup", names::dns_subdomain),
    Name("kind", names::segment),
    Name("name", names::segment),
];

/// The annotation that was there before the field.
const CLASS: &str = "kubernetes.io/ingress.class";

/// The class of an Ingress may be said in one way only. Those that were there when the field came may say it in both.
pub(super) fn created(ingress: &Value, found: &mut ErrorList) {
    let annotated = meta::annotation(ingress, CLASS);
    let class = ingress.pointer("/spec/ingressClassName").and_then(Value::as_str);
    if let (Some(annotated), Some(class)) = (annotated, class)
        && annotated != class
    {
        let at = ROOT.child("annotations");
        found.invalid(
            &at.child(CLASS),
            annotated,
            "must match `ingressClassName` when both are specified",
        );
    }
}

/// The status of an Ingress.
pub(super) fn ingress_status(ingress: &Value, found: &mut ErrorList) {
    let points = ingress
        .pointer("/status/loadBalancer/ingress")
        .and_then(Value::as_array);
    let at = ROOT.child("status.loadBalancer.ingress");
    for (index, point) in points.into_iter().flatten().enumerate() {
        super::services::entry(point, &at.item(index), found);
    }
}

fn ingress_class(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if let Some(class) = spec.get("ingressClassName").and_then(Value::as_str) {
        found.invalid_each(&at.child("ingressClassName"), class, names::dns_subdomain(class));
    }
}

/// The body of a kind.
pub(super) fn body(kind: &str, object: &Value, found: &mut ErrorList) {
    let checks: &[Check] = match kind {
        "Ingress" => &[In("spec", INGRESS)],
        "IngressClass" => &[In("spec", &[Do(controller), In("parameters", &[Do(parameters)])])],
        "NetworkPolicy" => &[In("spec", POLICY)],
        _ => &[],
    };
    run(checks, object, &ROOT, found);
}

fn backend_or_rules(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if list(spec, "rules").is_empty() && spec.get("defaultBackend").is_none() {
        found.invalid(
            at,
            spec.get("rules").cloned().unwrap_or_default(),
            "either `defaultBackend` or `rules` must be specified",
        );
    }
}

fn backend(backend: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    match (backend.get("resource"), backend.get("service")) {
        (None, None) => found.invalid(at, "", "resource or service backend is required"),
        (Some(_), Some(_)) => found.invalid(at, "", "cannot set both resource and service backends"),
        (Some(resource), None) => run(REFERENCE, resource, &at.child("resource"), found),
        (None, Some(service)) => service_backend(service, at, found),
    }
}

fn service_backend(service: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let of = at.child("service");
    let name = text(service, "name");
    found.required_each(&of.child("name"), name, names::dns_label(name));
    let given = service.get("port");
    let port_name = given.map(|port| text(port, "name")).unwrap_or_default();
    let number = given
        .and_then(|port| port.get("number"))
        .and_then(Value::as_i64)
        .unwrap_or(0);
    match (port_name, number) {
        ("", 0) => found.required(at, "port name or number is required"),
        ("", number) => super::checks::port_number(number, &of.child("port.number"), found),
        (name, 0) => found.invalid_each(&of.child("port.name"), name, names::port_name(name)),
        (_, _) => found.invalid(at, "", "cannot set both port name & port number"),
    }
}

fn host(rule: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let host = text(rule, "host");
    let field = at.child("host");
    if host.is_empty() {
        return;
    }
    if host.parse::<std::net::IpAddr>().is_ok() {
        found.invalid(&field, host, "must be a DNS name, not an IP address");
    } else {
        found.invalid_each(&field, host, host_name(host));
    }
}

fn host_name(host: &str) -> Vec<String> {
    if host.contains('*') {
        names::wildcard_subdomain(host)
    } else {
        names::dns_subdomain(host)
    }
}

fn has_paths(http: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if list(http, "paths").is_empty() {
        found.required(&at.child("paths"), "");
    }
}

fn path(path: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let field = at.child("path");
    let place = text(path, "path");
    let Some(kind) = path.get("pathType").and_then(Value::as_str) else {
        found.required(&at.child("pathType"), "pathType must be specified");
        return;
    };
    match kind {
        "Exact" | "Prefix" => {
            if !place.starts_with('/') {
                found.invalid(&field, place, "must be an absolute path");
            }
            for sequence in ["//", "/./", "/../", "%2f", "%2F"] {
                if place.contains(sequence) {
                    found.invalid(&field, place, &format!("must not contain '{sequence}'"));
                }
            }
            for suffix in ["/..", "/."] {
                if place.ends_with(suffix) {
                    found.invalid(&field, place, &format!("cannot end with '{suffix}'"));
                }
            }
        }
        "ImplementationSpecific" => {
            if !place.is_empty() && !place.starts_with('/') {
                found.invalid(&field, place, "must be an absolute path");
            }
        }
        other => found.not_supported(&at.child("pathType"), other, PATH_TYPES),
    }
    run(&[In("backend", &[Do(backend)])], path, at, found);
}

fn tls_hosts(tls: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let of = at.child("hosts");
    for (index, host) in list(tls, "hosts").iter().enumerate() {
        let host = host.as_str().unwrap_or_default();
        found.invalid_each(&of.item(index), host, host_name(host));
    }
}

fn controller(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let controller = text(spec, "controller");
    let field = at.child("controller");
    if controller.len() > 250 {
        found.too_long(&field, 250);
    }
    domain_prefixed_path(controller, &field, found);
}

/// `acme.io/foo`.
pub(super) fn domain_prefixed_path(path: &str, field: &FieldPath<'_>, found: &mut ErrorList) {
    if path.is_empty() {
        found.required(field, "");
        return;
    }
    match path.split_once('/') {
        Some((host, rest)) if !host.is_empty() && !rest.is_empty() => {
            found.invalid_each(field, host, names::dns_subdomain(host));
        }
        Some(_) | None => {
            found.invalid(field, path, "must be a domain-prefixed path (such as \"acme.io/foo\")");
        }
    }
}

/// A class is of one controller for ever.
pub(super) fn class_change(new: &Value, old: &Value, found: &mut ErrorList) {
    let of = |class: &Value| class.get("spec").map(|spec| text(spec, "controller").to_owned());
    let (new, old) = (of(new).unwrap_or_default(), of(old).unwrap_or_default());
    if new != old {
        found.invalid(&ROOT.child("spec.controller"), new, "field is immutable");
    }
}

fn parameters(parameters: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    run(REFERENCE, parameters, at, found);
    run(&[OneOfIfSet("scope", &["Cluster", "Namespace"])], parameters, at, found);
    let namespace = parameters.get("namespace").and_then(Value::as_str);
    let field = at.child("namespace");
    match (text(parameters, "scope"), namespace) {
        ("Namespace", None) => found.required(&field, "`parameters.scope` is set to 'Namespace'"),
        ("Namespace", Some(namespace)) => found.invalid_each(&field, namespace, names::dns_label(namespace)),
        ("Cluster", Some(_)) => found.forbidden(&field, "`parameters.scope` is set to 'Cluster'"),
        _ => {}
    }
}

fn policy_types(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let of = at.child("policyTypes");
    let types = list(spec, "policyTypes");
    if types.len() > 2 {
        found.invalid(&of, types.to_vec(), "may not specify more than two policyTypes");
        return;
    }
    for (index, kind) in types.iter().enumerate() {
        let kind = kind.as_str().unwrap_or_default();
        if !matches!(kind, "Ingress" | "Egress") {
            found.not_supported(&of.item(index), kind, &["Ingress", "Egress"]);
        }
    }
}

fn policy_port(entry: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    run(&[OneOfIfSet("protocol", &["TCP", "UDP", "SCTP"])], entry, at, found);
    let end = entry.get("endPort").and_then(Value::as_i64);
    let (first_at, end_at) = (at.child("port"), at.child("endPort"));
    match (entry.get("port"), end) {
        (None, Some(end)) => found.invalid(&end_at, end, "may not be specified when `port` is not specified"),
        (Some(name @ Value::String(_)), end) => {
            if let Some(end) = end {
                found.invalid(&end_at, end, "may not be specified when `port` is non-numeric");
            }
            port(Some(name), &first_at, found);
        }
        (Some(first), end) => {
            port(Some(first), &first_at, found);
            let first = first.as_i64().unwrap_or(0);
            if end.is_some_and(|end| end < first) {
                found.invalid(&end_at, first, "must be greater than or equal to `port`");
            }
            if let Some(end) = end {
                super::checks::port_number(end, &end_at, found);
            }
        }
        (None, None) => {}
    }
}

fn peer(peer: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let selects = peer.get("podSelector").is_some() || peer.get("namespaceSelector").is_some();
    match (peer.get("ipBlock").is_some(), selects) {
        (false, false) => found.required(at, "must specify a peer"),
        (true, true) => found.forbidden(at, "may not specify both ipBlock and another peer"),
        (_, _) => {}
    }
}

fn ip_block(block: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let cidr = text(block, "cidr");
    let field = at.child("cidr");
    if cidr.is_empty() {
        found.required(&field, "");
        return;
    }
    let Some(range) = addresses::cidr(cidr, &field, found) else {
        return;
    };
    let of = at.child("except");
    for (index, except) in texts(block, "except").into_iter().enumerate() {
        let field = of.item(index);
        let inner = addresses::cidr(except, &field, found);
        if inner.is_some_and(|inner| !range.is_strictly_around(inner)) {
            found.invalid(&field, except, "must be a strict subset of `cidr`");
        }
    }
}
