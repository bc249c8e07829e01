//! Admission rules: parses and checks them, and applies them to an object.

use baton_core::yaml::plain::{self, YamlError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thiserror::Error;

use crate::{
    simulator::{
        functions::data,
        merge::merge,
        rules::KindRef,
        template::{TemplateError, TemplateId, Templates, Variables},
    },
    storage::Storage,
};

/// An error in a file of admission rules.
#[derive(Debug, Error)]
pub enum RulesError {
    /// Invalid YAML, or unexpected fields; the source has the position.
    #[error("{file}: {source}")]
    Yaml {
        /// Name of the file.
        file: String,
        /// Error from the parser, with line and column.
        source: YamlError,
    },
    /// A file with another kind or API version.
    #[error("{file}: {problem}")]
    File {
        /// Name of the file.
        file: String,
        /// Reason.
        problem: String,
    },
    /// A template or an expression cannot be parsed or rendered.
    #[error("{file}: rule `{rule}`: `{field}` cannot be understood: {source}")]
    Template {
        /// Name of the file.
        file: String,
        /// Name of the rule.
        rule: String,
        /// Field that holds the template.
        field: &'static str,
        /// Error from the template engine.
        source: TemplateError,
    },
}

/// Kind of write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// Creation of an object.
    Create,
    /// Update of an object.
    Update,
}

/// Checked admission rules of one file.
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
    /// Parses and checks the text of a file.
    ///
    /// # Errors
    /// All errors in the file.
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

    /// The same rules, with `storage` for their templates.
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

    /// Name of the rules.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Kind of the objects that the rules change.
    pub fn resource(&self) -> &KindRef {
        &self.resource
    }

    /// Kinds of writes that the rules change.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Changes that the rules make to an object, as operations of a JSON patch; empty if nothing changes.
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

/// Converts the difference between an object and its merged form to operations of a JSON patch.
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
        assert!(told[1].contains("unknown variable or function `newest`"), "{told:#?}");
        let other = AdmissionRules::parse("r.yaml", &RULES.replace("[CREATE]", "[CREATED]")).unwrap_err();
        assert!(other[0].to_string().contains("unknown variant `CREATED`"), "{other:?}");
    }
}
