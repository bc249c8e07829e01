//! One file, several cases: `spec.scenarios` names them, each with values for the parameters that the rest of the
//! file refers to as `$(name)`.
//!
//! ```yaml
//! scenarios:
//!   - {name: deployment, with: {kind: Deployment, object: deploy}}
//!   - {name: statefulset, with: {kind: StatefulSet, object: sts}}
//! ```
//!
//! One scenario may go without a name: it is the case that bears the file's name alone.
//!
//! A text that is nothing but a parameter becomes its value, whatever that is; otherwise the value must be a scalar.
//! What the scenarios come to together is bounded like what aliases expand to.

use std::collections::{BTreeMap, BTreeSet};

use super::shapes::SCENARIO;
use crate::yaml::{Data, MOST_NODES, Node, decode::Notes};

/// The file once for each scenario, with the scenario's name; once without a name if there are none.
pub fn expand(root: &Node, notes: &mut Notes) -> Vec<(Option<String>, Node)> {
    let Some(scenarios) = root.get("spec").and_then(|spec| spec.get("scenarios")) else {
        return vec![(None, root.clone())];
    };
    let mut expanded: Vec<(Option<String>, Node)> = Vec::new();
    let mut count = 0;
    for scenario in scenarios.items() {
        let Some(fields) = notes.shape(scenario, &SCENARIO) else {
            continue;
        };
        let name = match fields.get("name") {
            None => None,
            Some(node) => match notes.case_name(node, "a scenario's name") {
                Some(name) => Some(name),
                None => continue,
            },
        };
        if expanded.iter().any(|(known, _)| *known == name) {
            let (at, told) = match (&name, fields.get("name")) {
                (Some(name), Some(node)) => (node, format!("a second scenario `{name}`")),
                _ => (scenario, "a second scenario without a name".to_owned()),
            };
            notes.wrong(at, told, "take another name");
        }
        let with = fields.get("with").map(|node| notes.members(node, "with"));
        let values = with.unwrap_or_default();
        let values: BTreeMap<&str, &Node> = values.iter().map(|(key, value)| (key.key(), value)).collect();
        let mut node = root.clone();
        remove_scenarios(&mut node);
        fill(&mut node, &values, notes, &mut count);
        if count > MOST_NODES {
            let help = format!("{MOST_NODES} values are possible in all scenarios together");
            notes.wrong(scenario, "the scenarios come to too many values", help);
            break;
        }
        expanded.push((name, node));
    }
    if expanded.is_empty() {
        notes.wrong(
            scenarios,
            "scenarios must be a list with at least one entry",
            "or leave it out",
        );
    }
    expanded
}

fn remove_scenarios(root: &mut Node) {
    let Data::Map(members) = &mut root.data else { return };
    for (key, spec) in members {
        if let (true, Data::Map(spec)) = (key.key() == "spec", &mut spec.data) {
            spec.retain(|(key, _)| key.key() != "scenarios");
        }
    }
}

/// Puts the values in, and counts the nodes that there are then. Stops when there are too many.
fn fill(node: &mut Node, values: &BTreeMap<&str, &Node>, notes: &mut Notes, count: &mut usize) {
    *count += 1;
    if *count > MOST_NODES {
        return;
    }
    match &mut node.data {
        Data::List(items) => items.iter_mut().for_each(|item| fill(item, values, notes, count)),
        Data::Map(members) => fill_members(members, values, notes, count),
        Data::Scalar { text, .. } if text.contains("$(") => {
            let text = text.clone();
            let whole = text.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')'));
            if let Some(value) = whole.and_then(|name| values.get(name)) {
                *count += value.size();
                if *count <= MOST_NODES {
                    node.data = value.data.clone();
                }
                return;
            }
            let filled = fill_text(&text, values, node, notes);
            if let Data::Scalar { text, .. } = &mut node.data {
                *text = filled;
            }
        }
        Data::Scalar { .. } => {}
    }
}

/// Keys may hold parameters too, as long as they stay texts that stand there once.
fn fill_members(members: &mut [(Node, Node)], values: &BTreeMap<&str, &Node>, notes: &mut Notes, count: &mut usize) {
    let mut known = BTreeSet::new();
    for (key, value) in members {
        fill(key, values, notes, count);
        if !matches!(key.data, Data::Scalar { .. }) {
            notes.wrong(key, "a key must be a text", "");
        } else if !known.insert(key.key().to_owned()) {
            let message = format!("`{}` stands here a second time", key.key());
            notes.wrong(key, message, "keep one of them");
        }
        fill(value, values, notes, count);
    }
}

fn fill_text(text: &str, values: &BTreeMap<&str, &Node>, node: &Node, notes: &mut Notes) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("$(") {
        filled.push_str(before);
        let Some((name, behind)) = after.split_once(')') else {
            filled.push_str("$(");
            rest = after;
            continue;
        };
        match values.get(name).map(|value| &value.data) {
            Some(Data::Scalar { text, .. }) => filled.push_str(text),
            Some(Data::List(_) | Data::Map(_)) => {
                notes.wrong(
                    node,
                    format!("`$({name})` is no single value"),
                    "let it stand alone here",
                );
            }
            None => {
                let help = notes.suggestion(name, values.keys().copied());
                notes.wrong(node, format!("`$({name})` is no parameter of every scenario"), help);
            }
        }
        rest = behind;
    }
    filled.push_str(rest);
    filled
}
