//! Addresses behind services: `EndpointSlice`, and `Endpoints`, which came before it.

use std::net::IpAddr;

use serde_json::Value;

use super::ROOT;
use super::checks::Check::{Each, Named, OneOf, Unique};
use super::checks::{Check, list, run, text, texts};
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
    run(&[OneOf("addressType", &["FQDN", "IPv4", "IPv6"])], slice, &ROOT, found);
    let at = ROOT.child("endpoints");
    for (index, endpoint) in list(slice, "endpoints").iter().enumerate() {
        let at = at.item(index);
        addresses(kind, endpoint, &at, found);
        run(ENDPOINT, endpoint, &at, found);
    }
    run(&[Each("ports", PORT), Unique("ports", "name")], slice, &ROOT, found);
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
        match (kind, address.parse::<IpAddr>()) {
            ("FQDN", _) => found.invalid_each(&field, address, names::dns_subdomain(address)),
            ("IPv4" | "IPv6", Err(_)) => {
                let detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
                found.invalid(&field, *address, detail);
            }
            ("IPv4" | "IPv6", Ok(ip)) => {
                if (kind == "IPv4") != ip.is_ipv4() {
                    found.invalid(&at, *address, &format!("must be an {kind} address"));
                }
                reachable(ip, address, &field, found);
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
    if let Ok(parsed) = ip.parse::<IpAddr>() {
        reachable(parsed, ip, &field, found);
    } else {
        found.invalid(
            &field,
            ip,
            "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        );
        found.invalid(&field, ip, "must be a valid IP address");
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

/// Addresses that are nobody's.
fn reachable(ip: IpAddr, address: &str, at: &Field<'_>, found: &mut Findings) {
    let local = match ip {
        IpAddr::V4(ip) => (ip.is_link_local(), ip.octets().starts_with(&[224, 0, 0])),
        IpAddr::V6(ip) => (ip.is_unicast_link_local(), ip.segments()[0] == 0xff02),
    };
    let details = [
        (ip.is_unspecified(), format!("may not be unspecified ({address})")),
        (
            ip.is_loopback(),
            "may not be in the loopback range (127.0.0.0/8, ::1/128)".to_owned(),
        ),
        (
            local.0,
            "may not be in the link-local range (169.254.0.0/16, fe80::/10)".to_owned(),
        ),
        (
            local.1,
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".to_owned(),
        ),
    ];
    for (_, detail) in details.iter().filter(|(is, _)| *is) {
        found.invalid(at, address, detail);
    }
}
