//! Which fields are left out when empty and which are always written.
//!
//! The API's schema says what is required; everything else here is how the API server's own types are written, as seen
//! in its answers.

use super::{Node, Presence};

/// Optional structures and quantities that are no pointers: written even when nothing is in them.
const ALWAYS: &[(&str, &str)] = &[
    ("Container", "resources"),
    ("ContainerStatus", "lastState"),
    ("ContainerStatus", "state"),
    ("DaemonSetCondition", "status"),
    ("DaemonSetSpec", "updateStrategy"),
    ("DeploymentCondition", "status"),
    ("DeploymentSpec", "strategy"),
    ("Endpoint", "conditions"),
    ("EphemeralContainer", "resources"),
    ("Event", "deprecatedSource"),
    ("Event", "regarding"),
    ("Event", "reportingComponent"),
    ("Event", "reportingInstance"),
    ("Event", "source"),
    ("IngressServiceBackend", "port"),
    ("IngressStatus", "loadBalancer"),
    ("JobTemplateSpec", "metadata"),
    ("JobTemplateSpec", "spec"),
    ("NetworkPolicySpec", "podSelector"),
    ("NodeDaemonEndpoints", "kubeletEndpoint"),
    ("NodeStatus", "daemonEndpoints"),
    ("NodeStatus", "nodeInfo"),
    ("PersistentVolumeClaim", "metadata"),
    ("PersistentVolumeClaim", "spec"),
    ("PersistentVolumeClaim", "status"),
    ("PersistentVolumeClaimSpec", "resources"),
    ("PersistentVolumeClaimTemplate", "metadata"),
    ("PodDisruptionBudgetStatus", "currentHealthy"),
    ("PodDisruptionBudgetStatus", "desiredHealthy"),
    ("PodDisruptionBudgetStatus", "disruptionsAllowed"),
    ("PodDisruptionBudgetStatus", "expectedPods"),
    ("PodTemplate", "template"),
    ("PriorityClass", "value"),
    ("PodTemplateSpec", "metadata"),
    ("PodTemplateSpec", "spec"),
    ("ResourceFieldSelector", "divisor"),
    ("ReplicaSetCondition", "status"),
    ("ReplicaSetSpec", "template"),
    ("ServiceStatus", "loadBalancer"),
    ("StatefulSetCondition", "status"),
    ("StatefulSetSpec", "serviceName"),
    ("StatefulSetSpec", "updateStrategy"),
    ("StatefulSetStatus", "availableReplicas"),
];

/// Required, but left out when nothing is in them.
const NOT_WRITTEN: &[(&str, &str)] = &[
    ("LocalObjectReference", "name"),
    ("ValidatingAdmissionPolicyBindingSpec", "validationActions"),
];

/// Written as `null` when nothing is in them.
const NULL: &[(&str, &str)] = &[
    ("CSINodeDriver", "topologyKeys"),
    ("ClusterRole", "rules"),
    ("ContainerImage", "names"),
    ("ContainerStateRunning", "startedAt"),
    ("ContainerStateTerminated", "finishedAt"),
    ("ContainerStateTerminated", "startedAt"),
    ("ControllerRevision", "data"),
    ("EndpointSlice", "endpoints"),
    ("EndpointSlice", "ports"),
    ("Event", "deprecatedFirstTimestamp"),
    ("Event", "deprecatedLastTimestamp"),
    ("Event", "eventTime"),
    ("Event", "firstTimestamp"),
    ("Event", "lastTimestamp"),
    ("EventSeries", "lastObservedTime"),
    ("HorizontalPodAutoscalerStatus", "currentMetrics"),
    ("PodFailurePolicy", "rules"),
    ("Role", "rules"),
    ("TypedLocalObjectReference", "apiGroup"),
];

/// Lists of which it matters whether they are empty or missing.
const KEPT_LISTS: &[(&str, &str)] = &[("HPAScalingRules", "policies")];

/// Optional texts that are pointers: an empty one stays.
const KEPT_TEXTS: &[(&str, &str)] = &[
    ("CronJobSpec", "timeZone"),
    ("DNSConfigOption", "value"),
    ("EndpointPort", "appProtocol"),
    ("EndpointPort", "name"),
    ("HostPathVolumeSource", "type"),
    ("IngressSpec", "ingressClassName"),
    ("LeaseSpec", "holderIdentity"),
    ("PersistentVolumeClaimSpec", "storageClassName"),
    ("PersistentVolumeClaimSpec", "volumeAttributesClassName"),
    ("PodDNSConfigOption", "value"),
    ("TypedLocalObjectReference", "apiGroup"),
    ("TypedObjectReference", "apiGroup"),
    ("TypedObjectReference", "namespace"),
];

/// Optional numbers and booleans that are no pointers: zero and false are left out.
const OMITTED_ZEROES: &[&str] = &[
    "active",
    "availableReplicas",
    "count",
    "currentReplicas",
    "deprecatedCount",
    "failed",
    "failureThreshold",
    "fullyLabeledReplicas",
    "generation",
    "globalDefault",
    "healthCheckNodePort",
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "hostPort",
    "initialDelaySeconds",
    "lun",
    "minReadySeconds",
    "nodePort",
    "numberAvailable",
    "numberUnavailable",
    "observedGeneration",
    "paused",
    "periodSeconds",
    "publishNotReadyAddresses",
    "readOnly",
    "readyReplicas",
    "signal",
    "stdin",
    "stdinOnce",
    "succeeded",
    "successThreshold",
    "tty",
    "unavailableReplicas",
    "unschedulable",
    "updatedNumberScheduled",
    "updatedReplicas",
];

/// Exceptions from [`OMITTED_ZEROES`], and fields whose name alone does not tell.
const POINTERS: &[(&str, &str)] = &[
    ("CSIVolumeSource", "readOnly"),
    ("HorizontalPodAutoscalerStatus", "observedGeneration"),
];
const NO_POINTERS: &[(&str, &str)] = &[
    ("DeploymentStatus", "replicas"),
    ("Probe", "timeoutSeconds"),
    ("ScaleSpec", "replicas"),
];

/// The presence of a field of a structure.
pub(super) fn presence(of: &str, field: &str, node: Option<&Node>, required: bool, is_root: bool) -> Presence {
    let place = (of, field);
    let is_condition_time = of.ends_with("Condition") && matches!(node, Some(Node::Time | Node::MicroTime));
    if NULL.contains(&place) || is_condition_time {
        return Presence::Null;
    }
    let is_body = is_root && matches!(field, "spec" | "status") && matches!(node, Some(Node::Struct(_)));
    if KEPT_LISTS.contains(&place) {
        return Presence::Kept;
    }
    // An empty list does not come back from the store.
    if required && matches!(node, Some(Node::List(_))) && !NOT_WRITTEN.contains(&place) {
        return Presence::Null;
    }
    // Required, but a pointer: what is missing stays missing, so that it can be refused.
    if required && field == "selector" {
        return Presence::Kept;
    }
    // Who sends no managers at all wants those that there are to be forgotten.
    if place == ("ObjectMeta", "managedFields") {
        return Presence::Kept;
    }
    if NOT_WRITTEN.contains(&place) {
        return Presence::Omitted;
    }
    if required || is_body || ALWAYS.contains(&place) {
        return Presence::Always;
    }
    match node {
        Some(Node::List(_) | Node::Map(_) | Node::Bytes) => Presence::Omitted,
        Some(Node::Text) if !KEPT_TEXTS.contains(&place) => Presence::Omitted,
        Some(Node::Integer { .. } | Node::Boolean)
            if NO_POINTERS.contains(&place) || (OMITTED_ZEROES.contains(&field) && !POINTERS.contains(&place)) =>
        {
            Presence::Omitted
        }
        _ => Presence::Kept,
    }
}
