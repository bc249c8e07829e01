//! Parameters: `$(name)` in a file stands for a value of the scenario.
//!
//! A text that is only a parameter becomes its value, of any type; in a longer text the value must be a scalar. All
//! scenarios of a file together have the same limit as what aliases expand to.

use std::collections::{BTreeMap, BTreeSet};

use crate::yaml::{Data, MOST_NODES, Node, decode::Decoder};

/// A long text counts as a value for each so many bytes.
pub const BYTES_A_VALUE: usize = 64;

/// Puts the values in, and counts the nodes that there are then. Stops when there are too many.
pub fn fill(node: &mut Node, values: &BTreeMap<&str, &Node>, decoder: &mut Decoder, count: &mut usize) {
    *count += 1;
    if *count > MOST_NODES {
        return;
    }
    match &mut node.data {
        Data::List(items) => items.iter_mut().for_each(|item| fill(item, values, decoder, count)),
        Data::Map(members) => fill_members(members, values, decoder, count),
        Data::Scalar { text, .. } if text.contains("$(") => {
            let text = text.clone();
            let whole = text.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')'));
            if let Some(value) = whole.and_then(|name| values.get(name)) {
                *count += weight(value);
                if *count <= MOST_NODES {
                    node.data = value.data.clone();
                }
                return;
            }
            let filled = fill_text(&text, values, node, decoder, count);
            if let Data::Scalar { text, .. } = &mut node.data {
                *text = filled;
            }
        }
        Data::Scalar { text, .. } => *count += text.len() / BYTES_A_VALUE,
    }
}

/// Returns the weight of a value; long texts count more.
fn weight(node: &Node) -> usize {
    match &node.data {
        Data::Scalar { text, .. } => 1 + text.len() / BYTES_A_VALUE,
        Data::List(items) => 1 + items.iter().map(weight).sum::<usize>(),
        Data::Map(members) => {
            let members = members.iter().map(|(key, value)| weight(key) + weight(value));
            1 + members.sum::<usize>()
        }
    }
}

/// Keys may hold parameters too, as long as they stay texts that stand there once.
fn fill_members(
    members: &mut [(Node, Node)],
    values: &BTreeMap<&str, &Node>,
    decoder: &mut Decoder,
    count: &mut usize,
) {
    let mut known = BTreeSet::new();
    for (key, value) in members {
        fill(key, values, decoder, count);
        if !matches!(key.data, Data::Scalar { .. }) {
            decoder.error(key, "a key must be a string", "");
        } else if !known.insert(key.key().to_owned()) {
            let message = format!("duplicate key `{}`", key.key());
            decoder.error(key, message, "remove one of them");
        }
        fill(value, values, decoder, count);
    }
}

fn fill_text(
    text: &str,
    values: &BTreeMap<&str, &Node>,
    node: &Node,
    decoder: &mut Decoder,
    count: &mut usize,
) -> String {
    let mut filled = String::new();
    let mut rest = text;
    let before_all = *count;
    while let Some((before, after)) = rest.split_once("$(") {
        *count = before_all + filled.len() / BYTES_A_VALUE;
        if *count > MOST_NODES {
            break;
        }
        filled.push_str(before);
        let Some((name, behind)) = after.split_once(')') else {
            filled.push_str("$(");
            rest = after;
            continue;
        };
        match values.get(name).map(|value| &value.data) {
            Some(Data::Scalar { text, .. }) => filled.push_str(text),
            Some(Data::List(_) | Data::Map(_)) => {
                decoder.error(
                    node,
                    format!("`$({name})` is not a single value"),
                    "use it alone here, without other text",
                );
            }
            None => {
                let help = decoder.suggestion(name, values.keys().copied());
                decoder.error(node, format!("not every scenario has a parameter `{name}`"), help);
            }
        }
        rest = behind;
    }
    filled.push_str(rest);
    *count = before_all + filled.len() / BYTES_A_VALUE;
    filled
}
