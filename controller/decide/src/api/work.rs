//! `Work`: one copy of a resource on one member, in the namespace `karmada-es-<cluster>`.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::binding::ResourceHealth;

/// Objects to apply to the member.
#[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "work.karmada.io",
    version = "v1alpha1",
    kind = "Work",
    plural = "works",
    shortname = "wk",
    category = "karmada-io",
    namespaced,
    status = "WorkStatus",
    doc = "One copy of a resource on one member cluster.",
    crates(kube_core = "kube_core"),
    printcolumn(
        name = "Applied",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Applied\")].status"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct WorkSpec {
    /// Objects of the Work.
    pub workload: WorkloadTemplate,
    /// Keeps the object on the member when the Work is deleted (DRN-02).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preserve_resources_on_deletion: Option<bool>,
}

/// The objects of a Work.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct WorkloadTemplate {
    /// Manifests of the objects; in practice one.
    #[serde(default)]
    #[schemars(schema_with = "manifests")]
    pub manifests: Vec<Value>,
}

/// Observed state of the objects on the member.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkStatus {
    /// Conditions: `Applied`; `Removed` while the object is marked for deletion and still exists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Status and health of each object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub manifest_statuses: Vec<ManifestStatus>,
}

/// Status and health of one object on the member.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ManifestStatus {
    /// Identity of the object.
    pub identifier: ResourceIdentifier,
    /// The object's `.status`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::any_object")]
    pub status: Option<Value>,
    /// Health of the object.
    #[serde(default)]
    #[schemars(schema_with = "super::binding::health")]
    pub health: ResourceHealth,
    /// Time at which the status was first collected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::date_time")]
    pub first_collected: Option<Timestamp>,
}

/// Identity of one object on a member.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceIdentifier {
    /// Position in the list of manifests.
    pub ordinal: i32,
    /// API group; empty for the core group.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// API version.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// Plural name of the resource, such as `deployments`.
    #[serde(default)]
    #[schemars(required)]
    pub resource: String,
    /// Namespace; empty for cluster-scoped objects.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Name.
    pub name: String,
}

fn manifests(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "array",
        "items": {
            "type": "object",
            "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true
        }
    })
}
