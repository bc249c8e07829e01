//! Defaults of all other kinds.

use base64::Engine as _;
use serde_json::{Value, json};

use super::rules::Rule::{Also, Bool, Do, Each, Empty, If, In, Int, Text, TextIfNone};
use super::rules::{Object, Rule, apply, set};
use crate::members::name_label;

/// The rules of a kind that runs no pods.
pub(super) fn rules_of(group: &str, kind: &str) -> &'static [Rule] {
    match (group, kind) {
        ("", "Service") => SERVICE,
        ("", "Secret") => &[Do(string_data), Text("type", "Opaque")],
        ("coordination.k8s.io", "Lease") => &[In("spec", &[Do(no_strategy)])],
        ("", "Namespace") => &[Do(name_label), In("status", &[Text("phase", "Active")])],
        ("", "Node") => &[In("spec", &[Do(pod_ranges)]), In("status", &[Do(allocatable)])],
        ("", "Endpoints") => &[Each(
            "subsets",
            &[Each("ports", &[Do(no_empty_name), Text("protocol", "TCP")])],
        )],
        ("", "PersistentVolumeClaim") => &[
            In("spec", &[TextIfNone("volumeMode", "Filesystem")]),
            In("status", &[Text("phase", "Pending")]),
        ],
        ("discovery.k8s.io", "EndpointSlice") => &[Each("ports", &[Do(port_name), TextIfNone("protocol", "TCP")])],
        ("networking.k8s.io", "NetworkPolicy") => NETWORK_POLICY,
        ("networking.k8s.io", "IngressClass") => &[In("spec", &[In("parameters", &[TextIfNone("scope", "Cluster")])])],
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => ROLE_BINDING,
        ("scheduling.k8s.io", "PriorityClass") => &[TextIfNone("preemptionPolicy", "PreemptLowerPriority")],
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration") => &[Each("webhooks", WEBHOOK)],
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration") => &[Each(
            "webhooks",
            &[Also(WEBHOOK), TextIfNone("reinvocationPolicy", "Never")],
        )],
        _ => &[],
    }
}

/// The range of addresses of a node's pods is the first of its ranges.
fn pod_ranges(spec: &mut Object) {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let single = text(spec.get("podCIDR"));
    let first = text(spec.get("podCIDRs").and_then(|ranges| ranges.get(0)));
    if single.is_empty() && !first.is_empty() {
        spec.insert("podCIDR".to_owned(), first.into());
    } else if !single.is_empty() && single != first {
        spec.insert("podCIDRs".to_owned(), json!([single]));
    }
}

const SERVICE: &[Rule] = &[
    In(
        "spec",
        &[
            Text("sessionAffinity", "None"),
            Do(affinity),
            Text("type", "ClusterIP"),
            Each("ports", &[Text("protocol", "TCP"), Do(target_port)]),
            If(
                "type",
                "NodePort",
                &[
                    Text("externalTrafficPolicy", "Cluster"),
                    TextIfNone("internalTrafficPolicy", "Cluster"),
                ],
            ),
            If(
                "type",
                "LoadBalancer",
                &[
                    Text("externalTrafficPolicy", "Cluster"),
                    TextIfNone("internalTrafficPolicy", "Cluster"),
                    Bool("allocateLoadBalancerNodePorts", true),
                ],
            ),
            If(
                "type",
                "ClusterIP",
                &[TextIfNone("internalTrafficPolicy", "Cluster"), Do(outer_policy)],
            ),
        ],
    ),
    Do(ingress_mode),
];

/// A balancer's own address is on the nodes, unless it says otherwise.
fn ingress_mode(service: &mut Object) {
    let is_balanced = service
        .get("spec")
        .is_some_and(|spec| spec.get("type").is_some_and(|kind| kind == "LoadBalancer"));
    let status = service.get_mut("status").filter(|_| is_balanced);
    let points = status.and_then(|status| status.pointer_mut("/loadBalancer/ingress")?.as_array_mut());
    for point in points.into_iter().flatten().filter_map(Value::as_object_mut) {
        if point.contains_key("ip") {
            point.entry("ipMode").or_insert_with(|| Value::from("VIP"));
        }
    }
}

/// Traffic to addresses from outside has a policy as well.
fn outer_policy(spec: &mut Object) {
    let outer = spec.get("externalIPs").and_then(Value::as_array);
    if outer.is_some_and(|addresses| !addresses.is_empty()) {
        set(spec, "externalTrafficPolicy", || Value::from("Cluster"));
    }
}

const NETWORK_POLICY: &[Rule] = &[In(
    "spec",
    &[
        Do(policy_types),
        Each("ingress", &[Each("ports", &[TextIfNone("protocol", "TCP")])]),
        Each("egress", &[Each("ports", &[TextIfNone("protocol", "TCP")])]),
    ],
)];

const ROLE_BINDING: &[Rule] = &[
    In("roleRef", &[Text("apiGroup", "rbac.authorization.k8s.io")]),
    Each(
        "subjects",
        &[
            If("kind", "User", &[Text("apiGroup", "rbac.authorization.k8s.io")]),
            If("kind", "Group", &[Text("apiGroup", "rbac.authorization.k8s.io")]),
        ],
    ),
];

const RULES: &[Rule] = &[TextIfNone("scope", "*")];

const WEBHOOK: &[Rule] = &[
    TextIfNone("failurePolicy", "Fail"),
    TextIfNone("matchPolicy", "Equivalent"),
    Empty("namespaceSelector"),
    Empty("objectSelector"),
    Int("timeoutSeconds", 10),
    Each("rules", RULES),
    In("clientConfig", &[In("service", &[Int("port", 443)])]),
];

/// `stringData` is a way to write `data`.
fn string_data(secret: &mut Object) {
    let Some(Value::Object(texts)) = secret.remove("stringData") else {
        return;
    };
    let data = secret.entry("data").or_insert_with(|| json!({}));
    if let Some(data) = data.as_object_mut() {
        for (key, text) in texts {
            let encoded = base64::engine::general_purpose::STANDARD.encode(text.as_str().unwrap_or_default());
            data.insert(key, encoded.into());
        }
    }
}

/// Coordinated leader election is off by default; its fields are dropped.
fn no_strategy(spec: &mut Object) {
    spec.remove("strategy");
    spec.remove("preferredHolder");
}

/// How long a client's requests go to the same pod; nothing of it where they need not.
fn affinity(spec: &mut Object) {
    const FIELD: &str = "sessionAffinityConfig";
    match spec.get("sessionAffinity").and_then(Value::as_str) {
        Some("ClientIP") => {
            let config = spec.entry(FIELD).or_insert_with(|| json!({}));
            if let Some(config) = config.as_object_mut() {
                let client = config.entry("clientIP").or_insert_with(|| json!({}));
                if let Some(client) = client.as_object_mut() {
                    set(client, "timeoutSeconds", || Value::from(10_800));
                }
            }
        }
        Some("None") => {
            spec.remove(FIELD);
        }
        _ => {}
    }
}

fn target_port(port: &mut Object) {
    let number = port.get("port").cloned().unwrap_or_default();
    let is_missing = port
        .get("targetPort")
        .is_none_or(|target| target.as_i64() == Some(0) || target.as_str() == Some(""));
    if is_missing {
        port.insert("targetPort".to_owned(), number);
    }
}

fn allocatable(status: &mut Object) {
    if let Some(capacity) = status.get("capacity").cloned() {
        set(status, "allocatable", || capacity);
    }
}

/// The name of a port of `Endpoints` is no pointer, unlike that of a slice.
fn no_empty_name(port: &mut Object) {
    if port.get("name").and_then(Value::as_str) == Some("") {
        port.remove("name");
    }
}

/// The name of a port is a pointer that defaults to no name.
fn port_name(port: &mut Object) {
    port.entry("name").or_insert_with(|| Value::from(""));
}

fn policy_types(spec: &mut Object) {
    let types = if spec.contains_key("egress") {
        json!(["Ingress", "Egress"])
    } else {
        json!(["Ingress"])
    };
    set(spec, "policyTypes", || types);
}
