//! Webhook configurations of an implementation, directed to the address of its webhook.

use std::path::Path;

use baton_core::yaml::plain;
use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::error::TargetFileError;
use crate::files;

const KINDS: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// Reads the webhook configurations in a file. Values that are filled in during installation may be given as
/// `{{name}}`.
pub(super) fn read(file: &Path) -> Result<Vec<Value>, TargetFileError> {
    let wrong = |reason: String| TargetFileError::Webhooks {
        file: file.to_owned(),
        reason,
    };
    let text = files::read_text(file).map_err(|error| wrong(error.to_string()))?;
    let mut found = Vec::new();
    for document in plain::documents(&without_places(&text)) {
        let value = document.map_err(|error| wrong(error.to_string()))?;
        if value["kind"].as_str().is_some_and(|kind| KINDS.contains(&kind)) {
            found.push(value);
        }
    }
    if found.is_empty() {
        return Err(wrong(format!("it has no {}", KINDS.join(" and no "))));
    }
    Ok(found)
}

/// Removes `{{name}}` from a text: YAML would read it as a map, which is invalid in most places.
fn without_places(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::with_capacity(text.len());
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((_, behind)) = after.split_once("}}") else {
            break;
        };
        kept.push_str(before);
        rest = behind;
    }
    kept + rest
}

/// A configuration whose webhooks are all called at `url`, each under its own path, and trusted by `ca` (PEM).
pub(super) fn directed(configuration: &Value, url: &str, ca: &str) -> Value {
    let mut directed = configuration.clone();
    let bundle = ByteString(ca.as_bytes().to_vec());
    for webhook in directed["webhooks"].as_array_mut().into_iter().flatten() {
        let config = &webhook["clientConfig"];
        let path = match (config["url"].as_str(), config["service"]["path"].as_str()) {
            (Some(url), _) => path(url),
            (None, path) => path.unwrap_or("/").to_owned(),
        };
        let url = format!("{}{path}", url.trim_end_matches('/'));
        webhook["clientConfig"] = json!({"url": url, "caBundle": bundle});
    }
    directed
}

/// Returns the path in a URL.
fn path(url: &str) -> String {
    let behind = url.split_once("://").map_or(url, |(_, behind)| behind);
    behind
        .find('/')
        .map_or_else(|| "/".to_owned(), |at| behind[at..].to_owned())
}
