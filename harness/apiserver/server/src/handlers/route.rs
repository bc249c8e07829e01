//! Routes: the meaning of a path.

use std::sync::Arc;

use crate::registry::{Catalogue, Resource, is_built_in};

use super::query::decode_segment;

/// The meaning of a path.
#[derive(Debug)]
pub(crate) enum Route {
    /// `/version`
    Version,
    /// `/healthz`, `/livez`, `/readyz`, or one of their checks: the rest of the path.
    Health(Option<String>),
    /// `/metrics`
    Metrics,
    /// `/`
    Index,
    /// `/api`
    LegacyVersions,
    /// `/apis`
    Groups,
    /// `/apis/apps`
    Group(String),
    /// `/apis/apps/v1`, `/api/v1`
    GroupVersion(String, String),
    /// `/openapi/…`
    OpenApi(String),
    /// A collection, an object or a subresource.
    Resource(ResourceRoute),
    /// No such path: answered with the text of a web server.
    UnknownPath,
    /// A path under a group that no resource has: answered with a `Status`.
    UnknownResource,
    /// A subresource that a custom resource does not have: answered as if the object of that name did not exist.
    UnknownSubresource(Arc<Resource>, String),
}

/// The resource part of a path.
#[derive(Debug, Clone)]
pub(crate) struct ResourceRoute {
    pub(crate) resource: Arc<Resource>,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
    /// The old form `/api/v1/watch/…`.
    pub(crate) watch: bool,
}

/// Returns the route of a path.
pub(crate) fn route(catalogue: &Catalogue, path: &str) -> Route {
    let segments: Vec<String> = path
        .split('/')
        .filter(|segment| !segment.is_empty())
        .map(|segment| decode_segment(segment).into_owned())
        .collect();
    let words: Vec<&str> = segments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => Route::Index,
        ["version"] => Route::Version,
        ["metrics"] => Route::Metrics,
        ["healthz" | "livez" | "readyz", rest @ ..] => Route::Health((!rest.is_empty()).then(|| rest.join("/"))),
        ["openapi", rest @ ..] => Route::OpenApi(rest.join("/")),
        ["api"] => Route::LegacyVersions,
        ["apis"] => Route::Groups,
        ["apis", group] => catalogue
            .group(group)
            .filter(|_| !group.is_empty())
            .map_or(Route::UnknownPath, |group| Route::Group(group.name.clone())),
        ["api", version, rest @ ..] => in_version(catalogue, "", version, rest),
        ["apis", group, version, rest @ ..] => in_version(catalogue, group, version, rest),
        _ => Route::UnknownPath,
    }
}

/// Returns `true` if the words after a plural name at most an object and a subresource; a proxy path goes further.
fn ends(group: &str, rest: &[&str]) -> bool {
    rest.len() <= 2 || (group.is_empty() && rest.get(1) == Some(&"proxy"))
}

fn in_version(catalogue: &Catalogue, group: &str, version: &str, rest: &[&str]) -> Route {
    let unknown = || {
        if is_built_in(group) {
            Route::UnknownResource
        } else {
            Route::UnknownPath
        }
    };
    if catalogue.version(group, version).is_none() {
        return unknown();
    }
    let (watch, rest) = match rest {
        ["watch", rest @ ..] if !rest.is_empty() => (true, rest),
        rest => (false, rest),
    };
    let find = |plural: &str| catalogue.find(group, version, plural).cloned();
    let owned = |text: &&str| (*text).to_owned();
    let (namespace, plural, name, subresource) = match rest {
        [] => return Route::GroupVersion(group.to_owned(), version.to_owned()),
        ["namespaces", namespace, plural, rest @ ..]
            if !(group.is_empty() && matches!(*plural, "status" | "finalize")) && ends(group, rest) =>
        {
            (
                Some(owned(namespace)),
                *plural,
                rest.first().map(owned),
                rest.get(1).map(owned),
            )
        }
        [plural, rest @ ..] if ends(group, rest) => (None, *plural, rest.first().map(owned), rest.get(1).map(owned)),
        _ => return unknown(),
    };
    let Some(resource) = find(plural) else {
        return unknown();
    };
    let fits = if resource.namespaced {
        namespace.is_some() || name.is_none()
    } else {
        namespace.is_none()
    };
    let known = subresource
        .as_deref()
        .is_none_or(|name| resource.subresource(name).is_some());
    if !fits || !known {
        return match (resource.custom().is_some(), name) {
            (true, Some(name)) if fits => Route::UnknownSubresource(resource, name),
            (true, _) => Route::UnknownPath,
            (false, _) => Route::UnknownResource,
        };
    }
    Route::Resource(ResourceRoute {
        resource,
        namespace,
        name,
        subresource,
        watch,
    })
}
