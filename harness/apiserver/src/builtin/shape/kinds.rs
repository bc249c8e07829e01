//! Which Rust type is which kind. A type is compiled when its kind is first used.

use std::sync::OnceLock;

use k8s_openapi::api;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

use super::Shape;
use super::compile::compile;

macro_rules! kinds {
    ($($group:literal $version:literal: $($kind:literal => $type:ty),+;)+) => {
        /// The shape of a kind.
        fn shape(group: &str, version: &str, kind: &str) -> Option<&'static Shape> {
            match (group, version, kind) {
                $($(($group, $version, $kind) => {
                    static SHAPE: OnceLock<Shape> = OnceLock::new();
                    Some(SHAPE.get_or_init(compile::<$type>))
                })+)+
                _ => None,
            }
        }

        #[cfg(test)]
        pub(super) const ALL: &[(&str, &str, &str)] = &[$($(($group, $version, $kind)),+),+];
    };
}

kinds! {
    "" "v1":
        "ConfigMap" => api::core::v1::ConfigMap,
        "Endpoints" => api::core::v1::Endpoints,
        "Event" => api::core::v1::Event,
        "LimitRange" => api::core::v1::LimitRange,
        "Namespace" => api::core::v1::Namespace,
        "Node" => api::core::v1::Node,
        "PersistentVolume" => api::core::v1::PersistentVolume,
        "PersistentVolumeClaim" => api::core::v1::PersistentVolumeClaim,
        "Pod" => api::core::v1::Pod,
        "PodTemplate" => api::core::v1::PodTemplate,
        "ReplicationController" => api::core::v1::ReplicationController,
        "ResourceQuota" => api::core::v1::ResourceQuota,
        "Secret" => api::core::v1::Secret,
        "Service" => api::core::v1::Service,
        "ServiceAccount" => api::core::v1::ServiceAccount,
        "Binding" => api::core::v1::Binding;
    "apps" "v1":
        "ControllerRevision" => api::apps::v1::ControllerRevision,
        "DaemonSet" => api::apps::v1::DaemonSet,
        "Deployment" => api::apps::v1::Deployment,
        "ReplicaSet" => api::apps::v1::ReplicaSet,
        "StatefulSet" => api::apps::v1::StatefulSet;
    "events.k8s.io" "v1":
        "Event" => api::events::v1::Event;
    "authentication.k8s.io" "v1":
        "SelfSubjectReview" => api::authentication::v1::SelfSubjectReview,
        "TokenReview" => api::authentication::v1::TokenReview,
        "TokenRequest" => api::authentication::v1::TokenRequest;
    "authorization.k8s.io" "v1":
        "LocalSubjectAccessReview" => api::authorization::v1::LocalSubjectAccessReview,
        "SelfSubjectAccessReview" => api::authorization::v1::SelfSubjectAccessReview,
        "SelfSubjectRulesReview" => api::authorization::v1::SelfSubjectRulesReview,
        "SubjectAccessReview" => api::authorization::v1::SubjectAccessReview;
    "autoscaling" "v1":
        "HorizontalPodAutoscaler" => api::autoscaling::v1::HorizontalPodAutoscaler;
    "autoscaling" "v2":
        "HorizontalPodAutoscaler" => api::autoscaling::v2::HorizontalPodAutoscaler;
    "batch" "v1":
        "CronJob" => api::batch::v1::CronJob,
        "Job" => api::batch::v1::Job;
    "certificates.k8s.io" "v1":
        "CertificateSigningRequest" => api::certificates::v1::CertificateSigningRequest;
    "networking.k8s.io" "v1":
        "Ingress" => api::networking::v1::Ingress,
        "IngressClass" => api::networking::v1::IngressClass,
        "IPAddress" => api::networking::v1::IPAddress,
        "NetworkPolicy" => api::networking::v1::NetworkPolicy,
        "ServiceCIDR" => api::networking::v1::ServiceCIDR;
    "policy" "v1":
        "Eviction" => api::policy::v1::Eviction,
        "PodDisruptionBudget" => api::policy::v1::PodDisruptionBudget;
    "rbac.authorization.k8s.io" "v1":
        "ClusterRole" => api::rbac::v1::ClusterRole,
        "ClusterRoleBinding" => api::rbac::v1::ClusterRoleBinding,
        "Role" => api::rbac::v1::Role,
        "RoleBinding" => api::rbac::v1::RoleBinding;
    "storage.k8s.io" "v1":
        "CSIDriver" => api::storage::v1::CSIDriver,
        "CSINode" => api::storage::v1::CSINode,
        "CSIStorageCapacity" => api::storage::v1::CSIStorageCapacity,
        "StorageClass" => api::storage::v1::StorageClass,
        "VolumeAttachment" => api::storage::v1::VolumeAttachment,
        "VolumeAttributesClass" => api::storage::v1::VolumeAttributesClass;
    "admissionregistration.k8s.io" "v1":
        "MutatingWebhookConfiguration" => api::admissionregistration::v1::MutatingWebhookConfiguration,
        "ValidatingAdmissionPolicy" => api::admissionregistration::v1::ValidatingAdmissionPolicy,
        "ValidatingAdmissionPolicyBinding" => api::admissionregistration::v1::ValidatingAdmissionPolicyBinding,
        "ValidatingWebhookConfiguration" => api::admissionregistration::v1::ValidatingWebhookConfiguration;
    "scheduling.k8s.io" "v1":
        "PriorityClass" => api::scheduling::v1::PriorityClass;
    "coordination.k8s.io" "v1":
        "Lease" => api::coordination::v1::Lease;
    "node.k8s.io" "v1":
        "RuntimeClass" => api::node::v1::RuntimeClass;
    "discovery.k8s.io" "v1":
        "EndpointSlice" => api::discovery::v1::EndpointSlice;
}

/// Brings an object of a built-in kind into its typed form.
///
/// # Errors
/// The decoder's own words, such as `json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of
/// type int32`. Kinds without a table (`CustomResourceDefinition`) are left as they are.
pub fn decode(group: &str, version: &str, kind: &str, object: &mut Value) -> Result<(), String> {
    shape(group, version, kind).map_or(Ok(()), |shape| shape.decode(object))
}

/// Brings the metadata of an object into its typed form, as [`decode`] does.
///
/// # Errors
/// Those of [`decode`].
pub(crate) fn decode_metadata(metadata: &mut Value) -> Result<(), String> {
    static SHAPE: OnceLock<Shape> = OnceLock::new();
    SHAPE.get_or_init(compile::<ObjectMeta>).decode(metadata)
}

/// An object of a kind in which nothing is set, as it is written; without its type.
pub(crate) fn empty(group: &str, version: &str, kind: &str) -> Option<Value> {
    let mut object = json!({"metadata": {}});
    // There is nothing in it that could have the wrong type.
    shape(group, version, kind)?.decode(&mut object).ok()?;
    Some(object)
}

/// The status that a new object of a kind has.
pub(crate) fn zero_status(group: &str, version: &str, kind: &str) -> Option<Value> {
    shape(group, version, kind)?.zero_status()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::builtin::catalogue;

    #[test]
    fn every_stored_kind_has_a_shape() {
        let without = ["CustomResourceDefinition"];
        for resource in catalogue::resources().filter(|resource| resource.stored) {
            let known =
                ALL.contains(&(resource.group, resource.version, resource.kind)) || without.contains(&resource.kind);
            assert!(known, "{}", resource.qualified());
        }
    }

    #[test]
    fn empty_fields_go_and_structures_stay() {
        let mut deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "nonsense": 1, "metadata": {"name": "a", "labels": {}},
            "spec": {
                "replicas": 0, "minReadySeconds": 0, "selector": {"matchLabels": {}},
                "template": {"spec": {"containers": [{"name": "c", "env": null, "resources": {"limits": {"cpu": 0.5}}}]}},
            },
        });
        assert_eq!(decode("apps", "v1", "Deployment", &mut deployment), Ok(()));
        assert_eq!(
            deployment,
            json!({
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
                "spec": {
                    "replicas": 0, "selector": {}, "strategy": {},
                    "template": {
                        "metadata": {},
                        "spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "500m"}}}]},
                    },
                },
                "status": {},
            })
        );
    }

    #[test]
    fn wrong_types_are_worded_as_the_decoder_does() {
        for (group, kind, object, expected) in [
            (
                "apps",
                "Deployment",
                json!({"spec": {"replicas": "three"}}),
                "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
            ),
            (
                "",
                "ConfigMap",
                json!({"data": {"k": 5}}),
                "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
            ),
            (
                "",
                "Pod",
                json!({"spec": {"containers": {"a": 1}}}),
                "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container",
            ),
            (
                "",
                "Secret",
                json!({"data": {"k": "%%%"}}),
                "illegal base64 data at input byte 0",
            ),
        ] {
            let mut object = object;
            assert_eq!(decode(group, "v1", kind, &mut object), Err(expected.to_owned()));
        }
    }
}
