//! Which other pods a pod wants to be near to, or not.

use std::collections::BTreeSet;

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::metadata::names;
use serde_json::Value;

use super::weight;
use crate::validation::checks::Check::{Do, Each, In, Selector};
use crate::validation::checks::{Check, list, members, text, texts};

/// The affinity, or the opposite of one, to other pods.
pub(crate) const BETWEEN_PODS: &[Check] = &[
    Each("requiredDuringSchedulingIgnoredDuringExecution", TERM),
    Each("preferredDuringSchedulingIgnoredDuringExecution", WEIGHTED),
];

const TERM: &[Check] = &[
    Selector("labelSelector"),
    Selector("namespaceSelector"),
    Do(namespaces),
    Do(label_keys),
    Do(topology_key),
];
const WEIGHTED: &[Check] = &[Do(weight), In("podAffinityTerm", TERM)];

fn namespaces(term: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    for namespace in texts(term, "namespaces") {
        found.invalid_each(&at.child("namespace"), namespace, names::dns_label(namespace));
    }
}

fn topology_key(term: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let key = text(term, "topologyKey");
    if key.is_empty() {
        found.required(&at.child("topologyKey"), "can not be empty");
    }
    found.invalid_each(&at.child("topologyKey"), key, names::qualified_name(key));
}

/// Keys of labels in which other pods must be the same as this one, or must not.
pub(crate) fn label_keys(term: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let selector = term.get("labelSelector");
    for field in ["matchLabelKeys", "mismatchLabelKeys"] {
        let (at, keys) = (at.child(field), texts(term, field));
        if !keys.is_empty() && selector.is_none() {
            found.forbidden(&at, "must not be specified when labelSelector is not set");
            continue;
        }
        for (index, key) in keys.into_iter().enumerate() {
            found.invalid_each(&at.item(index), key, names::qualified_name(key));
        }
    }
    let keys = texts(term, "matchLabelKeys");
    if let Some(selector) = selector {
        selected_twice(selector, &keys, at, found);
    }
    let others = texts(term, "mismatchLabelKeys");
    let field = at.child("matchLabelKeys");
    for (index, key) in keys.iter().enumerate().filter(|(_, key)| others.contains(key)) {
        let detail = "exists in both matchLabelKeys and mismatchLabelKeys";
        found.invalid(&field.item(index), *key, detail);
    }
}

/// The keys are in the selector already: once for themselves, so whoever selects by one as well has it twice.
fn selected_twice(selector: &Value, keys: &[&str], at: &FieldPath<'_>, found: &mut ErrorList) {
    let labels = members(selector, "matchLabels").into_iter().flatten();
    let mut seen: BTreeSet<&str> = labels.map(|(key, _)| key.as_str()).collect();
    for expression in list(selector, "matchExpressions") {
        let key = text(expression, "key");
        let place = keys.iter().rposition(|other| *other == key);
        if let (Some(index), false) = (place, seen.insert(key)) {
            // The place is that of the whole.
            let detail = "exists in both matchLabelKeys and labelSelector";
            found.invalid(&at.item(index), key, detail);
        }
    }
}
