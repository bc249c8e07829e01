//! The operations: the verbs, kinds and parameters of each path.

use baton_apikinds::types::kinds;
use serde_json::{Map, Value, json};

use super::{Format, custom, group_version_kind};
use crate::registry::{Resource, Version};

const PATCH: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";
const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";

/// The media types of patches; the strategic one is only for built-in kinds.
const PATCHES: &[&str] = &[
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];

/// Returns the operations of all resources of these versions.
pub(super) fn paths(format: Format, versions: &[(&str, &Version)]) -> Map<String, Value> {
    let mut paths = Map::new();
    for (group, version) in versions {
        let base = if group.is_empty() {
            format!("/api/{}", version.name)
        } else {
            format!("/apis/{group}/{}", version.name)
        };
        for resource in &version.resources {
            add(format, &base, resource, &mut paths);
        }
    }
    paths
}

/// The resource and the format of the operations.
struct Operations<'a> {
    format: Format,
    resource: &'a Resource,
    /// Group, version and kind of the body.
    gvk: (&'a str, &'a str, &'a str),
    verbs: &'a [String],
}

fn add(format: Format, base: &str, resource: &Resource, paths: &mut Map<String, Value>) {
    let of = Operations {
        format,
        resource,
        gvk: (&resource.group, &resource.version, &resource.kind),
        verbs: &resource.verbs,
    };
    let collection = if resource.namespaced {
        format!("{base}/namespaces/{{namespace}}/{}", resource.plural)
    } else {
        format!("{base}/{}", resource.plural)
    };
    let namespace = resource.namespaced.then_some("namespace");
    let in_collection = [("get", "list"), ("post", "create"), ("delete", "deletecollection")];
    let of_object = [
        ("get", "get"),
        ("put", "update"),
        ("patch", "patch"),
        ("delete", "delete"),
    ];
    let parameters: Vec<&str> = namespace.into_iter().collect();
    of.put(paths, &collection, &in_collection, &parameters);
    if resource.namespaced {
        of.put(paths, &format!("{base}/{}", resource.plural), &[("get", "list")], &[]);
    }
    let named: Vec<&str> = ["name"].into_iter().chain(namespace).collect();
    let object = format!("{collection}/{{name}}");
    of.put(paths, &object, &of_object, &named);
    for subresource in &resource.subresources {
        let of = Operations {
            gvk: (&subresource.group, &subresource.version, &subresource.kind),
            verbs: &subresource.verbs,
            ..of
        };
        let verbs = [
            ("get", "get"),
            ("put", "update"),
            ("patch", "patch"),
            ("post", "create"),
        ];
        of.put(paths, &format!("{object}/{}", subresource.name), &verbs, &named);
    }
}

impl Operations<'_> {
    /// Adds a path with those (method, verb) pairs that are allowed.
    fn put(&self, paths: &mut Map<String, Value>, path: &str, methods: &[(&str, &str)], parameters: &[&str]) {
        let mut item = Map::new();
        for (method, verb) in methods {
            if self.verbs.iter().any(|allowed| allowed == verb) {
                item.insert((*method).to_owned(), self.operation(verb, path));
            }
        }
        if item.is_empty() {
            return;
        }
        let in_path = |name: &&str| self.parameter("path", name, "string");
        let parameters: Vec<Value> = parameters
            .iter()
            .map(in_path)
            .chain([self.query("pretty", "string")])
            .collect();
        item.insert("parameters".to_owned(), parameters.into());
        paths.insert(path.to_owned(), Value::Object(item));
    }

    fn parameter(&self, place: &str, name: &str, kind: &str) -> Value {
        let mut parameter = match self.format {
            Format::V2 => json!({"name": name, "in": place, "type": kind, "uniqueItems": true}),
            Format::V3 => json!({"name": name, "in": place, "schema": {"type": kind, "uniqueItems": true}}),
        };
        if let Some(members) = parameter.as_object_mut()
            && place == "path"
        {
            members.insert("required".to_owned(), true.into());
        }
        parameter
    }

    fn query(&self, name: &str, kind: &str) -> Value {
        self.parameter("query", name, kind)
    }

    fn operation(&self, verb: &str, path: &str) -> Value {
        let (group, version, kind) = self.gvk;
        let action = match verb {
            "create" => "post",
            "update" => "put",
            other => other,
        };
        let mut parameters: Vec<Value> = query_of(verb)
            .iter()
            .map(|(name, kind)| self.query(name, kind))
            .collect();
        let body = match verb {
            "create" | "update" => Some((self.definition(""), vec!["*/*"])),
            "patch" => {
                let custom = self.resource.custom().is_some();
                let media = PATCHES.iter().filter(|media| !(custom && media.contains("strategic")));
                Some((PATCH.to_owned(), media.copied().collect()))
            }
            "delete" | "deletecollection" => Some((DELETE_OPTIONS.to_owned(), vec!["*/*"])),
            _ => None,
        };
        let answer = match verb {
            "delete" | "deletecollection" => STATUS.to_owned(),
            "list" => self.definition("List"),
            _ => self.definition(""),
        };
        let id: String = path.split(['/', '{', '}', '.', '-']).collect();
        let mut operation = json!({
            "description": format!("{verb} {kind}"),
            "operationId": format!("{verb}{id}"),
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": group_version_kind(group, version, kind),
        });
        let Some(members) = operation.as_object_mut() else {
            return operation;
        };
        self.add_body_and_answer(members, &mut parameters, verb, body, &answer);
        members.insert("parameters".to_owned(), parameters.into());
        operation
    }

    /// Adds the request body (a definition and its media types) and the answer, where the format has them.
    fn add_body_and_answer(
        &self,
        members: &mut Map<String, Value>,
        parameters: &mut Vec<Value>,
        verb: &str,
        body: Option<(String, Vec<&str>)>,
        answer: &str,
    ) {
        let answers = ["application/json", "application/yaml"];
        let content = |name: &str, media: &[&str]| -> Value {
            let schema = self.format.reference(name);
            Value::Object(
                media
                    .iter()
                    .map(|media| ((*media).to_owned(), json!({"schema": schema})))
                    .collect(),
            )
        };
        match self.format {
            Format::V2 => {
                if let Some((name, media)) = body {
                    let schema = self.format.reference(&name);
                    let required = matches!(verb, "create" | "update" | "patch");
                    parameters.push(json!({"name": "body", "in": "body", "required": required, "schema": schema}));
                    members.insert("consumes".to_owned(), json!(media));
                }
                members.insert("produces".to_owned(), json!(answers));
                let schema = self.format.reference(answer);
                members.insert(
                    "responses".to_owned(),
                    json!({"200": {"description": "OK", "schema": schema}}),
                );
            }
            Format::V3 => {
                if let Some((name, media)) = body {
                    members.insert("requestBody".to_owned(), json!({"content": content(&name, &media)}));
                }
                let content = content(answer, &answers);
                members.insert(
                    "responses".to_owned(),
                    json!({"200": {"description": "OK", "content": content}}),
                );
            }
        }
    }

    /// Returns the name of the definition of the kind, or of its list.
    fn definition(&self, suffix: &str) -> String {
        let (group, version, kind) = self.gvk;
        if self.resource.custom().is_some() && (group, kind) == (&self.resource.group, &self.resource.kind) {
            return format!("{}{suffix}", custom::name(group, version, kind));
        }
        match kinds::definition(group, version, kind) {
            Some(name) => format!("{name}{suffix}"),
            None => STATUS.to_owned(),
        }
    }
}

/// Returns the query parameters of a verb, with their types.
fn query_of(verb: &str) -> &'static [(&'static str, &'static str)] {
    match verb {
        "list" => &[
            ("allowWatchBookmarks", "boolean"),
            ("continue", "string"),
            ("fieldSelector", "string"),
            ("labelSelector", "string"),
            ("limit", "integer"),
            ("resourceVersion", "string"),
            ("resourceVersionMatch", "string"),
            ("sendInitialEvents", "boolean"),
            ("timeoutSeconds", "integer"),
            ("watch", "boolean"),
        ],
        "create" | "update" => &[
            ("dryRun", "string"),
            ("fieldManager", "string"),
            ("fieldValidation", "string"),
        ],
        "patch" => &[
            ("dryRun", "string"),
            ("fieldManager", "string"),
            ("fieldValidation", "string"),
            ("force", "boolean"),
        ],
        "delete" | "deletecollection" => &[
            ("dryRun", "string"),
            ("gracePeriodSeconds", "integer"),
            ("orphanDependents", "boolean"),
            ("propagationPolicy", "string"),
        ],
        _ => &[],
    }
}
