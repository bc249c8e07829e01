//! Labels of nodes that have other names by now.

use baton_apimachinery::field::FieldPath;
use baton_apimachinery::meta;
use serde_json::Value;

use super::items;

/// What is said of them.
const DEPRECATED: &[(&str, &str)] = &[
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    (
        "beta.kubernetes.io/arch",
        "deprecated since v1.14; use \"kubernetes.io/arch\" instead",
    ),
    (
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
    (
        "beta.kubernetes.io/os",
        "deprecated since v1.14; use \"kubernetes.io/os\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
    ),
    (
        "node-role.kubernetes.io/master",
        "use \"node-role.kubernetes.io/control-plane\" instead",
    ),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
];

/// What is said of a label, if it has another name by now.
pub(super) fn deprecated(key: &str) -> Option<&'static str> {
    let found = DEPRECATED.binary_search_by_key(&key, |(known, _)| known).ok()?;
    DEPRECATED.get(found).map(|(_, detail)| *detail)
}

/// The labels in the expressions of a term or selector.
pub(super) fn expressions(selector: &Value, at: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let at = at.child("matchExpressions");
    for (index, expression) in items(selector, "matchExpressions").iter().enumerate() {
        let key = meta::text(expression, "key");
        if let Some(detail) = deprecated(key) {
            warnings.push(format!("{}: {key} is {detail}", at.item(index).child("key")));
        }
    }
}

/// The labels of a selector.
pub(super) fn selector(selector: &Value, at: &FieldPath<'_>, warnings: &mut Vec<String>) {
    expressions(selector, at, warnings);
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    for (key, _) in labels.into_iter().flatten() {
        if let Some(detail) = deprecated(key) {
            warnings.push(format!("{}.{key}: {detail}", at.child("matchLabels")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_found() {
        assert!(DEPRECATED.is_sorted());
        assert!(deprecated("beta.kubernetes.io/os").is_some());
        assert_eq!(deprecated("kubernetes.io/os"), None);
    }
}
