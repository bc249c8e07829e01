//! Webhook configurations.

use std::collections::BTreeSet;

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::metadata::names;
use baton_apimachinery::webhook_client_config;
use serde_json::Value;

use super::ROOT;
use super::checks::Check::{Each, OneOfIfSet, Selector};
use super::checks::{Check, list, number, run, text, texts};

const OPERATIONS: &[&str] = &["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const REVIEW_VERSIONS: &[&str] = &["v1", "v1beta1"];

const RULE_SCOPE: Check = OneOfIfSet("scope", &["*", "Cluster", "Namespaced"]);

const WEBHOOK: &[Check] = &[
    Check::Do(name),
    Each("rules", &[Check::Do(rule), RULE_SCOPE]),
    OneOfIfSet("failurePolicy", &["Fail", "Ignore"]),
    OneOfIfSet("matchPolicy", &["Equivalent", "Exact"]),
    Check::Do(side_effects),
    Check::Do(timeout),
    Selector("namespaceSelector"),
    Selector("objectSelector"),
    OneOfIfSet("reinvocationPolicy", &["IfNeeded", "Never"]),
    Check::Do(client),
    Check::Do(review_versions),
];

/// The webhooks of a configuration.
pub(super) fn body(object: &Value, found: &mut ErrorList) {
    let at = ROOT.child("webhooks");
    let mut seen = BTreeSet::new();
    for (index, webhook) in list(object, "webhooks").iter().enumerate() {
        let at = at.item(index);
        run(WEBHOOK, webhook, &at, found);
        let name = text(webhook, "name");
        if !name.is_empty() && !seen.insert(name) {
            found.duplicate(&at.child("name"), name);
        }
    }
}

fn name(webhook: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let name = text(webhook, "name");
    let at = at.child("name");
    if name.is_empty() {
        found.required(&at, "");
        return;
    }
    let messages = names::dns_subdomain(name);
    if messages.is_empty() && name.split('.').count() < 3 {
        found.invalid(
            &at,
            name,
            "should be a domain with at least three segments separated by dots",
        );
    }
    found.invalid_each(&at, name, messages);
}

fn client(webhook: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let config = webhook.get("clientConfig").unwrap_or(&Value::Null);
    let at = at.child("clientConfig");
    match (config.get("url").and_then(Value::as_str), config.get("service")) {
        (Some(url), None) => webhook_client_config::url(url, &at.child("url"), found),
        (None, Some(service)) => webhook_client_config::service(service, &at.child("service"), found),
        (Some(_), Some(_)) | (None, None) => found.required(&at, "exactly one of url or service is required"),
    }
}

fn review_versions(webhook: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let versions = texts(webhook, "admissionReviewVersions");
    let at = at.child("admissionReviewVersions");
    if versions.is_empty() {
        found.required(&at, &format!("must specify one of {}", REVIEW_VERSIONS.join(", ")));
        return;
    }
    let mut seen = BTreeSet::new();
    for (index, version) in versions.iter().enumerate() {
        if !seen.insert(*version) {
            found.invalid(&at.item(index), *version, "duplicate version");
            continue;
        }
        found.invalid_each(&at.item(index), version, names::dns_1035_label(version));
    }
    if !versions.iter().any(|version| REVIEW_VERSIONS.contains(version)) {
        let value: Vec<Value> = versions.into_iter().map(Value::from).collect();
        found.invalid(
            &at,
            value,
            &format!("must include at least one of {}", REVIEW_VERSIONS.join(", ")),
        );
    }
}

fn side_effects(webhook: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if webhook.get("sideEffects").is_none_or(Value::is_null) {
        found.required(&at.child("sideEffects"), "must specify one of None, NoneOnDryRun");
    }
    run(
        &[OneOfIfSet("sideEffects", &["None", "NoneOnDryRun"])],
        webhook,
        at,
        found,
    );
}

fn timeout(webhook: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let seconds = number(webhook, "timeoutSeconds");
    if webhook.get("timeoutSeconds").is_some() && !(1..=30).contains(&seconds) {
        found.invalid(
            &at.child("timeoutSeconds"),
            seconds,
            "the timeout value must be between 1 and 30 seconds",
        );
    }
}

fn rule(rule: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let operations = texts(rule, "operations");
    let field = at.child("operations");
    if operations.is_empty() {
        found.required(&field, "");
    }
    if operations.len() > 1 && operations.contains(&"*") {
        let value: Vec<Value> = operations.iter().map(|operation| Value::from(*operation)).collect();
        found.invalid(&field, value, "if '*' is present, must not specify other operations");
    }
    for (index, operation) in operations.iter().enumerate() {
        if !OPERATIONS.contains(operation) {
            found.not_supported(&field.item(index), *operation, OPERATIONS);
        }
    }
    for name in ["apiGroups", "apiVersions", "resources"] {
        if list(rule, name).is_empty() {
            found.required(&at.child(name), "");
        }
    }
}
