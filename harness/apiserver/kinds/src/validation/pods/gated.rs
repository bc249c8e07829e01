//! What may change in a pod that waits for its gates: where it is to run can be narrowed down.

use baton_apimachinery::field::{ErrorList, FieldPath};
use baton_apimachinery::go_values;
use serde_json::{Map, Value};

use crate::members::copy;
use crate::validation::checks::list;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

/// Checks it in the new specification, and makes it what it was.
pub(crate) fn change(new: &mut Value, old: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let (Some(new), Some(old)) = (new.as_object_mut(), old.as_object()) else {
        return;
    };
    selector_change(new, old, &at.child("nodeSelector"), found);
    copy(new, old, "nodeSelector");
    let at = at.child("affinity.nodeAffinity");
    let at = at.child(REQUIRED);
    terms_change(&terms(new), &terms(old), &at.child("nodeSelectorTerms"), found);
    keep_node_affinity(new, old);
}

fn selector_change(new: &Map<String, Value>, old: &Map<String, Value>, at: &FieldPath<'_>, found: &mut ErrorList) {
    let now = new.get("nodeSelector");
    let is_kept = |(key, value): (&String, &Value)| now.and_then(|now| now.get(key)) == Some(value);
    let before = old.get("nodeSelector").and_then(Value::as_object);
    if !before.into_iter().flatten().all(is_kept) {
        let detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        found.invalid(at, now.cloned().unwrap_or_default(), detail);
    }
}

fn terms(spec: &Map<String, Value>) -> Vec<Value> {
    let affinity = spec.get("affinity").and_then(|affinity| affinity.get("nodeAffinity"));
    let terms = affinity.and_then(|affinity| affinity.get(REQUIRED)?.get("nodeSelectorTerms")?.as_array());
    terms.cloned().unwrap_or_default()
}

/// The affinity to nodes as it was; where there was no affinity at all, none if there is no other now.
fn keep_node_affinity(new: &mut Map<String, Value>, old: &Map<String, Value>) {
    let before = old.get("affinity");
    let of_nodes = before.and_then(|affinity| affinity.get("nodeAffinity"));
    if new.get("affinity").is_none() && of_nodes.is_none() {
        return;
    }
    let affinity = new.entry("affinity").or_insert_with(|| Value::Object(Map::new()));
    let Some(affinity) = affinity.as_object_mut() else {
        return;
    };
    match of_nodes {
        Some(of_nodes) => affinity.insert("nodeAffinity".to_owned(), of_nodes.clone()),
        None => affinity.remove("nodeAffinity"),
    };
    if affinity.is_empty() && before.is_none() {
        new.remove("affinity");
    }
}

/// Terms can ask for more, but there are no others.
fn terms_change(new: &[Value], old: &[Value], at: &FieldPath<'_>, found: &mut ErrorList) {
    if !old.is_empty() && old.len() != new.len() {
        let terms: Vec<String> = new
            .iter()
            .map(|term| go_values::text("core.NodeSelectorTerm", term))
            .collect();
        let text = if new.is_empty() {
            "null".to_owned()
        } else {
            format!("[{}]", terms.join(","))
        };
        let detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        found.invalid_text(at, &text, detail);
        return;
    }
    for (index, (new, old)) in new.iter().zip(old).enumerate() {
        let fields = ["matchExpressions", "matchFields"];
        let was_empty = fields.iter().all(|field| list(old, field).is_empty());
        let is_empty = fields.iter().all(|field| list(new, field).is_empty());
        let is_kept = fields
            .iter()
            .all(|field| list(new, field).starts_with(list(old, field)));
        if !is_kept || (was_empty && !is_empty) {
            let detail = "only additions are allowed (no mutations or deletions)";
            found.invalid_text(&at.item(index), &go_values::text("core.NodeSelectorTerm", new), detail);
        }
    }
}
