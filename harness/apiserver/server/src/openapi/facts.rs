//! What the documents say about fields and no schema of `k8s-openapi` does: what must be given, defaults.

use serde_json::{Value, json};

/// Structs that are fields by value in Go, although the schema does not require them.
const STRUCTS: &[(&str, &str)] = &[
    ("*", "metadata"),
    ("DeploymentSpec", "strategy"),
    ("DaemonSetSpec", "updateStrategy"),
    ("StatefulSetSpec", "updateStrategy"),
    ("ReplicaSetSpec", "template"),
    ("JobTemplateSpec", "spec"),
    ("CronJobSpec", "jobTemplate"),
    ("PodTemplate", "template"),
    ("PodTemplateSpec", "spec"),
    ("Container", "resources"),
    ("EphemeralContainer", "resources"),
    ("ContainerStatus", "state"),
    ("ContainerStatus", "lastState"),
    ("PersistentVolumeClaimSpec", "resources"),
    ("PersistentVolumeClaimTemplate", "spec"),
    ("ServiceStatus", "loadBalancer"),
    ("IngressStatus", "loadBalancer"),
    ("NodeStatus", "daemonEndpoints"),
    ("NodeDaemonEndpoints", "kubeletEndpoint"),
    ("NodeStatus", "nodeInfo"),
    ("Event", "source"),
    ("Event", "deprecatedSource"),
    ("Event", "regarding"),
    ("NetworkPolicySpec", "podSelector"),
];

/// Root kinds whose `spec` or `status` is a pointer or is not written when empty.
const NOT_STRUCTS: &[(&str, &str)] = &[
    ("PodDisruptionBudgetStatus", "metadata"),
    ("ServiceAccount", "spec"),
    ("Scale", "metadata"),
];

/// Kinds whose `spec` must be given.
const SPEC_REQUIRED: &[&str] = &[
    "CSIDriver",
    "CSINode",
    "CertificateSigningRequest",
    "ClusterTrustBundle",
    "CronJob",
    "CustomResourceDefinition",
    "HorizontalPodAutoscaler",
    "IPAddress",
    "LocalSubjectAccessReview",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "ResourceSlice",
    "SelfSubjectAccessReview",
    "SelfSubjectRulesReview",
    "SubjectAccessReview",
    "TokenReview",
    "ValidatingAdmissionPolicyBinding",
    "VolumeAttachment",
];

/// Fields that must be given though the schema does not say so.
const REQUIRED: &[(&str, &str)] = &[
    ("ControllerRevision", "revision"),
    ("DaemonSetCondition", "status"),
    ("DaemonSetCondition", "type"),
    ("DeploymentCondition", "status"),
    ("DeploymentCondition", "type"),
    ("NodeAllocatableResourceClaimStatus", "resources"),
    ("ReplicaSetCondition", "status"),
    ("ReplicaSetCondition", "type"),
    ("StatefulSetCondition", "status"),
    ("StatefulSetCondition", "type"),
];

/// References that need no name.
const NAMELESS: &[&str] = &[
    "ConfigMapEnvSource",
    "ConfigMapKeySelector",
    "ConfigMapProjection",
    "ConfigMapVolumeSource",
    "LocalObjectReference",
    "SecretEnvSource",
    "SecretKeySelector",
    "SecretProjection",
];

/// Whether a field of a definition must be given, in view of what the schema says. `root` is a kind itself.
pub(super) fn is_required(name: &str, short: &str, field: &str, root: bool, said: bool) -> bool {
    match field {
        "metadata" => name == "io.k8s.api.core.v1.Event",
        "eventTime" if name == "io.k8s.api.events.v1.Event" => true,
        "spec" if root => SPEC_REQUIRED.contains(&short),
        "name" if NAMELESS.contains(&short) => false,
        "data" if short == "ControllerRevision" => false,
        _ => said || REQUIRED.contains(&(short, field)),
    }
}

/// The default of a field that is not the empty value of its type.
pub(super) fn default(definition: &str, field: &str) -> Option<Value> {
    Some(match (definition, field) {
        ("AzureDiskVolumeSource", "cachingMode") => json!("ReadWrite"),
        ("AzureDiskVolumeSource", "fsType") => json!("ext4"),
        ("AzureDiskVolumeSource", "kind") => json!("Shared"),
        ("AzureDiskVolumeSource", "readOnly") | ("FileKeySelector", "optional") => json!(false),
        ("ISCSIPersistentVolumeSource" | "ISCSIVolumeSource", "iscsiInterface") => json!("default"),
        ("RBDPersistentVolumeSource" | "RBDVolumeSource", "keyring") => json!("/etc/ceph/keyring"),
        ("RBDPersistentVolumeSource" | "RBDVolumeSource", "pool") => json!("rbd"),
        ("RBDPersistentVolumeSource" | "RBDVolumeSource", "user") => json!("admin"),
        ("ScaleIOPersistentVolumeSource" | "ScaleIOVolumeSource", "fsType") => json!("xfs"),
        ("ScaleIOPersistentVolumeSource" | "ScaleIOVolumeSource", "storageMode") => json!("ThinProvisioned"),
        ("ReplicationControllerSpec", "replicas") => json!(1),
        ("ReplicationControllerSpec", "minReadySeconds")
        | ("ScaleSpec", "replicas")
        | ("StatefulSetOrdinals", "start")
        | ("StatefulSetStatus", "availableReplicas")
        | ("PodDisruptionBudgetStatus", "currentHealthy" | "desiredHealthy" | "disruptionsAllowed" | "expectedPods") => {
            json!(0)
        }
        (_, "name") if NAMELESS.contains(&definition) => json!(""),
        ("Event", "reportingComponent" | "reportingInstance")
        | ("GRPCAction", "service")
        | ("NodeRuntimeHandler", "name")
        | ("StatefulSetSpec", "serviceName") => json!(""),
        _ => return None,
    })
}

/// Whether a required field is a pointer, so that it has no default.
pub(super) fn is_pointer(definition: &str, field: &str) -> bool {
    POINTERS.contains(&(definition, field))
}

const POINTERS: &[(&str, &str)] = &[
    ("ContainerRestartRule", "action"),
    ("ContainerRestartRuleOnExitCodes", "operator"),
    ("HTTPIngressPath", "pathType"),
    ("ImageVolumeStatus", "imageRef"),
    ("MutatingWebhook", "sideEffects"),
    ("ParentReference", "name"),
    ("ParentReference", "resource"),
    ("PodCertificateProjection", "keyType"),
    ("PodCertificateProjection", "signerName"),
    ("ValidatingAdmissionPolicyBindingSpec", "policyName"),
    ("ValidatingWebhook", "sideEffects"),
];

/// Whether a field that refers to a struct has that struct by value. `root` is the kind itself, `required` what the
/// schema says.
pub(super) fn is_by_value(definition: &str, field: &str, root: bool, required: bool) -> bool {
    let listed = STRUCTS.contains(&(definition, field)) || STRUCTS.contains(&("*", field));
    let of_root = root && matches!(field, "spec" | "status");
    (listed || of_root || required) && !NOT_STRUCTS.contains(&(definition, field))
}
