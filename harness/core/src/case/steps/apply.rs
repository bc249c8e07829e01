//! `apply`: objects of a file or of the case itself; `admission`: rules of a file.

use serde::Deserialize as _;
use serde_json::Value;

use super::Reader;
use crate::{
    case::{
        model::{Action, Place},
        shapes::steps as shapes,
    },
    spelling::suggestion,
    yaml::{Data, Node},
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
                self.check_paths(node);
                let object = self.resource(node)?;
                vec![object]
            }
            (Some(_), Some(node)) => {
                self.decoder.error(
                    node,
                    "apply takes `file` or `resource`, not both",
                    "make two steps of it",
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
        (!on.is_empty()).then_some(Action::Apply { on, objects, file })
    }

    pub(super) fn admission(&mut self, node: &Node) -> Option<Action> {
        let fields = self.decoder.shape(node, &shapes::ADMISSION)?;
        let on = fields.get("on").map(|node| self.places(node)).unwrap_or_default();
        let node = fields.get("file")?;
        let file = self.decoder.text(node, "file")?;
        let rules = self.fixture(node, &file)?;
        if let Err(reason) = (self.context.check_admission)(&file, &rules) {
            let help = "`apiVersion: baton.dev/v1alpha1`, `kind: AdmissionRules` are wanted";
            self.decoder.error(
                node,
                format!("fixtures/{file} holds no admission rules: {reason}"),
                help,
            );
        }
        (!on.is_empty()).then_some(Action::Admission { on, rules, file })
    }

    fn places(&mut self, node: &Node) -> Vec<Place> {
        match &node.data {
            Data::List(items) => items
                .iter()
                .filter_map(|item| self.scope.place(item, &mut self.decoder))
                .collect(),
            Data::Scalar { .. } | Data::Map(_) => self.scope.place(node, &mut self.decoder).into_iter().collect(),
        }
    }

    /// The text of a file below `fixtures/`.
    fn fixture(&mut self, node: &Node, name: &str) -> Option<String> {
        let below = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', ':', '\0']);
        if !name.split('/').all(below) {
            let help = "name a file below fixtures/, such as `workloads/deploy.yaml`";
            self.decoder
                .error(node, format!("`{name}` is no path below fixtures/"), help);
            return None;
        }
        match (self.context.fixture)(name) {
            Ok(text) => Some(text),
            Err(reason) => {
                let help = suggestion(name, self.context.fixtures.iter().map(String::as_str));
                self.decoder
                    .error(node, format!("fixtures/{name} cannot be read: {reason}"), help);
                None
            }
        }
    }

    fn file(&mut self, node: &Node, name: &str) -> Option<Vec<Value>> {
        let text = self.fixture(node, name)?;
        let objects: Result<Vec<Value>, _> = serde_yaml::Deserializer::from_str(&text)
            .map(Value::deserialize)
            .collect();
        match objects {
            Ok(objects) if objects.iter().all(is_object) => Some(objects),
            Ok(_) => {
                let help = "every document in it needs apiVersion, kind and metadata.name";
                self.decoder
                    .error(node, format!("fixtures/{name} holds something that is no object"), help);
                None
            }
            Err(error) => {
                self.decoder
                    .error(node, format!("fixtures/{name} is no YAML: {error}"), "");
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
                    let message = format!("the JSONPath `{text}` does not parse: {reason}");
                    self.decoder
                        .error(path, message, "paths are written as in `{ .jobStatus.jobID }`");
                }
            }
        }
    }
}

fn is_object(value: &Value) -> bool {
    ["/apiVersion", "/kind", "/metadata/name"]
        .iter()
        .all(|pointer| value.pointer(pointer).is_some_and(Value::is_string))
}
