//! What a pod says about its DNS.

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::metadata::names;
use serde_json::{Value, json};

use crate::validation::checks::{list, text, texts};
use crate::validation::addresses;

const MAX_SERVERS: usize = 3;
const MAX_SEARCHES: usize = 32;
/// How many bytes all of them have, with a space between each two.
const MAX_SEARCHED: usize = 2048;
const MAX_NAME: usize = 253;
const NO_NAME: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', \
    and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')";

/// The configuration, which the policy `None` cannot do without.
pub(crate) fn config(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("dnsConfig");
    let is_needed = text(spec, "dnsPolicy") == "None";
    let Some(config) = spec.get("dnsConfig") else {
        if is_needed {
            found.required(&at, "must provide `dnsConfig` when `dnsPolicy` is None");
        }
        return;
    };
    let servers_at = at.child("nameservers");
    let servers = texts(config, "nameservers");
    if is_needed && servers.is_empty() {
        let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
        found.required(&servers_at, detail);
        return;
    }
    if servers.len() > MAX_SERVERS {
        let detail = format!("must not have more than {MAX_SERVERS} nameservers");
        found.invalid(&servers_at, json!(servers), &detail);
    }
    for (index, server) in servers.iter().enumerate() {
        addresses::ip(server, &servers_at.item(index), found);
    }
    searches(config, &at, found);
    let options_at = at.child("options");
    for (index, option) in list(config, "options").iter().enumerate() {
        if text(option, "name").is_empty() {
            found.required(&options_at.item(index), "must not be empty");
        }
    }
}

fn searches(config: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("searches");
    let searches = texts(config, "searches");
    if searches.len() > MAX_SEARCHES {
        let detail = format!("must not have more than {MAX_SEARCHES} search paths");
        found.invalid(&at, json!(searches), &detail);
    }
    if searches.join(" ").len() > MAX_SEARCHED {
        let detail = format!("must not have more than {MAX_SEARCHED} characters (including spaces) in the search list");
        found.invalid(&at, json!(searches), &detail);
    }
    for (index, search) in searches.into_iter().enumerate().filter(|(_, search)| *search != ".") {
        let (at, name) = (at.item(index), search.strip_suffix('.').unwrap_or(search));
        if name.len() > MAX_NAME {
            found.invalid(&at, name, "must be no more than 253 characters");
        }
        let is_label = |label: &str| names::is_underscored_label(label.strip_prefix('_').unwrap_or(label));
        if !name.split('.').all(is_label) {
            found.invalid(&at, name, NO_NAME);
        }
    }
}
