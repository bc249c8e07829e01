//! Fields that the types of `k8s-openapi` have already and the served version does not know yet.

/// Definition and field.
const NEWER: &[(&str, &str)] = &[
    ("CSINode", "status"),
    ("ClusterTrustBundleProjection", "user"),
    ("ConfigMapVolumeSource", "defaultUser"),
    ("DownwardAPIVolumeFile", "user"),
    ("DownwardAPIVolumeSource", "defaultUser"),
    ("EmptyDirVolumeSource", "mode"),
    ("GRPCAction", "mode"),
    ("HTTPGetAction", "protocol"),
    ("HorizontalPodAutoscalerCondition", "observedGeneration"),
    ("JobSpec", "scheduling"),
    ("KeyToPath", "user"),
    ("NodeAllocatableResourceClaimStatus", "mapping"),
    ("NodeAllocatableResourceClaimStatus", "overhead"),
    ("NodeSpec", "podPreemptionPolicy"),
    ("NodeSystemInfo", "runningInUserNamespace"),
    ("PersistentVolumeClaimStatus", "healthStatus"),
    ("PodCertificateProjection", "user"),
    ("PodSpec", "evictionResponders"),
    ("PodStatus", "volumeHealth"),
    ("ProjectedVolumeSource", "defaultUser"),
    ("SecretVolumeSource", "defaultUser"),
    ("ServiceAccountTokenProjection", "user"),
    ("TokenRequestSpec", "attestations"),
    ("VolumeMount", "bindMountOptions"),
];

/// Whether a field of a definition is one of them.
pub(crate) fn is_newer(definition: &str, field: &str) -> bool {
    let short = definition.rsplit('.').next().unwrap_or(definition);
    NEWER.binary_search(&(short, field)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_found() {
        assert!(NEWER.is_sorted());
        assert!(is_newer("io.k8s.api.core.v1.HTTPGetAction", "protocol"));
        assert!(!is_newer("io.k8s.api.core.v1.HTTPGetAction", "port"));
    }
}
