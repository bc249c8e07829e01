//! What the schemas of `k8s-openapi` do not say about the built-in types: how lists and structs are merged. The rules are those of the Kubernetes API reference.

use baton_apimachinery::merge::types::Patch;

/// How a list of the built-in types is merged by server-side apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    /// As a whole.
    Atomic,
    /// As a set of scalars.
    Set,
    /// By these keys.
    Map(&'static [&'static str]),
}

/// (definition without its path, field, list type, merge key of strategic patches or `-` for none).
/// A definition `*` stands for all; `merge` without key is written as an empty string.
const LISTS: &[(&str, &str, List, &str)] = &[
    ("*", "conditions", List::Map(&["type"]), "type"),
    ("ObjectMeta", "finalizers", List::Set, ""),
    ("ObjectMeta", "ownerReferences", List::Map(&["uid"]), "uid"),
    ("PodSpec", "containers", List::Map(&["name"]), "name"),
    ("PodSpec", "initContainers", List::Map(&["name"]), "name"),
    ("PodSpec", "ephemeralContainers", List::Map(&["name"]), "name"),
    ("PodSpec", "volumes", List::Map(&["name"]), "name"),
    ("PodSpec", "hostAliases", List::Map(&["ip"]), "ip"),
    ("PodSpec", "imagePullSecrets", List::Map(&["name"]), "name"),
    ("PodSpec", "resourceClaims", List::Map(&["name"]), "name"),
    ("PodSpec", "schedulingGates", List::Map(&["name"]), "name"),
    (
        "PodSpec",
        "topologySpreadConstraints",
        List::Map(&["topologyKey", "whenUnsatisfiable"]),
        "topologyKey",
    ),
    ("PodStatus", "podIPs", List::Map(&["ip"]), "ip"),
    ("PodStatus", "hostIPs", List::Atomic, "ip"),
    ("PodStatus", "resourceClaimStatuses", List::Map(&["name"]), "name"),
    ("Container", "env", List::Map(&["name"]), "name"),
    (
        "Container",
        "ports",
        List::Map(&["containerPort", "protocol"]),
        "containerPort",
    ),
    ("Container", "volumeMounts", List::Map(&["mountPath"]), "mountPath"),
    ("Container", "volumeDevices", List::Map(&["devicePath"]), "devicePath"),
    ("EphemeralContainer", "env", List::Map(&["name"]), "name"),
    (
        "EphemeralContainer",
        "ports",
        List::Map(&["containerPort", "protocol"]),
        "containerPort",
    ),
    (
        "EphemeralContainer",
        "volumeMounts",
        List::Map(&["mountPath"]),
        "mountPath",
    ),
    (
        "EphemeralContainer",
        "volumeDevices",
        List::Map(&["devicePath"]),
        "devicePath",
    ),
    ("ContainerRestartRuleOnExitCodes", "values", List::Set, "-"),
    (
        "ContainerStatus",
        "allocatedResourcesStatus",
        List::Map(&["name"]),
        "name",
    ),
    (
        "ContainerStatus",
        "volumeMounts",
        List::Map(&["mountPath"]),
        "mountPath",
    ),
    ("ResourceStatus", "resources", List::Map(&["resourceID"]), "-"),
    ("ResourceRequirements", "claims", List::Map(&["name"]), "-"),
    ("NodeSpec", "podCIDRs", List::Set, ""),
    ("NodeStatus", "addresses", List::Map(&["type"]), "type"),
    ("ServiceAccount", "secrets", List::Map(&["name"]), "name"),
    ("ServiceSpec", "ports", List::Map(&["port", "protocol"]), "port"),
    ("Endpoint", "addresses", List::Set, "-"),
    ("JobStatus", "conditions", List::Atomic, "type"),
    ("UncountedTerminatedPods", "failed", List::Set, "-"),
    ("UncountedTerminatedPods", "succeeded", List::Set, "-"),
    ("PodFailurePolicyOnExitCodesRequirement", "values", List::Set, "-"),
    (
        "CertificateSigningRequestStatus",
        "conditions",
        List::Map(&["type"]),
        "-",
    ),
    (
        "CustomResourceDefinitionStatus",
        "conditions",
        List::Map(&["type"]),
        "-",
    ),
    (
        "JSONSchemaProps",
        "x-kubernetes-validations",
        List::Map(&["rule"]),
        "rule",
    ),
    ("NonResourcePolicyRule", "nonResourceURLs", List::Set, "-"),
    ("NonResourcePolicyRule", "verbs", List::Set, "-"),
    ("ResourcePolicyRule", "apiGroups", List::Set, "-"),
    ("ResourcePolicyRule", "namespaces", List::Set, "-"),
    ("ResourcePolicyRule", "resources", List::Set, "-"),
    ("ResourcePolicyRule", "verbs", List::Set, "-"),
    ("CSINodeSpec", "drivers", List::Map(&["name"]), "name"),
    ("CSIDriverSpec", "volumeLifecycleModes", List::Set, "-"),
    ("MutatingWebhookConfiguration", "webhooks", List::Map(&["name"]), "name"),
    (
        "ValidatingWebhookConfiguration",
        "webhooks",
        List::Map(&["name"]),
        "name",
    ),
    ("MutatingWebhook", "matchConditions", List::Map(&["name"]), "name"),
    ("ValidatingWebhook", "matchConditions", List::Map(&["name"]), "name"),
    (
        "ValidatingAdmissionPolicySpec",
        "matchConditions",
        List::Map(&["name"]),
        "name",
    ),
    (
        "ValidatingAdmissionPolicySpec",
        "variables",
        List::Map(&["name"]),
        "name",
    ),
    (
        "MutatingAdmissionPolicySpec",
        "matchConditions",
        List::Map(&["name"]),
        "name",
    ),
    (
        "ValidatingAdmissionPolicyBindingSpec",
        "validationActions",
        List::Set,
        "-",
    ),
    (
        "ResourceClaimStatus",
        "devices",
        List::Map(&["device", "driver", "pool", "shareID"]),
        "-",
    ),
    ("ResourceClaimStatus", "reservedFor", List::Map(&["uid"]), "uid"),
    ("ServiceCIDRStatus", "conditions", List::Map(&["type"]), "-"),
];

/// Fields whose patches may carry `$retainKeys`.
const RETAIN_KEYS: &[(&str, &str)] = &[
    ("DeploymentSpec", "strategy"),
    ("PodSpec", "volumes"),
    ("PodSpec", "resourceClaims"),
    ("PodStatus", "resourceClaimStatuses"),
];

/// Structs that are merged as a whole.
const ATOMIC_STRUCTS: &[&str] = &[
    "ConfigMapKeySelector",
    "EndpointAddress",
    "EndpointPort",
    "FileKeySelector",
    "LabelSelector",
    "LocalObjectReference",
    "MatchResources",
    "NamedRuleWithOperations",
    "NodeSelector",
    "NodeSelectorTerm",
    "ObjectFieldSelector",
    "ObjectReference",
    "OwnerReference",
    "ParamKind",
    "ParamRef",
    "ResourceFieldSelector",
    "RoleRef",
    "ScopeSelector",
    "SecretKeySelector",
    "SecretReference",
    "ServiceBackendPort",
    "Subject",
    "TopologySelectorTerm",
    "TypedLocalObjectReference",
    "Variable",
];

/// Fields whose struct is merged field by field, although it is among [`ATOMIC_STRUCTS`].
const GRANULAR: &[(&str, &str)] = &[("PersistentVolumeSpec", "claimRef")];

/// Fields that strategic patches replace as a whole.
const REPLACED: &[(&str, &str)] = &[("PodDisruptionBudgetSpec", "selector")];

/// Maps that are merged as a whole.
const ATOMIC_MAPS: &[(&str, &str)] = &[
    ("PodSpec", "nodeSelector"),
    ("ServiceSpec", "selector"),
    ("ReplicationControllerSpec", "selector"),
    ("Scheduling", "nodeSelector"),
];

/// Values of list keys where an item leaves them out.
const KEY_DEFAULTS: &[(&str, &str, &str)] = &[("ContainerPort", "protocol", "TCP"), ("ServicePort", "protocol", "TCP")];

/// Kinds without the subresource `status`, although they have such a field.
const NO_STATUS_SUBRESOURCE: &[&str] = &["Scale", "ComponentStatus"];

/// The last part of a definition's name.
pub fn short(definition: &str) -> &str {
    definition.rsplit('.').next().unwrap_or(definition)
}

/// How the list in that field is merged.
pub fn list(definition: &str, field: &str) -> List {
    find_list(definition, field).map_or(List::Atomic, |row| row.2)
}

fn find_list(definition: &str, field: &str) -> Option<&'static (&'static str, &'static str, List, &'static str)> {
    let own = LISTS.iter().find(|row| row.0 == definition && row.1 == field);
    own.or_else(|| {
        let status = definition.ends_with("Status");
        LISTS
            .iter()
            .find(|row| row.0 == "*" && row.1 == field && (status || field != "conditions"))
    })
}

/// Strategy and key of strategic merge patches for that field.
pub fn patch(definition: &str, field: &str) -> Patch {
    let key = find_list(definition, field).map_or("-", |row| row.3);
    Patch {
        merge: key != "-",
        retain_keys: RETAIN_KEYS.contains(&(definition, field)),
        replace: REPLACED.contains(&(definition, field)),
        key: if key == "-" { "" } else { key },
    }
}

/// Whether the struct is merged as a whole.
pub fn atomic_struct(definition: &str) -> bool {
    ATOMIC_STRUCTS.contains(&short(definition)) || definition == "io.k8s.api.autoscaling.v1.CrossVersionObjectReference"
}

/// Whether the struct in that field is merged field by field, whatever holds for it elsewhere.
pub(crate) fn granular(definition: &str, field: &str) -> bool {
    GRANULAR.contains(&(definition, field))
}

/// Whether the map in that field is merged as a whole.
pub fn atomic_map(definition: &str, field: &str) -> bool {
    ATOMIC_MAPS.contains(&(definition, field))
}

/// The value of a list key where an item of this type leaves it out.
pub fn key_default(definition: &str, key: &str) -> Option<&'static str> {
    KEY_DEFAULTS
        .iter()
        .find(|row| row.0 == definition && row.1 == key)
        .map(|row| row.2)
}

/// Whether the kind has the subresource `status`.
pub(crate) fn has_status_subresource(kind: &str) -> bool {
    !NO_STATUS_SUBRESOURCE.contains(&kind)
}

/// The fields that a write to the subresource `status` cannot change.
pub(crate) fn ignored_by_status(group: &str, kind: &str) -> &'static [&'static [&'static str]] {
    match (group, kind) {
        ("apps", "Deployment") => &[&["spec"], &["metadata", "labels"]],
        ("", "Pod") => &[
            &["spec"],
            &["metadata", "deletionTimestamp"],
            &["metadata", "ownerReferences"],
        ],
        ("apiextensions.k8s.io", _)
        | ("storage.k8s.io", "VolumeAttachment")
        | ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => &[&["spec"], &["metadata"]],
        _ => &[&["spec"]],
    }
}
