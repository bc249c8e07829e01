//! `/openapi/v2` and `/openapi/v3`: the documents with which kubectl explains, validates and patches.
//!
//! [`answer`] routes; `schemas` makes the schemas of the built-in kinds from those of `k8s-openapi` and the generated
//! facts, `custom` those of custom resources, `paths` the operations. `proto` is the form in which Go clients read
//! version 2.

mod custom;
mod paths;
mod proto;
mod schemas;

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::registry::{Catalogue, Version};

/// Version of Kubernetes that this server serves, such as `v1.36.2`.
pub(crate) const SERVER_VERSION: &str = include_str!("../../../kubernetes-version").trim_ascii();

/// The two formats of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Swagger 2.0, one document for everything.
    V2,
    /// `OpenAPI` 3.0, one document per group and version.
    V3,
}

impl Format {
    fn reference(self, name: &str) -> Value {
        let place = match self {
            Self::V2 => "#/definitions/",
            Self::V3 => "#/components/schemas/",
        };
        json!({"$ref": format!("{place}{name}")})
    }
}

/// Returns the document at a path below `/openapi/`, or `None` if there is none.
pub(crate) fn answer(catalogue: &Catalogue, path: &str) -> Option<Value> {
    match path.trim_end_matches('/') {
        "v2" => Some(v2(catalogue)),
        "v3" => Some(v3_index(catalogue)),
        other => {
            let wanted = other.strip_prefix("v3/")?;
            let (group, version) = match wanted.split('/').collect::<Vec<_>>().as_slice() {
                ["api", version] => (String::new(), (*version).to_owned()),
                ["apis", group, version] => ((*group).to_owned(), (*version).to_owned()),
                _ => return None,
            };
            catalogue.version(&group, &version).map(|found| v3_group(&group, found))
        }
    }
}

/// Returns `/openapi/v2` in the binary form for Go clients.
pub(crate) fn binary(catalogue: &Catalogue) -> Vec<u8> {
    proto::document(&v2(catalogue))
}

/// Returns `/openapi/v3`: the path of the document of each group and version.
fn v3_index(catalogue: &Catalogue) -> Value {
    let mut entries = Map::new();
    for group in &catalogue.groups {
        for version in &group.versions {
            let path = if group.name.is_empty() {
                format!("api/{}", version.name)
            } else {
                format!("apis/{}/{}", group.name, version.name)
            };
            let url = format!("/openapi/v3/{path}?hash={}", hash(version));
            entries.insert(path, json!({"serverRelativeURL": url}));
        }
    }
    json!({"paths": entries})
}

/// Returns a hash that changes whenever the document does, so that clients may cache it.
fn hash(version: &Version) -> String {
    let mut digest = Sha256::new();
    for resource in &version.resources {
        digest.update(&resource.plural);
        digest.update([0]);
        if let Some(custom) = resource.custom() {
            digest.update(custom.spec.to_string());
        }
    }
    let digest = digest.finalize();
    digest.iter().take(16).fold(String::new(), |mut text, byte| {
        use std::fmt::Write as _;
        let _ = write!(text, "{byte:02X}");
        text
    })
}

/// Returns the document `/openapi/v3/apis/GROUP/VERSION`.
fn v3_group(group: &str, version: &Version) -> Value {
    let versions = [(group, version)];
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": SERVER_VERSION},
        "paths": paths::paths(Format::V3, &versions),
        "components": {
            "schemas": definitions(Format::V3, &versions),
            "securitySchemes": {"BearerToken": {
                "type": "apiKey", "name": "authorization", "in": "header", "description": "Bearer Token authentication",
            }},
        },
    })
}

/// Returns the document `/openapi/v2`.
fn v2(catalogue: &Catalogue) -> Value {
    let versions: Vec<(&str, &Version)> = catalogue
        .groups
        .iter()
        .flat_map(|group| group.versions.iter().map(|version| (group.name.as_str(), version)))
        .collect();
    json!({
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": SERVER_VERSION},
        "paths": paths::paths(Format::V2, &versions),
        "definitions": definitions(Format::V2, &versions),
        "securityDefinitions": {"BearerToken": {
            "type": "apiKey", "name": "authorization", "in": "header", "description": "Bearer Token authentication",
        }},
        "security": [{"BearerToken": []}],
    })
}

fn definitions(format: Format, versions: &[(&str, &Version)]) -> Map<String, Value> {
    let mut definitions = schemas::builtin(format, versions);
    for (_, version) in versions {
        for resource in &version.resources {
            if let Some(of) = resource.custom() {
                custom::add(format, resource, of, &mut definitions);
            }
        }
    }
    definitions
}

/// Returns group, version and kind in the form of the extension.
fn group_version_kind(group: &str, version: &str, kind: &str) -> Value {
    json!({"group": group, "version": version, "kind": kind})
}

#[cfg(test)]
mod tests;
