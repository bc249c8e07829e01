//! `ValidatingAdmissionPolicy` and its bindings.

use std::collections::BTreeSet;

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::metadata::names;
use serde_json::Value;

use super::ROOT;
use super::checks::Check::{Do, Each, In, OneOf, OneOfIfSet, Selector};
use super::checks::{Check, list, run, text, texts};
use super::webhooks::{RULE_SCOPE, rule};

const MATCH_RESOURCES: &[Check] = &[
    OneOfIfSet("matchPolicy", &["Equivalent", "Exact"]),
    Selector("namespaceSelector"),
    Selector("objectSelector"),
    Each("resourceRules", NAMED_RULE),
    Each("excludeResourceRules", NAMED_RULE),
];

/// A rule that may name objects.
const NAMED_RULE: &[Check] = &[Do(resource_names), Check::Do(rule), RULE_SCOPE];

const POLICY: &[Check] = &[
    OneOfIfSet("failurePolicy", &["Fail", "Ignore"]),
    In("paramKind", &[Do(parameter_kind)]),
    In("matchConstraints", MATCH_RESOURCES),
    Do(constraints),
    Each("variables", &[Do(variable)]),
    Do(validations),
    Each("validations", &[Do(validation)]),
];

const BINDING: &[Check] = &[
    Check::Required("policyName"),
    Check::Named("policyName", names::dns_subdomain),
    In(
        "paramRef",
        &[Do(parameters), OneOf("parameterNotFoundAction", &["Deny", "Allow"])],
    ),
    In("matchResources", MATCH_RESOURCES),
    Do(actions),
];

/// The body of a policy or a binding.
pub(super) fn body(kind: &str, object: &Value, found: &mut ErrorList) {
    let checks = if kind == "ValidatingAdmissionPolicy" {
        POLICY
    } else {
        BINDING
    };
    run(&[In("spec", checks)], object, &ROOT, found);
    if kind == "ValidatingAdmissionPolicy" {
        annotations(object, found);
    }
}

fn parameter_kind(kind: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    group_version(text(kind, "apiVersion"), &at.child("apiVersion"), found);
    let name = text(kind, "kind");
    if name.is_empty() {
        found.required(&at.child("kind"), "");
    } else if let Some(detail) = names::dns_1035_in_one(&name.to_lowercase()) {
        let detail = format!("may have mixed case, but should otherwise match: {detail}");
        found.invalid(&at.child("kind"), name, &detail);
    }
}

fn group_version(given: &str, at: &FieldPath<'_>, found: &mut ErrorList) {
    if given.is_empty() {
        found.required(at, "");
        return;
    }
    if given != "/" && given.matches('/').count() > 1 {
        found.invalid(at, given, &format!("unexpected GroupVersion string: {given}"));
        return;
    }
    let (group, version) = given.split_once('/').unwrap_or(("", given));
    let problems = names::dns_subdomain(group);
    if !group.is_empty() && !problems.is_empty() {
        found.invalid(at, group, &problems.join(","));
    }
    if version.is_empty() {
        found.invalid(at, given, "version must be specified");
    } else if let Some(problem) = names::dns_1035_in_one(version) {
        found.invalid(at, version, &problem);
    }
}

fn constraints(policy: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let Some(constraints) = policy.get("matchConstraints") else {
        found.required(&at.child("matchConstraints"), "");
        return;
    };
    if list(constraints, "resourceRules").is_empty() {
        found.required(&at.child("matchConstraints.resourceRules"), "");
    }
}

fn variable(variable: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    const WORDS: [&str; 4] = ["false", "in", "null", "true"];
    const RESERVED: [&str; 15] = [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "namespace",
        "package",
        "return",
        "var",
    ];
    let name = text(variable, "name");
    let begins = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let is_word = begins && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let taken = WORDS.contains(&name) || RESERVED.contains(&name) || matches!(name, "void" | "while");
    if name.trim().is_empty() {
        found.required(&at.child("name"), "name is not specified");
    } else if !is_word || taken {
        found.invalid(&at.child("name"), name, "must be a valid CEL identifier");
    }
    expression(variable, at, found);
}

fn expression(of: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if text(of, "expression").trim().is_empty() {
        found.required(&at.child("expression"), "expression is not specified");
    }
}

fn validations(policy: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    if list(policy, "validations").is_empty() && list(policy, "auditAnnotations").is_empty() {
        let detail = "validations or auditAnnotations must contain at least one item";
        found.required(&at.child("validations"), detail);
        found.required(&at.child("auditAnnotations"), detail);
    }
}

fn validation(validation: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    expression(validation, at, found);
    for field in ["messageExpression", "message"] {
        let given = text(validation, field);
        if !given.is_empty() && given.trim().is_empty() {
            found.invalid(&at.child(field), given, "must be non-empty if specified");
        } else if field == "message" && given.contains('\n') {
            found.invalid(&at.child(field), given, "must not contain line breaks");
        }
    }
}

/// The keys of annotations are told with the name of the policy before them.
fn annotations(policy: &Value, found: &mut ErrorList) {
    let part = |key: &str| policy.get(key).unwrap_or(&Value::Null);
    let (of, spec) = (text(part("metadata"), "name"), ROOT.child("spec"));
    let at = spec.child("auditAnnotations");
    for (index, annotation) in list(part("spec"), "auditAnnotations").iter().enumerate() {
        let field = at.item(index);
        let key = format!("{of}/{}", text(annotation, "key"));
        found.invalid_each(&field.child("key"), &key, names::qualified_name(&key));
        if text(annotation, "valueExpression").trim().is_empty() {
            found.required(&field.child("valueExpression"), "valueExpression is not specified");
        }
    }
}

fn resource_names(rule: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("resourceNames");
    let mut seen = BTreeSet::new();
    for (index, name) in texts(rule, "resourceNames").into_iter().enumerate() {
        found.invalid_each(&at.item(index), name, names::path_segment(name, false));
        if !seen.insert(name) {
            found.duplicate(&at.item(index), name);
        }
    }
}

fn parameters(reference: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    const BOTH: &str = "name and selector are mutually exclusive";
    let name = text(reference, "name");
    let selects = reference.get("selector").is_some_and(Value::is_object);
    if !name.is_empty() {
        found.invalid_each(&at.child("name"), name, names::path_segment(name, false));
        if selects {
            found.forbidden(&at.child("name"), BOTH);
        }
    }
    run(&[Selector("selector")], reference, at, found);
    if selects && !name.is_empty() {
        found.forbidden(&at.child("selector"), BOTH);
    }
    if !selects && name.is_empty() {
        found.required(at, "one of name or selector must be specified");
    }
}

fn actions(binding: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let actions = texts(binding, "validationActions");
    let at = at.child("validationActions");
    if actions.is_empty() {
        found.required(&at, "at least one validation action is required");
    }
    let mut seen = BTreeSet::new();
    for (index, action) in actions.iter().enumerate() {
        if !matches!(*action, "Audit" | "Deny" | "Warn") {
            found.not_supported(&at.item(index), *action, &["Audit", "Deny", "Warn"]);
        }
        if !seen.insert(*action) {
            found.duplicate(&at.item(index), *action);
        }
    }
    if actions.contains(&"Deny") && actions.contains(&"Warn") {
        let value: Vec<Value> = actions.into_iter().map(Value::from).collect();
        let detail = "must not contain both Deny and Warn (repeating the same validation failure information in the \
            API response and headers serves no purpose)";
        found.invalid(&at, value, detail);
    }
}
