//! The kinds with hand-written rules, and the file that needs each.
//!
//! A built-in kind is data: its types and the merging of their fields (`generated/types.txt`), its row in
//! `generated/resources.txt`, and the fields whose changes count as a new generation. That is enough to create, apply,
//! patch, watch and delete it. A [`RuledKind`] has more: defaults, validation, columns. The suite writes these kinds;
//! the table names a file that needs each. A test fails if that file is gone or no longer mentions the kind.

use crate::resources::Resource;

/// A kind with hand-written rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RuledKind {
    ClusterRole,
    ClusterRoleBinding,
    ConfigMap,
    CustomResourceDefinition,
    Deployment,
    /// The form of the core group.
    Event,
    /// The form of `events.k8s.io`.
    NewEvent,
    Job,
    Lease,
    MutatingWebhookConfiguration,
    Namespace,
    NetworkPolicy,
    PersistentVolumeClaim,
    Pod,
    ReplicaSet,
    Role,
    RoleBinding,
    Secret,
    Service,
    ServiceAccount,
    StatefulSet,
    ValidatingWebhookConfiguration,
}

/// Group and name of each kind, and a file of the repository that needs its rules.
const KINDS: [(RuledKind, &str, &str, &str); 22] = {
    use RuledKind as K;
    const ADMISSION: &str = "admissionregistration.k8s.io";
    const EXTENSIONS: &str = "apiextensions.k8s.io";
    const RBAC: &str = "rbac.authorization.k8s.io";
    const CREDENTIALS: &str = "harness/cluster/src/fleet/external/credentials.rs";
    const DEPENDENCIES: &str = "fixtures/workloads/with-dependencies.yaml";
    const FENCE: &str = "fixtures/workloads/network-policy.yaml";
    const FLINK: &str = "fixtures/flink/crd.yaml";
    const LISTING: &str = "fixtures/flink/checkpoint-listing.yaml";
    const OBSERVER: &str = "harness/cluster/src/observer/mod.rs";
    const WEBHOOKS: &str = "harness/cli/src/implementation/webhooks.rs";
    #[rustfmt::skip]
    let kinds = [
        (K::ClusterRole, RBAC, "ClusterRole", OBSERVER),
        (K::ClusterRoleBinding, RBAC, "ClusterRoleBinding", CREDENTIALS),
        (K::ConfigMap, "", "ConfigMap", DEPENDENCIES),
        (K::CustomResourceDefinition, EXTENSIONS, "CustomResourceDefinition", FLINK),
        (K::Deployment, "apps", "Deployment", "fixtures/workloads/deploy.yaml"),
        (K::Event, "", "Event", "cases/README.md"),
        (K::NewEvent, "events.k8s.io", "Event", "cases/README.md"),
        (K::Job, "batch", "Job", "fixtures/workloads/job.yaml"),
        (K::Lease, "coordination.k8s.io", "Lease", "cases/queue/another-leader.yaml"),
        (K::MutatingWebhookConfiguration, ADMISSION, "MutatingWebhookConfiguration", WEBHOOKS),
        (K::Namespace, "", "Namespace", LISTING),
        (K::NetworkPolicy, "networking.k8s.io", "NetworkPolicy", FENCE),
        (K::PersistentVolumeClaim, "", "PersistentVolumeClaim", DEPENDENCIES),
        (K::Pod, "", "Pod", "fixtures/simulator/pod.yaml"),
        (K::ReplicaSet, "apps", "ReplicaSet", "fixtures/simulator/replicaset.yaml"),
        (K::Role, RBAC, "Role", OBSERVER),
        (K::RoleBinding, RBAC, "RoleBinding", OBSERVER),
        (K::Secret, "", "Secret", DEPENDENCIES),
        (K::Service, "", "Service", LISTING),
        (K::ServiceAccount, "", "ServiceAccount", DEPENDENCIES),
        (K::StatefulSet, "apps", "StatefulSet", "fixtures/workloads/sts.yaml"),
        (K::ValidatingWebhookConfiguration, ADMISSION, "ValidatingWebhookConfiguration", WEBHOOKS),
    ];
    kinds
};

impl RuledKind {
    /// Returns the kind of this group and name, if it has rules.
    pub(crate) fn find(group: &str, kind: &str) -> Option<Self> {
        let mut kinds = KINDS.iter();
        let found = kinds.find(|(_, of, name, _)| *of == group && *name == kind)?;
        Some(found.0)
    }

    /// Returns the kind of a resource, if it has rules.
    pub(crate) fn of(resource: &Resource) -> Option<Self> {
        Self::find(resource.group, resource.kind)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::resources;

    #[test]
    fn each_rule_is_needed_by_a_file_that_mentions_the_kind() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        for (_, _, kind, needed_by) in KINDS {
            let text = std::fs::read_to_string(root.join(needed_by));
            let text = text.unwrap_or_else(|error| panic!("{kind}: {needed_by}: {error}"));
            let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
            // The plural `Events` also counts.
            let mentions = words.any(|word| word == kind || word.strip_suffix('s') == Some(kind));
            assert!(mentions, "{needed_by} does not mention {kind}: remove its rules");
        }
    }

    #[test]
    fn ruled_kinds_are_served() {
        for (ruled, group, kind, _) in KINDS {
            let resource = resources::by_kind(group, "v1", kind).expect(kind);
            assert_eq!(RuledKind::of(resource), Some(ruled));
        }
    }
}
