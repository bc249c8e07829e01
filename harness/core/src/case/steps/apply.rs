//! `apply`: objects of a file or of the case itself; `admission`: rules of a file.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Reader;
use crate::{
    case::{
        model::{Action, Place},
        refs,
        shapes::steps as shapes,
    },
    spelling::file_suggestion,
    yaml::{Data, Node, plain},
};

impl Reader<'_> {
    pub(super) fn apply(&mut self, node: &Node) -> Option<Action> {
        let fields = self.decoder.shape(node, &shapes::APPLY)?;
        let on = fields.get("on").map(|node| self.places(node)).unwrap_or_default();
        let mut file = None;
        let objects = match (fields.get("file"), fields.get("resource")) {
            (Some(node), None) => {
                file = self.decoder.text(node, "file");
                let objects = file.as_deref().and_then(|name| self.file(node, name));
                self.scope.incomplete |= objects.is_none();
                objects?
            }
            (None, Some(node)) => {
                if !self.scope.paths_may_be_wrong {
                    self.check_paths(node);
                }
                let object = self.resource(node)?;
                vec![object]
            }
            (Some(_), Some(node)) => {
                self.decoder.error(
                    node,
                    "apply takes `file` or `resource`, not both",
                    "split it into two steps",
                );
                return None;
            }
            (None, None) => {
                self.decoder.error(node, "apply needs `file` or `resource`", "");
                return None;
            }
        };
        for object in &objects {
            self.scope.applied(object);
        }
        let proves = fields
            .get("proves")
            .map(|node| refs::requirements(self.context.catalogue, node, &mut self.decoder));
        (!on.is_empty()).then_some(Action::Apply {
            on,
            objects,
            file,
            proves: proves.unwrap_or_default(),
        })
    }

    /// Many objects of one template: a plain `apply` of them.
    pub(super) fn workloads(&mut self, node: &Node) -> Option<Action> {
        let fields = self.decoder.shape(node, &shapes::WORKLOADS)?;
        let on = fields.get("on").map(|node| self.places(node)).unwrap_or_default();
        let count = fields.get("count").and_then(|node| self.how_many(node));
        let labels = fields.get("labels").map(|node| self.labels(node)).unwrap_or_default();
        let file_node = fields.get("file")?;
        let file = self.decoder.text(file_node, "file")?;
        let name_node = fields.get("name")?;
        let name = self.decoder.text(name_node, "name")?;
        if name.matches("{i}").count() != 1 {
            let help = "such as `many-{i}`";
            self.decoder
                .error(name_node, "the name holds `{i}` once, where the number goes", help);
            return None;
        }
        let template = self.file(file_node, &file);
        self.scope.incomplete |= template.is_none();
        let template = template?;
        let [template] = template.as_slice() else {
            let message = format!("fixtures/{file} holds {} objects", template.len());
            self.decoder.error(file_node, message, "a template is one object");
            return None;
        };
        self.scope.applied(template);
        let count = count?;
        let digits = count.to_string().len();
        let named = (1..=count).map(|number| name.replace("{i}", &format!("{number:0digits$}")));
        let objects = named.map(|name| numbered(template, &name, &labels)).collect();
        (!on.is_empty()).then_some(Action::Apply {
            on,
            objects,
            file: Some(file),
            proves: BTreeSet::new(),
        })
    }

    fn how_many(&mut self, node: &Node) -> Option<usize> {
        let most = shapes::MOST_WORKLOADS;
        let count = node.value().as_u64().filter(|count| (1..=most).contains(count));
        if count.is_none() {
            self.decoder
                .error(node, format!("count must be a number from 1 to {most}"), "");
        }
        count.and_then(|count| usize::try_from(count).ok())
    }

    fn labels(&mut self, node: &Node) -> Vec<(String, String)> {
        let mut labels = Vec::new();
        for (key, value) in self.decoder.members(node, "labels") {
            let value = self.decoder.text(value, "the value of a label");
            labels.extend(value.map(|value| (key.key().to_owned(), value)));
        }
        labels
    }

    pub(super) fn admission(&mut self, node: &Node) -> Option<Action> {
        let fields = self.decoder.shape(node, &shapes::ADMISSION)?;
        let on = fields.get("on").map(|node| self.places(node)).unwrap_or_default();
        let node = fields.get("file")?;
        let file = self.decoder.text(node, "file")?;
        let rules = self.fixture(node, &file)?;
        if let Err(reason) = (self.context.check_admission)(&file, &rules) {
            let help = "`apiVersion: baton.dev/v1alpha1`, `kind: AdmissionRules` are expected";
            self.decoder.error(
                node,
                format!("fixtures/{file} is not a file of admission rules: {reason}"),
                help,
            );
        }
        (!on.is_empty()).then_some(Action::Admission { on, rules, file })
    }

    fn places(&mut self, node: &Node) -> Vec<Place> {
        match &node.data {
            Data::List(items) => {
                if items.is_empty() {
                    let help = "name a cluster: `control`, `members` or a role";
                    self.decoder.error(
                        node,
                        "`on` names no cluster: the step would do nothing".to_owned(),
                        help,
                    );
                }
                let places = items.iter();
                places
                    .filter_map(|item| self.scope.place(item, &mut self.decoder))
                    .collect()
            }
            Data::Scalar { .. } | Data::Map(_) => self.scope.place(node, &mut self.decoder).into_iter().collect(),
        }
    }

    /// The text of a file below `fixtures/`.
    fn fixture(&mut self, node: &Node, name: &str) -> Option<String> {
        let below = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', ':', '\0']);
        if !name.split('/').all(below) {
            let help = "pass a file below fixtures/, such as `workloads/deploy.yaml`";
            self.decoder
                .error(node, format!("`{name}` is not a path below fixtures/"), help);
            return None;
        }
        match (self.context.fixture)(name) {
            Ok(text) => Some(text),
            Err(reason) => {
                let files = self.context.fixtures.iter().map(String::as_str);
                let help = file_suggestion(name, files.filter(|file| !file.starts_with("scenarios/")));
                self.decoder
                    .error(node, format!("cannot read fixtures/{name}: {reason}"), help);
                None
            }
        }
    }

    fn file(&mut self, node: &Node, name: &str) -> Option<Vec<Value>> {
        if let Some(objects) = self.context.objects.of(name) {
            return Some(objects);
        }
        let text = self.fixture(node, name)?;
        let objects: Result<Vec<Value>, _> = plain::documents(&text).collect();
        match objects {
            Ok(objects) if objects.iter().all(is_object) => {
                self.context.objects.keep(name, &objects);
                Some(objects)
            }
            Ok(_) => {
                let help = "every document in it needs apiVersion, kind and metadata.name";
                self.decoder.error(
                    node,
                    format!("fixtures/{name} contains a document that is not a Kubernetes object"),
                    help,
                );
                None
            }
            Err(error) => {
                self.decoder
                    .error(node, format!("fixtures/{name} is not valid YAML: {error}"), "");
                None
            }
        }
    }

    fn resource(&mut self, node: &Node) -> Option<Value> {
        let value = node.value();
        if !is_object(&value) {
            self.decoder
                .error(node, "a resource needs apiVersion, kind and metadata.name", "");
            return None;
        }
        self.scope.references_in(node, &mut self.decoder);
        Some(value)
    }

    /// The paths in the policies of a case must parse; one that is meant not to is given in a file.
    fn check_paths(&mut self, resource: &Node) {
        let failover = resource.get("spec").and_then(|spec| spec.get("failover"));
        for part in ["cluster", "application"] {
            let behaviour = failover.and_then(|failover| failover.get(part));
            let rules = behaviour
                .and_then(|it| it.get("statePreservation"))
                .and_then(|it| it.get("rules"));
            for path in rules
                .map(Node::items)
                .unwrap_or_default()
                .iter()
                .filter_map(|rule| rule.get("jsonPath"))
            {
                let Some(text) = path.value().as_str().map(ToOwned::to_owned) else {
                    continue;
                };
                if let Err(reason) = (self.context.check_path)(&text) {
                    let message = format!("invalid JSONPath `{text}`: {reason}");
                    self.decoder
                        .error(path, message, "write paths like `{ .jobStatus.jobID }`");
                }
            }
        }
    }
}

/// The template under another name, also where its labels and selectors have the old one, and with more labels.
fn numbered(template: &Value, name: &str, labels: &[(String, String)]) -> Value {
    let old = template
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let mut object = renamed(template, old, name);
    for (key, value) in labels {
        object["metadata"]["labels"][key] = Value::String(value.clone());
    }
    object
}

fn renamed(value: &Value, old: &str, new: &str) -> Value {
    match value {
        Value::String(text) if text == old => Value::String(new.to_owned()),
        Value::Array(items) => items.iter().map(|item| renamed(item, old, new)).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| (key.clone(), renamed(value, old, new)))
            .collect(),
        other => other.clone(),
    }
}

fn is_object(value: &Value) -> bool {
    ["/apiVersion", "/kind", "/metadata/name"]
        .iter()
        .all(|pointer| value.pointer(pointer).is_some_and(Value::is_string))
}
