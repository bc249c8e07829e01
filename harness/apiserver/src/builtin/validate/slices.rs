//! Addresses behind services: `EndpointSlice`, and `Endpoints`, which came before it.

use serde_json::Value;

use super::checks::Check::{Each, Named, OneOf, Unique};
use super::checks::{Check, list, run, text, texts};
use super::{ROOT, addresses};
use crate::error::{FieldError, FieldErrorType};
use crate::findings::{Field, Findings};
use crate::metadata::names;

const MAX_ADDRESSES: usize = 100;

const ENDPOINT: &[Check] = &[
    Named("nodeName", names::dns_subdomain),
    Named("hostname", names::dns_label),
];

const PORT: &[Check] = &[
    Named("name", names::dns_label),
    OneOf("protocol", &["SCTP", "TCP", "UDP"]),
    Named("appProtocol", names::qualified_name),
];

const ENDPOINT_PORT: &[Check] = &[
    Named("name", names::dns_label),
    Check::Port("port"),
    OneOf("protocol", &["SCTP", "TCP", "UDP"]),
    Named("appProtocol", names::qualified_name),
];

/// What is wrong with a slice.
pub(super) fn body(slice: &Value, found: &mut Findings) {
    let kind = text(slice, "addressType");
    run(
        &[
            OneOf("addressType", &["FQDN", "IPv4", "IPv6"]),
            Each("ports", PORT),
            Unique("ports", "name"),
        ],
        slice,
        &ROOT,
        found,
    );
    let at = ROOT.child("endpoints");
    for (index, endpoint) in list(slice, "endpoints").iter().enumerate() {
        let at = at.item(index);
        addresses(kind, endpoint, &at, found);
        run(ENDPOINT, endpoint, &at, found);
    }
}

fn addresses(kind: &str, endpoint: &Value, at: &Field<'_>, found: &mut Findings) {
    let at = at.child("addresses");
    let all = texts(endpoint, "addresses");
    if all.is_empty() {
        found.required(&at, "must contain at least 1 address");
    } else if all.len() > MAX_ADDRESSES {
        let detail = format!("{}: must have at most {MAX_ADDRESSES} items", all.len());
        let error = FieldError::without_value(FieldErrorType::TooMany, at.to_string(), &detail);
        found.extend(vec![error]);
    }
    for (index, address) in all.iter().enumerate() {
        let field = at.item(index);
        match kind {
            "FQDN" => found.invalid_each(&field, address, names::dns_subdomain(address)),
            "IPv4" | "IPv6" => {
                if let Some(ip) = addresses::ip(address, &field, found) {
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

/// What is wrong with `Endpoints`.
pub(super) fn endpoints(endpoints: &Value, found: &mut Findings) {
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

fn endpoint_address(address: &Value, at: &Field<'_>, found: &mut Findings) {
    let ip = text(address, "ip");
    let field = at.child("ip");
    match addresses::ip(ip, &field, found) {
        Some(parsed) => addresses::reachable(parsed, ip, &field, found),
        None => found.invalid(&field, ip, "must be a valid IP address"),
    }
    run(
        &[
            Named("hostname", names::dns_label),
            Named("nodeName", names::dns_subdomain),
        ],
        address,
        at,
        found,
    );
}
