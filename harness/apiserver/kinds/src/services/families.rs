//! Families of addresses: which a Service asks for, and which it gets.

use std::net::Ipv6Addr;

use baton_apimachinery::field::ErrorList;
use baton_apimachinery::meta;
use serde_json::{Map, Value, json};

use super::{Refused, SPEC, refused, text};

/// Who knows one address only means a list of one.
pub(super) fn one_address(spec: &mut Value) {
    let Some(spec) = spec.as_object_mut() else { return };
    let address = text(spec, "clusterIP").to_owned();
    if !address.is_empty() && !spec.contains_key("clusterIPs") {
        spec.insert("clusterIPs".to_owned(), json!([address]));
    }
}

/// One family, except for a headless Service without selector, which might have any endpoints. The cluster has IPv4.
/// What was keeps its policy.
pub(super) fn settle(spec: &mut Map<String, Value>, before: Option<&Value>) -> Result<(), Refused> {
    let is_headless = text(spec, "clusterIP") == "None";
    let both = is_headless && !spec.contains_key("selector");
    let was = before.map(|before| meta::text(before, "ipFamilyPolicy"));
    let policy = match text(spec, "ipFamilyPolicy") {
        "" if was.is_some_and(|was| !was.is_empty()) => was.unwrap_or_default(),
        "" if both => "RequireDualStack",
        "" => "SingleStack",
        given => given,
    };
    let policy = policy.to_owned();
    let policy_at = SPEC.child("ipFamilyPolicy");
    let mut found = ErrorList::default();
    if let Some(before) = before {
        release(spec, before, &policy, &mut found);
    }
    let (addresses, families) = (count(spec.get("clusterIPs")), count(spec.get("ipFamilies")));
    for (several, what) in [(addresses > 1, "cluster IPs"), (families > 1, "IP families")] {
        if several && policy == "SingleStack" {
            let detail = format!("must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified");
            found.invalid(&policy_at, policy.as_str(), &detail);
        }
    }
    let all = spec.get("clusterIPs").cloned().unwrap_or_default();
    let given = all.as_array().into_iter().flatten().filter_map(Value::as_str);
    for (index, address) in given.enumerate().skip(families) {
        if address.parse::<Ipv6Addr>().is_ok() {
            let detail = "IPv6 is not configured on this cluster";
            found.invalid(&SPEC.child("clusterIPs").item(index), all.clone(), detail);
        }
    }
    refused(found)?;
    if !both {
        let mut found = ErrorList::default();
        if policy == "RequireDualStack" {
            let detail = "this cluster is not configured for dual-stack services";
            found.invalid(&policy_at, policy.as_str(), detail);
        }
        let given = spec.get("ipFamilies").and_then(Value::as_array).into_iter().flatten();
        for (index, family) in given.enumerate().filter(|(_, family)| *family == "IPv6") {
            let at = SPEC.child("ipFamilies");
            found.invalid(&at.item(index), family.clone(), "not configured on this cluster");
        }
        refused(found)?;
    }
    let chosen = spec.entry("ipFamilies").or_insert_with(|| json!(["IPv4"]));
    if both && policy != "SingleStack" {
        match chosen.as_array().map(Vec::as_slice) {
            Some([one]) if one == "IPv6" => *chosen = json!(["IPv6", "IPv4"]),
            Some([_]) => *chosen = json!(["IPv4", "IPv6"]),
            _ => {}
        }
    }
    spec.insert("ipFamilyPolicy".to_owned(), policy.into());
    Ok(())
}

fn count(list: Option<&Value>) -> usize {
    list.and_then(Value::as_array).map_or(0, Vec::len)
}

/// Of two families the second one goes if there is to be one only; nobody takes it away otherwise.
fn release(spec: &mut Map<String, Value>, before: &Value, policy: &str, found: &mut ErrorList) {
    for (field, what) in [("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")] {
        let (after, was) = (count(spec.get(field)), count(before.get(field)));
        if policy == "SingleStack" {
            let is_same = spec.get(field) == before.get(field);
            if let Some(list) = spec.get_mut(field).and_then(Value::as_array_mut).filter(|_| is_same) {
                list.truncate(1);
            }
        } else if (1..was).contains(&after) {
            let detail = format!("must be 'SingleStack' to release the secondary {what}");
            found.invalid(&SPEC.child("ipFamilyPolicy"), policy, &detail);
        }
    }
}
