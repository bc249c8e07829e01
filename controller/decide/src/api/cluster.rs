//! `Cluster`: a member cluster, how to reach it, and its taints.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Connection details and taints of a member cluster.
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
    /// Unique identifier of the member; kept but not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Sync mode; only `Push` is supported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync_mode: Option<String>,
    /// URL of the member's API server, such as `https://10.0.0.1:6443`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_endpoint: Option<String>,
    /// Secret that holds `token` and `caBundle`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretReference>,
    /// Secret for impersonation; kept but not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impersonator_secret_ref: Option<SecretReference>,
    /// Skips verification of the member's certificate.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        rename = "insecureSkipTLSVerification"
    )]
    pub insecure_skip_tls_verification: Option<bool>,
    /// URL of the proxy to the member.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "proxyURL")]
    pub proxy_url: Option<String>,
    /// Provider; kept but not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Region; kept but not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Zones; kept but not used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
    /// Taints of the cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
}

/// Reference to a secret.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct SecretReference {
    /// Namespace of the secret.
    pub namespace: String,
    /// Name of the secret.
    pub name: String,
}

/// A taint of a cluster: it repels or evicts workloads that do not tolerate it.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Taint {
    /// Key of the taint.
    #[schemars(length(min = 1))]
    pub key: String,
    /// Value that belongs to the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Effect on workloads that do not tolerate the taint.
    pub effect: TaintEffect,
    /// Time at which the taint was added; the controller sets it if the writer did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::date_time")]
    pub time_added: Option<Timestamp>,
}

/// Effect of a taint.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum TaintEffect {
    /// Schedules no new workloads to the cluster (TNT-02).
    NoSchedule,
    /// Schedules new workloads to the cluster only if no other cluster fits.
    PreferNoSchedule,
    /// Schedules no new workloads to the cluster and evicts those that run there (TNT-01).
    NoExecute,
    /// Evicts workloads whose policy opts in (PNE).
    PreferNoExecute,
}

impl TaintEffect {
    /// Returns the name of the effect in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
            Self::PreferNoExecute => "PreferNoExecute",
        }
    }
}

/// Observed state of a member.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStatus {
    /// Version of the member's API server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
    /// Conditions: `Ready`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}
