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

use std::collections::{BTreeMap, BTreeSet};

use super::{parameters, shapes::SCENARIO};
use crate::yaml::{Data, MOST_NODES, Node, decode::Decoder};

/// An entry of `scenarios`.
struct Scenario<'n> {
    node: &'n Node,
    name: Option<String>,
    /// What its parameters stand for.
    values: BTreeMap<&'n str, &'n Node>,
}

/// The file once for each scenario, with the scenario's name; once without a name if there are none.
pub fn expand(root: &Node, decoder: &mut Decoder) -> Vec<(Option<String>, Node)> {
    let Some(scenarios) = root.get("spec").and_then(|spec| spec.get("scenarios")) else {
        return vec![(None, root.clone())];
    };
    let mut expanded = Vec::new();
    let mut count = 0;
    let rest = without_scenarios(root);
    for scenario in read(scenarios, decoder) {
        let mut node = rest.clone();
        parameters::fill(&mut node, &scenario.values, decoder, &mut count);
        if count > MOST_NODES {
            let help = format!(
                "all scenarios together may have {MOST_NODES} values; a long text counts as one for each {} bytes",
                parameters::BYTES_A_VALUE
            );
            decoder.error(scenario.node, "the scenarios are too large", help);
            break;
        }
        expanded.push((scenario.name, node));
    }
    if expanded.is_empty() {
        let help = "or leave it out";
        decoder.error(scenarios, "scenarios must be a list with at least one entry", help);
    }
    expanded
}

/// The entries; one that is wrong is left out.
fn read<'n>(scenarios: &'n Node, decoder: &mut Decoder) -> Vec<Scenario<'n>> {
    let mut found = Vec::new();
    let mut names = BTreeSet::new();
    for node in scenarios.items() {
        let Some(fields) = decoder.shape(node, &SCENARIO) else {
            continue;
        };
        let name = match fields.get("name") {
            None => None,
            Some(node) => match decoder.case_name(node, "a scenario's name") {
                Some(name) => Some(name),
                None => continue,
            },
        };
        if !names.insert(name.clone()) {
            let (at, message) = match (&name, fields.get("name")) {
                (Some(name), Some(node)) => (node, format!("duplicate scenario `{name}`")),
                _ => (node, "only one scenario may go without a name".to_owned()),
            };
            decoder.error(at, message, "choose another name");
        }
        let values = fields.get("with").map(|node| decoder.members(node, "with"));
        let values = values.unwrap_or_default().iter();
        found.push(Scenario {
            node,
            name,
            values: values.map(|(key, value)| (key.key(), value)).collect(),
        });
    }
    found
}

fn without_scenarios(root: &Node) -> Node {
    let mut root = root.clone();
    if let Data::Map(members) = &mut root.data {
        for (key, spec) in members {
            if let (true, Data::Map(spec)) = (key.key() == "spec", &mut spec.data) {
                spec.retain(|(key, _)| key.key() != "scenarios");
            }
        }
    }
    root
}
