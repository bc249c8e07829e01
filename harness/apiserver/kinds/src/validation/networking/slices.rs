//! Addresses behind services: `EndpointSlice`, and `Endpoints`, which came before it.

use std::collections::BTreeSet;
use std::net::IpAddr;

use baton_apimachinery::field::{ErrorList, FieldError, FieldErrorType, FieldPath};
use baton_apimachinery::metadata::names;
use serde_json::Value;

use super::addresses;
use crate::validation::ROOT;
use crate::validation::checks::Check::{Do, In, Labels, Named, NamedIfThere, OneOf, OneOfIfSet};
use crate::validation::checks::{Check, list, run, text, texts};

const MAX_ADDRESSES: usize = 100;

const MAX_HINTS: usize = 8;

/// The two lists of hints, and what their names must be.
const HINTS: [(&str, Rule); 2] = [("forZones", names::label_value), ("forNodes", names::dns_subdomain)];

/// What is wrong with a text.
type Rule = fn(&str) -> Vec<String>;

const ENDPOINT: &[Check] = &[
    NamedIfThere("nodeName", names::dns_subdomain),
    Labels("deprecatedTopology"),
    NamedIfThere("hostname", names::dns_label),
    In("hints", &[Do(hints)]),
];

const PORT: &[Check] = &[
    OneOfIfSet("protocol", &["SCTP", "TCP", "UDP"]),
    NamedIfThere("appProtocol", names::qualified_name),
];

const ENDPOINT_PORT: &[Check] = &[
    Named("name", names::dns_label),
    Check::Port("port"),
    OneOf("protocol", &["SCTP", "TCP", "UDP"]),
    NamedIfThere("appProtocol", names::qualified_name),
];

/// What is wrong with a slice. Endpoints that were there already are not looked at again.
pub(crate) fn body(slice: &Value, old: Option<&Value>, found: &mut ErrorList) {
    let kind = text(slice, "addressType");
    run(
        &[OneOf("addressType", &["FQDN", "IPv4", "IPv6"]), Do(ports)],
        slice,
        &ROOT,
        found,
    );
    if old.is_some_and(|old| old.get("endpoints") == slice.get("endpoints")) {
        return;
    }
    let at = ROOT.child("endpoints");
    for (index, endpoint) in list(slice, "endpoints").iter().enumerate() {
        let at = at.item(index);
        addresses(kind, endpoint, &at, found);
        run(ENDPOINT, endpoint, &at, found);
    }
}

fn ports(slice: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let of = at.child("ports");
    let mut seen = BTreeSet::new();
    for (index, port) in list(slice, "ports").iter().enumerate() {
        let at = of.item(index);
        run(&[Named("name", names::dns_label)], port, &at, found);
        let name = text(port, "name");
        if !seen.insert(name) {
            found.duplicate(&at.child("name"), name);
        }
        run(PORT, port, &at, found);
    }
}

/// For which zones and nodes an endpoint is meant.
fn hints(hints: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    for (field, rule) in HINTS {
        let of = at.child(field);
        let all = list(hints, field);
        if all.len() > MAX_HINTS {
            too_many(all.len(), MAX_HINTS, &of, found);
            return;
        }
        let mut seen = BTreeSet::new();
        for (index, hint) in all.iter().enumerate() {
            let at = of.item(index);
            let (at, name) = (at.child("name"), text(hint, "name"));
            if !seen.insert(name) {
                found.duplicate(&at, name);
            }
            found.invalid_each(&at, name, rule(name));
        }
    }
}

fn too_many(count: usize, max: usize, at: &FieldPath<'_>, found: &mut ErrorList) {
    let detail = format!("{count}: must have at most {max} items");
    let error = FieldError::without_value(FieldErrorType::TooMany, at.to_string(), &detail);
    found.extend(vec![error]);
}

fn addresses(kind: &str, endpoint: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("addresses");
    let all = texts(endpoint, "addresses");
    if all.is_empty() {
        found.required(&at, "must contain at least 1 address");
    } else if all.len() > MAX_ADDRESSES {
        too_many(all.len(), MAX_ADDRESSES, &at, found);
    }
    for (index, address) in all.iter().enumerate() {
        let field = at.item(index);
        match kind {
            "FQDN" => domain(address, &field, found),
            "IPv4" | "IPv6" => {
                if let Some(ip) = address_of(kind, address, &field, found) {
                    if (kind == "IPv4") != ip.is_ipv4() {
                        found.invalid(&at, *address, &format!("must be an {kind} address"));
                    }
                    addresses::reachable(ip, address, &field, found);
                }
            }
            _ => {}
        }
    }
}

/// Addresses of the sixth version are newer and may be written in one way only.
fn address_of(kind: &str, text: &str, at: &FieldPath<'_>, found: &mut ErrorList) -> Option<IpAddr> {
    if kind == "IPv4" {
        return addresses::ip(text, at, found);
    }
    let parsed = addresses::strict_ip(text);
    if let Err(problem) = &parsed {
        found.invalid(at, text, problem);
    }
    parsed.ok()
}

/// A name of two parts or more; the last dot does not count.
fn domain(name: &str, at: &FieldPath<'_>, found: &mut ErrorList) {
    if name.is_empty() {
        found.required(at, "");
        return;
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let problems = names::dns_subdomain(name);
    if !problems.is_empty() {
        found.invalid(at, name, &problems.join(","));
    } else if !name.contains('.') {
        found.invalid(
            at,
            name,
            "should be a domain with at least two segments separated by dots",
        );
    } else if let Some(label) = name.split('.').find(|label| !names::dns_label(label).is_empty()) {
        found.invalid(at, label, &names::dns_label(label).join(","));
    }
}

/// What is wrong with `Endpoints`.
pub(crate) fn endpoints(endpoints: &Value, found: &mut ErrorList) {
    let at = ROOT.child("subsets");
    for (index, subset) in list(endpoints, "subsets").iter().enumerate() {
        let at = at.item(index);
        let both = ["addresses", "notReadyAddresses"];
        if both.iter().all(|field| list(subset, field).is_empty()) {
            found.required(&at, "must specify `addresses` or `notReadyAddresses`");
        }
        for field in both {
            let at = at.child(field);
            for (index, address) in list(subset, field).iter().enumerate() {
                endpoint_address(address, &at.item(index), found);
            }
        }
        let ports = list(subset, "ports");
        let at = at.child("ports");
        for (index, port) in ports.iter().enumerate() {
            let at = at.item(index);
            if ports.len() > 1 && text(port, "name").is_empty() {
                found.required(&at.child("name"), "");
            }
            run(ENDPOINT_PORT, port, &at, found);
        }
    }
}

fn endpoint_address(address: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let ip = text(address, "ip");
    let field = at.child("ip");
    let parsed = addresses::ip(ip, &field, found);
    run(
        &[
            Named("hostname", names::dns_label),
            NamedIfThere("nodeName", names::dns_subdomain),
        ],
        address,
        at,
        found,
    );
    match parsed {
        Some(parsed) => addresses::reachable(parsed, ip, &field, found),
        None => found.invalid(&field, ip, "must be a valid IP address"),
    }
}
