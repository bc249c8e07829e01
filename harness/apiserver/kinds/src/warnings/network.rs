//! Warnings about what has addresses: Services, their endpoints, nodes, policies.

use std::net::{IpAddr, Ipv6Addr};

use baton_apimachinery::field::FieldPath;
use baton_apimachinery::meta;
use serde_json::Value;

use crate::resources::Resource;

const SPEC: FieldPath<'static> = FieldPath::Named(&FieldPath::Root, "spec");

/// The warnings about an object that was written.
pub(super) fn warnings(resource: &Resource, object: &Value, created: bool, warnings: &mut Vec<String>) {
    match (resource.group, resource.kind) {
        ("", "Service") => {
            renamed_annotation(object, warnings);
            service(object.get("spec"), warnings);
        }
        ("", "Endpoints") => endpoints(object, warnings),
        ("", "Node") => node(object.get("spec"), warnings),
        ("discovery.k8s.io", _) => slice(object, created, warnings),
        ("networking.k8s.io", "Ingress") if created => ingress_class(object, warnings),
        ("networking.k8s.io", "NetworkPolicy") => policy(object.get("spec"), warnings),
        _ => {}
    }
}

fn renamed_annotation(object: &Value, warnings: &mut Vec<String>) {
    const OLD: &str = "service.kubernetes.io/topology-aware-hints";
    if meta::annotation(object, OLD).is_some() {
        warnings.push(format!(
            "annotation {OLD} is deprecated, please use service.kubernetes.io/topology-mode instead"
        ));
    }
}

fn ingress_class(object: &Value, warnings: &mut Vec<String>) {
    const OLD: &str = "kubernetes.io/ingress.class";
    let has_class = object.pointer("/spec/ingressClassName").is_some();
    if meta::annotation(object, OLD).is_some() && !has_class {
        warnings.push(format!(
            "annotation {OLD:?} is deprecated, please use 'spec.ingressClassName' instead"
        ));
    }
}

/// What a Service of its kind does not have, and what is going away.
fn service(spec: Option<&Value>, warnings: &mut Vec<String>) {
    let Some(spec) = spec else { return };
    let text = |field: &str| spec.get(field).and_then(Value::as_str).unwrap_or_default();
    let is_headless = items(spec, "clusterIPs") == ["None"];
    addresses(spec, "clusterIPs", &SPEC, warnings);
    let is_external = text("type") == "ExternalName";
    let has_outer = !items(spec, "externalIPs").is_empty();
    let ignored = [
        ("loadBalancerIP", !text("loadBalancerIP").is_empty()),
        ("externalIPs", has_outer),
        ("SessionAffinity", text("sessionAffinity") != "None"),
    ];
    for (field, _) in ignored.iter().filter(|(_, is_set)| is_headless && *is_set) {
        warnings.push(format!("spec.{field} is ignored for headless services"));
    }
    addresses(spec, "externalIPs", &SPEC, warnings);
    if has_outer && !is_headless && !is_external {
        warnings.push("spec.externalIPs is deprecated and may no longer be implemented in some clusters".to_owned());
    }
    address(text("loadBalancerIP"), &SPEC.child("loadBalancerIP"), warnings);
    ranges(spec, "loadBalancerSourceRanges", &SPEC, warnings);
    if has_outer && is_external {
        warnings.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".to_owned());
    }
    if !is_external && !text("externalName").is_empty() {
        warnings.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".to_owned());
    }
    if text("trafficDistribution") == "PreferClose" {
        warnings.push("spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"".to_owned());
    }
}

fn node(spec: Option<&Value>, warnings: &mut Vec<String>) {
    let Some(spec) = spec else { return };
    if !meta::text(spec, "externalID").is_empty() {
        warnings.push("spec.externalID: this field is deprecated, and is unused by Kubernetes".to_owned());
    }
    ranges(spec, "podCIDRs", &SPEC, warnings);
}

fn endpoints(object: &Value, warnings: &mut Vec<String>) {
    if meta::label(object, "endpoints.kubernetes.io/managed-by") == Some("endpoint-controller") {
        return;
    }
    let at = FieldPath::Named(&FieldPath::Root, "subsets");
    for (index, subset) in items(object, "subsets").iter().enumerate() {
        let at = at.item(index);
        for list in ["addresses", "notReadyAddresses"] {
            let at = at.child(list);
            for (index, each) in items(subset, list).iter().enumerate() {
                address(meta::text(each, "ip"), &at.item(index).child("ip"), warnings);
            }
        }
    }
}

fn slice(object: &Value, created: bool, warnings: &mut Vec<String>) {
    const CONTROLLERS: [&str; 2] = [
        "endpointslice-controller.k8s.io",
        "endpointslicemirroring-controller.k8s.io",
    ];
    if created && meta::text(object, "addressType") == "FQDN" {
        warnings.push("spec.addressType: FQDN endpoints are deprecated".to_owned());
    }
    if meta::label(object, "endpointslice.kubernetes.io/managed-by").is_some_and(|by| CONTROLLERS.contains(&by)) {
        return;
    }
    let at = FieldPath::Named(&FieldPath::Root, "endpoints");
    for (index, endpoint) in items(object, "endpoints").iter().enumerate() {
        addresses(endpoint, "addresses", &at.item(index), warnings);
    }
}

fn policy(spec: Option<&Value>, warnings: &mut Vec<String>) {
    let Some(spec) = spec else { return };
    for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
        let at = SPEC.child(rules);
        for (index, rule) in items(spec, rules).iter().enumerate() {
            let at = at.item(index);
            let at = at.child(peers);
            for (index, peer) in items(rule, peers).iter().enumerate() {
                let Some(block) = peer.get("ipBlock") else { continue };
                let at = at.item(index);
                let at = at.child("ipBlock");
                range(meta::text(block, "cidr"), &at.child("cidr"), warnings);
                ranges(block, "except", &at, warnings);
            }
        }
    }
}

fn items<'a>(object: &'a Value, field: &str) -> &'a [Value] {
    object.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn addresses(object: &Value, field: &str, at: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let at = at.child(field);
    for (index, each) in items(object, field).iter().enumerate() {
        address(each.as_str().unwrap_or_default(), &at.item(index), warnings);
    }
}

/// An address of the sixth version has one way in which it should be written.
fn address(text: &str, at: &FieldPath<'_>, warnings: &mut Vec<String>) {
    if let Ok(IpAddr::V6(six)) = text.parse::<IpAddr>()
        && six.to_string() != text
    {
        warnings.push(format!(
            "{at}: IPv6 address {text:?} should be in RFC 5952 canonical format ({:?})",
            six.to_string()
        ));
    }
}

fn ranges(object: &Value, field: &str, at: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let at = at.child(field);
    for (index, each) in items(object, field).iter().enumerate() {
        range(each.as_str().unwrap_or_default(), &at.item(index), warnings);
    }
}

fn range(text: &str, at: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let Some((address, length)) = text.split_once('/') else {
        return;
    };
    let Ok(six) = address.parse::<Ipv6Addr>() else { return };
    let canonical = format!("{six}/{length}");
    if canonical != text {
        warnings.push(format!(
            "{at}: IPv6 CIDR value {text:?} should be in RFC 5952 canonical format ({canonical:?})"
        ));
    }
}
