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
        ("", "PersistentVolumeClaim") => &[
            In("spec", &[TextIfNone("volumeMode", "Filesystem")]),
            In("status", &[Text("phase", "Pending")]),
        ],
        ("networking.k8s.io", "NetworkPolicy") => NETWORK_POLICY,
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => ROLE_BINDING,
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration") => &[Each("webhooks", WEBHOOK)],
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration") => &[Each(
            "webhooks",
            &[Also(WEBHOOK), TextIfNone("reinvocationPolicy", "Never")],
        )],
        _ => &[],
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

fn policy_types(spec: &mut Object) {
    let types = if spec.contains_key("egress") {
        json!(["Ingress", "Egress"])
    } else {
        json!(["Ingress"])
    };
    set(spec, "policyTypes", || types);
}
