//! The `CustomResourceDefinition`s of this API, generated from its types.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_core::CustomResourceExt;

use super::binding::ResourceBinding;
use super::cluster::Cluster;
use super::interpreter::ResourceInterpreterCustomization;
use super::policy::PropagationPolicy;
use super::taint_policy::ClusterTaintPolicy;
use super::work::Work;

/// All definitions, in the order of their names.
pub fn all() -> Vec<CustomResourceDefinition> {
    let mut all = vec![
        PropagationPolicy::crd(),
        cluster_scoped(
            PropagationPolicy::crd(),
            "ClusterPropagationPolicy",
            "clusterpropagationpolicies",
            "cpp",
        ),
        ResourceBinding::crd(),
        cluster_scoped(
            ResourceBinding::crd(),
            "ClusterResourceBinding",
            "clusterresourcebindings",
            "crb",
        ),
        Work::crd(),
        Cluster::crd(),
        ClusterTaintPolicy::crd(),
        ResourceInterpreterCustomization::crd(),
    ];
    all.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    all
}

/// The cluster-scoped twin of a namespaced kind: the same schema under another name (POL-04).
fn cluster_scoped(
    mut crd: CustomResourceDefinition,
    kind: &str,
    plural: &str,
    short_name: &str,
) -> CustomResourceDefinition {
    crd.metadata.name = Some(format!("{plural}.{}", crd.spec.group));
    "Cluster".clone_into(&mut crd.spec.scope);
    kind.clone_into(&mut crd.spec.names.kind);
    crd.spec.names.list_kind = Some(format!("{kind}List"));
    plural.clone_into(&mut crd.spec.names.plural);
    crd.spec.names.singular = Some(kind.to_lowercase());
    crd.spec.names.short_names = Some(vec![short_name.to_owned()]);
    crd
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_definition_under_its_own_name() {
        let names: Vec<_> = all().into_iter().filter_map(|crd| crd.metadata.name).collect();
        assert_eq!(
            names,
            [
                "clusterpropagationpolicies.policy.karmada.io",
                "clusterresourcebindings.work.karmada.io",
                "clusters.cluster.karmada.io",
                "clustertaintpolicies.policy.karmada.io",
                "propagationpolicies.policy.karmada.io",
                "resourcebindings.work.karmada.io",
                "resourceinterpretercustomizations.config.karmada.io",
                "works.work.karmada.io",
            ]
        );
    }
}
