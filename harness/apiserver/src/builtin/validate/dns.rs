//! What a pod says about its DNS.

use serde_json::Value;

use super::addresses;
use super::checks::{list, text, texts};
use crate::findings::{Field, Findings};
use crate::metadata::names;

const MAX_SERVERS: usize = 3;
const MAX_NAME: usize = 253;
const NO_NAME: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', \
    and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')";

/// The policy without a configuration of its own.
pub(super) fn policy(spec: &Value, at: &Field<'_>, found: &mut Findings) {
    if text(spec, "dnsPolicy") != "None" {
        return;
    }
    let at = at.child("dnsConfig");
    match spec.get("dnsConfig") {
        None => found.required(&at, "must provide `dnsConfig` when `dnsPolicy` is None"),
        Some(config) if list(config, "nameservers").is_empty() => {
            let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            found.required(&at.child("nameservers"), detail);
        }
        Some(_) => {}
    }
}

/// The configuration.
pub(super) fn config(spec: &Value, at: &Field<'_>, found: &mut Findings) {
    let Some(config) = spec.get("dnsConfig") else { return };
    let at = at.child("dnsConfig");
    let servers_at = at.child("nameservers");
    let servers = texts(config, "nameservers");
    if servers.len() > MAX_SERVERS {
        let all: Vec<Value> = servers.iter().map(|server| Value::from(*server)).collect();
        found.invalid(&servers_at, all, "must not have more than 3 nameservers");
    }
    for (index, server) in servers.iter().enumerate() {
        addresses::ip(server, &servers_at.item(index), found);
    }
    let searches_at = at.child("searches");
    for (index, search) in texts(config, "searches").into_iter().enumerate() {
        if search == "." {
            continue;
        }
        let (at, name) = (searches_at.item(index), search.strip_suffix('.').unwrap_or(search));
        if name.len() > MAX_NAME {
            found.invalid(&at, search, "must be no more than 253 characters");
        }
        let is_label = |label: &str| names::is_underscored_label(label.strip_prefix('_').unwrap_or(label));
        if !name.split('.').all(is_label) {
            found.invalid(&at, search, NO_NAME);
        }
    }
    let options_at = at.child("options");
    for (index, option) in list(config, "options").iter().enumerate() {
        if text(option, "name").is_empty() {
            found.required(&options_at.item(index), "must not be empty");
        }
    }
}
