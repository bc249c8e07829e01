//! Discovery, version, health: the paths that are about the server.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::api::{Core, reply::Reply, route::Route};
use crate::openapi;
use crate::registry::{Catalogue, Group, Resource, Version};
use crate::status::ApiError;

/// Answers what is not about a resource.
pub(crate) fn answer(
    _core: &Arc<Core>,
    catalogue: &Catalogue,
    route: Route,
    _parts: &http::request::Parts,
) -> Result<Reply, ApiError> {
    match route {
        Route::Version => Ok(made(version())),
        Route::Health(_, _) => Ok(text(200, "ok")),
        Route::Metrics => Ok(text(200, "")),
        Route::Index => Ok(made(
            json!({"paths": ["/api", "/apis", "/healthz", "/livez", "/readyz", "/version"]}),
        )),
        Route::LegacyVersions => Ok(made(json!({
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:443"}],
        }))),
        Route::Groups => {
            let groups: Vec<Value> = catalogue
                .groups
                .iter()
                .filter(|group| !group.name.is_empty())
                .map(group_json)
                .collect();
            Ok(made(
                json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}),
            ))
        }
        Route::Group(name) => {
            let group = catalogue.group(&name).ok_or_else(ApiError::no_resource)?;
            let mut group = group_json(group);
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
        Route::OpenApi(path) => match openapi::answer(catalogue, &path) {
            Some(document) => Ok(Reply::Raw {
                code: 200,
                content_type: "application/json",
                body: Bytes::from(document.to_string()),
            }),
            None => Ok(text(404, "404 page not found\n")),
        },
        Route::UnknownPath => Ok(text(404, "404 page not found\n")),
        Route::Resource(_) | Route::UnknownResource => Err(ApiError::no_resource()),
    }
}

fn made(object: Value) -> Reply {
    Reply::Made { code: 200, object }
}

fn text(code: u16, body: &'static str) -> Reply {
    Reply::Raw {
        code,
        content_type: "text/plain; charset=utf-8",
        body: Bytes::from_static(body.as_bytes()),
    }
}

fn version() -> Value {
    json!({
        "major": "1",
        "minor": "36",
        "gitVersion": "v1.36.0",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "linux/amd64",
    })
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

fn resources_json(group: &str, version: &Version) -> Value {
    let mut resources = Vec::new();
    for resource in &version.resources {
        resources.push(resource_json(resource));
        for subresource in &resource.subresources {
            let mut entry = json!({
                "name": format!("{}/{}", resource.plural, subresource.name),
                "singularName": "",
                "namespaced": resource.namespaced,
                "kind": subresource.kind,
                "verbs": subresource.verbs,
            });
            if let Some(members) = entry.as_object_mut()
                && (&subresource.group, &subresource.version) != (&resource.group, &resource.version)
            {
                members.insert("group".to_owned(), subresource.group.clone().into());
                members.insert("version".to_owned(), subresource.version.clone().into());
            }
            resources.push(entry);
        }
    }
    json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version(group, &version.name),
        "resources": resources,
    })
}

fn resource_json(resource: &Resource) -> Value {
    let mut entry = json!({
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": resource.verbs,
    });
    if let Some(members) = entry.as_object_mut() {
        if !resource.short_names.is_empty() {
            members.insert("shortNames".to_owned(), resource.short_names.clone().into());
        }
        if !resource.categories.is_empty() {
            members.insert("categories".to_owned(), resource.categories.clone().into());
        }
    }
    entry
}
