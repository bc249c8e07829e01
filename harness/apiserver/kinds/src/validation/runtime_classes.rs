//! `RuntimeClasses`.

use std::collections::BTreeSet;

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::go_values;
use baton_apimachinery::metadata::names;
use serde_json::{Value, json};

use super::ROOT;
use super::checks::Check::{Do, Named, Required};
use super::checks::{Check, list, run, text};
use super::pods::{self, resources};

const CLASS: &[Check] = &[
    Required("handler"),
    Named("handler", names::dns_label),
    Do(overhead),
    Do(scheduling),
];

/// What is wrong with a class.
pub(super) fn body(class: &Value, found: &mut ErrorList) {
    run(CLASS, class, &ROOT, found);
}

fn overhead(class: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let Some(fixed) = class.get("overhead").and_then(|overhead| overhead.get("podFixed")) else {
        return;
    };
    // They are checked as the limits of a container are.
    resources::of_container(
        &json!({"limits": fixed}),
        &BTreeSet::new(),
        &at.child("overhead"),
        found,
    );
}

fn scheduling(class: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let Some(scheduling) = class.get("scheduling") else {
        return;
    };
    let at = at.child("scheduling");
    run(&[Check::Labels("nodeSelector")], scheduling, &at, found);
    pods::tolerations(scheduling, &at, found);
    let at = at.child("tolerations");
    let mut seen = BTreeSet::new();
    for (index, toleration) in list(scheduling, "tolerations").iter().enumerate() {
        let key = ["key", "operator", "value", "effect"].map(|field| text(toleration, field));
        if !seen.insert(key) {
            found.duplicate_text(&at.item(index), &go_values::text("core.Toleration", toleration));
        }
    }
}
