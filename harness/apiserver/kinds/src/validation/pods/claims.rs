//! Claims of devices: those of a pod, and what its containers want of them.

use std::collections::BTreeSet;

use baton_apimachinery::field::{ErrorList, FieldError, FieldErrorType, FieldPath};
use baton_apimachinery::go_values;
use baton_apimachinery::metadata::names;
use serde_json::Value;

use crate::validation::checks::{list, text};

/// The claims of a pod's specification.
pub(crate) fn of_pod(spec: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("resourceClaims");
    let mut seen = BTreeSet::new();
    for (index, claim) in list(spec, "resourceClaims").iter().enumerate() {
        let (at, name) = (at.item(index), text(claim, "name"));
        let field = at.child("name");
        if name.is_empty() {
            found.required(&field, "");
        } else if seen.insert(name) {
            found.invalid_each(&field, name, names::dns_label(name));
        } else {
            found.duplicate(&field, name);
        }
        let sources = ["resourceClaimName", "resourceClaimTemplateName"];
        let given = sources.map(|source| claim.get(source).and_then(Value::as_str));
        let problem = match given {
            [Some(_), Some(_)] => {
                Some("at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified")
            }
            [None, None] => Some("must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"),
            [Some(_), None] | [None, Some(_)] => None,
        };
        if let Some(problem) = problem {
            found.invalid_text(&at, &go_values::text("core.PodResourceClaim", claim), problem);
        }
        for (source, name) in sources.into_iter().zip(given) {
            if let Some(name) = name {
                found.invalid_each(&at.child(source), name, names::dns_subdomain(name));
            }
        }
    }
}

/// The names of a pod's claims.
pub(crate) fn names_of(spec: &Value) -> BTreeSet<&str> {
    let claims = list(spec, "resourceClaims").iter();
    claims
        .map(|claim| text(claim, "name"))
        .filter(|name| !name.is_empty())
        .collect()
}

/// What is wanted of the claims of a pod, whose names are `known`.
pub(crate) fn wanted(resources: &Value, known: &BTreeSet<&str>, at: &FieldPath<'_>, found: &mut ErrorList) {
    let at = at.child("claims");
    let mut seen: BTreeSet<(&str, &str)> = BTreeSet::new();
    for (index, claim) in list(resources, "claims").iter().enumerate() {
        let (at, name, request) = (at.item(index), text(claim, "name"), text(claim, "request"));
        if name.is_empty() {
            found.required(&at, "");
            continue;
        }
        if seen.contains(&(name, "")) {
            found.duplicate(&at, name);
        } else {
            if request.is_empty() {
                for _ in seen.iter().filter(|(other, _)| *other == name) {
                    found.duplicate(&at, name);
                }
            } else {
                found.invalid_each(&at.child("request"), request, names::dns_label(request));
                if seen.contains(&(name, request)) {
                    found.duplicate(&at, format!("{name}/{request}"));
                }
            }
            seen.insert((name, request));
        }
        if !known.contains(name) {
            unknown(name, known, &at, found);
        }
    }
}

fn unknown(name: &str, known: &BTreeSet<&str>, at: &FieldPath<'_>, found: &mut ErrorList) {
    let there = if known.is_empty() {
        " which is empty".to_owned()
    } else {
        let all: Vec<&str> = known.iter().copied().collect();
        format!(": {}", all.join(", "))
    };
    let message = format!(
        "Not found: {}: must be one of the names in pod.spec.resourceClaims{there}",
        Value::from(name)
    );
    found.extend(vec![FieldError {
        error_type: FieldErrorType::NotFound,
        field: at.to_string(),
        message,
    }]);
}
