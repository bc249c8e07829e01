//! Admission rules, read and checked, and what they make of an object.

use baton_core::yaml::plain::{self, YamlError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thiserror::Error;

use crate::{
    simulator::{
        merge::merge,
        rules::KindRef,
        template::{TemplateError, TemplateId, Templates, Variables, data},
    },
    storage::Storage,
};

/// What is wrong with a file of admission rules.
#[derive(Debug, Error)]
pub enum RulesError {
    /// The text is no YAML, or not of the shape of rules; the source says where.
    #[error("{file}: {source}")]
    Yaml {
        /// The file.
        file: String,
        /// What the parser says, with line and column.
        source: YamlError,
    },
    /// A file is for something else.
    #[error("{file}: {problem}")]
    File {
        /// The file.
        file: String,
        /// What is wrong.
        problem: String,
    },
    /// A template or an expression cannot be understood.
    #[error("{file}: rule `{rule}`: `{field}` cannot be understood: {source}")]
    Template {
        /// The file.
        file: String,
        /// The rule's name.
        rule: String,
        /// The field that holds it.
        field: &'static str,
        /// What the template engine says.
        source: TemplateError,
    },
}

/// The writes that rules are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// An object comes to be.
    Create,
    /// An object is changed.
    Update,
}

/// The rules of a file, checked.
#[derive(Debug)]
pub struct AdmissionRules {
    name: String,
    resource: KindRef,
    operations: Vec<Operation>,
    rules: Vec<Rule>,
    templates: Templates,
}

#[derive(Debug, Clone)]
struct Rule {
    name: String,
    when: Option<TemplateId>,
    merge: TemplateId,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RawFile {
    api_version: String,
    kind: String,
    metadata: RawMetadata,
    spec: RawSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMetadata {
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSpec {
    resource: KindRef,
    operations: Vec<Operation>,
    rules: Vec<RawRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    name: String,
    when: Option<String>,
    merge: String,
}

impl AdmissionRules {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(file: &str, text: &str) -> Result<Self, Vec<RulesError>> {
        let raw = read(file, text).map_err(|error| vec![error])?;
        let mut read = Self {
            name: raw.metadata.name,
            resource: raw.spec.resource,
            operations: raw.spec.operations,
            rules: Vec::new(),
            templates: Templates::new(),
        };
        let mut errors = Vec::new();
        for rule in raw.spec.rules {
            read.add(file, rule, &mut errors);
        }
        if errors.is_empty() { Ok(read) } else { Err(errors) }
    }

    fn add(&mut self, file: &str, raw: RawRule, errors: &mut Vec<RulesError>) {
        let place = |field: &str| format!("{file}/{}/{field}", raw.name);
        let templates = &mut self.templates;
        let variables = Variables::Admitted;
        let when = raw
            .when
            .as_ref()
            .map(|source| templates.add_expression(&place("when"), source, variables));
        let merge = templates.add_text(&place("merge"), &raw.merge, variables);
        match (when.transpose(), merge) {
            (Ok(when), Ok(merge)) => self.rules.push(Rule {
                name: raw.name,
                when,
                merge,
            }),
            (when, merge) => {
                let wrong = [("when", when.err()), ("merge", merge.err())];
                errors.extend(wrong.into_iter().filter_map(|(field, source)| {
                    Some(RulesError::Template {
                        file: file.to_owned(),
                        rule: raw.name.clone(),
                        field,
                        source: source?,
                    })
                }));
            }
        }
    }

    /// The same rules, looking into a storage.
    #[must_use]
    pub fn with(&self, storage: Storage) -> Self {
        Self {
            name: self.name.clone(),
            resource: self.resource.clone(),
            operations: self.operations.clone(),
            rules: self.rules.clone(),
            templates: self.templates.with_storage(storage),
        }
    }

    /// Their name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kind of objects that they are for.
    pub fn resource(&self) -> &KindRef {
        &self.resource
    }

    /// The writes that they are for.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// What is to be changed about an object: operations of a JSON patch, none if it is fine as it is.
    ///
    /// # Errors
    /// If a rule fails on this object.
    pub fn changes(&self, object: &Value) -> Result<Vec<Value>, RulesError> {
        let mut object = object.clone();
        let mut operations = Vec::new();
        for rule in &self.rules {
            let failed = |field| {
                move |source| RulesError::Template {
                    file: self.name.clone(),
                    rule: rule.name.clone(),
                    field,
                    source,
                }
            };
            let context = minijinja::context! { object => data(&object) };
            if let Some(when) = &rule.when
                && !self.templates.holds(when, &context).map_err(failed("when"))?
            {
                continue;
            }
            let patch = self.templates.render(&rule.merge, &context).map_err(failed("merge"))?;
            if !patch.is_object() {
                let (expected, value) = ("the fields of an object", patch);
                return Err(failed("merge")(TemplateError::Type { expected, value }));
            }
            differences(&object, &patch, "", &mut operations);
            merge(&mut object, &patch);
        }
        Ok(operations)
    }
}

fn read(file: &str, text: &str) -> Result<RawFile, RulesError> {
    let raw: RawFile = plain::read(text).map_err(|source| RulesError::Yaml {
        file: file.to_owned(),
        source,
    })?;
    if (raw.api_version.as_str(), raw.kind.as_str()) == ("baton.dev/v1alpha1", "AdmissionRules") {
        return Ok(raw);
    }
    Err(RulesError::File {
        file: file.to_owned(),
        problem: format!(
            "expected `apiVersion: baton.dev/v1alpha1` and `kind: AdmissionRules`, not {} and {}",
            raw.api_version, raw.kind
        ),
    })
}

/// What a merge patch changes, as operations of a JSON patch.
fn differences(object: &Value, merged: &Value, at: &str, operations: &mut Vec<Value>) {
    for (key, new) in merged.as_object().into_iter().flatten() {
        let path = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
        match (object.get(key), new) {
            (None, Value::Null) => {}
            (Some(_), Value::Null) => operations.push(json!({"op": "remove", "path": path})),
            (Some(old @ Value::Object(_)), Value::Object(_)) => differences(old, new, &path, operations),
            (Some(old), new) if old == new => {}
            (_, new) => {
                let mut value = Value::Null;
                merge(&mut value, new);
                operations.push(json!({"op": "add", "path": path, "value": value}));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = r#"
apiVersion: baton.dev/v1alpha1
kind: AdmissionRules
metadata: {name: resume}
spec:
  resource: {apiVersion: flink.apache.org/v1beta1, kind: FlinkDeployment}
  operations: [CREATE]
  rules:
    - name: resumes
      when: object.metadata.labels["a/b"]
      merge: |
        metadata: {labels: {a/b: null, seen: {{ object.metadata.labels["a/b"] }}}}
        spec: {job: {path: {{ latest("/x") }}, mode: savepoint}}
"#;

    #[test]
    fn a_merge_becomes_operations() {
        let storage = Storage::default();
        storage.write("/x/1", json!(1));
        let rules = AdmissionRules::parse("r.yaml", RULES).unwrap().with(storage);
        let object = json!({"metadata": {"labels": {"a/b": "7"}}, "spec": {"job": {"mode": "savepoint"}}});
        let expected = json!([
            {"op": "remove", "path": "/metadata/labels/a~1b"},
            {"op": "add", "path": "/metadata/labels/seen", "value": "7"},
            {"op": "add", "path": "/spec/job/path", "value": "/x/1"},
        ]);
        assert_eq!(Value::Array(rules.changes(&object).unwrap()), expected);
        assert!(rules.changes(&json!({"metadata": {}})).unwrap().is_empty());
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once() {
        let text = RULES
            .replace("object.metadata.labels[\"a/b\"]\n", "objekt ==\n")
            .replace("latest(", "newest(");
        let found = AdmissionRules::parse("r.yaml", &text).unwrap_err();
        let told: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 2, "{told:#?}");
        assert!(
            told[0].starts_with("r.yaml: rule `resumes`: `when` cannot be understood"),
            "{told:#?}"
        );
        assert!(
            told[1].contains("there is no variable or function `newest`"),
            "{told:#?}"
        );
        let other = AdmissionRules::parse("r.yaml", &RULES.replace("[CREATE]", "[CREATED]")).unwrap_err();
        assert!(other[0].to_string().contains("unknown variant `CREATED`"), "{other:?}");
    }
}
