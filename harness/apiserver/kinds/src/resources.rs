//! The built-in resources: their names, verbs and subresources.
//!
//! A [`Group`] has versions, a [`Version`] has [`Resource`]s; discovery and routing read them. The list comes from
//! Kubernetes' own discovery documents (`generated/resources.txt`).

use std::sync::LazyLock;

use base64::Engine as _;
use baton_apimachinery::generated::{self, Line};
use sha2::{Digest as _, Sha256};

/// An API group and its versions; the first is the preferred one.
#[derive(Debug)]
pub struct Group {
    /// `apps`; empty for the core group.
    pub name: &'static str,
    /// The served versions, preferred first.
    pub versions: Vec<Version>,
}

/// A version of a group and its resources in alphabetical order.
#[derive(Debug)]
pub struct Version {
    /// `v1`.
    pub name: &'static str,
    /// The resources as discovery lists them.
    pub resources: Vec<Resource>,
}

/// A built-in resource.
#[derive(Debug)]
pub struct Resource {
    /// `apps`; empty for the core group.
    pub group: &'static str,
    /// `v1`.
    pub version: &'static str,
    /// `Deployment`.
    pub kind: &'static str,
    /// `deployments`, as in paths.
    pub plural: &'static str,
    /// `deployment`.
    pub singular: &'static str,
    /// `deploy`.
    pub short_names: Vec<&'static str>,
    /// `all`.
    pub categories: Vec<&'static str>,
    /// `true` if its objects live in namespaces.
    pub namespaced: bool,
    /// The supported verbs, in alphabetical order.
    pub verbs: Vec<&'static str>,
    /// `status`, `scale` and the like, in alphabetical order.
    pub subresources: Vec<Subresource>,
    /// `true` if objects are stored; `false` for reviews and bindings, which are only answered.
    pub stored: bool,
}

/// A subresource of a built-in resource.
#[derive(Debug)]
pub struct Subresource {
    /// `status`.
    pub name: &'static str,
    /// Group of the subresource's kind: `autoscaling`. See `version` for the default.
    pub group: &'static str,
    /// Version of the subresource's kind; empty if group and version are those of the resource.
    pub version: &'static str,
    /// The kind of the subresource: `Scale`; empty if it is that of the resource.
    pub kind: &'static str,
    /// The supported verbs, in alphabetical order.
    pub verbs: Vec<&'static str>,
}

/// The groups in the order of discovery, core group first.
pub static GROUPS: LazyLock<Vec<Group>> = LazyLock::new(|| read(include_str!("generated/resources.txt")));

/// Resources of Kubernetes that this server does not serve, because it would store their objects without acting on
/// them, or cannot convert them to the version in which they are stored.
const NOT_SERVED: &[(&str, &str)] = &[
    ("admissionregistration.k8s.io/v1", "mutatingadmissionpolicies"),
    ("admissionregistration.k8s.io/v1", "mutatingadmissionpolicybindings"),
    ("admissionregistration.k8s.io/v1", "validatingadmissionpolicies"),
    ("admissionregistration.k8s.io/v1", "validatingadmissionpolicybindings"),
    ("apiregistration.k8s.io/v1", "apiservices"),
    ("autoscaling/v1", "horizontalpodautoscalers"),
    ("flowcontrol.apiserver.k8s.io/v1", "flowschemas"),
    ("flowcontrol.apiserver.k8s.io/v1", "prioritylevelconfigurations"),
    ("resource.k8s.io/v1", "deviceclasses"),
    ("resource.k8s.io/v1", "resourceclaims"),
    ("resource.k8s.io/v1", "resourceclaimtemplates"),
    ("resource.k8s.io/v1", "resourceslices"),
];

fn read(text: &'static str) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for line in generated::lines(text).filter(|line| !NOT_SERVED.contains(&(line.name, line.words))) {
        let Some(resource) = Resource::read(line) else { continue };
        if groups.last().is_none_or(|group| group.name != resource.group) {
            groups.push(Group {
                name: resource.group,
                versions: Vec::new(),
            });
        }
        let Some(group) = groups.last_mut() else { continue };
        if group
            .versions
            .last()
            .is_none_or(|version| version.name != resource.version)
        {
            group.versions.push(Version {
                name: resource.version,
                resources: Vec::new(),
            });
        }
        if let Some(version) = group.versions.last_mut() {
            version.resources.push(resource);
        }
    }
    groups
}

impl Resource {
    /// Reads `apps/v1 deployments: Deployment deployment namespaced short=deploy category=all create|delete|…, status -
    /// get|…`.
    fn read(line: Line<'static>) -> Option<Self> {
        let (group, version) = line.name.rsplit_once('/').unwrap_or(("", line.name));
        let mut items = line.items();
        let (names, verbs) = items.next()?.rsplit_once(' ')?;
        let (kind, rest) = names.split_once(' ')?;
        let (singular, facts) = rest.split_once(' ').unwrap_or((rest, ""));
        let all = |word: &str| {
            let of_word = generated::facts(facts).filter(|fact| fact.0 == word);
            of_word.map(|fact| fact.1).collect()
        };
        let verbs: Vec<&str> = verbs.split('|').collect();
        Some(Self {
            group,
            version,
            kind,
            plural: line.words,
            singular,
            short_names: all("short"),
            categories: all("category"),
            namespaced: generated::facts(facts).any(|fact| fact.0 == "namespaced"),
            stored: verbs.contains(&"update"),
            verbs,
            subresources: items.filter_map(Subresource::read).collect(),
        })
    }

    /// `apps/v1`, or `v1` for the core group.
    pub fn api_version(&self) -> String {
        api_version(self.group, self.version)
    }

    /// `deployments.apps`, or `pods` for the core group, as `Status` messages write it.
    pub fn qualified(&self) -> String {
        if self.group.is_empty() {
            self.plural.to_owned()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    /// The subresource of that name.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|sub| sub.name == name)
    }

    /// Returns `true` if clients may use that verb on the resource itself.
    pub fn allows(&self, verb: &str) -> bool {
        self.verbs.contains(&verb)
    }

    /// The kind of the list of its objects.
    pub fn list_kind(&self) -> String {
        format!("{}List", self.kind)
    }
}

/// `apps/v1`, or `v1` for the core group.
pub fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}

impl Subresource {
    /// Reads `scale autoscaling/v1/Scale get|patch|update`, with `-` for the kind of the resource itself.
    fn read(text: &'static str) -> Option<Self> {
        let mut parts = text.split(' ');
        let (name, speaks, verbs) = (parts.next()?, parts.next()?, parts.next()?);
        let (api_version, kind) = speaks.rsplit_once('/').unwrap_or(("", ""));
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        Some(Self {
            name,
            group,
            version,
            kind,
            verbs: verbs.split('|').collect(),
        })
    }

    /// Returns group, version and kind of the objects in the subresource.
    pub fn speaks(&self, of: &Resource) -> (&'static str, &'static str, &'static str) {
        let (group, version) = if self.version.is_empty() {
            (of.group, of.version)
        } else {
            (self.group, self.version)
        };
        (group, version, if self.kind.is_empty() { of.kind } else { self.kind })
    }
}

/// Returns the `storageVersionHash` of a kind, built in or not: an opaque value that clients compare.
pub fn storage_version_hash(group: &str, version: &str, kind: &str) -> String {
    let digest = Sha256::digest(format!("{group}/{version}/{kind}"));
    base64::engine::general_purpose::STANDARD.encode(digest.get(..8).unwrap_or_default())
}

/// All resources of all groups.
pub fn resources() -> impl Iterator<Item = &'static Resource> {
    GROUPS
        .iter()
        .flat_map(|group| &group.versions)
        .flat_map(|version| &version.resources)
}

/// The version of a group.
pub fn version(group: &str, version: &str) -> Option<&'static Version> {
    GROUPS
        .iter()
        .find(|candidate| candidate.name == group)?
        .versions
        .iter()
        .find(|candidate| candidate.name == version)
}

/// The resource at `/apis/GROUP/VERSION/…/PLURAL`.
pub fn by_plural(group: &str, version_name: &str, plural: &str) -> Option<&'static Resource> {
    version(group, version_name)?
        .resources
        .iter()
        .find(|resource| resource.plural == plural)
}

/// Returns the resource whose objects have this `apiVersion` (split) and `kind`.
pub fn by_kind(group: &str, version_name: &str, kind: &str) -> Option<&'static Resource> {
    version(group, version_name)?
        .resources
        .iter()
        .find(|resource| resource.kind == kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_and_verbs_are_sorted_and_agree_with_their_group() {
        for group in GROUPS.iter() {
            for version in &group.versions {
                assert!(
                    version.resources.is_sorted_by_key(|resource| resource.plural),
                    "{}",
                    group.name
                );
                for resource in &version.resources {
                    assert_eq!((resource.group, resource.version), (group.name, version.name));
                    assert!(resource.verbs.is_sorted(), "{}", resource.plural);
                    assert!(
                        resource.subresources.is_sorted_by_key(|sub| sub.name),
                        "{}",
                        resource.plural
                    );
                }
            }
        }
    }

    #[test]
    fn a_subresource_speaks_its_own_kind_or_that_of_the_resource() {
        let deployments = by_plural("apps", "v1", "deployments").expect("deployments");
        let speaks = |name: &str| deployments.subresource(name).map(|sub| sub.speaks(deployments));
        assert_eq!(speaks("scale"), Some(("autoscaling", "v1", "Scale")));
        assert_eq!(speaks("status"), Some(("apps", "v1", "Deployment")));
        assert_eq!(speaks("nope"), None);
    }
}
