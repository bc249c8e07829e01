//! What a case refers to, and whether it is there: roles, captures, kinds, files, requirements.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    model::{ObjectRef, Place, Subject},
    shapes::steps as shapes,
};
use crate::{
    catalogue::Catalogue,
    names::{Feature, RequirementId, RoleName},
    pattern::{self, NAMESPACE, Pattern},
    spelling::suggestion,
    yaml::{Data, Node, decode::Notes},
};

/// What checking a case needs from outside.
pub struct ReadContext<'a> {
    /// The requirements that cases may cite, and the features they belong to.
    pub catalogue: &'a Catalogue,
    /// Gives the text of a file below `fixtures/`, or says why there is none.
    pub fixture: &'a dyn Fn(&str) -> Result<String, String>,
    /// The files that there are below `fixtures/`, for suggestions.
    pub fixtures: &'a [String],
    /// Checks a JSONPath template; says what is wrong with it.
    pub check_path: &'a dyn Fn(&str) -> Result<(), String>,
    /// Checks the text of a file of admission rules; says what is wrong with it.
    pub check_admission: &'a dyn Fn(&str, &str) -> Result<(), String>,
}

/// What is known at a step, because of the steps before it.
#[derive(Debug, Default)]
pub struct Scope {
    /// Roles that are bound.
    pub roles: BTreeSet<String>,
    /// Values that are captured.
    pub captures: BTreeSet<String>,
    /// The `apiVersion` of every kind that was applied, and whether it is in a namespace.
    pub kinds: BTreeMap<String, (String, bool)>,
    /// Whether a file could not be read, so that kinds may be unknown that are not the author's mistake.
    pub incomplete: bool,
}

/// Kinds that cases speak of without applying them.
const KNOWN_KINDS: [(&str, &str, bool); 12] = [
    ("ClusterPropagationPolicy", "policy.karmada.io/v1alpha1", false),
    ("Cluster", "cluster.karmada.io/v1alpha1", false),
    ("ClusterResourceBinding", "work.karmada.io/v1alpha2", false),
    ("ConfigMap", "v1", true),
    ("CustomResourceDefinition", "apiextensions.k8s.io/v1", false),
    ("Deployment", "apps/v1", true),
    ("Job", "batch/v1", true),
    ("Namespace", "v1", false),
    ("Pod", "v1", true),
    ("PropagationPolicy", "policy.karmada.io/v1alpha1", true),
    ("ResourceBinding", "work.karmada.io/v1alpha2", true),
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

    /// A role that must be bound.
    pub fn role(&self, node: &Node, notes: &mut Notes) -> Option<RoleName> {
        let name = notes.text(node, "a role")?;
        if self.roles.contains(&name) {
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
        notes.wrong(node, format!("no role `{name}` is bound before this step"), help);
        None
    }

    /// A place: `control`, `members` or a role that is bound.
    pub fn place(&self, node: &Node, notes: &mut Notes) -> Option<Place> {
        match notes.text(node, "a place")?.as_str() {
            "control" => Some(Place::Control),
            "members" => Some(Place::Members),
            _ => self.role(node, notes).map(Place::Role),
        }
    }

    /// `{kind, name}` with `namespace` and `apiVersion` where they are needed.
    pub fn object(&self, node: &Node, notes: &mut Notes) -> Option<ObjectRef> {
        let fields = notes.shape(node, &shapes::OBJECT)?;
        let kind_node = fields.get("kind");
        let kind = kind_node.and_then(|node| notes.text(node, "kind"));
        let name = fields.get("name").and_then(|node| notes.text(node, "name"));
        let own_version = fields.get("apiVersion").and_then(|node| notes.text(node, "apiVersion"));
        let own_namespace = fields.get("namespace").and_then(|node| notes.text(node, "namespace"));
        let (kind, name) = (kind?, name?);
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
            notes.wrong(
                kind_node.unwrap_or(node),
                format!("the kind `{kind}` is not known here"),
                help,
            );
            return None;
        };
        let namespaced = known.is_none_or(|(_, namespaced)| namespaced);
        if let (false, Some(node)) = (namespaced, fields.get("namespace")) {
            notes.wrong(node, format!("a {kind} is in no namespace"), "leave it out");
        }
        let namespace = namespaced.then(|| own_namespace.unwrap_or_else(|| "default".to_owned()));
        Some(ObjectRef {
            api_version,
            kind,
            namespace,
            name,
        })
    }

    /// What a step is about.
    pub fn subject(&self, node: &Node, notes: &mut Notes) -> Option<Subject> {
        if let Some(workload) = node.get("bindingOf") {
            notes.shape(node, &shapes::BINDING_OF)?;
            return self.object(workload, notes).map(Subject::BindingOf);
        }
        if let Some(workload) = node.get("workOf") {
            let fields = notes.shape(node, &shapes::WORK_OF)?;
            let member = fields.get("for").and_then(|node| self.role(node, notes));
            return Some(Subject::WorkOf {
                workload: self.object(workload, notes)?,
                member: member?,
            });
        }
        if let Some(role) = node.get("cluster") {
            notes.shape(node, &shapes::CLUSTER)?;
            return self.role(role, notes).map(Subject::Cluster);
        }
        if let Some(workload) = node.get("noticeOf") {
            notes.shape(node, &shapes::NOTICE_OF)?;
            return self.object(workload, notes).map(Subject::NoticeOf);
        }
        if let Some(about) = node.get("eventOf") {
            notes.shape(node, &shapes::EVENT_OF)?;
            return self
                .subject(about, notes)
                .map(|about| Subject::EventOf(Box::new(about)));
        }
        self.object(node, notes).map(Subject::Object)
    }

    /// A pattern whose references are all known.
    pub fn pattern(&self, node: &Node, notes: &mut Notes) -> Option<Pattern> {
        self.references_in(node, notes);
        match Pattern::from_value(&node.value()) {
            Ok(pattern) => Some(pattern),
            Err((_, message)) => {
                let mut lists = Vec::new();
                bare_lists(node, &mut lists);
                for list in lists {
                    notes.wrong(list, message.clone(), "");
                }
                None
            }
        }
    }

    /// Checks that what a text refers to is known: roles that are bound, values that are captured.
    fn references(&self, node: &Node, text: &str, notes: &mut Notes) {
        for name in pattern::references(text) {
            if name != NAMESPACE && !self.roles.contains(name) && !self.captures.contains(name) {
                let known = self.roles.iter().chain(&self.captures).map(String::as_str);
                let known: Vec<_> = known.chain([NAMESPACE]).collect();
                let message = format!("`${{{name}}}` refers to no role or capture before this step");
                let help = notes.suggestion(name, known);
                notes.wrong(node, message, help);
            }
        }
    }

    /// Checks the references in all texts of a value.
    pub fn references_in(&self, node: &Node, notes: &mut Notes) {
        match &node.data {
            Data::Scalar { text, .. } => self.references(node, text, notes),
            Data::List(items) => items.iter().for_each(|item| self.references_in(item, notes)),
            Data::Map(members) => members.iter().for_each(|(_, value)| self.references_in(value, notes)),
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
pub(crate) fn requirements(catalogue: &Catalogue, node: &Node, notes: &mut Notes) -> BTreeSet<RequirementId> {
    let texts = notes.texts(node, "a requirement");
    let ids = texts
        .iter()
        .map(|(item, text)| requirement(catalogue, item, text, notes));
    ids.flatten().collect()
}

/// A requirement id that is in the catalogue.
pub(crate) fn requirement(catalogue: &Catalogue, node: &Node, text: &str, notes: &mut Notes) -> Option<RequirementId> {
    let id = RequirementId::new(text);
    if catalogue.get(&id).is_some() {
        return Some(id);
    }
    let help = notes.help(|| catalogue.suggestion(text));
    notes.wrong(node, format!("there is no requirement `{text}`"), help);
    None
}

/// A list of features, all of them in the catalogue.
pub(crate) fn features(catalogue: &Catalogue, node: &Node, notes: &mut Notes) -> BTreeSet<Feature> {
    let known = catalogue.features();
    let mut features = BTreeSet::new();
    for (item, text) in notes.texts(node, "a feature") {
        let feature = Feature::new(&text);
        if known.contains(&feature) {
            features.insert(feature);
        } else {
            let names: Vec<_> = known.iter().map(|it| it.as_str()).collect();
            let help = notes.suggestion(&text, names);
            notes.wrong(item, format!("there is no feature `{text}`"), help);
        }
    }
    features
}
