//! Matching of writes and webhooks.

use baton_apimachinery::meta;
use serde_json::Value;

/// The facts about a write that rules and selectors use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    /// `CREATE`, `UPDATE`, `DELETE`.
    pub(crate) operation: &'a str,
    pub(crate) group: &'a str,
    pub(crate) version: &'a str,
    /// The other versions in which the same objects are served.
    pub(crate) equivalent: &'a [String],
    pub(crate) plural: &'a str,
    pub(crate) subresource: Option<&'a str>,
    pub(crate) namespaced: bool,
    /// The namespace of the object, or the object itself if it is a namespace.
    pub(crate) namespace: Option<&'a Value>,
    pub(crate) object: Option<&'a Value>,
    pub(crate) old: Option<&'a Value>,
}

/// One rule of a webhook.
#[derive(Debug, Clone, Default)]
struct Rule {
    groups: Vec<String>,
    versions: Vec<String>,
    operations: Vec<String>,
    resources: Vec<String>,
    scope: String,
}

impl Rule {
    fn read(rule: &Value) -> Self {
        Self {
            groups: strings(rule, "apiGroups"),
            versions: strings(rule, "apiVersions"),
            operations: strings(rule, "operations"),
            resources: strings(rule, "resources"),
            scope: rule.get("scope").and_then(Value::as_str).unwrap_or("*").to_owned(),
        }
    }

    fn matches(&self, subject: &Subject<'_>, version: &str) -> bool {
        let has = |list: &[String], wanted: &str| list.iter().any(|each| each == "*" || each == wanted);
        let in_scope = match self.scope.as_str() {
            "Namespaced" => subject.namespaced,
            "Cluster" => !subject.namespaced,
            _ => true,
        };
        has(&self.operations, subject.operation)
            && has(&self.groups, subject.group)
            && has(&self.versions, version)
            && in_scope
            && self
                .resources
                .iter()
                .any(|resource| resource_matches(resource, subject))
    }
}

fn resource_matches(resource: &str, subject: &Subject<'_>) -> bool {
    let (plural, subresource) = match resource.split_once('/') {
        Some((plural, subresource)) => (plural, Some(subresource)),
        None => (resource, None),
    };
    let plural_fits = plural == "*" || plural == subject.plural;
    let subresource_fits = match (subresource, subject.subresource) {
        (Some("*"), _) | (None, None) => true,
        (Some(wanted), Some(given)) => wanted == given,
        (Some(_), None) | (None, Some(_)) => false,
    };
    plural_fits && subresource_fits
}

/// The rules and selectors of a webhook.
#[derive(Debug, Clone, Default)]
pub(crate) struct Matcher {
    rules: Vec<Rule>,
    exact: bool,
    namespace_selector: Value,
    object_selector: Value,
}

impl Matcher {
    /// Reads the rules and selectors of a webhook.
    pub(crate) fn read(webhook: &Value) -> Self {
        let rules = webhook.get("rules").and_then(Value::as_array);
        let member = |key: &str| webhook.get(key).cloned().unwrap_or(Value::Null);
        Self {
            rules: rules.into_iter().flatten().map(Rule::read).collect(),
            exact: webhook.get("matchPolicy").and_then(Value::as_str) == Some("Exact"),
            namespace_selector: member("namespaceSelector"),
            object_selector: member("objectSelector"),
        }
    }

    /// Returns the version in which the subject matches: its own, or an equivalent one.
    pub(crate) fn version<'s>(&self, subject: &Subject<'s>) -> Option<&'s str> {
        let fits = |version: &str| self.rules.iter().any(|rule| rule.matches(subject, version));
        if fits(subject.version) {
            return Some(subject.version);
        }
        let mut others = subject.equivalent.iter().map(String::as_str).filter(|_| !self.exact);
        others.find(|version| fits(version))
    }

    /// Returns `true` if the selectors match the subject.
    pub(crate) fn selects(&self, subject: &Subject<'_>) -> bool {
        let in_namespace = subject
            .namespace
            .is_none_or(|namespace| selected(&self.namespace_selector, namespace));
        let any = [subject.object, subject.old]
            .into_iter()
            .flatten()
            .any(|object| selected(&self.object_selector, object));
        in_namespace && (any || is_everything(&self.object_selector))
    }
}

fn is_everything(selector: &Value) -> bool {
    selector.as_object().is_none_or(serde_json::Map::is_empty)
}

/// Returns `true` if a selector (`matchLabels`, `matchExpressions`) matches the labels of an object.
fn selected(selector: &Value, object: &Value) -> bool {
    let label = |key: &str| {
        object
            .pointer("/metadata/labels")
            .and_then(|labels| labels.get(key))
            .and_then(Value::as_str)
    };
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    labels
        .into_iter()
        .flatten()
        .all(|(key, value)| label(key) == value.as_str())
        && expressions.into_iter().flatten().all(|expression| {
            let found = label(meta::text(expression, "key"));
            let listed = found.is_some_and(|found| strings(expression, "values").iter().any(|value| value == found));
            match expression.get("operator").and_then(Value::as_str) {
                Some("In") => listed,
                Some("NotIn") => !listed,
                Some("Exists") => found.is_some(),
                Some("DoesNotExist") => found.is_none(),
                Some(_) | None => false,
            }
        })
}

pub(super) fn strings(value: &Value, key: &str) -> Vec<String> {
    let list = value.get(key).and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Matcher, Subject};
    use serde_json::json;

    #[test]
    fn rules_name_resources_subresources_scopes_and_versions() {
        let subject = Subject {
            operation: "UPDATE",
            group: "apps",
            version: "v2",
            equivalent: &["v1".to_owned()],
            plural: "deployments",
            subresource: Some("status"),
            namespaced: true,
            namespace: None,
            object: None,
            old: None,
        };
        let rule = |resources: &str, versions: &str, scope: &str| {
            json!({"rules": [{"apiGroups": ["apps"], "apiVersions": [versions], "operations": ["UPDATE"],
                "resources": [resources], "scope": scope}]})
        };
        let cases = [
            (rule("deployments/status", "v2", "*"), Some("v2")),
            (rule("*/*", "v1", "Namespaced"), Some("v1")),
            (rule("deployments", "v2", "*"), None),
            (rule("*/status", "v2", "Cluster"), None),
        ];
        for (source, expected) in cases {
            assert_eq!(Matcher::read(&source).version(&subject), expected, "{source}");
        }
    }
}
