//! Fields that have few values, of which the schemas of `k8s-openapi` say nothing.

use baton_apikinds::validation::certificates;
use baton_apikinds::validation::storage::sources;

const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];
const SIGNALS: &[&str] = &[
    "SIGABRT",
    "SIGALRM",
    "SIGBUS",
    "SIGCHLD",
    "SIGCLD",
    "SIGCONT",
    "SIGFPE",
    "SIGHUP",
    "SIGILL",
    "SIGINT",
    "SIGIO",
    "SIGIOT",
    "SIGKILL",
    "SIGPIPE",
    "SIGPOLL",
    "SIGPROF",
    "SIGPWR",
    "SIGQUIT",
    "SIGRTMAX",
    "SIGRTMAX-1",
    "SIGRTMAX-10",
    "SIGRTMAX-11",
    "SIGRTMAX-12",
    "SIGRTMAX-13",
    "SIGRTMAX-14",
    "SIGRTMAX-2",
    "SIGRTMAX-3",
    "SIGRTMAX-4",
    "SIGRTMAX-5",
    "SIGRTMAX-6",
    "SIGRTMAX-7",
    "SIGRTMAX-8",
    "SIGRTMAX-9",
    "SIGRTMIN",
    "SIGRTMIN+1",
    "SIGRTMIN+10",
    "SIGRTMIN+11",
    "SIGRTMIN+12",
    "SIGRTMIN+13",
    "SIGRTMIN+14",
    "SIGRTMIN+15",
    "SIGRTMIN+2",
    "SIGRTMIN+3",
    "SIGRTMIN+4",
    "SIGRTMIN+5",
    "SIGRTMIN+6",
    "SIGRTMIN+7",
    "SIGRTMIN+8",
    "SIGRTMIN+9",
    "SIGSEGV",
    "SIGSTKFLT",
    "SIGSTOP",
    "SIGSYS",
    "SIGTERM",
    "SIGTRAP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGUSR1",
    "SIGUSR2",
    "SIGVTALRM",
    "SIGWINCH",
    "SIGXCPU",
    "SIGXFSZ",
];

/// Values in alphabetical order, and the fields, or the items of fields, that have them.
const ENUMS: &[(&[&str], &[&str])] = &[
    (
        &["Localhost", "RuntimeDefault", "Unconfined"],
        &["AppArmorProfile.type", "SeccompProfile.type"],
    ),
    (
        &["None", "ReadOnly", "ReadWrite"],
        &["AzureDiskVolumeSource.cachingMode"],
    ),
    (&["Dedicated", "Managed", "Shared"], &["AzureDiskVolumeSource.kind"]),
    (certificates::USAGES, &["CertificateSigningRequestSpec.usages"]),
    (
        &["Always", "IfNotPresent", "Never"],
        &[
            "Container.imagePullPolicy",
            "EphemeralContainer.imagePullPolicy",
            "ImageVolumeSource.pullPolicy",
        ],
    ),
    (
        &["FallbackToLogsOnError", "File"],
        &[
            "Container.terminationMessagePolicy",
            "EphemeralContainer.terminationMessagePolicy",
        ],
    ),
    (
        PROTOCOLS,
        &[
            "ContainerPort.protocol",
            "EndpointPort.protocol",
            "IngressPortStatus.protocol",
            "NetworkPolicyPort.protocol",
            "PortStatus.protocol",
            "ServicePort.protocol",
        ],
    ),
    (SIGNALS, &["ContainerStatus.stopSignal", "Lifecycle.stopSignal"]),
    (&["Allow", "Forbid", "Replace"], &["CronJobSpec.concurrencyPolicy"]),
    (
        &["OnDelete", "RollingUpdate"],
        &["DaemonSetUpdateStrategy.type", "StatefulSetUpdateStrategy.type"],
    ),
    (&["Recreate", "RollingUpdate"], &["DeploymentStrategy.type"]),
    (&["FQDN", "IPv4", "IPv6"], &["EndpointSlice.addressType"]),
    (&["HTTP", "HTTPS"], &["HTTPGetAction.scheme"]),
    (
        &["Exact", "ImplementationSpecific", "Prefix"],
        &["HTTPIngressPath.pathType"],
    ),
    (sources::HOST_PATH_TYPES, &["HostPathVolumeSource.type"]),
    (&["Indexed", "NonIndexed"], &["JobSpec.completionMode"]),
    (&["Failed", "TerminatingOrFailed"], &["JobSpec.podReplacementPolicy"]),
    (
        &["Equivalent", "Exact"],
        &[
            "MatchResources.matchPolicy",
            "MutatingWebhook.matchPolicy",
            "ValidatingWebhook.matchPolicy",
        ],
    ),
    (&["InProgress", "Infeasible", "Pending"], &["ModifyVolumeStatus.status"]),
    (
        &["Fail", "Ignore"],
        &[
            "MutatingWebhook.failurePolicy",
            "ValidatingAdmissionPolicySpec.failurePolicy",
            "ValidatingWebhook.failurePolicy",
        ],
    ),
    (&["IfNeeded", "Never"], &["MutatingWebhook.reinvocationPolicy"]),
    (
        &["None", "NoneOnDryRun", "Some", "Unknown"],
        &["MutatingWebhook.sideEffects", "ValidatingWebhook.sideEffects"],
    ),
    (
        &["*", "CONNECT", "CREATE", "DELETE", "UPDATE"],
        &["NamedRuleWithOperations.operations", "RuleWithOperations.operations"],
    ),
    (
        &["*", "Cluster", "Namespaced"],
        &["NamedRuleWithOperations.scope", "RuleWithOperations.scope"],
    ),
    (&["Active", "Terminating"], &["NamespaceStatus.phase"]),
    (&["Egress", "Ingress"], &["NetworkPolicySpec.policyTypes"]),
    (
        &["DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn"],
        &["NodeSelectorRequirement.operator"],
    ),
    (&["Pending", "Running", "Terminated"], &["NodeStatus.phase"]),
    (
        &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"],
        &[
            "PersistentVolumeClaimSpec.accessModes",
            "PersistentVolumeClaimStatus.accessModes",
            "PersistentVolumeSpec.accessModes",
        ],
    ),
    (
        &["Block", "Filesystem"],
        &[
            "PersistentVolumeClaimSpec.volumeMode",
            "PersistentVolumeSpec.volumeMode",
        ],
    ),
    (
        &[
            "ControllerResizeInProgress",
            "ControllerResizeInfeasible",
            "NodeResizeInProgress",
            "NodeResizeInfeasible",
            "NodeResizePending",
        ],
        &["PersistentVolumeClaimStatus.allocatedResourceStatuses"],
    ),
    (&["Bound", "Lost", "Pending"], &["PersistentVolumeClaimStatus.phase"]),
    (
        &["Delete", "Recycle", "Retain"],
        &[
            "PersistentVolumeSpec.persistentVolumeReclaimPolicy",
            "StorageClass.reclaimPolicy",
        ],
    ),
    (
        &["Available", "Bound", "Failed", "Pending", "Released"],
        &["PersistentVolumeStatus.phase"],
    ),
    (
        &["AlwaysAllow", "IfHealthyBudget"],
        &["PodDisruptionBudgetSpec.unhealthyPodEvictionPolicy"],
    ),
    (&["In", "NotIn"], &["PodFailurePolicyOnExitCodesRequirement.operator"]),
    (
        &["Count", "FailIndex", "FailJob", "Ignore"],
        &["PodFailurePolicyRule.action"],
    ),
    (
        &["Always", "OnRootMismatch"],
        &["PodSecurityContext.fsGroupChangePolicy"],
    ),
    (&["Merge", "Strict"], &["PodSecurityContext.supplementalGroupsPolicy"]),
    (
        &["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"],
        &["PodSpec.dnsPolicy"],
    ),
    (
        &["Never", "PreemptLowerPriority"],
        &["PodSpec.preemptionPolicy", "PriorityClass.preemptionPolicy"],
    ),
    (&["Always", "Never", "OnFailure"], &["PodSpec.restartPolicy"]),
    (
        &["Failed", "Pending", "Running", "Succeeded", "Unknown"],
        &["PodStatus.phase"],
    ),
    (&["BestEffort", "Burstable", "Guaranteed"], &["PodStatus.qosClass"]),
    (
        &[
            "BestEffort",
            "CrossNamespacePodAffinity",
            "NotBestEffort",
            "NotTerminating",
            "PriorityClass",
            "Terminating",
            "VolumeAttributesClass",
        ],
        &[
            "ResourceQuotaSpec.scopes",
            "ScopedResourceSelectorRequirement.scopeName",
        ],
    ),
    (
        &["DoesNotExist", "Exists", "In", "NotIn"],
        &["ScopedResourceSelectorRequirement.operator"],
    ),
    (&["Default", "Unmasked"], &["SecurityContext.procMount"]),
    (
        &["Cluster", "Local"],
        &["ServiceSpec.externalTrafficPolicy", "ServiceSpec.internalTrafficPolicy"],
    ),
    (&["", "IPv4", "IPv6"], &["ServiceSpec.ipFamilies"]),
    (
        &["PreferDualStack", "RequireDualStack", "SingleStack"],
        &["ServiceSpec.ipFamilyPolicy"],
    ),
    (&["ClientIP", "None"], &["ServiceSpec.sessionAffinity"]),
    (
        &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"],
        &["ServiceSpec.type"],
    ),
    (&["OrderedReady", "Parallel"], &["StatefulSetSpec.podManagementPolicy"]),
    (
        &["Immediate", "WaitForFirstConsumer"],
        &["StorageClass.volumeBindingMode"],
    ),
    (
        &["NoExecute", "NoSchedule", "PreferNoSchedule"],
        &["Taint.effect", "Toleration.effect"],
    ),
    (&["Equal", "Exists", "Gt", "Lt"], &["Toleration.operator"]),
    (
        &["Honor", "Ignore"],
        &[
            "TopologySpreadConstraint.nodeAffinityPolicy",
            "TopologySpreadConstraint.nodeTaintsPolicy",
        ],
    ),
    (
        &["DoNotSchedule", "ScheduleAnyway"],
        &["TopologySpreadConstraint.whenUnsatisfiable"],
    ),
    (
        &["Audit", "Deny", "Warn"],
        &["ValidatingAdmissionPolicyBindingSpec.validationActions"],
    ),
    (
        &[
            "FieldValueDuplicate",
            "FieldValueForbidden",
            "FieldValueInvalid",
            "FieldValueRequired",
        ],
        &["ValidationRule.reason"],
    ),
    (
        &["Bidirectional", "HostToContainer", "None"],
        &["VolumeMount.mountPropagation"],
    ),
];

/// The values of a field that has few.
pub(super) fn of(definition: &str, field: &str) -> Option<&'static [&'static str]> {
    let is = |place: &&str| place.split_once('.') == Some((definition, field));
    let row = ENUMS.iter().find(|(_, places)| places.iter().any(is))?;
    Some(row.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_in_order_and_places_are_fields() {
        for (values, places) in ENUMS {
            assert!(values.is_sorted(), "{values:?}");
            assert!(places.iter().all(|place| place.contains('.')), "{places:?}");
        }
        assert_eq!(of("HTTPGetAction", "scheme"), Some(&["HTTP", "HTTPS"][..]));
        assert_eq!(of("HTTPGetAction", "path"), None);
    }
}
