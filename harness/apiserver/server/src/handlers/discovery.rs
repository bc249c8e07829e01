//! Discovery, version, health: the paths that are about the server.

use std::fmt::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use http::header;
use serde_json::{Map, Value, json};

use super::Core;
use super::codecs::reply::Reply;
use super::route::Route;
use crate::api_error::{About, ApiError};
use crate::openapi;
use crate::registry::{Catalogue, Group, Resource, Subresource, Version, is_built_in};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Media types for the binary form of `/openapi/v2`: the one that Go clients request, and the one of the answer.
const OPENAPI_ACCEPTED: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const OPENAPI_BINARY: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// The checks that can be requested by name, as in `/healthz/ping`.
const CHECKS: [&str; 4] = ["ping", "log", "etcd", "informer-sync"];

/// Answers requests that are not about a resource.
pub(crate) fn answer(
    core: &Arc<Core>,
    catalogue: &Catalogue,
    route: Route,
    parts: &http::request::Parts,
) -> Result<Reply, ApiError> {
    let about_apis = match &route {
        Route::Version | Route::LegacyVersions | Route::Groups => true,
        // The server of custom resources ignores the method.
        Route::Group(group) | Route::GroupVersion(group, _) => is_built_in(group),
        Route::Health(_)
        | Route::Metrics
        | Route::Index
        | Route::OpenApi(_)
        | Route::Resource(_)
        | Route::UnknownPath
        | Route::UnknownResource
        | Route::UnknownSubresource(..) => false,
    };
    if about_apis && parts.method != http::Method::GET {
        return Err(ApiError::method_not_allowed());
    }
    match route {
        Route::Version => Ok(indented(&version())),
        Route::Health(Some(check)) if !CHECKS.contains(&check.as_str()) => Ok(page_not_found()),
        Route::Health(None) if asks_for(parts, "verbose") => Ok(checks(parts.uri.path().trim_matches('/'))),
        Route::Health(_) => Ok(text(200, "ok")),
        Route::Metrics => Ok(Reply::Raw {
            code: 200,
            content_type: "text/plain; version=0.0.4; charset=utf-8",
            body: Bytes::from(metrics(core)),
        }),
        Route::Index => Ok(indented(&index(catalogue))),
        Route::LegacyVersions if wants_aggregated(parts) => Ok(aggregated(catalogue, true)),
        Route::LegacyVersions => Ok(made(json!({
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:443"}],
        }))),
        Route::Groups if wants_aggregated(parts) => Ok(aggregated(catalogue, false)),
        Route::Groups => {
            let groups: Vec<Value> = named_groups(catalogue).map(group_json).collect();
            Ok(made(
                json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}),
            ))
        }
        Route::Group(name) => {
            let mut group = group_json(catalogue.group(&name).ok_or_else(ApiError::no_resource)?);
            if let Some(members) = group.as_object_mut() {
                members.insert("kind".to_owned(), "APIGroup".into());
                members.insert("apiVersion".to_owned(), "v1".into());
            }
            Ok(made(group))
        }
        Route::GroupVersion(group, version) => {
            let found = catalogue.version(&group, &version).ok_or_else(ApiError::no_resource)?;
            Ok(made(resources_json(&group, found)))
        }
        Route::OpenApi(path) => Ok(document(catalogue, &path, parts)),
        Route::UnknownPath => Ok(page_not_found()),
        Route::UnknownSubresource(resource, name) => Err(ApiError::not_found(About {
            group: &resource.group,
            kind: &resource.plural,
            name: &name,
        })),
        Route::Resource(_) | Route::UnknownResource => Err(ApiError::no_resource()),
    }
}

/// Returns a document of `/openapi`; Go clients read version 2 in a separate binary form.
fn document(catalogue: &Catalogue, path: &str, parts: &http::request::Parts) -> Reply {
    let (content_type, body) = if path == "v2" && accepts(parts, OPENAPI_ACCEPTED) {
        (OPENAPI_BINARY, openapi::binary(catalogue))
    } else {
        match openapi::answer(catalogue, path) {
            Some(document) => ("application/json", document.to_string().into_bytes()),
            None => return page_not_found(),
        }
    };
    Reply::Raw {
        code: 200,
        content_type,
        body: Bytes::from(body),
    }
}

fn made(object: Value) -> Reply {
    Reply::Made { code: 200, object }
}

/// Returns indented JSON, whatever form was requested.
fn indented(object: &Value) -> Reply {
    Reply::Raw {
        code: 200,
        content_type: "application/json",
        body: Bytes::from(format!("{object:#}")),
    }
}

/// Lists every check as passed.
fn checks(name: &str) -> Reply {
    let checks = CHECKS.map(|check| format!("[+]{check} ok\n")).concat();
    Reply::Raw {
        code: 200,
        content_type: "text/plain; charset=utf-8",
        body: Bytes::from(format!("{checks}{name} check passed\n")),
    }
}

fn text(code: u16, body: &'static str) -> Reply {
    Reply::Raw {
        code,
        content_type: "text/plain; charset=utf-8",
        body: Bytes::from_static(body.as_bytes()),
    }
}

pub(crate) fn page_not_found() -> Reply {
    text(404, "404 page not found\n")
}

/// Returns the version that this server reports.
fn version() -> Value {
    json!({
        "major": "1",
        "minor": "36",
        "emulationMajor": "1",
        "emulationMinor": "36",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "35",
        "gitVersion": openapi::SERVER_VERSION,
        "gitCommit": "0000000000000000000000000000000000000000",
        "gitTreeState": "clean",
        "buildDate": "2026-04-22T00:00:00Z",
        "goVersion": "go1.26.0",
        "compiler": "gc",
        "platform": "linux/amd64",
    })
}

/// Returns requests by verb, kind and client, in the text format of Prometheus.
fn metrics(core: &Arc<Core>) -> String {
    let mut text = String::from("# TYPE apiserver_request_total counter\n");
    for (counted, count) in core.faults.counts() {
        let escape = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "apiserver_request_total{{verb=\"{}\",group=\"{}\",kind=\"{}\",subresource=\"{}\",client=\"{}\"}} {count}",
            counted.verb,
            escape(&counted.group),
            escape(&counted.kind),
            escape(&counted.subresource),
            escape(&counted.client),
        );
    }
    text
}

fn index(catalogue: &Catalogue) -> Value {
    let mut paths = vec!["/api".to_owned(), "/api/v1".to_owned(), "/apis".to_owned()];
    for group in named_groups(catalogue) {
        paths.push(format!("/apis/{}", group.name));
        paths.extend(
            group
                .versions
                .iter()
                .map(|version| format!("/apis/{}/{}", group.name, version.name)),
        );
    }
    paths.extend(
        [
            "/healthz",
            "/livez",
            "/metrics",
            "/openapi/v2",
            "/openapi/v3",
            "/readyz",
            "/version",
        ]
        .map(str::to_owned),
    );
    paths.sort();
    json!({"paths": paths})
}

fn named_groups(catalogue: &Catalogue) -> impl Iterator<Item = &Group> {
    catalogue.groups.iter().filter(|group| !group.name.is_empty())
}

fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}

fn group_json(group: &Group) -> Value {
    let versions: Vec<Value> = group
        .versions
        .iter()
        .map(|version| json!({"groupVersion": group_version(&group.name, &version.name), "version": version.name}))
        .collect();
    json!({"name": group.name, "versions": versions, "preferredVersion": versions.first()})
}

/// Returns an object without empty members.
pub(crate) fn compact(members: Value) -> Map<String, Value> {
    let Value::Object(mut members) = members else {
        return Map::new();
    };
    members.retain(|_, value| match value {
        Value::Null => false,
        Value::Array(list) => !list.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => true,
    });
    members
}

fn resources_json(group: &str, version: &Version) -> Value {
    let mut resources = Vec::new();
    for resource in &version.resources {
        resources.push(Value::Object(compact(json!({
            "name": resource.plural,
            "singularName": resource.singular,
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": resource.verbs,
            "shortNames": resource.short_names,
            "categories": resource.categories,
            "storageVersionHash": resource.storage_version_hash,
        }))));
        for subresource in &resource.subresources {
            let other = speaks_otherwise(resource, subresource);
            resources.push(Value::Object(compact(json!({
                "name": format!("{}/{}", resource.plural, subresource.name),
                "singularName": "",
                "namespaced": resource.namespaced,
                "kind": subresource.kind,
                "verbs": subresource.verbs,
                "group": other.then_some(&subresource.group),
                "version": other.then_some(&subresource.version),
            }))));
        }
    }
    json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version(group, &version.name),
        "resources": resources,
    })
}

fn speaks_otherwise(resource: &Resource, subresource: &Subresource) -> bool {
    (&subresource.group, &subresource.version) != (&resource.group, &resource.version)
}

fn asks_for(parts: &http::request::Parts, parameter: &str) -> bool {
    let query = parts.uri.query().unwrap_or_default();
    query.split('&').any(|part| part.split('=').next() == Some(parameter))
}

fn accepts(parts: &http::request::Parts, media: &str) -> bool {
    let accept = parts.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accept.is_some_and(|accept| {
        accept
            .split(',')
            .any(|clause| clause.split(';').next().map(str::trim) == Some(media))
    })
}

fn wants_aggregated(parts: &http::request::Parts) -> bool {
    let accept = parts
        .headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    accept.split(',').any(|clause| {
        let has = |parameter: &str| clause.split(';').any(|part| part.trim() == parameter);
        has("as=APIGroupDiscoveryList") && has("g=apidiscovery.k8s.io") && has("v=v2")
    })
}

/// Returns all resources of the named groups, or of the core group, in one document.
fn aggregated(catalogue: &Catalogue, core_group: bool) -> Reply {
    let groups = catalogue
        .groups
        .iter()
        .filter(|group| group.name.is_empty() == core_group);
    let items: Vec<Value> = groups.map(aggregated_group).collect();
    let list = json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    });
    Reply::Raw {
        code: 200,
        content_type: AGGREGATED,
        body: Bytes::from(list.to_string()),
    }
}

fn aggregated_group(group: &Group) -> Value {
    let versions: Vec<Value> = group
        .versions
        .iter()
        .map(|version| {
            let resources: Vec<Value> = version
                .resources
                .iter()
                .map(|resource| aggregated_resource(resource))
                .collect();
            json!({"version": version.name, "resources": resources, "freshness": "Current"})
        })
        .collect();
    let metadata = if group.name.is_empty() {
        json!({})
    } else {
        json!({"name": group.name})
    };
    json!({"metadata": metadata, "versions": versions})
}

fn aggregated_resource(resource: &Resource) -> Value {
    // For the kind of a built-in resource, group and version are empty if they are those of the path.
    let kind = |group: &str, version: &str, kind: &str| {
        let own = resource.custom().is_none() && group == resource.group && version == resource.version;
        let (group, version) = if own { ("", "") } else { (group, version) };
        json!({"group": group, "version": version, "kind": kind})
    };
    let subresources: Vec<Value> = resource
        .subresources
        .iter()
        .map(|each| {
            json!({
                "subresource": each.name,
                "responseKind": kind(&each.group, &each.version, &each.kind),
                "verbs": each.verbs,
            })
        })
        .collect();
    Value::Object(compact(json!({
        "resource": resource.plural,
        "responseKind": kind(&resource.group, &resource.version, &resource.kind),
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": resource.verbs,
        "shortNames": resource.short_names,
        "categories": resource.categories,
        "subresources": subresources,
    })))
}
