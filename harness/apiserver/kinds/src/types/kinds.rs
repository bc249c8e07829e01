//! The built-in kinds and the functions that make their schemas.

use k8s_openapi::Resource;
use k8s_openapi::api::{
    admissionregistration::v1 as admissionregistration, apps::v1 as apps, authentication::v1 as authentication,
    authorization::v1 as authorization, autoscaling::v1 as autoscaling, autoscaling::v2 as autoscaling_v2,
    batch::v1 as batch, certificates::v1 as certificates, coordination::v1 as coordination, core::v1 as core,
    discovery::v1 as discovery, events::v1 as events, networking::v1 as networking, node::v1 as node,
    policy::v1 as policy, rbac::v1 as rbac, scheduling::v1 as scheduling, storage::v1 as storage,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as apiextensions;
use schemars::{JsonSchema, Schema, SchemaGenerator};

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

const fn kind<K: Resource + JsonSchema>() -> Kind {
    Kind {
        group: K::GROUP,
        version: K::VERSION,
        name: K::KIND,
        schema: SchemaGenerator::subschema_for::<K>,
    }
}

/// All kinds, in order of group, version and kind.
pub static KINDS: &[Kind] = &[
    kind::<core::Binding>(),
    kind::<core::ComponentStatus>(),
    kind::<core::ConfigMap>(),
    kind::<core::Endpoints>(),
    kind::<core::Event>(),
    kind::<core::LimitRange>(),
    kind::<core::Namespace>(),
    kind::<core::Node>(),
    kind::<core::PersistentVolume>(),
    kind::<core::PersistentVolumeClaim>(),
    kind::<core::Pod>(),
    kind::<core::PodTemplate>(),
    kind::<core::ReplicationController>(),
    kind::<core::ResourceQuota>(),
    kind::<core::Secret>(),
    kind::<core::Service>(),
    kind::<core::ServiceAccount>(),
    kind::<admissionregistration::MutatingWebhookConfiguration>(),
    kind::<admissionregistration::ValidatingWebhookConfiguration>(),
    kind::<apiextensions::CustomResourceDefinition>(),
    kind::<apps::ControllerRevision>(),
    kind::<apps::DaemonSet>(),
    kind::<apps::Deployment>(),
    kind::<apps::ReplicaSet>(),
    kind::<apps::StatefulSet>(),
    kind::<authentication::SelfSubjectReview>(),
    kind::<authentication::TokenRequest>(),
    kind::<authentication::TokenReview>(),
    kind::<authorization::LocalSubjectAccessReview>(),
    kind::<authorization::SelfSubjectAccessReview>(),
    kind::<authorization::SelfSubjectRulesReview>(),
    kind::<authorization::SubjectAccessReview>(),
    kind::<autoscaling::Scale>(),
    kind::<autoscaling_v2::HorizontalPodAutoscaler>(),
    kind::<batch::CronJob>(),
    kind::<batch::Job>(),
    kind::<certificates::CertificateSigningRequest>(),
    kind::<coordination::Lease>(),
    kind::<discovery::EndpointSlice>(),
    kind::<events::Event>(),
    kind::<networking::IPAddress>(),
    kind::<networking::Ingress>(),
    kind::<networking::IngressClass>(),
    kind::<networking::NetworkPolicy>(),
    kind::<networking::ServiceCIDR>(),
    kind::<node::RuntimeClass>(),
    kind::<policy::Eviction>(),
    kind::<policy::PodDisruptionBudget>(),
    kind::<rbac::ClusterRole>(),
    kind::<rbac::ClusterRoleBinding>(),
    kind::<rbac::Role>(),
    kind::<rbac::RoleBinding>(),
    kind::<scheduling::PriorityClass>(),
    kind::<storage::CSIDriver>(),
    kind::<storage::CSINode>(),
    kind::<storage::CSIStorageCapacity>(),
    kind::<storage::StorageClass>(),
    kind::<storage::VolumeAttachment>(),
    kind::<storage::VolumeAttributesClass>(),
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
