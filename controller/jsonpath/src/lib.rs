//! Kubernetes JSONPath templates: `job-{.jobStatus.jobId}` and a status give `job-e6fdb5c0…`.
//!
//! The language is the one of `kubectl -o jsonpath` and of the state preservation rules in a `PropagationPolicy`
//! (requirements STP-05, STP-06 and STP-07). It is older than RFC 9535 and differs from it: it is a template, a missing
//! key is an error, an operand of another type is an error, and some of its corners are accidents that people rely on.
//! `fixtures/jsonpath/` holds answers of the original; the tests compare all of them.
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
//! - `node`: what a template is after parsing;
//! - `parse`: text to nodes, with `characters` for what it tells apart and `quote` for quoted texts;
//! - `lookup`: the steps that are queries of the crate `jsonpath-rust`, and why the others are not;
//! - `evaluate`: nodes and a value to text, with `slice` and
//!   `filter` for the bracketed steps and `descend` for `..`;
//! - `print`: values as Kubernetes prints them;
//! - `error`: what can go wrong, where, and what was expected instead;
//! - [`limits`]: what keeps a hostile path from running away;
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

/// A template that has been parsed and can be evaluated any number of times.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    source: String,
    parts: Vec<node::Part>,
}

impl Template {
    /// Parses a template such as `{.jobStatus.jobId}`; text outside braces stands for itself.
    ///
    /// A [`ParseError`] says at which byte and column, and what was expected there.
    pub fn parse(source: &str) -> Result<Self, ParseError> {
        let parts = parse::parse(source)?;
        Ok(Self {
            source: source.to_owned(),
            parts,
        })
    }

    /// The text that the template makes of `value` (for a preservation rule: the status of the workload).
    ///
    /// Several results of one action are joined by a space. A key that is not there is an error ([`EvaluateError`])
    /// and never an empty text; a list that a filter leaves empty is an empty text, as in Kubernetes.
    pub fn evaluate(&self, value: &Value) -> Result<String, EvaluateError> {
        self.find(value).map(Option::unwrap_or_default)
    }

    /// The same; `None` if the text is empty because no value was found. An empty text that was found is one.
    pub fn find(&self, value: &Value) -> Result<Option<String>, EvaluateError> {
        evaluate::evaluate(&self.parts, value).map_err(|failure| failure.locate(&self.source))
    }

    /// The template as it was written.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// The keys that each action reads first, from the value's root: `{.a.b[0].c}-{.d}` gives `a.b` and `d`. Actions in
    /// and after a range are left out, as they begin elsewhere. For those who know which keys a value can have.
    pub fn leading_keys(&self) -> Vec<Vec<&str>> {
        let actions = self.parts.iter().filter_map(|part| match part {
            node::Part::Text(_) => None,
            node::Part::Action(list) => Some(list),
        });
        actions
            .take_while(|list| !list.iter().any(node::Node::begins_range))
            .filter_map(|list| list.first()?.leading_keys())
            .collect()
    }

    /// Whether the template reads anything from the value: a path without braces is plain text and does not.
    pub fn reads_value(&self) -> bool {
        self.parts.iter().any(|part| match part {
            node::Part::Text(_) => false,
            node::Part::Action(list) => list.iter().any(node::Node::reads_value) || list.is_empty(),
        })
    }
}
