//! Kubernetes JSONPath templates: `job-{.jobStatus.jobId}` and a status give `job-e6fdb5c0…`.
//!
//! The language is that of `kubectl -o jsonpath` and of the state preservation rules in a `PropagationPolicy`
//! (requirements STP-05, STP-06 and STP-07): a failover reads the state to preserve with these templates. It is older
//! than RFC 9535 and differs from it: it is a template, a missing key is an error, an operand of another type is an
//! error, and users rely on some of its accidents. `fixtures/jsonpath/` holds answers of the original; the tests
//! compare all of them.
//!
//! ```
//! use baton_jsonpath::Template;
//! use serde_json::json;
//!
//! let status = json!({"jobStatus": {"jobId": "e6fdb5c0", "startTime": 1_734_462_491_693_u64}});
//! let template = Template::parse("job-{.jobStatus.jobId}-{ .jobStatus.startTime }")?;
//! assert_eq!(template.evaluate(&status)?, "job-e6fdb5c0-1734462491693");
//!
//! let error = Template::parse("{.jobStatus.jobID}")?.evaluate(&status).unwrap_err();
//! assert_eq!(error.to_string(), "jobID is not found (column 12)");
//! assert_eq!(error.help().as_deref(), Some("did you mean `jobId`?"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Read in this order:
//!
//! - `node`: the parsed template;
//! - `parse`: text to nodes, with `characters` for character classes and `quote` for quoted texts;
//! - `lookup`: the steps that run as queries of the crate `jsonpath-rust`, and why the others do not;
//! - `evaluate`: nodes and a value to text, with `slice` and
//!   `filter` for the bracketed steps and `descend` for `..`;
//! - `print`: values as Kubernetes prints them;
//! - `error`: errors with position, cause and expected input;
//! - [`limits`]: limits against hostile paths;
//! - [`exercise`]: the function that the fuzz target and the property tests run.

mod characters;
mod descend;
mod error;
mod evaluate;
pub mod exercise;
mod item;
pub mod limits;
mod lookup;
mod node;
mod parse;
mod print;
mod quote;
mod slice;

use serde_json::Value;

pub use error::{EvaluateError, EvaluateErrorKind, ParseError, ParseErrorKind};

/// A parsed template, which can be evaluated any number of times.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    source: String,
    parts: Vec<node::Part>,
}

/// Keys that a filter reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterKeys<'t> {
    /// Keys from the root of the value to the list.
    pub list: Vec<&'t str>,
    /// Keys that the condition, and the step after it, read from each element.
    pub elements: Vec<Vec<&'t str>>,
}

impl Template {
    /// Parses a template such as `{.jobStatus.jobId}`. Text outside braces is copied unchanged.
    ///
    /// A [`ParseError`] contains the byte, the column and the expected input.
    pub fn parse(source: &str) -> Result<Self, ParseError> {
        let parts = parse::parse(source)?;
        Ok(Self {
            source: source.to_owned(),
            parts,
        })
    }

    /// Evaluates the template against `value` (for a preservation rule: the status of the workload).
    ///
    /// Several results of one action are joined by a space. A missing key is an error ([`EvaluateError`]), never an
    /// empty text; a list that a filter leaves empty yields an empty text, as in Kubernetes.
    pub fn evaluate(&self, value: &Value) -> Result<String, EvaluateError> {
        self.find(value).map(Option::unwrap_or_default)
    }

    /// Like [`Template::evaluate`], but returns `None` if no value was found. An empty text that was found is a value.
    pub fn find(&self, value: &Value) -> Result<Option<String>, EvaluateError> {
        evaluate::evaluate(&self.parts, value).map_err(|failure| failure.locate(&self.source))
    }

    /// Returns the source of the template.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// Returns the keys that each action reads first, from the root of the value: `{.a.b[0].c}-{.d}` gives `a.b` and
    /// `d`. Actions in and after a range are left out, because they start elsewhere. Useful to callers who know the
    /// keys of the value.
    pub fn leading_keys(&self) -> Vec<Vec<&str>> {
        self.actions_from_root()
            .filter_map(|list| list.first()?.leading_keys())
            .collect()
    }

    /// Returns what filters at the beginning of each action read: `{.a[?(@.b=="c")].d}` reads `b` and `d` from the
    /// elements of the list `a`. Actions in and after a range are left out.
    pub fn filters(&self) -> Vec<FilterKeys<'_>> {
        let filters = self.actions_from_root().filter_map(|list| {
            let [
                first,
                node::Node {
                    kind: node::NodeKind::Filter(filter),
                    ..
                },
                rest @ ..,
            ] = list
            else {
                return None;
            };
            let mut elements = filter.keys();
            elements.extend(rest.first().and_then(node::Node::leading_keys));
            Some(FilterKeys {
                list: first.leading_keys()?,
                elements,
            })
        });
        filters.collect()
    }

    /// Returns the actions that start at the root of the value.
    fn actions_from_root(&self) -> impl Iterator<Item = &[node::Node]> {
        let actions = self.parts.iter().filter_map(|part| match part {
            node::Part::Text(_) => None,
            node::Part::Action(list) => Some(list.as_slice()),
        });
        actions.take_while(|list| !list.iter().any(node::Node::begins_range))
    }

    /// Returns true if the template reads from the value. A path without braces is plain text and does not.
    pub fn reads_value(&self) -> bool {
        self.parts.iter().any(|part| match part {
            node::Part::Text(_) => false,
            node::Part::Action(list) => list.iter().any(node::Node::reads_value) || list.is_empty(),
        })
    }
}
