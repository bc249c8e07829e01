//! Approval of definitions in groups of Kubernetes.

use serde_json::Value;

use crate::meta::text;

/// The annotation that approves a definition.
pub(super) const APPROVAL: &str = "api-approved.kubernetes.io";

/// Returns `true` if the group belongs to Kubernetes itself.
pub(super) fn is_protected(group: &str) -> bool {
    ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|suffix| group == *suffix || group.strip_suffix(suffix).is_some_and(|rest| rest.ends_with('.')))
}

/// The annotation that approves a definition in a protected group.
pub(super) fn approval_annotation(crd: &Value) -> &str {
    text(&crd["metadata"]["annotations"], APPROVAL)
}
