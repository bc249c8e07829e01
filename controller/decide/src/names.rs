//! Names that this controller sets on objects. They are Karmada's, so that the same cases and tools work for both.

use crate::api::ObjectReference;

/// Field manager and user agent of all writes.
pub const MANAGER: &str = "baton-controller";
/// Finalizer of bindings: held until the binding has no Works left.
pub const BINDING_FINALIZER: &str = "karmada.io/binding-controller";
/// Finalizer of Works: held until the member object is gone.
pub const WORK_FINALIZER: &str = "karmada.io/execution-controller";
/// Label of all objects on members that this controller created.
pub const MANAGED_LABEL: &str = "karmada.io/managed";
/// Annotation on member objects: name of the Work.
pub const WORK_NAME: &str = "work.karmada.io/name";
/// Annotation on member objects: namespace of the Work.
pub const WORK_NAMESPACE: &str = "work.karmada.io/namespace";
/// Annotation on member objects: digest of the applied manifest.
pub const MANIFEST_HASH: &str = "work.karmada.io/manifest-hash";
/// On Works: name of the `ResourceBinding`.
pub const BINDING_NAME: &str = "resourcebinding.karmada.io/name";
/// On Works: namespace of the `ResourceBinding`.
pub const BINDING_NAMESPACE: &str = "resourcebinding.karmada.io/namespace";
/// On Works: name of the `ClusterResourceBinding`.
pub const CLUSTER_BINDING_NAME: &str = "clusterresourcebinding.karmada.io/name";
/// On Works: the labels that carry preserved state, as a JSON object.
pub const INJECTED_LABELS: &str = "work.karmada.io/injected-labels";
/// On bindings: name of the `PropagationPolicy`.
pub const POLICY_NAME: &str = "propagationpolicy.karmada.io/name";
/// On bindings: namespace of the `PropagationPolicy`.
pub const POLICY_NAMESPACE: &str = "propagationpolicy.karmada.io/namespace";
/// On bindings: name of the `ClusterPropagationPolicy`.
pub const CLUSTER_POLICY_NAME: &str = "clusterpropagationpolicy.karmada.io/name";
/// Scheduler of bindings that do not name one.
pub const SCHEDULER: &str = "default-scheduler";

/// Prefix of the namespaces of Works.
const EXECUTION_SPACE: &str = "karmada-es-";
/// Maximum length of an object name.
const MAX_NAME: usize = 253;

/// Returns the namespace for the Works of a cluster.
pub fn execution_space(cluster: &str) -> String {
    format!("{EXECUTION_SPACE}{cluster}")
}

/// Returns the cluster that a namespace of Works belongs to; `None` for other namespaces.
pub fn cluster_of_space(namespace: &str) -> Option<&str> {
    namespace
        .strip_prefix(EXECUTION_SPACE)
        .filter(|cluster| !cluster.is_empty())
}

/// Returns the name of a resource's binding: `<name>-<kind in lower case>`.
pub fn binding_name(kind: &str, name: &str) -> String {
    let name = name.replace(':', ".");
    bounded(&format!("{name}-{}", kind.to_lowercase()), &format!("{kind}/{name}"))
}

/// Returns the name of a resource's Works: the resource's name and a hash of its other identifying fields.
pub fn work_name(resource: &ObjectReference) -> String {
    let namespace = resource.namespace.as_deref().unwrap_or_default();
    let identity = format!(
        "{}/{}/{namespace}/{}",
        resource.api_version, resource.kind, resource.name
    );
    let name = resource.name.replace(':', ".");
    let hash = hash(identity.as_bytes());
    let keep = floor(&name, MAX_NAME - hash.len() - 1);
    format!("{}-{hash}", &name[..keep])
}

/// Returns a short, stable digest (64-bit FNV-1a) in hexadecimal. It detects changes but does not protect against
/// forgery.
pub fn hash(bytes: &[u8]) -> String {
    let digest = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    format!("{digest:016x}")
}

fn bounded(name: &str, identity: &str) -> String {
    if name.len() <= MAX_NAME {
        return name.to_owned();
    }
    let hash = hash(identity.as_bytes());
    let keep = floor(name, MAX_NAME - hash.len() - 1);
    format!("{}-{hash}", &name[..keep])
}

/// Returns the last character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployment(name: &str) -> ObjectReference {
        ObjectReference {
            api_version: "apps/v1".into(),
            kind: "Deployment".into(),
            namespace: Some("default".into()),
            name: name.into(),
            uid: None,
        }
    }

    #[test]
    fn binding_and_cluster_names() {
        assert_eq!(binding_name("FlinkDeployment", "foo"), "foo-flinkdeployment");
        assert_eq!(execution_space("member1"), "karmada-es-member1");
        assert_eq!(cluster_of_space("karmada-es-member1"), Some("member1"));
        assert_eq!(cluster_of_space("default"), None);
    }

    #[test]
    fn names_stay_within_bounds_and_apart() {
        let (a, b) = ("a".repeat(253), format!("{}b", "a".repeat(252)));
        assert!(binding_name("Deployment", &a).len() <= 253);
        assert_ne!(binding_name("Deployment", &a), binding_name("Deployment", &b));
        assert!(work_name(&deployment(&a)).len() <= 253);
        assert_ne!(work_name(&deployment(&a)), work_name(&deployment(&b)));
        assert_ne!(
            work_name(&deployment("x")),
            work_name(&ObjectReference {
                namespace: Some("other".into()),
                ..deployment("x")
            })
        );
    }
}
