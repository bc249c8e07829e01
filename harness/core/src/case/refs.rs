//! The references of a case (roles, captures, kinds, files, requirements), and the check that their targets exist.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    error::Error,
    io,
    path::PathBuf,
    string::FromUtf8Error,
};

use serde_json::Value;
use thiserror::Error;

use super::{
    model::{ObjectRef, Place, Subject, Workloads},
    shapes::steps as shapes,
};
use crate::{
    catalogue::Catalogue,
    names::{Feature, RequirementId, RoleName, number_of_member},
    pattern::{self, NAMESPACE, Pattern},
    spelling::suggestion,
    yaml::{
        Data, Node,
        decode::{Decoder, Fields},
    },
};

/// A file below `fixtures/` that cannot be read.
#[derive(Debug, Error)]
pub enum FixtureError {
    /// The path leads out of the folder.
    #[error("expected a path below fixtures/")]
    Outside,
    /// The file does not exist.
    #[error("no such file")]
    Missing,
    /// The file does not exist in this suite, but in that of a folder above.
    #[error("no such file; say `--root {}`, where it is", .0.display())]
    Above(PathBuf),
    /// The system refuses to read the file.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// The file is not text.
    #[error(transparent)]
    NotText(#[from] FromUtf8Error),
}

/// Error of a check that the caller supplies: reading cases does not depend on the parser that makes it.
pub type CheckError = Box<dyn Error + Send + Sync>;

/// Data from outside the case that checking it needs.
pub struct ReadContext<'a> {
    /// The requirements that cases may cite, and the features they belong to.
    pub catalogue: &'a Catalogue,
    /// Reads the text of a file below `fixtures/`.
    pub fixture: &'a dyn Fn(&str) -> Result<String, FixtureError>,
    /// The files that there are below `fixtures/`, for suggestions.
    pub fixtures: &'a [String],
    /// Checks a JSONPath template.
    pub check_path: &'a dyn Fn(&str) -> Result<(), CheckError>,
    /// Checks the name and text of a file of admission rules.
    pub check_admission: &'a dyn Fn(&str, &str) -> Result<(), CheckError>,
    /// Content of files that were read so far.
    pub objects: Objects,
}

/// The objects of files below `fixtures/`: hundreds of cases apply the same few, and each is read once.
#[derive(Debug, Default)]
pub struct Objects(RefCell<BTreeMap<String, Vec<Value>>>);

impl Objects {
    /// Those of a file, if it has been read.
    pub(super) fn of(&self, file: &str) -> Option<Vec<Value>> {
        self.0.borrow().get(file).cloned()
    }

    /// Keeps those of a file.
    pub(super) fn keep(&self, file: &str, objects: &[Value]) {
        self.0.borrow_mut().insert(file.to_owned(), objects.to_vec());
    }
}

/// Names that are known at a step, because of the steps before it.
#[derive(Debug, Default)]
pub struct Scope {
    /// Number of members.
    pub members: usize,
    /// Roles that are bound.
    pub roles: BTreeSet<String>,
    /// Values that are captured.
    pub captures: BTreeSet<String>,
    /// Instances of the controller that were added.
    pub instances: BTreeSet<String>,
    /// Members that are unjoined.
    pub unjoined: BTreeSet<RoleName>,
    /// The `apiVersion` of every kind that was applied, and whether it is in a namespace.
    pub kinds: BTreeMap<String, (String, bool)>,
    /// Set if the paths in policies are not checked, because the step tries the answer of the API to them.
    pub paths_may_be_wrong: bool,
    /// Set if a file could not be read: an unknown kind may then not be the author's mistake.
    pub incomplete: bool,
}

/// Kinds that cases speak of without applying them.
const KNOWN_KINDS: [(&str, &str, bool); 18] = [
    ("ClusterPropagationPolicy", "policy.karmada.io/v1alpha1", false),
    ("Cluster", "cluster.karmada.io/v1alpha1", false),
    ("ClusterResourceBinding", "work.karmada.io/v1alpha2", false),
    ("ClusterTaintPolicy", "policy.karmada.io/v1alpha1", false),
    ("ConfigMap", "v1", true),
    ("CustomResourceDefinition", "apiextensions.k8s.io/v1", false),
    ("DaemonSet", "apps/v1", true),
    ("Deployment", "apps/v1", true),
    ("Job", "batch/v1", true),
    ("Namespace", "v1", false),
    ("PersistentVolumeClaim", "v1", true),
    ("Pod", "v1", true),
    ("PropagationPolicy", "policy.karmada.io/v1alpha1", true),
    ("ResourceInterpreterCustomization", "config.karmada.io/v1alpha1", false),
    ("ResourceBinding", "work.karmada.io/v1alpha2", true),
    ("Secret", "v1", true),
    ("ServiceAccount", "v1", true),
    ("StatefulSet", "apps/v1", true),
];

impl Scope {
    /// Takes in an object that is applied.
    pub fn applied(&mut self, object: &Value) {
        let text = |pointer| {
            object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let (kind, api_version) = (text("/kind"), text("/apiVersion"));
        if kind == "CustomResourceDefinition" {
            let versions = object.pointer("/spec/versions").and_then(Value::as_array);
            let served = versions
                .into_iter()
                .flatten()
                .find(|version| version["served"] == Value::Bool(true));
            let version = served.and_then(|version| version["name"].as_str()).unwrap_or_default();
            let defined = (
                format!("{}/{version}", text("/spec/group")),
                text("/spec/scope") != "Cluster",
            );
            self.kinds.insert(text("/spec/names/kind"), defined);
        }
        let known = self.kind(&kind).is_none_or(|(_, namespaced)| namespaced);
        self.kinds.insert(kind, (api_version, known));
    }

    fn kind(&self, kind: &str) -> Option<(String, bool)> {
        let known = KNOWN_KINDS.iter().find(|(name, _, _)| *name == kind);
        self.kinds
            .get(kind)
            .cloned()
            .or_else(|| known.map(|(_, api_version, it)| ((*api_version).to_owned(), *it)))
    }

    /// A role that must be bound, or the name of a member.
    pub fn role(&self, node: &Node, decoder: &mut Decoder) -> Option<RoleName> {
        let name = decoder.text(node, "a role")?;
        let is_member = number_of_member(&name).is_some_and(|number| number <= self.members);
        if is_member || self.roles.contains(&name) {
            return Some(RoleName::new(name));
        }
        let help = if self.roles.is_empty() {
            "bind it first with `bindRole`".to_owned()
        } else {
            format!(
                "{}; or bind it first with `bindRole`",
                suggestion(&name, self.roles.iter().map(String::as_str))
            )
        };
        decoder.error(node, format!("the role `{name}` is not bound before this step"), help);
        None
    }

    /// A place: `control`, `members` or a role that is bound.
    pub fn place(&self, node: &Node, decoder: &mut Decoder) -> Option<Place> {
        match decoder.text(node, "a place")?.as_str() {
            "control" => Some(Place::Control),
            "members" => Some(Place::Members),
            _ => self.role(node, decoder).map(Place::Role),
        }
    }

    /// `{kind, name}` with `namespace` and `apiVersion` where they are needed.
    pub fn object(&self, node: &Node, decoder: &mut Decoder) -> Option<ObjectRef> {
        let fields = decoder.shape(node, &shapes::OBJECT)?;
        let name = fields.get("name").and_then(|node| decoder.text(node, "name"));
        let (api_version, kind, namespace) = self.kind_of(&fields, decoder)?;
        Some(ObjectRef {
            api_version,
            kind,
            namespace,
            name: name?,
        })
    }

    /// `apiVersion`, kind and namespace of what is meant.
    fn kind_of(&self, fields: &Fields<'_>, decoder: &mut Decoder) -> Option<(String, String, Option<String>)> {
        let kind_node = fields.get("kind");
        let kind = kind_node.and_then(|node| decoder.text(node, "kind"));
        let own_version = fields
            .get("apiVersion")
            .and_then(|node| decoder.text(node, "apiVersion"));
        let own_namespace = fields.get("namespace").and_then(|node| decoder.text(node, "namespace"));
        let kind = kind?;
        let known = self.kind(&kind);
        let Some(api_version) = own_version.or_else(|| known.clone().map(|(api_version, _)| api_version)) else {
            if self.incomplete {
                return None;
            }
            let kinds: Vec<_> = self
                .kinds
                .keys()
                .map(String::as_str)
                .chain(KNOWN_KINDS.iter().map(|(kind, _, _)| *kind))
                .collect();
            let help = format!("{}; or add `apiVersion`", suggestion(&kind, kinds));
            decoder.error(kind_node.unwrap_or(fields.node), format!("unknown kind `{kind}`"), help);
            return None;
        };
        let namespaced = known.is_none_or(|(_, namespaced)| namespaced);
        if let (false, Some(node)) = (namespaced, fields.get("namespace")) {
            decoder.error(node, format!("a {kind} is in no namespace"), "leave it out");
        }
        let namespace = namespaced.then(|| own_namespace.unwrap_or_else(|| "default".to_owned()));
        Some((api_version, kind, namespace))
    }

    /// `{kind, labels}`, with `namespace` and `apiVersion` as for one object.
    fn workloads(&self, node: &Node, decoder: &mut Decoder) -> Option<Workloads> {
        let fields = decoder.shape(node, &shapes::WORKLOADS_OF)?;
        let (api_version, kind, namespace) = self.kind_of(&fields, decoder)?;
        let labels = fields.get("labels").map(|node| decoder.members(node, "labels"));
        let mut read = BTreeMap::new();
        for (key, value) in labels.unwrap_or_default() {
            read.insert(key.key().to_owned(), decoder.text(value, "a label")?);
        }
        Some(Workloads {
            api_version,
            kind,
            namespace,
            labels: read,
        })
    }

    /// Reads the subject of a step.
    pub fn subject(&self, node: &Node, decoder: &mut Decoder) -> Option<Subject> {
        if let Some(workload) = node.get("bindingOf") {
            decoder.shape(node, &shapes::BINDING_OF)?;
            return self.object(workload, decoder).map(Subject::BindingOf);
        }
        if let Some(workloads) = node.get("bindingsOf") {
            decoder.shape(node, &shapes::BINDINGS_OF)?;
            return self.workloads(workloads, decoder).map(Subject::BindingsOf);
        }
        if let Some(workload) = node.get("workOf") {
            let fields = decoder.shape(node, &shapes::WORK_OF)?;
            let member = fields.get("for").and_then(|node| self.role(node, decoder));
            return Some(Subject::WorkOf {
                workload: self.object(workload, decoder)?,
                member: member?,
            });
        }
        if let Some(role) = node.get("cluster") {
            decoder.shape(node, &shapes::CLUSTER)?;
            return self.role(role, decoder).map(Subject::Cluster);
        }
        if let Some(workload) = node.get("noticeOf") {
            decoder.shape(node, &shapes::NOTICE_OF)?;
            return self.object(workload, decoder).map(Subject::NoticeOf);
        }
        if let Some(workload) = node.get("newsOf") {
            decoder.shape(node, &shapes::NEWS_OF)?;
            return self.object(workload, decoder).map(Subject::NewsOf);
        }
        if let Some(about) = node.get("eventOf") {
            decoder.shape(node, &shapes::EVENT_OF)?;
            let about: Option<Vec<_>> = match &about.data {
                Data::List(_) => about.items().iter().map(|it| self.subject(it, decoder)).collect(),
                _ => self.subject(about, decoder).map(|about| vec![about]),
            };
            return about.map(Subject::EventOf);
        }
        self.object(node, decoder).map(Subject::Object)
    }

    /// A pattern whose references are all known.
    pub fn pattern(&self, node: &Node, decoder: &mut Decoder) -> Option<Pattern> {
        self.references_in(node, decoder);
        match Pattern::from_value(&node.value()) {
            Ok(pattern) => Some(pattern),
            Err((_, message)) => {
                let mut lists = Vec::new();
                bare_lists(node, &mut lists);
                if lists.is_empty() {
                    decoder.error(node, message.clone(), "see Matchers in cases/README.md");
                }
                for list in lists {
                    decoder.error(list, message.clone(), "");
                }
                None
            }
        }
    }

    /// Checks that what a text refers to is known: roles that are bound, values that are captured.
    fn references(&self, node: &Node, text: &str, decoder: &mut Decoder) {
        for name in pattern::references(text) {
            if name != NAMESPACE && !self.roles.contains(name) && !self.captures.contains(name) {
                let known = self.roles.iter().chain(&self.captures).map(String::as_str);
                let known: Vec<_> = known.chain([NAMESPACE]).collect();
                let message = format!("`${{{name}}}` is neither a role nor a capture of an earlier step");
                let help = decoder.suggestion(name, known);
                decoder.error(node, message, help);
            }
        }
    }

    /// Checks the references in all texts of a value.
    pub fn references_in(&self, node: &Node, decoder: &mut Decoder) {
        match &node.data {
            Data::Scalar { text, .. } => self.references(node, text, decoder),
            Data::List(items) => items.iter().for_each(|item| self.references_in(item, decoder)),
            Data::Map(members) => members.iter().for_each(|(_, value)| self.references_in(value, decoder)),
        }
    }
}

/// The lists in a pattern that do not say how they are meant.
fn bare_lists<'n>(node: &'n Node, found: &mut Vec<&'n Node>) {
    match &node.data {
        Data::Scalar { .. } => {}
        Data::List(items) => {
            found.push(node);
            for item in items {
                bare_lists(item, found);
            }
        }
        Data::Map(members) => match members.as_slice() {
            [(key, list)] if ["contains", "exactly", "lacks", "mentions", "any", "oneOf"].contains(&key.key()) => {
                list.items().iter().for_each(|item| bare_lists(item, found));
            }
            members => members.iter().for_each(|(_, value)| bare_lists(value, found)),
        },
    }
}

/// A list of requirement ids, all of them in the catalogue.
pub(crate) fn requirements(catalogue: &Catalogue, node: &Node, decoder: &mut Decoder) -> BTreeSet<RequirementId> {
    let texts = decoder.texts(node, "a requirement");
    let ids = texts
        .iter()
        .map(|(item, text)| requirement(catalogue, item, text, decoder));
    ids.flatten().collect()
}

/// A requirement id that is in the catalogue.
pub(crate) fn requirement(
    catalogue: &Catalogue,
    node: &Node,
    text: &str,
    decoder: &mut Decoder,
) -> Option<RequirementId> {
    let id = RequirementId::new(text);
    if catalogue.get(&id).is_some() {
        return Some(id);
    }
    let help = decoder.help(|| catalogue.suggestion(text));
    decoder.error(node, format!("unknown requirement `{text}`"), help);
    None
}

/// A list of features, all of them in the catalogue.
pub(crate) fn features(catalogue: &Catalogue, node: &Node, decoder: &mut Decoder) -> BTreeSet<Feature> {
    let known = catalogue.features();
    let mut features = BTreeSet::new();
    for (item, text) in decoder.texts(node, "a feature") {
        let feature = Feature::new(&text);
        if known.contains(&feature) {
            features.insert(feature);
        } else {
            let help = if text.eq_ignore_ascii_case("core") {
                let core: Vec<_> = catalogue.core().iter().map(Feature::as_str).collect();
                format!("the profile Core is {}", core.join(", "))
            } else {
                let names: Vec<_> = known.iter().map(|it| it.as_str()).collect();
                decoder.suggestion(&text, names)
            };
            decoder.error(item, format!("unknown feature `{text}`"), help);
        }
    }
    features
}
