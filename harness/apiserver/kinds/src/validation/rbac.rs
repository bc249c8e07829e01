//! Roles and their bindings.

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::go_values;
use baton_apimachinery::metadata::names;
use serde_json::Value;

use super::ROOT;
use super::checks::{list, text};

const GROUP: &str = "rbac.authorization.k8s.io";

/// The body of a kind.
pub(super) fn body(kind: &str, object: &Value, found: &mut ErrorList) {
    match kind {
        "Role" | "ClusterRole" => {
            let at = ROOT.child("rules");
            for (index, rule) in list(object, "rules").iter().enumerate() {
                self::rule(rule, kind == "Role", &at.item(index), found);
            }
        }
        "RoleBinding" | "ClusterRoleBinding" => binding(object, kind == "RoleBinding", found),
        _ => {}
    }
}

fn rule(rule: &Value, namespaced: bool, at: &FieldPath<'_>, found: &mut ErrorList) {
    if list(rule, "verbs").is_empty() {
        found.required(&at.child("verbs"), "verbs must contain at least one value");
    }
    let urls = list(rule, "nonResourceURLs");
    let has_resources = !list(rule, "apiGroups").is_empty() || !list(rule, "resources").is_empty();
    if !urls.is_empty() {
        if namespaced {
            let detail = "namespaced rules cannot apply to non-resource URLs";
            found.invalid(&at.child("nonResourceURLs"), urls.to_vec(), detail);
        }
        if has_resources || !list(rule, "resourceNames").is_empty() {
            let detail = "rules cannot apply to both regular resources and non-resource URLs";
            found.invalid(&at.child("nonResourceURLs"), urls.to_vec(), detail);
        }
        return;
    }
    if list(rule, "apiGroups").is_empty() {
        found.required(
            &at.child("apiGroups"),
            "resource rules must supply at least one api group",
        );
    }
    if list(rule, "resources").is_empty() {
        found.required(
            &at.child("resources"),
            "resource rules must supply at least one resource",
        );
    }
}

fn binding(object: &Value, namespaced: bool, found: &mut ErrorList) {
    let role = object.get("roleRef").unwrap_or(&Value::Null);
    let at = ROOT.child("roleRef");
    if text(role, "apiGroup") != GROUP {
        found.not_supported(&at.child("apiGroup"), text(role, "apiGroup"), &[GROUP]);
    }
    let kinds: &[&str] = if namespaced {
        &["Role", "ClusterRole"]
    } else {
        &["ClusterRole"]
    };
    if !kinds.contains(&text(role, "kind")) {
        found.not_supported(&at.child("kind"), text(role, "kind"), kinds);
    }
    let name = text(role, "name");
    found.required_each(&at.child("name"), name, names::path_segment(name, false));
    let at = ROOT.child("subjects");
    for (index, subject) in list(object, "subjects").iter().enumerate() {
        self::subject(subject, namespaced, &at.item(index), found);
    }
}

fn subject(subject: &Value, namespaced: bool, at: &FieldPath<'_>, found: &mut ErrorList) {
    let name = text(subject, "name");
    if name.is_empty() {
        found.required(&at.child("name"), "");
    }
    match text(subject, "kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                found.invalid_each(&at.child("name"), name, names::dns_subdomain(name));
            }
            if !text(subject, "apiGroup").is_empty() {
                found.not_supported(&at.child("apiGroup"), text(subject, "apiGroup"), &[""]);
            }
            // Without a namespace, the subject is in the binding's own.
            if !namespaced && text(subject, "namespace").is_empty() {
                found.required(&at.child("namespace"), "");
            }
        }
        "User" | "Group" => {
            if text(subject, "apiGroup") != GROUP {
                found.not_supported(&at.child("apiGroup"), text(subject, "apiGroup"), &[GROUP]);
            }
        }
        other => found.not_supported(&at.child("kind"), other, &["ServiceAccount", "User", "Group"]),
    }
}

/// Checks that the role of a binding does not change.
pub(super) fn change(new: &Value, old: &Value, found: &mut ErrorList) {
    if let (Some(new), Some(old)) = (new.get("roleRef"), old.get("roleRef"))
        && new != old
    {
        found.invalid_text(
            &ROOT.child("roleRef"),
            &go_values::text("rbac.RoleRef", new),
            "cannot change roleRef",
        );
    }
}
