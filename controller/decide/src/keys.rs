//! Keys that identify the controller's objects and connect them to each other.

use std::fmt;

use serde_json::Value;

use crate::api::{ObjectReference, Work};
use crate::names;

/// Group, version and kind of any resource.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Gvk {
    /// API group; empty for the core group.
    pub group: String,
    /// API version.
    pub version: String,
    /// Kind.
    pub kind: String,
}

impl Gvk {
    /// Parses `apiVersion` into group and version.
    pub fn new(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
        }
    }

    /// Returns the kind of an object.
    pub fn of(object: &Value) -> Option<Self> {
        Some(Self::new(
            object.get("apiVersion")?.as_str()?,
            object.get("kind")?.as_str()?,
        ))
    }

    /// Returns group and version as `apiVersion`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

impl fmt::Display for Gvk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, Kind={}", self.api_version(), self.kind)
    }
}

/// Namespace and name; the namespace is absent for cluster-scoped objects.
#[derive(Clone, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ObjectKey {
    /// The namespace.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl ObjectKey {
    /// Returns the key of an object in this namespace, or of a cluster-scoped object.
    pub fn new(namespace: Option<&str>, name: &str) -> Self {
        Self {
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// Key of a resource on the control plane.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TemplateKey {
    /// Kind of the resource.
    pub gvk: Gvk,
    /// Namespace and name of the resource.
    pub key: ObjectKey,
}

impl TemplateKey {
    /// Returns the key of the resource that a binding refers to.
    pub fn of(resource: &ObjectReference) -> Self {
        Self {
            gvk: Gvk::new(&resource.api_version, &resource.kind),
            key: ObjectKey {
                namespace: resource.namespace.clone(),
                name: resource.name.clone(),
            },
        }
    }

    /// Returns the key of this resource's binding: in the same namespace, or cluster-scoped like the resource.
    pub fn binding(&self) -> ObjectKey {
        ObjectKey {
            namespace: self.key.namespace.clone(),
            name: names::binding_name(&self.gvk.kind, &self.key.name),
        }
    }
}

impl fmt::Display for TemplateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.gvk.kind, self.key)
    }
}

/// Returns the key of the binding that a Work was created for.
pub fn binding_of(work: &Work) -> Option<ObjectKey> {
    if let Some(name) = work.annotation(names::BINDING_NAME) {
        return Some(ObjectKey::new(work.annotation(names::BINDING_NAMESPACE), name));
    }
    work.annotation(names::CLUSTER_BINDING_NAME)
        .map(|name| ObjectKey::new(None, name))
}

/// Returns the cluster that a Work is for.
pub fn cluster_of(work: &Work) -> Option<&str> {
    work.namespace().and_then(names::cluster_of_space)
}

/// Returns kind and key of a Work's object on the member.
pub fn member_object(work: &Work) -> Option<TemplateKey> {
    let manifest = work.spec.workload.manifests.first()?;
    let metadata = manifest.get("metadata")?;
    Some(TemplateKey {
        gvk: Gvk::of(manifest)?,
        key: ObjectKey::new(
            metadata.get("namespace").and_then(Value::as_str),
            metadata.get("name")?.as_str()?,
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_versions_come_apart_and_together() {
        for (api_version, group, version) in [("v1", "", "v1"), ("apps/v1", "apps", "v1")] {
            let gvk = Gvk::new(api_version, "X");
            assert_eq!((gvk.group.as_str(), gvk.version.as_str()), (group, version));
            assert_eq!(gvk.api_version(), api_version);
        }
    }
}
