//! `allOf`, `anyOf`, `oneOf` and `not`.
//!
//! If all alternatives fail, the errors of the one that ran the most checks are reported.

use serde_json::Value;

use super::super::node::Node;
use super::super::path::Path;
use super::Outcome;
use crate::go_fmt;

pub fn check(node: &Node, value: &Value, old: Option<&Value>, path: &Path<'_>, out: &mut Outcome) {
    if !node.any_of.is_empty() {
        any_of(node, value, old, path, out);
    }
    if !node.one_of.is_empty() {
        one_of(node, value, old, path, out);
    }
    if !node.all_of.is_empty() {
        all_of(node, value, old, path, out);
    }
    if let Some(not) = &node.not
        && attempt(not, value, None, path).errors.is_empty()
    {
        out.detached(&format!(
            "{} must not validate the schema (not)",
            go_fmt::quoted(&path.dotted())
        ));
    }
}

fn attempt(node: &Node, value: &Value, old: Option<&Value>, path: &Path<'_>) -> Outcome {
    let mut outcome = Outcome::default();
    super::check(node, value, old, path, &mut outcome);
    outcome
}

fn any_of(node: &Node, value: &Value, old: Option<&Value>, path: &Path<'_>, out: &mut Outcome) {
    let mut best: Option<Outcome> = None;
    for schema in &node.any_of {
        let outcome = attempt(schema, value, old, path);
        if outcome.errors.is_empty() {
            out.merge(outcome);
            return;
        }
        if best.as_ref().is_none_or(|best| outcome.checks > best.checks) {
            best = Some(outcome);
        }
    }
    out.detached(&format!(
        "{} must validate at least one schema (anyOf)",
        go_fmt::quoted(&path.dotted())
    ));
    if let Some(best) = best {
        out.merge(best);
    }
}

fn one_of(node: &Node, value: &Value, old: Option<&Value>, path: &Path<'_>, out: &mut Outcome) {
    let mut valid = 0_usize;
    let mut shown: Option<Outcome> = None;
    for schema in &node.one_of {
        let outcome = attempt(schema, value, old, path);
        if outcome.errors.is_empty() {
            valid += 1;
            if valid == 1 {
                shown = Some(outcome);
            }
        } else if valid == 0 && shown.as_ref().is_none_or(|best| outcome.checks > best.checks) {
            shown = Some(outcome);
        }
    }
    if valid != 1 {
        let found = match valid {
            0 => "Found none valid".to_owned(),
            several => format!("Found {several} valid alternatives"),
        };
        let place = go_fmt::quoted(&path.dotted());
        out.detached(&format!(
            "{place} must validate one and only one schema (oneOf). {found}"
        ));
    }
    if let Some(shown) = shown {
        out.merge(shown);
    }
}

fn all_of(node: &Node, value: &Value, old: Option<&Value>, path: &Path<'_>, out: &mut Outcome) {
    let mut valid = 0_usize;
    for schema in &node.all_of {
        let outcome = attempt(schema, value, old, path);
        valid += usize::from(outcome.errors.is_empty());
        out.merge(outcome);
    }
    if valid != node.all_of.len() {
        let also = if valid == 0 { ". None validated" } else { "" };
        out.detached(&format!(
            "{} must validate all the schemas (allOf){also}",
            go_fmt::quoted(&path.dotted())
        ));
    }
}
