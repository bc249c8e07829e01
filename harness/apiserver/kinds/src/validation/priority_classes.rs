//! `PriorityClasses`.

use baton_apimachinery::field::{ErrorList, FieldPath};
use serde_json::Value;

use super::ROOT;
use super::checks::Check::{Do, OneOf};
use super::checks::{immutable, is_true, number, run, text};
use crate::well_known::SYSTEM_CLASSES;

/// What is wrong with a class.
pub(super) fn body(class: &Value, found: &mut ErrorList) {
    let policy = OneOf("preemptionPolicy", &["PreemptLowerPriority", "Never"]);
    run(&[Do(priority), policy], class, &ROOT, found);
}

fn priority(class: &Value, _: &FieldPath<'_>, found: &mut ErrorList) {
    let name = class
        .get("metadata")
        .map(|metadata| text(metadata, "name"))
        .unwrap_or_default();
    if name.starts_with("system-") {
        if let Some(problem) = system_problem(name, class) {
            let detail = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {problem}"
            );
            found.forbidden(&ROOT.child("metadata.name"), &detail);
        }
    } else if number(class, "value") > 1_000_000_000 {
        let detail = "maximum allowed value of a user defined priority is 1000000000";
        found.forbidden(&ROOT.child("value"), detail);
    }
}

/// What makes a class another one than that of the system with its name.
fn system_problem(name: &str, class: &Value) -> Option<String> {
    let Some((_, value)) = SYSTEM_CLASSES.iter().find(|(known, _)| *known == name) else {
        return Some(format!("{name} is not a known system priority class"));
    };
    if number(class, "value") != *value {
        return Some(format!("value of {name} PriorityClass must be {value}"));
    }
    is_true(class, "globalDefault").then(|| format!("globalDefault of {name} PriorityClass must be false"))
}

/// What may not change of a class.
pub(super) fn change(new: &Value, old: &Value, found: &mut ErrorList) {
    if new.get("value") != old.get("value") {
        found.forbidden(&ROOT.child("value"), "may not be changed in an update.");
    }
    immutable("preemptionPolicy", new, old, &ROOT, found);
}
