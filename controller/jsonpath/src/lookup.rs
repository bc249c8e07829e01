//! Steps that run as queries of the crate `jsonpath-rust` (RFC 9535), and why the others do not.
//!
//! | step | by | why |
//! |---|---|---|
//! | `.a.b.c` | query | a key of an object, nothing for everything else: the same in both languages |
//! | `..a.b` | query | descends in the same order and finds the same values |
//! | `[?(@.a.b)]` on a list | query | true when the key is there, also when it is null: the same |
//! | `..` before anything else | hand | Kubernetes counts texts and leaves empty containers out |
//! | `[1:3]`, `[*]`, `[0,2]` | hand | out of bounds, and on anything but a list, is an error in Kubernetes; nothing in the RFC |
//! | `.*` | hand | Kubernetes takes a text apart into bytes |
//! | `[?(@.a==1)]` | hand | a missing key or another type is an error in Kubernetes; false in the RFC, where 1 is also 1.0 |
//! | text, quotes, `range`, `end` | hand | the RFC has no templates |
//!
//! A query does not report which key it did not find. If it finds nothing, the keys are looked up again by hand to name
//! the first missing one.

use std::cmp::Ordering;

use jsonpath_rust::parser::model::{Filter as QueryFilter, FilterAtom, JpQuery, Segment, Selector, Test};
use jsonpath_rust::query::js_path_process;
use serde_json::Value;

use crate::descend::{self, descend};
use crate::error::{EvaluateErrorKind, Failure};
use crate::item::{Item, Work};
use crate::node::{Filter, Key, Lookup, Node, NodeKind};

/// Maximum number of keys in one query. A query keeps the path of each visited value as text, so longer rows are split.
const KEYS_IN_QUERY: usize = 64;

/// Joins each row of keys, with the `..` before it, into one [`Lookup`].
pub(crate) fn join_keys(nodes: Vec<Node>) -> Vec<Node> {
    let mut joined: Vec<Node> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let NodeKind::Field(name) = node.kind else {
            joined.push(node);
            continue;
        };
        let key = Key { at: node.at, name };
        match joined.last_mut() {
            Some(Node {
                kind: NodeKind::Lookup(lookup),
                ..
            }) if lookup.keys.len() < KEYS_IN_QUERY => {
                lookup.query.segments.push(Segment::name(&key.name));
                lookup.keys.push(key);
            }
            Some(
                last @ Node {
                    kind: NodeKind::Recursive,
                    ..
                },
            ) => last.kind = NodeKind::Lookup(first_key(true, key)),
            Some(_) | None => joined.push(Node {
                at: key.at,
                kind: NodeKind::Lookup(first_key(false, key)),
            }),
        }
    }
    joined
}

fn first_key(descend: bool, key: Key) -> Lookup {
    let name = Segment::name(&key.name);
    let segment = if descend {
        Segment::Descendant(Box::new(name))
    } else {
        name
    };
    Lookup {
        descend,
        keys: vec![key],
        query: JpQuery::new(vec![segment]),
    }
}

/// Returns the condition of a filter without an operator; conditions of keys alone become queries.
pub(crate) fn exists(condition: Vec<Node>) -> Filter {
    match condition.as_slice() {
        [
            Node {
                kind: NodeKind::Lookup(lookup),
                ..
            },
        ] if !lookup.descend => {
            let test = Test::RelQuery(lookup.query.segments.clone());
            let filter = QueryFilter::Atom(FilterAtom::test(test, false));
            Filter::HasKeys(JpQuery::new(vec![Segment::Selector(Selector::Filter(filter))]))
        }
        _ => Filter::Exists(condition),
    }
}

/// Runs a query against a value.
pub(crate) fn run<'a>(query: &JpQuery, value: &'a Value) -> Result<Vec<Item<'a>>, EvaluateErrorKind> {
    let found = js_path_process(query, value).map_err(|source| EvaluateErrorKind::Query {
        reason: source.to_string(),
    })?;
    Ok(found.into_iter().map(|found| Item::Json(found.val)).collect())
}

/// Looks up the keys in each input. Fails with the first key that no input has.
pub(crate) fn look_up<'a>(lookup: &Lookup, input: &[Item<'a>], work: &mut Work) -> Result<Vec<Item<'a>>, Failure> {
    let at = lookup.keys.first().map_or(0, |key| key.at);
    let fatal = |kind| Failure::new(at, kind);
    let mut results = Vec::new();
    for item in input {
        let Item::Json(value) = item else { continue };
        work.spend(lookup.keys.len()).map_err(fatal)?;
        if lookup.descend {
            descend::check_query(value, work).map_err(fatal)?;
        }
        let found = run(&lookup.query, value).map_err(fatal)?;
        work.spend(found.len()).map_err(fatal)?;
        results.extend(found);
    }
    if results.is_empty() && !input.is_empty() {
        return nothing_found(lookup, input, work).map_or(Ok(results), Err);
    }
    Ok(results)
}

/// Looks up the keys by hand and reports the first missing one; `None` if the input was empty, which is not an error.
fn nothing_found(lookup: &Lookup, input: &[Item<'_>], work: &mut Work) -> Option<Failure> {
    let mut current = input.to_vec();
    if lookup.descend {
        match descend(input, work) {
            Ok(found) => current = found,
            Err(kind) => return Some(Failure::new(lookup.keys.first()?.at, kind)),
        }
        if current.is_empty() {
            return None;
        }
    }
    for key in &lookup.keys {
        let next: Vec<_> = current.iter().filter_map(|item| item.get(&key.name)).collect();
        if next.is_empty() {
            let nearest = nearest(&key.name, current.iter().flat_map(Item::keys));
            return Some(Failure::new(
                key.at,
                EvaluateErrorKind::NotFound {
                    key: key.name.clone(),
                    nearest,
                },
            ));
        }
        current = next;
    }
    None
}

/// Returns the most similar key, if one is similar enough.
fn nearest<'k>(wanted: &str, keys: impl Iterator<Item = &'k str>) -> Option<String> {
    const NEAR_ENOUGH: f64 = 0.84;
    const TOO_LONG: usize = 128;
    if wanted.is_empty() || wanted.len() > TOO_LONG {
        return None;
    }
    let likeness = |key: &str| {
        if key.eq_ignore_ascii_case(wanted) {
            1.0
        } else {
            strsim::jaro_winkler(key, wanted)
        }
    };
    keys.filter(|key| key.len() <= TOO_LONG)
        .take(1_000)
        .map(|key| (likeness(key), key))
        .filter(|(likeness, _)| *likeness >= NEAR_ENOUGH)
        .max_by(|a, b| {
            a.0.partial_cmp(&b.0)
                .unwrap_or(Ordering::Equal)
                .then_with(|| b.1.cmp(a.1))
        })
        .map(|(_, key)| key.to_owned())
}
