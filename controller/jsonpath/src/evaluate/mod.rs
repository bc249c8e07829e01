//! Evaluates nodes against a value.
//!
//! In Kubernetes `range` and `end` are not brackets but switches that steps change during evaluation, so that a range
//! without an `end` runs to the end of the template for every value and then once more. [`Run`] holds the switches.

mod filter;

use serde_json::Value;

use crate::descend::descend;
use crate::error::{EvaluateErrorKind, Failure};
use crate::item::{Item, Work};
use crate::limits::MAX_DEPTH;
use crate::lookup::look_up;
use crate::node::{Node, NodeKind, Part};
use crate::print::Printer;
use crate::slice::slice;
use filter::filter;

/// Returns the text that the parts produce for the value; `None` if nothing was printed.
pub(crate) fn evaluate(parts: &[Part], value: &Value) -> Result<Option<String>, Failure> {
    let mut run = Run {
        work: Work::new(),
        begun: 0,
        inside: 0,
        ended: 0,
        last_end: None,
    };
    let mut printer = Printer::new();
    block(parts, 0, Item::start(value), &mut run, Some(&mut printer))?;
    Ok(printer.into_text())
}

/// State shared by the steps of one evaluation.
pub(crate) struct Run {
    pub work: Work,
    /// Number of `range` steps that have not begun a block yet.
    begun: usize,
    /// Number of blocks around the current one.
    inside: usize,
    /// Number of `end` steps that have not ended a block yet.
    ended: usize,
    /// Part that ended a block most recently.
    last_end: Option<usize>,
}

/// Evaluates the parts from the given one to the end of its block. Without a printer the block is only traversed: a
/// range without values does this to find its end.
fn block(
    parts: &[Part],
    from: usize,
    start: Item<'_>,
    run: &mut Run,
    mut printer: Option<&mut Printer>,
) -> Result<(), Failure> {
    let mut index = from;
    while let Some(part) = parts.get(index) {
        let at = part.at();
        let fail = |kind| Failure::new(at, kind);
        run.work.spend(0).map_err(fail)?;
        let results = match part {
            Part::Text(text) => vec![Item::Text(text)],
            Part::Action(nodes) => list(nodes, vec![start], run)?,
        };
        if run.ended > 0 && run.ended <= run.inside {
            run.ended -= 1;
            run.last_end = Some(index);
            return Ok(());
        }
        if run.begun > 0 {
            run.begun -= 1;
            if run.inside >= MAX_DEPTH {
                return Err(fail(EvaluateErrorKind::TooDeep));
            }
            run.inside += 1;
            if results.is_empty() {
                block(parts, index + 1, Item::Nothing, run, None)?;
            }
            for item in results {
                block(parts, index + 1, item.as_start(), run, printer.as_deref_mut())?;
            }
            run.inside -= 1;
            index = run.last_end.filter(|end| *end > index).unwrap_or(index) + 1;
            continue;
        }
        if let Some(printer) = printer.as_deref_mut() {
            printer.print(&results).map_err(fail)?;
        }
        index += 1;
    }
    Ok(())
}

/// Evaluates the steps of an action, each on the results of the previous one.
pub(crate) fn list<'a>(nodes: &'a [Node], input: Vec<Item<'a>>, run: &mut Run) -> Result<Vec<Item<'a>>, Failure> {
    nodes.iter().try_fold(input, |current, node| step(node, current, run))
}

fn step<'a>(node: &'a Node, input: Vec<Item<'a>>, run: &mut Run) -> Result<Vec<Item<'a>>, Failure> {
    let fail = |kind| Failure::new(node.at, kind);
    run.work.spend(input.len()).map_err(fail)?;
    match &node.kind {
        NodeKind::Text(text) => Ok(vec![Item::Text(text)]),
        NodeKind::Int(value) => Ok(vec![Item::Int(*value); input.len()]),
        NodeKind::Float(value) => Ok(vec![Item::Float(*value); input.len()]),
        NodeKind::Bool(value) => Ok(vec![Item::Bool(*value); input.len()]),
        NodeKind::Word(word) => self::word(word, node.at, input, run),
        NodeKind::Lookup(lookup) => look_up(lookup, &input, &mut run.work),
        // Not produced by the parser on its own; equivalent to a lookup of one key.
        NodeKind::Field(key) => Ok(input.iter().filter_map(|item| item.get(key)).collect()),
        NodeKind::Slice(bounds) => slice(*bounds, node.at, &input, &mut run.work),
        NodeKind::Filter(condition) => filter(condition, node.at, &input, run),
        NodeKind::Recursive => descend(&input, &mut run.work).map_err(fail),
        NodeKind::Wildcard => {
            let mut results = Vec::new();
            for item in &input {
                let children = item.children();
                run.work.spend(children.len()).map_err(fail)?;
                results.extend(children);
            }
            Ok(results)
        }
        NodeKind::Union(parts) => {
            let mut results = Vec::new();
            for part in parts {
                let found = list(part, input.clone(), run).map_err(|failure| Failure {
                    has_values: !input.is_empty(),
                    ..failure
                })?;
                results.extend(found);
            }
            Ok(results)
        }
    }
}

fn word<'a>(word: &str, at: usize, input: Vec<Item<'a>>, run: &mut Run) -> Result<Vec<Item<'a>>, Failure> {
    match word {
        "range" => {
            run.begun += 1;
            Ok(input)
        }
        "end" if run.inside > 0 => {
            run.ended += 1;
            Ok(Vec::new())
        }
        "end" => Err(Failure::new(at, EvaluateErrorKind::NothingToEnd)),
        other => {
            let kind = EvaluateErrorKind::UnrecognizedIdentifier(other.to_owned());
            Err(Failure::with_values(at, kind, !input.is_empty()))
        }
    }
}
