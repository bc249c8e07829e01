//! The built-in kinds and where their schemas are.

use k8s_openapi::api;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as apiextensions;
use schemars::{Schema, SchemaGenerator};

/// A built-in kind.
pub struct Kind {
    /// `apps`; empty for the core group.
    pub group: &'static str,
    /// `v1`.
    pub version: &'static str,
    /// `Deployment`.
    pub name: &'static str,
    /// Makes the schema, and the definitions that it needs.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
}

const fn kind(
    group: &'static str,
    version: &'static str,
    name: &'static str,
    schema: fn(&mut SchemaGenerator) -> Schema,
) -> Kind {
    Kind {
        group,
        version,
        name,
        schema,
    }
}

/// All of them, in order of group, version and kind.
pub static KINDS: &[Kind] = &[
    kind(
        "",
        "v1",
        "Binding",
        SchemaGenerator::subschema_for::<api::core::v1::Binding>,
    ),
    kind(
        "",
        "v1",
        "ComponentStatus",
        SchemaGenerator::subschema_for::<api::core::v1::ComponentStatus>,
    ),
    kind(
        "",
        "v1",
        "ConfigMap",
        SchemaGenerator::subschema_for::<api::core::v1::ConfigMap>,
    ),
    kind(
        "",
        "v1",
        "Endpoints",
        SchemaGenerator::subschema_for::<api::core::v1::Endpoints>,
    ),
    kind(
        "",
        "v1",
        "Event",
        SchemaGenerator::subschema_for::<api::core::v1::Event>,
    ),
    kind(
        "",
        "v1",
        "LimitRange",
        SchemaGenerator::subschema_for::<api::core::v1::LimitRange>,
    ),
    kind(
        "",
        "v1",
        "Namespace",
        SchemaGenerator::subschema_for::<api::core::v1::Namespace>,
    ),
    kind("", "v1", "Node", SchemaGenerator::subschema_for::<api::core::v1::Node>),
    kind(
        "",
        "v1",
        "PersistentVolume",
        SchemaGenerator::subschema_for::<api::core::v1::PersistentVolume>,
    ),
    kind(
        "",
        "v1",
        "PersistentVolumeClaim",
        SchemaGenerator::subschema_for::<api::core::v1::PersistentVolumeClaim>,
    ),
    kind("", "v1", "Pod", SchemaGenerator::subschema_for::<api::core::v1::Pod>),
    kind(
        "",
        "v1",
        "PodTemplate",
        SchemaGenerator::subschema_for::<api::core::v1::PodTemplate>,
    ),
    kind(
        "",
        "v1",
        "ReplicationController",
        SchemaGenerator::subschema_for::<api::core::v1::ReplicationController>,
    ),
    kind(
        "",
        "v1",
        "ResourceQuota",
        SchemaGenerator::subschema_for::<api::core::v1::ResourceQuota>,
    ),
    kind(
        "",
        "v1",
        "Secret",
        SchemaGenerator::subschema_for::<api::core::v1::Secret>,
    ),
    kind(
        "",
        "v1",
        "Service",
        SchemaGenerator::subschema_for::<api::core::v1::Service>,
    ),
    kind(
        "",
        "v1",
        "ServiceAccount",
        SchemaGenerator::subschema_for::<api::core::v1::ServiceAccount>,
    ),
    kind(
        "admissionregistration.k8s.io",
        "v1",
        "MutatingAdmissionPolicy",
        SchemaGenerator::subschema_for::<api::admissionregistration::v1::MutatingAdmissionPolicy>,
    ),
    kind(
        "admissionregistration.k8s.io",
        "v1",
        "MutatingAdmissionPolicyBinding",
        SchemaGenerator::subschema_for::<api::admissionregistration::v1::MutatingAdmissionPolicyBinding>,
    ),
    kind(
        "admissionregistration.k8s.io",
        "v1",
        "MutatingWebhookConfiguration",
        SchemaGenerator::subschema_for::<api::admissionregistration::v1::MutatingWebhookConfiguration>,
    ),
    kind(
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingAdmissionPolicy",
        SchemaGenerator::subschema_for::<api::admissionregistration::v1::ValidatingAdmissionPolicy>,
    ),
    kind(
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingAdmissionPolicyBinding",
        SchemaGenerator::subschema_for::<api::admissionregistration::v1::ValidatingAdmissionPolicyBinding>,
    ),
    kind(
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingWebhookConfiguration",
        SchemaGenerator::subschema_for::<api::admissionregistration::v1::ValidatingWebhookConfiguration>,
    ),
    kind(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        SchemaGenerator::subschema_for::<apiextensions::CustomResourceDefinition>,
    ),
    kind(
        "apps",
        "v1",
        "ControllerRevision",
        SchemaGenerator::subschema_for::<api::apps::v1::ControllerRevision>,
    ),
    kind(
        "apps",
        "v1",
        "DaemonSet",
        SchemaGenerator::subschema_for::<api::apps::v1::DaemonSet>,
    ),
    kind(
        "apps",
        "v1",
        "Deployment",
        SchemaGenerator::subschema_for::<api::apps::v1::Deployment>,
    ),
    kind(
        "apps",
        "v1",
        "ReplicaSet",
        SchemaGenerator::subschema_for::<api::apps::v1::ReplicaSet>,
    ),
    kind(
        "apps",
        "v1",
        "StatefulSet",
        SchemaGenerator::subschema_for::<api::apps::v1::StatefulSet>,
    ),
    kind(
        "authentication.k8s.io",
        "v1",
        "SelfSubjectReview",
        SchemaGenerator::subschema_for::<api::authentication::v1::SelfSubjectReview>,
    ),
    kind(
        "authentication.k8s.io",
        "v1",
        "TokenRequest",
        SchemaGenerator::subschema_for::<api::authentication::v1::TokenRequest>,
    ),
    kind(
        "authentication.k8s.io",
        "v1",
        "TokenReview",
        SchemaGenerator::subschema_for::<api::authentication::v1::TokenReview>,
    ),
    kind(
        "authorization.k8s.io",
        "v1",
        "LocalSubjectAccessReview",
        SchemaGenerator::subschema_for::<api::authorization::v1::LocalSubjectAccessReview>,
    ),
    kind(
        "authorization.k8s.io",
        "v1",
        "SelfSubjectAccessReview",
        SchemaGenerator::subschema_for::<api::authorization::v1::SelfSubjectAccessReview>,
    ),
    kind(
        "authorization.k8s.io",
        "v1",
        "SelfSubjectRulesReview",
        SchemaGenerator::subschema_for::<api::authorization::v1::SelfSubjectRulesReview>,
    ),
    kind(
        "authorization.k8s.io",
        "v1",
        "SubjectAccessReview",
        SchemaGenerator::subschema_for::<api::authorization::v1::SubjectAccessReview>,
    ),
    kind(
        "autoscaling",
        "v1",
        "HorizontalPodAutoscaler",
        SchemaGenerator::subschema_for::<api::autoscaling::v1::HorizontalPodAutoscaler>,
    ),
    kind(
        "autoscaling",
        "v1",
        "Scale",
        SchemaGenerator::subschema_for::<api::autoscaling::v1::Scale>,
    ),
    kind(
        "autoscaling",
        "v2",
        "HorizontalPodAutoscaler",
        SchemaGenerator::subschema_for::<api::autoscaling::v2::HorizontalPodAutoscaler>,
    ),
    kind(
        "batch",
        "v1",
        "CronJob",
        SchemaGenerator::subschema_for::<api::batch::v1::CronJob>,
    ),
    kind(
        "batch",
        "v1",
        "Job",
        SchemaGenerator::subschema_for::<api::batch::v1::Job>,
    ),
    kind(
        "certificates.k8s.io",
        "v1",
        "CertificateSigningRequest",
        SchemaGenerator::subschema_for::<api::certificates::v1::CertificateSigningRequest>,
    ),
    kind(
        "coordination.k8s.io",
        "v1",
        "Lease",
        SchemaGenerator::subschema_for::<api::coordination::v1::Lease>,
    ),
    kind(
        "discovery.k8s.io",
        "v1",
        "EndpointSlice",
        SchemaGenerator::subschema_for::<api::discovery::v1::EndpointSlice>,
    ),
    kind(
        "events.k8s.io",
        "v1",
        "Event",
        SchemaGenerator::subschema_for::<api::events::v1::Event>,
    ),
    kind(
        "flowcontrol.apiserver.k8s.io",
        "v1",
        "FlowSchema",
        SchemaGenerator::subschema_for::<api::flowcontrol::v1::FlowSchema>,
    ),
    kind(
        "flowcontrol.apiserver.k8s.io",
        "v1",
        "PriorityLevelConfiguration",
        SchemaGenerator::subschema_for::<api::flowcontrol::v1::PriorityLevelConfiguration>,
    ),
    kind(
        "networking.k8s.io",
        "v1",
        "IPAddress",
        SchemaGenerator::subschema_for::<api::networking::v1::IPAddress>,
    ),
    kind(
        "networking.k8s.io",
        "v1",
        "Ingress",
        SchemaGenerator::subschema_for::<api::networking::v1::Ingress>,
    ),
    kind(
        "networking.k8s.io",
        "v1",
        "IngressClass",
        SchemaGenerator::subschema_for::<api::networking::v1::IngressClass>,
    ),
    kind(
        "networking.k8s.io",
        "v1",
        "NetworkPolicy",
        SchemaGenerator::subschema_for::<api::networking::v1::NetworkPolicy>,
    ),
    kind(
        "networking.k8s.io",
        "v1",
        "ServiceCIDR",
        SchemaGenerator::subschema_for::<api::networking::v1::ServiceCIDR>,
    ),
    kind(
        "node.k8s.io",
        "v1",
        "RuntimeClass",
        SchemaGenerator::subschema_for::<api::node::v1::RuntimeClass>,
    ),
    kind(
        "policy",
        "v1",
        "Eviction",
        SchemaGenerator::subschema_for::<api::policy::v1::Eviction>,
    ),
    kind(
        "policy",
        "v1",
        "PodDisruptionBudget",
        SchemaGenerator::subschema_for::<api::policy::v1::PodDisruptionBudget>,
    ),
    kind(
        "rbac.authorization.k8s.io",
        "v1",
        "ClusterRole",
        SchemaGenerator::subschema_for::<api::rbac::v1::ClusterRole>,
    ),
    kind(
        "rbac.authorization.k8s.io",
        "v1",
        "ClusterRoleBinding",
        SchemaGenerator::subschema_for::<api::rbac::v1::ClusterRoleBinding>,
    ),
    kind(
        "rbac.authorization.k8s.io",
        "v1",
        "Role",
        SchemaGenerator::subschema_for::<api::rbac::v1::Role>,
    ),
    kind(
        "rbac.authorization.k8s.io",
        "v1",
        "RoleBinding",
        SchemaGenerator::subschema_for::<api::rbac::v1::RoleBinding>,
    ),
    kind(
        "resource.k8s.io",
        "v1",
        "DeviceClass",
        SchemaGenerator::subschema_for::<api::resource::v1::DeviceClass>,
    ),
    kind(
        "resource.k8s.io",
        "v1",
        "ResourceClaim",
        SchemaGenerator::subschema_for::<api::resource::v1::ResourceClaim>,
    ),
    kind(
        "resource.k8s.io",
        "v1",
        "ResourceClaimTemplate",
        SchemaGenerator::subschema_for::<api::resource::v1::ResourceClaimTemplate>,
    ),
    kind(
        "resource.k8s.io",
        "v1",
        "ResourceSlice",
        SchemaGenerator::subschema_for::<api::resource::v1::ResourceSlice>,
    ),
    kind(
        "scheduling.k8s.io",
        "v1",
        "PriorityClass",
        SchemaGenerator::subschema_for::<api::scheduling::v1::PriorityClass>,
    ),
    kind(
        "storage.k8s.io",
        "v1",
        "CSIDriver",
        SchemaGenerator::subschema_for::<api::storage::v1::CSIDriver>,
    ),
    kind(
        "storage.k8s.io",
        "v1",
        "CSINode",
        SchemaGenerator::subschema_for::<api::storage::v1::CSINode>,
    ),
    kind(
        "storage.k8s.io",
        "v1",
        "CSIStorageCapacity",
        SchemaGenerator::subschema_for::<api::storage::v1::CSIStorageCapacity>,
    ),
    kind(
        "storage.k8s.io",
        "v1",
        "StorageClass",
        SchemaGenerator::subschema_for::<api::storage::v1::StorageClass>,
    ),
    kind(
        "storage.k8s.io",
        "v1",
        "VolumeAttachment",
        SchemaGenerator::subschema_for::<api::storage::v1::VolumeAttachment>,
    ),
    kind(
        "storage.k8s.io",
        "v1",
        "VolumeAttributesClass",
        SchemaGenerator::subschema_for::<api::storage::v1::VolumeAttributesClass>,
    ),
];

/// The position of a kind in [`KINDS`].
pub(crate) fn position(group: &str, version: &str, kind: &str) -> Option<usize> {
    KINDS
        .binary_search_by(|entry| (entry.group, entry.version, entry.name).cmp(&(group, version, kind)))
        .ok()
}

/// The name of the definition of a kind: `io.k8s.api.apps.v1.Deployment`.
pub fn definition(group: &str, version: &str, kind: &str) -> Option<String> {
    position(group, version, kind)?;
    Some(match group.split('.').next().unwrap_or_default() {
        "" => format!("io.k8s.api.core.{version}.{kind}"),
        "apiextensions" => format!("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.{version}.{kind}"),
        package => format!("io.k8s.api.{package}.{version}.{kind}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_sorted_and_found() {
        assert!(KINDS.is_sorted_by_key(|entry| (entry.group, entry.version, entry.name)));
        for (index, entry) in KINDS.iter().enumerate() {
            assert_eq!(position(entry.group, entry.version, entry.name), Some(index));
        }
        assert_eq!(position("apps", "v1", "Nope"), None);
    }
}
