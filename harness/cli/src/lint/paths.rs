//! State preservation rules whose path names a field that the status of the workload cannot have.
//!
//! The schema of a status is known for kinds that the case defines, if it is closed, and for some built-in kinds. Only
//! the plain keys at the beginning of a path are checked, and the keys in and after a filter that follows them; the rest,
//! after a wildcard, an index or a descent, may be anything. A case for STP-06 misses on purpose and is not checked.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::{
    case::model::{Case, Step, behaviors},
    spelling::suggestion,
    yaml::Diagnostic,
};
use baton_jsonpath::Template;
use serde_json::{Map, Value, json};

use super::place::Sources;

/// Requirement that a path which matches nothing is an error; its cases miss on purpose.
const MISSES: &str = "STP-06";

/// Fields of the statuses of built-in kinds.
const BUILT_IN: [(&str, &str, &[&str]); 3] = [
    (
        "apps/v1",
        "Deployment",
        &[
            "availableReplicas",
            "collisionCount",
            "conditions",
            "observedGeneration",
            "readyReplicas",
            "replicas",
            "terminatingReplicas",
            "unavailableReplicas",
            "updatedReplicas",
        ],
    ),
    (
        "apps/v1",
        "StatefulSet",
        &[
            "availableReplicas",
            "collisionCount",
            "conditions",
            "currentReplicas",
            "currentRevision",
            "observedGeneration",
            "readyReplicas",
            "replicas",
            "updateRevision",
            "updatedReplicas",
        ],
    ),
    (
        "batch/v1",
        "Job",
        &[
            "active",
            "completedIndexes",
            "completionTime",
            "conditions",
            "failed",
            "failedIndexes",
            "ready",
            "startTime",
            "succeeded",
            "terminating",
            "uncountedTerminatedPods",
        ],
    ),
];

/// Fields of the conditions of built-in kinds.
const CONDITION: [&str; 7] = [
    "lastProbeTime",
    "lastTransitionTime",
    "lastUpdateTime",
    "message",
    "reason",
    "status",
    "type",
];

/// Returns warnings about the paths of a case.
pub(super) fn missing_fields(case: &Case, sources: &Sources<'_>) -> Vec<Diagnostic> {
    if case.requirements.contains(&MISSES.into()) {
        return Vec::new();
    }
    let schemas = schemas(case);
    let source = sources.text(&case.file);
    let mut selected: BTreeMap<(String, String), BTreeSet<Kind>> = BTreeMap::new();
    let mut found = Vec::new();
    for step in &case.steps {
        for (kinds, policy) in policies(step, &mut selected) {
            for path in paths(policy) {
                let miss = kinds
                    .iter()
                    .find_map(|kind| Some((kind, miss(path, schemas.get(kind)?)?)));
                found.extend(miss.map(|((_, kind), miss)| miss.told(case, step, &source, path, kind)));
            }
        }
    }
    found
}

/// The `apiVersion` and the kind of a workload.
pub(super) type Kind = (String, String);

/// Returns the policies that preserve state, each with the step that writes it and the kinds that it selects.
pub(super) fn preserved_kinds(case: &Case) -> Vec<(&Step, BTreeSet<Kind>)> {
    let mut selected = BTreeMap::new();
    let mut found = Vec::new();
    for step in &case.steps {
        for (kinds, policy) in policies(step, &mut selected) {
            if paths(policy).next().is_some() {
                found.push((step, kinds));
            }
        }
    }
    found
}

/// Returns the schemas of statuses that are known in a case.
pub(super) fn schemas(case: &Case) -> BTreeMap<Kind, Value> {
    let built_in = BUILT_IN.iter().map(|(api_version, kind, fields)| {
        let mut schema = with_fields(fields);
        schema["properties"]["conditions"] = json!({"type": "array", "items": with_fields(&CONDITION)});
        (((*api_version).to_owned(), (*kind).to_owned()), schema)
    });
    let mut schemas: BTreeMap<Kind, Value> = built_in.collect();
    let objects = case
        .steps
        .iter()
        .flat_map(|step| step.action.facts().writes)
        .map(|it| it.value);
    for definition in objects.filter(|object| object["kind"] == "CustomResourceDefinition") {
        let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
        for version in versions.into_iter().flatten() {
            let api_version = format!("{}/{}", text(definition, "/spec/group"), text(version, "/name"));
            let root = version.pointer("/schema/openAPIV3Schema").unwrap_or(&Value::Null);
            let status = root.pointer("/properties/status").filter(|_| !is_open(root));
            let kind = (api_version, text(definition, "/spec/names/kind"));
            schemas.extend(status.map(|status| (kind, status.clone())));
        }
    }
    schemas
}

/// Returns the schema of an object with these fields and no others.
fn with_fields(fields: &[&str]) -> Value {
    let fields: Map<_, _> = fields.iter().map(|field| ((*field).to_owned(), json!({}))).collect();
    json!({"type": "object", "properties": fields})
}

pub(super) fn text(value: &Value, pointer: &str) -> String {
    let text = value.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

/// Returns the policies that a step writes, whole or in part, with the kinds that they select.
fn policies<'s>(
    step: &'s Step,
    selected: &mut BTreeMap<(String, String), BTreeSet<Kind>>,
) -> Vec<(BTreeSet<Kind>, &'s Value)> {
    let mut found = Vec::new();
    for write in step.action.facts().writes {
        let (object, Some((_, kind @ ("PropagationPolicy" | "ClusterPropagationPolicy"), name))) =
            (write.value, write.object())
        else {
            continue;
        };
        let kinds = selected.entry((kind.to_owned(), name.to_owned())).or_default();
        if let Some(selectors) = object.pointer("/spec/resourceSelectors").and_then(Value::as_array) {
            let kind = |selector: &Value| (text(selector, "/apiVersion"), text(selector, "/kind"));
            *kinds = selectors.iter().map(kind).collect();
        }
        found.push((kinds.clone(), object));
    }
    found
}

/// Returns the paths of a policy's state preservation rules.
fn paths(policy: &Value) -> impl Iterator<Item = &str> {
    let rules = behaviors(policy).filter_map(|it| it.pointer("/statePreservation/rules")?.as_array());
    rules.flatten().filter_map(|rule| rule.get("jsonPath")?.as_str())
}

/// Key that a schema does not have.
#[derive(Debug, PartialEq, Eq)]
struct Miss {
    /// The key, with the keys before it.
    keys: String,
    /// Similar keys.
    help: String,
}

fn miss(path: &str, status: &Value) -> Option<Miss> {
    let template = Template::parse(path).ok()?;
    let of_status = |keys: &Vec<&str>| {
        let miss = first_miss(keys, status)?;
        let rest = keys
            .strip_prefix(&["status"])
            .filter(|rest| miss.keys == "status" && first_miss(rest, status).is_none());
        Some(match rest {
            Some(rest) => Miss {
                help: format!("a path begins at the status: write `.{}`", rest.join(".")),
                ..miss
            },
            None => miss,
        })
    };
    let of_filters = || {
        template.filters().into_iter().find_map(|filter| {
            let items = schema_at(&filter.list, status)?.get("items")?;
            let miss = filter.elements.iter().find_map(|keys| first_miss(keys, items))?;
            let keys = format!("{}[].{}", filter.list.join("."), miss.keys);
            Some(Miss { keys, ..miss })
        })
    };
    template.leading_keys().iter().find_map(of_status).or_else(of_filters)
}

/// Returns the schema of a field that a closed schema names.
fn schema_at<'s>(keys: &[&str], status: &'s Value) -> Option<&'s Value> {
    keys.iter().try_fold(status, |schema, key| {
        let open = is_open(schema);
        schema.get("properties")?.get(*key).filter(|_| !open)
    })
}

fn first_miss(keys: &[&str], status: &Value) -> Option<Miss> {
    let mut schema = status;
    for (number, key) in keys.iter().enumerate() {
        if is_open(schema) {
            return None;
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        if let Some(next) = properties.and_then(|it| it.get(*key)) {
            schema = next;
            continue;
        }
        match (schema.get("additionalProperties"), properties, schema["type"].as_str()) {
            (Some(Value::Bool(false)) | None, Some(properties), _) => {
                return Some(Miss {
                    keys: keys[..=number].join("."),
                    help: suggestion(key, properties.keys().map(String::as_str)),
                });
            }
            (None, None, Some("array")) => {
                let list = keys[..number].join(".");
                return Some(Miss {
                    keys: keys[..=number].join("."),
                    help: format!("`{list}` is a list: choose from it with `{list}[0]`, `{list}[*]` or a filter"),
                });
            }
            (None, None, Some(scalar @ ("string" | "integer" | "number" | "boolean"))) => {
                return Some(Miss {
                    keys: keys[..=number].join("."),
                    help: format!("`{}` is of type {scalar} and has no fields", keys[..number].join(".")),
                });
            }
            (Some(next), _, _) => schema = next,
            (None, None, _) => return None,
        }
    }
    None
}

/// Returns `true` if a schema allows fields that it does not name.
pub(super) fn is_open(schema: &Value) -> bool {
    ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"]
        .iter()
        .any(|extension| schema.get(*extension) == Some(&Value::Bool(true)))
}

impl Miss {
    fn told(self, case: &Case, step: &Step, source: &str, path: &str, kind: &str) -> Diagnostic {
        let Self { keys, help } = self;
        let mut diagnostic = Diagnostic {
            file: case.file.clone(),
            line: step.line,
            column: 1,
            span: 0..0,
            message: format!("the path `{path}` matches nothing: the status of a {kind} has no `{keys}`"),
            help: Some(help),
        };
        // A path from the parameters of a scenario is above the steps.
        let of_step: usize = source
            .split_inclusive('\n')
            .take(step.line.saturating_sub(1))
            .map(str::len)
            .sum();
        let after = source[of_step..].find(path).map(|at| of_step + at);
        if let Some(at) = after.or_else(|| source.find(path)) {
            let before = &source[..at];
            diagnostic.line = before.matches('\n').count() + 1;
            diagnostic.column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            diagnostic.span = at..at + path.len();
        }
        diagnostic
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(path: &str, status: &Value) -> Option<String> {
        miss(path, status).map(|miss| format!("{}: {}", miss.keys, miss.help))
    }

    #[test]
    fn only_what_cannot_be_there_is_missed() {
        let status = json!({"type": "object", "properties": {
            "job": {"type": "object", "properties": {"jobId": {"type": "string"}}},
            "list": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
            "info": {"type": "object", "additionalProperties": {"type": "string"}},
            "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": {}}},
        }});
        for path in [
            "text",
            "{.job.jobId}",
            "{.list[0].nothing}",
            "{.list[*].nothing}",
            "{..nothing}",
            "{.*.nothing}",
            "{.info.nothing}",
            "{.any.nothing.at.all}",
            "{range .list[*]}{.nothing}{end}",
            "{.list[?(@.name==\"a\")].name}",
            "{.list[?(@.name)].name}",
            "{.any[?(@.nothing)].nothing}",
            "{.info[?(@.nothing)].nothing}",
        ] {
            assert_eq!(told(path, &status), None, "{path}");
        }
        for path in [
            "{.list[?(@.nam==\"a\")].name}",
            "{.list[?(@.nam)].name}",
            "{.list[?(@.name==\"a\")].nam}",
        ] {
            let filtered = told(path, &status);
            assert_eq!(filtered.as_deref(), Some("list[].nam: did you mean `name`?"), "{path}");
        }
        let near = told("x-{ .job.jobID }", &status);
        assert_eq!(near.as_deref(), Some("job.jobID: did you mean `jobId`?"));
        let none = told("{.job.jobId}{.zzz.y}", &status);
        assert_eq!(none.as_deref(), Some("zzz: expected one of any, info, job, list"));
        let deep = told("{.job.jobId.x}", &status);
        assert_eq!(
            deep.as_deref(),
            Some("job.jobId.x: `job.jobId` is of type string and has no fields")
        );
        let whole = told("{.status.job.jobId}", &status);
        assert_eq!(
            whole.as_deref(),
            Some("status: a path begins at the status: write `.job.jobId`")
        );
        let of_list = told("{.list.name}", &status);
        assert_eq!(
            of_list.as_deref(),
            Some("list.name: `list` is a list: choose from it with `list[0]`, `list[*]` or a filter")
        );
        let of_map = told("{.info.a.b}", &status);
        assert_eq!(
            of_map.as_deref(),
            Some("info.a.b: `info.a` is of type string and has no fields")
        );
        assert_eq!(
            told(
                "{.nothing}",
                &json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
            ),
            None
        );
    }
}
