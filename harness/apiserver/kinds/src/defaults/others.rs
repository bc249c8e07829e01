//! Defaults of kinds that run no pods.

use base64::Engine as _;
use serde_json::{Value, json};

use super::rules::Rule::{Also, Bool, Do, Each, Empty, If, In, Int, Text, TextIfNone};
use super::rules::{Object, Rule, set};
use crate::members::name_label;

pub(super) const SECRET: &[Rule] = &[Do(string_data), Text("type", "Opaque")];

pub(super) const LEASE: &[Rule] = &[In("spec", &[Do(no_strategy)])];

pub(super) const NAMESPACE: &[Rule] = &[Do(name_label), In("status", &[Text("phase", "Active")])];

pub(super) const CLAIM: &[Rule] = &[
    In("spec", &[TextIfNone("volumeMode", "Filesystem")]),
    In("status", &[Text("phase", "Pending")]),
];

pub(super) const VALIDATING_WEBHOOKS: &[Rule] = &[Each("webhooks", WEBHOOK)];

pub(super) const MUTATING_WEBHOOKS: &[Rule] = &[Each(
    "webhooks",
    &[Also(WEBHOOK), TextIfNone("reinvocationPolicy", "Never")],
)];

pub(super) const SERVICE: &[Rule] = &[In(
    "spec",
    &[
        Text("sessionAffinity", "None"),
        Text("type", "ClusterIP"),
        Each("ports", &[Text("protocol", "TCP"), Do(target_port)]),
        TextIfNone("internalTrafficPolicy", "Cluster"),
        If("type", "NodePort", EXTERNAL),
        If("type", "LoadBalancer", EXTERNAL),
        If("type", "LoadBalancer", &[Bool("allocateLoadBalancerNodePorts", true)]),
    ],
)];

const EXTERNAL: &[Rule] = &[Text("externalTrafficPolicy", "Cluster")];

pub(super) const NETWORK_POLICY: &[Rule] = &[In(
    "spec",
    &[
        Do(policy_types),
        Each("ingress", &[Each("ports", &[TextIfNone("protocol", "TCP")])]),
        Each("egress", &[Each("ports", &[TextIfNone("protocol", "TCP")])]),
    ],
)];

pub(super) const ROLE_BINDING: &[Rule] = &[
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

/// Moves `stringData` into `data`.
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

/// Drops the fields of coordinated leader election, which is off by default.
fn no_strategy(spec: &mut Object) {
    spec.remove("strategy");
    spec.remove("preferredHolder");
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
