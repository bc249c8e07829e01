//! Addresses that are in use and ranges that Services get theirs from: `IPAddress` and `ServiceCIDR`.

use baton_apimachinery::field::ErrorList;
use baton_apimachinery::go_values;
use baton_apimachinery::metadata::names;
use serde_json::Value;

use super::addresses;
use crate::validation::ROOT;
use crate::validation::checks::Check::{Name, Named};
use crate::validation::checks::{run, text, texts};

/// Who has an address.
pub(crate) fn address(address: &Value, found: &mut ErrorList) {
    let at = ROOT.child("spec.parentRef");
    let Some(parent) = address.pointer("/spec/parentRef") else {
        found.required(&at, "");
        return;
    };
    run(
        &[
            Named("group", names::dns_subdomain),
            Name("resource", names::segment),
            Name("name", names::segment),
        ],
        parent,
        &at,
        found,
    );
    let namespace = text(parent, "namespace");
    found.invalid_each(&at.child("namespace"), namespace, names::path_segment(namespace, false));
}

/// An address is of one owner for ever.
pub(crate) fn address_change(new: &Value, old: &Value, found: &mut ErrorList) {
    let parent = |object: &Value| object.pointer("/spec/parentRef").cloned();
    if parent(new) != parent(old) {
        let value = parent(new).map_or("null".to_owned(), |parent| {
            go_values::text("networking.ParentReference", &parent)
        });
        found.invalid_text(&ROOT.child("spec.parentRef"), &value, "field is immutable");
    }
}

/// The name of an address is the address.
pub(crate) fn address_name(name: &str, _: bool) -> Vec<String> {
    addresses::strict_ip(name).err().into_iter().collect()
}

/// The ranges of a new `ServiceCIDR`.
pub(crate) fn range(object: &Value, found: &mut ErrorList) {
    let Some(spec) = object.get("spec") else { return };
    let at = ROOT.child("spec.cidrs");
    let all = texts(spec, "cidrs");
    if all.is_empty() {
        found.required(&at, "at least one CIDR required");
        return;
    }
    if all.len() > 2 {
        let quoted = go_values::text("networking.ServiceCIDRSpec", spec);
        found.invalid_text(&at, &quoted, "may only hold up to 2 values");
        return;
    }
    let mut ranges = Vec::new();
    for (index, range) in all.iter().enumerate() {
        ranges.extend(addresses::strict_cidr(range, &at.item(index), found));
    }
    if let [first, second] = ranges.as_slice()
        && first.is_ipv6() == second.is_ipv6()
    {
        let detail = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
        found.invalid(&at, all, detail);
    }
}

/// A range may get one of the other family beside it, and else stays what it is.
pub(crate) fn range_change(new: &Value, old: &Value, found: &mut ErrorList) {
    const FIXED: &str = "field is immutable";
    let of = |object: &Value| -> Vec<String> {
        let all = object.pointer("/spec/cidrs").and_then(Value::as_array);
        let all = all.into_iter().flatten().filter_map(Value::as_str);
        all.map(str::to_owned).collect()
    };
    let (after, before) = (of(new), of(old));
    let at = ROOT.child("spec.cidrs");
    if after.len() != before.len() && (before.len(), after.len()) != (1, 2) {
        let value = new.pointer("/spec/cidrs").cloned().unwrap_or_default();
        found.invalid(&at, value, FIXED);
        return;
    }
    for (index, (after, before)) in after.iter().zip(&before).enumerate() {
        if after != before {
            found.invalid(&at.item(index), after.as_str(), FIXED);
        }
    }
    if after.len() != before.len() {
        range(new, found);
    }
}
