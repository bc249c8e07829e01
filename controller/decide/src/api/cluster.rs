//! `Cluster`: a member, how to reach it, and its taints.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How to reach a member, and what is wrong with it.
#[expect(clippy::duplicated_attributes, reason = "columns of the same type")]
#[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "cluster.karmada.io",
    version = "v1alpha1",
    kind = "Cluster",
    plural = "clusters",
    category = "karmada-io",
    status = "ClusterStatus",
    doc = "A member cluster.",
    crates(kube_core = "kube_core"),
    printcolumn(name = "Version", type_ = "string", json_path = ".status.kubernetesVersion"),
    printcolumn(name = "Mode", type_ = "string", json_path = ".spec.syncMode"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "APIEndpoint",
        type_ = "string",
        json_path = ".spec.apiEndpoint",
        priority = 1
    )
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSpec {
    /// A unique identifier of the member; carried along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `Push`, the only mode there is here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync_mode: Option<String>,
    /// The member's API server, such as `https://10.0.0.1:6443`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_endpoint: Option<String>,
    /// The secret with `token` and `caBundle`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretReference>,
    /// A secret for impersonation; carried along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impersonator_secret_ref: Option<SecretReference>,
    /// Do not verify the member's certificate.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        rename = "insecureSkipTLSVerification"
    )]
    pub insecure_skip_tls_verification: Option<bool>,
    /// Proxy to the member.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "proxyURL")]
    pub proxy_url: Option<String>,
    /// Provider; carried along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Region; carried along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Zones; carried along.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
    /// What is wrong with the member.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
}

/// Names a secret.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct SecretReference {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// Something that is wrong with a cluster.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Taint {
    /// What.
    #[schemars(length(min = 1))]
    pub key: String,
    /// A value to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What follows from it.
    pub effect: TaintEffect,
    /// Since when; set by the controller if the writer did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::date_time")]
    pub time_added: Option<Timestamp>,
}

/// What follows from a taint.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum TaintEffect {
    /// Nothing new comes here (TNT-02).
    NoSchedule,
    /// Nothing new comes here if it can be helped.
    PreferNoSchedule,
    /// Nothing new comes here, and what is here leaves (TNT-01).
    NoExecute,
    /// What asks for it leaves (PNE).
    PreferNoExecute,
}

impl TaintEffect {
    /// The effect as it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
            Self::PreferNoExecute => "PreferNoExecute",
        }
    }
}

/// What is known of a member.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStatus {
    /// Version of its API server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
    /// `Ready`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}
