//! Watched resources and their clusters.

use kube::core::ApiResource;

use baton_decide::keys::Gvk;

/// Scope of a kind that exists in both scopes.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Scope {
    /// Namespaced.
    Namespaced,
    /// Cluster-scoped.
    Cluster,
}

/// A watch.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Source {
    /// `PropagationPolicy`, `ClusterPropagationPolicy`.
    Policies(Scope),
    /// `ResourceBinding`, `ClusterResourceBinding`.
    Bindings(Scope),
    /// `Work`.
    Works,
    /// `Cluster`.
    Clusters,
    /// `ClusterTaintPolicy`.
    TaintPolicies,
    /// `ResourceInterpreterCustomization`.
    Customizations,
    /// `CustomResourceDefinition`s on the control plane (`None`) or on a member.
    Definitions(Option<String>),
    /// Resources of a kind on the control plane.
    Templates(Gvk),
    /// Our objects of a kind on a member.
    Objects {
        /// Name of the member.
        cluster: String,
        /// The kind.
        gvk: Gvk,
    },
}

impl Source {
    /// Watches on our own API, which start with the controller.
    pub const FIXED: [Self; 8] = [
        Self::Clusters,
        Self::Policies(Scope::Namespaced),
        Self::Policies(Scope::Cluster),
        Self::Bindings(Scope::Namespaced),
        Self::Bindings(Scope::Cluster),
        Self::Works,
        Self::TaintPolicies,
        Self::Customizations,
    ];

    /// Returns the resource, if it is known statically; `None` for kinds that must be looked up at the API server.
    pub fn resource(&self) -> Option<ApiResource> {
        let (group, version, kind, plural) = match self {
            Self::Policies(Scope::Namespaced) => (
                "policy.karmada.io",
                "v1alpha1",
                "PropagationPolicy",
                "propagationpolicies",
            ),
            Self::Policies(Scope::Cluster) => (
                "policy.karmada.io",
                "v1alpha1",
                "ClusterPropagationPolicy",
                "clusterpropagationpolicies",
            ),
            Self::Bindings(Scope::Namespaced) => ("work.karmada.io", "v1alpha2", "ResourceBinding", "resourcebindings"),
            Self::Bindings(Scope::Cluster) => (
                "work.karmada.io",
                "v1alpha2",
                "ClusterResourceBinding",
                "clusterresourcebindings",
            ),
            Self::Works => ("work.karmada.io", "v1alpha1", "Work", "works"),
            Self::Clusters => ("cluster.karmada.io", "v1alpha1", "Cluster", "clusters"),
            Self::TaintPolicies => (
                "policy.karmada.io",
                "v1alpha1",
                "ClusterTaintPolicy",
                "clustertaintpolicies",
            ),
            Self::Customizations => (
                "config.karmada.io",
                "v1alpha1",
                "ResourceInterpreterCustomization",
                "resourceinterpretercustomizations",
            ),
            Self::Definitions(_) => (
                "apiextensions.k8s.io",
                "v1",
                "CustomResourceDefinition",
                "customresourcedefinitions",
            ),
            Self::Templates(_) | Self::Objects { .. } => return None,
        };
        Some(resource(group, version, kind, plural))
    }

    /// Returns the watch on bindings of this scope.
    pub fn bindings(namespace: Option<&str>) -> Self {
        Self::Bindings(if namespace.is_some() {
            Scope::Namespaced
        } else {
            Scope::Cluster
        })
    }
}

/// Creates a resource.
pub fn resource(group: &str, version: &str, kind: &str, plural: &str) -> ApiResource {
    let api_version = if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    };
    ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version,
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    }
}
