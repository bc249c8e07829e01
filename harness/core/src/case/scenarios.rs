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
//! `scenarios: {from: workloads}` takes the list of the file `fixtures/scenarios/workloads.yaml`; with `each: [...]` it is
//! crossed with a list of this file.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use super::{
    file::{SCENARIO, SCENARIO_SET},
    parameters,
    refs::ReadContext,
};
use crate::yaml::{self, Data, MOST_NODES, Node, decode::Decoder};

/// Folder of the lists of scenarios that several files share, below `fixtures/`.
const SETS: &str = "scenarios";

/// An entry of `scenarios`.
struct Scenario<'n> {
    node: &'n Node,
    name: Option<String>,
    /// Values of its parameters.
    values: BTreeMap<&'n str, &'n Node>,
}

/// The file once for each scenario, with the scenario's name; once without a name if there are none.
pub fn expand(root: &Node, context: &ReadContext<'_>, decoder: &mut Decoder) -> Vec<(Option<String>, Node)> {
    let Some(scenarios) = root.get("spec").and_then(|spec| spec.get("scenarios")) else {
        return vec![(None, root.clone())];
    };
    let scenarios = match &scenarios.data {
        Data::Map(_) => match of_set(scenarios, context, decoder) {
            Some(set) => Cow::Owned(set),
            None => return Vec::new(),
        },
        Data::Scalar { .. } | Data::List(_) => Cow::Borrowed(scenarios),
    };
    let scenarios = scenarios.as_ref();
    let mut expanded = Vec::new();
    let mut count = 0;
    let rest = without_scenarios(root);
    let each = each(root).map(|node| read(node, decoder));
    for scenario in cross(each, read(scenarios, decoder)) {
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

/// The scenarios of the file itself that each of a shared list is crossed with.
fn each(root: &Node) -> Option<&Node> {
    root.get("spec")?.get("scenarios")?.get("each")
}

/// Every scenario of the file with every one of the shared list: the values of both, and the names one behind the other.
fn cross<'n>(own: Option<Vec<Scenario<'n>>>, shared: Vec<Scenario<'n>>) -> Vec<Scenario<'n>> {
    let Some(own) = own else { return shared };
    let join = |first: &Option<String>, second: &Option<String>| match (first, second) {
        (Some(first), Some(second)) => Some(format!("{first}-{second}")),
        (one, None) | (None, one) => one.clone(),
    };
    let pairs = own
        .iter()
        .flat_map(|own| shared.iter().map(move |shared| (own, shared)));
    pairs
        .map(|(own, shared)| Scenario {
            node: own.node,
            name: join(&own.name, &shared.name),
            values: shared
                .values
                .iter()
                .chain(&own.values)
                .map(|(name, value)| (*name, *value))
                .collect(),
        })
        .collect()
}

/// Returns the list that `{from: …}` names, without those that are excluded here. Errors in its file are reported for that
/// file, and values that do not fit into this one for the reference.
fn of_set(reference: &Node, context: &ReadContext<'_>, decoder: &mut Decoder) -> Option<Node> {
    let fields = decoder.shape(reference, &SCENARIO_SET)?;
    let from = fields.get("from")?;
    let name = decoder.case_name(from, "the name of a list of scenarios")?;
    let file = format!("{SETS}/{name}.yaml");
    let text = match (context.fixture)(&file) {
        Ok(text) => text,
        Err(why) => {
            let sets = context
                .fixtures
                .iter()
                .filter_map(|it| it.strip_prefix(SETS)?.strip_prefix('/'));
            let sets: Vec<&str> = sets.filter_map(|it| it.strip_suffix(".yaml")).collect();
            let help = decoder.suggestion(&name, sets.iter().copied());
            decoder.error(from, format!("cannot read fixtures/{file}: {why}"), help);
            return None;
        }
    };
    let path = Path::new("fixtures").join(&file);
    let mut of_file = Decoder::new(&path);
    let mut set = match yaml::parse(&path, text.as_bytes()) {
        Ok((set, found)) => {
            of_file.extend(found);
            set
        }
        Err(diagnostic) => {
            decoder.extend(vec![*diagnostic]);
            return None;
        }
    };
    if set.items().is_empty() {
        of_file.error(&set, "scenarios must be a list with at least one entry", "");
    }
    let known: BTreeSet<String> = read(&set, &mut of_file).into_iter().filter_map(|it| it.name).collect();
    let found = of_file.into_diagnostics();
    if !found.is_empty() {
        decoder.extend(found);
        return None;
    }
    let mut without = BTreeSet::new();
    for (node, name) in fields
        .get("without")
        .map(|it| decoder.texts(it, "without"))
        .unwrap_or_default()
    {
        if !known.contains(&name) {
            let help = decoder.suggestion(&name, known.iter().map(String::as_str));
            decoder.error(node, format!("fixtures/{file} has no scenario `{name}`"), help);
        }
        without.insert(name);
    }
    if let Data::List(items) = &mut set.data {
        items.retain(|item| item.get("name").is_none_or(|name| !without.contains(name.key())));
    }
    stand_at(&mut set, from);
    Some(set)
}

/// Lets a node of another file stand where this one does.
fn stand_at(node: &mut Node, place: &Node) {
    node.span = place.span.clone();
    (node.line, node.column) = (place.line, place.column);
    match &mut node.data {
        Data::Scalar { .. } => {}
        Data::List(items) => items.iter_mut().for_each(|item| stand_at(item, place)),
        Data::Map(members) => {
            for (key, value) in members {
                stand_at(key, place);
                stand_at(value, place);
            }
        }
    }
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
        let values = values.unwrap_or_default();
        for (_, value) in values {
            refuse_parameters(value, decoder);
        }
        found.push(Scenario {
            node,
            name,
            values: values.iter().map(|(key, value)| (key.key(), value)).collect(),
        });
    }
    found
}

/// Reports parameters in a value of a parameter: nothing replaces them.
fn refuse_parameters(value: &Node, decoder: &mut Decoder) {
    match &value.data {
        Data::Scalar { text, .. } => {
            let name = text.split_once("$(").and_then(|(_, rest)| rest.split_once(')'));
            if let Some((name, _)) = name {
                decoder.error(
                    value,
                    format!("`$({name})` in a value of a parameter"),
                    "use both parameters in `steps`",
                );
            }
        }
        Data::List(items) => items.iter().for_each(|item| refuse_parameters(item, decoder)),
        Data::Map(members) => {
            for (key, value) in members {
                refuse_parameters(key, decoder);
                refuse_parameters(value, decoder);
            }
        }
    }
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
