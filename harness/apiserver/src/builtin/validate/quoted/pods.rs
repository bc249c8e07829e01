//! Specifications of pods.

use super::Member;
use super::Sort::{Flag, HostContext, List, Number, Object, OrNull, Selector, Structure, Text};
use super::containers::{
    CONTAINER, EPHEMERAL_CONTAINER, HTTP_HEADER, PROFILE, RESOURCE_REQUIREMENTS, SE_LINUX_OPTIONS, WINDOWS_OPTIONS,
};
use super::volumes::{LOCAL_OBJECT_REFERENCE, VOLUME};

const POD_SECURITY_CONTEXT: &[Member] = &[
    ("HostNetwork", "hostNetwork", Flag),
    ("HostPID", "hostPID", Flag),
    ("HostIPC", "hostIPC", Flag),
    ("ShareProcessNamespace", "shareProcessNamespace", OrNull),
    ("HostUsers", "hostUsers", OrNull),
    ("SELinuxOptions", "seLinuxOptions", Object(SE_LINUX_OPTIONS)),
    ("WindowsOptions", "windowsOptions", Object(WINDOWS_OPTIONS)),
    ("RunAsUser", "runAsUser", OrNull),
    ("RunAsGroup", "runAsGroup", OrNull),
    ("RunAsNonRoot", "runAsNonRoot", OrNull),
    ("SupplementalGroups", "supplementalGroups", OrNull),
    ("SupplementalGroupsPolicy", "supplementalGroupsPolicy", OrNull),
    ("FSGroup", "fsGroup", OrNull),
    ("FSGroupChangePolicy", "fsGroupChangePolicy", OrNull),
    ("Sysctls", "sysctls", List(HTTP_HEADER)),
    ("SeccompProfile", "seccompProfile", Object(PROFILE)),
    ("AppArmorProfile", "appArmorProfile", Object(PROFILE)),
    ("SELinuxChangePolicy", "seLinuxChangePolicy", OrNull),
];

const NODE_SELECTOR_REQUIREMENT: &[Member] = &[
    ("Key", "key", Text),
    ("Operator", "operator", Text),
    ("Values", "values", OrNull),
];

pub(in super::super) const NODE_SELECTOR_TERM: &[Member] = &[
    ("MatchExpressions", "matchExpressions", List(NODE_SELECTOR_REQUIREMENT)),
    ("MatchFields", "matchFields", List(NODE_SELECTOR_REQUIREMENT)),
];

const NODE_SELECTOR: &[Member] = &[("NodeSelectorTerms", "nodeSelectorTerms", List(NODE_SELECTOR_TERM))];

const PREFERRED_SCHEDULING_TERM: &[Member] = &[
    ("Weight", "weight", Number),
    ("Preference", "preference", Structure(NODE_SELECTOR_TERM)),
];

const NODE_AFFINITY: &[Member] = &[
    (
        "RequiredDuringSchedulingIgnoredDuringExecution",
        "requiredDuringSchedulingIgnoredDuringExecution",
        Object(NODE_SELECTOR),
    ),
    (
        "PreferredDuringSchedulingIgnoredDuringExecution",
        "preferredDuringSchedulingIgnoredDuringExecution",
        List(PREFERRED_SCHEDULING_TERM),
    ),
];

const POD_AFFINITY_TERM: &[Member] = &[
    ("LabelSelector", "labelSelector", Selector),
    ("Namespaces", "namespaces", OrNull),
    ("TopologyKey", "topologyKey", Text),
    ("NamespaceSelector", "namespaceSelector", Selector),
    ("MatchLabelKeys", "matchLabelKeys", OrNull),
    ("MismatchLabelKeys", "mismatchLabelKeys", OrNull),
];

const WEIGHTED_POD_AFFINITY_TERM: &[Member] = &[
    ("Weight", "weight", Number),
    ("PodAffinityTerm", "podAffinityTerm", Structure(POD_AFFINITY_TERM)),
];

const BETWEEN_PODS: &[Member] = &[
    (
        "RequiredDuringSchedulingIgnoredDuringExecution",
        "requiredDuringSchedulingIgnoredDuringExecution",
        List(POD_AFFINITY_TERM),
    ),
    (
        "PreferredDuringSchedulingIgnoredDuringExecution",
        "preferredDuringSchedulingIgnoredDuringExecution",
        List(WEIGHTED_POD_AFFINITY_TERM),
    ),
];

const AFFINITY: &[Member] = &[
    ("NodeAffinity", "nodeAffinity", Object(NODE_AFFINITY)),
    ("PodAffinity", "podAffinity", Object(BETWEEN_PODS)),
    ("PodAntiAffinity", "podAntiAffinity", Object(BETWEEN_PODS)),
];

pub(in super::super) const TOLERATION: &[Member] = &[
    ("Key", "key", Text),
    ("Operator", "operator", Text),
    ("Value", "value", Text),
    ("Effect", "effect", Text),
    ("TolerationSeconds", "tolerationSeconds", OrNull),
];

const HOST_ALIAS: &[Member] = &[("IP", "ip", Text), ("Hostnames", "hostnames", OrNull)];

const POD_DNS_CONFIG_OPTION: &[Member] = &[("Name", "name", Text), ("Value", "value", OrNull)];

const POD_DNS_CONFIG: &[Member] = &[
    ("Nameservers", "nameservers", OrNull),
    ("Searches", "searches", OrNull),
    ("Options", "options", List(POD_DNS_CONFIG_OPTION)),
];

const POD_READINESS_GATE: &[Member] = &[("ConditionType", "conditionType", Text)];

const TOPOLOGY_SPREAD_CONSTRAINT: &[Member] = &[
    ("MaxSkew", "maxSkew", Number),
    ("TopologyKey", "topologyKey", Text),
    ("WhenUnsatisfiable", "whenUnsatisfiable", Text),
    ("LabelSelector", "labelSelector", Selector),
    ("MinDomains", "minDomains", OrNull),
    ("NodeAffinityPolicy", "nodeAffinityPolicy", OrNull),
    ("NodeTaintsPolicy", "nodeTaintsPolicy", OrNull),
    ("MatchLabelKeys", "matchLabelKeys", OrNull),
];

pub(in super::super) const POD_RESOURCE_CLAIM: &[Member] = &[
    ("Name", "name", Text),
    ("ResourceClaimName", "resourceClaimName", OrNull),
    ("ResourceClaimTemplateName", "resourceClaimTemplateName", OrNull),
];

const POD_SCHEDULING_GROUP: &[Member] = &[("PodGroupName", "podGroupName", OrNull)];

pub(in super::super) const POD_SPEC: &[Member] = &[
    ("Volumes", "volumes", List(VOLUME)),
    ("InitContainers", "initContainers", List(CONTAINER)),
    ("Containers", "containers", List(CONTAINER)),
    ("EphemeralContainers", "ephemeralContainers", List(EPHEMERAL_CONTAINER)),
    ("RestartPolicy", "restartPolicy", Text),
    ("TerminationGracePeriodSeconds", "terminationGracePeriodSeconds", OrNull),
    ("ActiveDeadlineSeconds", "activeDeadlineSeconds", OrNull),
    ("DNSPolicy", "dnsPolicy", Text),
    ("NodeSelector", "nodeSelector", OrNull),
    ("ServiceAccountName", "serviceAccountName", Text),
    ("AutomountServiceAccountToken", "automountServiceAccountToken", OrNull),
    ("NodeName", "nodeName", Text),
    ("SecurityContext", "securityContext", HostContext(POD_SECURITY_CONTEXT)),
    ("ImagePullSecrets", "imagePullSecrets", List(LOCAL_OBJECT_REFERENCE)),
    ("Hostname", "hostname", Text),
    ("Subdomain", "subdomain", Text),
    ("SetHostnameAsFQDN", "setHostnameAsFQDN", OrNull),
    ("Affinity", "affinity", Object(AFFINITY)),
    ("SchedulerName", "schedulerName", Text),
    ("Tolerations", "tolerations", List(TOLERATION)),
    ("HostAliases", "hostAliases", List(HOST_ALIAS)),
    ("PriorityClassName", "priorityClassName", Text),
    ("Priority", "priority", OrNull),
    ("PreemptionPolicy", "preemptionPolicy", OrNull),
    ("DNSConfig", "dnsConfig", Object(POD_DNS_CONFIG)),
    ("ReadinessGates", "readinessGates", List(POD_READINESS_GATE)),
    ("RuntimeClassName", "runtimeClassName", OrNull),
    ("Overhead", "overhead", OrNull),
    ("EnableServiceLinks", "enableServiceLinks", OrNull),
    (
        "TopologySpreadConstraints",
        "topologySpreadConstraints",
        List(TOPOLOGY_SPREAD_CONSTRAINT),
    ),
    ("OS", "os", Object(LOCAL_OBJECT_REFERENCE)),
    ("SchedulingGates", "schedulingGates", List(LOCAL_OBJECT_REFERENCE)),
    ("ResourceClaims", "resourceClaims", List(POD_RESOURCE_CLAIM)),
    ("Resources", "resources", Object(RESOURCE_REQUIREMENTS)),
    ("HostnameOverride", "hostnameOverride", OrNull),
    ("SchedulingGroup", "schedulingGroup", Object(POD_SCHEDULING_GROUP)),
];
