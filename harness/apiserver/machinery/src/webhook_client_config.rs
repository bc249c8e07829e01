//! Client configuration of webhooks: of admission webhooks and of conversion webhooks.

use serde_json::Value;

use crate::field::{ErrorList, FieldPath};
use crate::meta::text;
use crate::metadata::names;

const FORM: &str = "desired format: https://host[/path]";

/// Validates the URL of a webhook that is not a service of the cluster.
pub fn url(url: &str, at: &FieldPath<'_>, found: &mut ErrorList) {
    let parts = match split_url(url) {
        Ok(parts) => parts,
        Err(problem) => {
            let detail = format!("url must be a valid URL: parse {url:?}: {problem}; {FORM}");
            found.required(at, &detail);
            return;
        }
    };
    if parts.scheme != "https" {
        let detail = format!("'https' is the only allowed URL scheme; {FORM}");
        found.invalid(at, parts.scheme, &detail);
    }
    if parts.host.is_empty() {
        found.invalid(at, "", &format!("host must be specified; {FORM}"));
    }
    for (part, what) in [
        (parts.user.unwrap_or_default(), "user information is"),
        (parts.fragment, "fragments are"),
        (parts.query, "query parameters are"),
    ] {
        if !part.is_empty() {
            found.invalid(at, part, &format!("{what} not permitted in the URL"));
        }
    }
}

/// The parts of a URL.
struct Url<'a> {
    scheme: String,
    user: Option<&'a str>,
    host: &'a str,
    query: &'a str,
    fragment: &'a str,
}

/// Splits a URL as Go does; the error is the end of Go's message.
fn split_url(url: &str) -> Result<Url<'_>, &'static str> {
    if url.chars().any(|letter| letter.is_ascii_control()) {
        return Err("net/url: invalid control character in URL");
    }
    let (rest, fragment) = url.split_once('#').unwrap_or((url, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (scheme, rest) = match rest.split_once(':') {
        Some(("", _)) => return Err("missing protocol scheme"),
        Some((scheme, after)) if is_scheme(scheme) => (scheme.to_lowercase(), after),
        Some((before, _))
            if !before.contains('/') && !before.starts_with(|first: char| first.is_ascii_alphabetic()) =>
        {
            return Err("first path segment in URL cannot contain colon");
        }
        Some(_) | None => (String::new(), rest),
    };
    let authority = rest
        .strip_prefix("//")
        .map_or("", |after| after.split('/').next().unwrap_or_default());
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    Ok(Url {
        scheme,
        user,
        host,
        query,
        fragment,
    })
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | '.'))
}

/// Validates a service and the path of the webhook.
pub fn service(service: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    // Each message names the other field, as the API server's does.
    for (field, reported) in [("namespace", "name"), ("name", "namespace")] {
        if text(service, field).is_empty() {
            found.required(&at.child(reported), "");
        }
    }
    let port = service.get("port").and_then(Value::as_i64).unwrap_or_default();
    if !(1..=65535).contains(&port) {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        found.invalid(&at.child("port"), port, detail);
    }
    path_problem(text(service, "path"), &at.child("path"), found);
}

fn path_problem(path: &str, at: &FieldPath<'_>, found: &mut ErrorList) {
    match path {
        "" | "/" => return,
        "//" => {
            found.invalid(at, path, "segment[0] may not be empty");
            return;
        }
        _ if !path.starts_with('/') => found.invalid(at, path, "must start with a '/'"),
        _ => {}
    }
    // The first character is dropped as if it were the missing slash.
    let rest = path
        .chars()
        .next()
        .and_then(|first| path.get(first.len_utf8()..))
        .unwrap_or_default();
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    for (index, segment) in rest.split('/').enumerate() {
        if segment.is_empty() {
            found.invalid(at, path, &format!("segment[{index}] may not be empty"));
            continue;
        }
        for problem in names::dns_subdomain(segment) {
            found.invalid(at, path, &format!("segment[{index}]: {problem}"));
        }
    }
}
