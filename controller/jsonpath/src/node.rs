//! The parsed template.

use jsonpath_rust::parser::model::{Filter as QueryFilter, FilterAtom, JpQuery, Segment, Selector, Test};

/// A part of a template: literal text, or an action in braces.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Part {
    Text(String),
    Action(Vec<Node>),
}

/// One step of an action, with the byte of the template at which it begins.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub at: usize,
    pub kind: NodeKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NodeKind {
    /// `"text"` or `'text'`.
    Text(String),
    Int(i64),
    Float(f64),
    Bool(bool),
    /// A bare word: `range`, `end`, or an error that evaluation reports.
    Word(String),
    /// `.key`, before rows of keys are joined into a [`Lookup`].
    Field(String),
    /// `.*`
    Wildcard,
    /// `..`
    Recursive,
    /// `[0]`, `[1:3]`, `[::2]`, `[*]`
    Slice(Slice),
    /// `[0,3:5]`, `['a','b']`
    Union(Vec<Vec<Node>>),
    /// `[?(@.a=="b")]`
    Filter(Box<Filter>),
    /// Keys in a row, optionally after `..`.
    Lookup(Lookup),
}

/// `[start:end:step]`; `None` for omitted parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slice {
    pub start: Option<i64>,
    pub end: Option<i64>,
    pub step: Option<i64>,
    /// True if the end follows from the start: `[3]` is `[3:4]`, and `[-1]` ends at the end of the list.
    pub single: bool,
}

/// The condition of a filter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Filter {
    /// `[?(@.a)]` with a condition of keys alone: a query of `jsonpath-rust`.
    HasKeys(JpQuery),
    /// Any other condition without an operator.
    Exists(Vec<Node>),
    Compare {
        left: Vec<Node>,
        operator: Operator,
        right: Vec<Node>,
    },
}

/// Operator of a filter. Kubernetes accepts any sequence of `!<>=` and reports errors when it compares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Operator {
    Less,
    LessOrEqual,
    Equal,
    NotEqual,
    GreaterOrEqual,
    Greater,
    Unknown(String),
}

/// One key of a [`Lookup`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub at: usize,
    pub name: String,
}

/// A row of keys, and the query that finds them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lookup {
    /// True after `..`: the first key is searched at every depth.
    pub descend: bool,
    pub keys: Vec<Key>,
    pub query: JpQuery,
}

impl Filter {
    /// Returns the keys that the condition reads from an element; a row for each side that consists of keys.
    pub fn keys(&self) -> Vec<Vec<&str>> {
        match self {
            Self::HasKeys(query) => vec![tested_keys(query)],
            Self::Exists(condition) => first_keys(condition).into_iter().collect(),
            Self::Compare { left, right, .. } => {
                [left, right].into_iter().filter_map(|side| first_keys(side)).collect()
            }
        }
    }
}

fn first_keys(nodes: &[Node]) -> Option<Vec<&str>> {
    nodes.first()?.leading_keys()
}

/// Returns the keys of the query of [`Filter::HasKeys`].
fn tested_keys(query: &JpQuery) -> Vec<&str> {
    let tests = query.segments.iter().filter_map(|segment| match segment {
        Segment::Selector(Selector::Filter(QueryFilter::Atom(FilterAtom::Test { expr, .. }))) => match &**expr {
            Test::RelQuery(segments) => Some(segments),
            Test::AbsQuery(_) | Test::Function(_) => None,
        },
        _ => None,
    });
    let names = tests.flatten().filter_map(|segment| match segment {
        Segment::Selector(Selector::Name(name)) => Some(name.as_str()),
        _ => None,
    });
    names.collect()
}

impl Part {
    /// Returns the byte of the template at which the first step begins, if known.
    pub fn at(&self) -> usize {
        match self {
            Self::Text(_) => 0,
            Self::Action(nodes) => nodes.first().map_or(0, |node| node.at),
        }
    }
}

impl Node {
    /// Returns true for the word `range`.
    pub fn begins_range(&self) -> bool {
        matches!(&self.kind, NodeKind::Word(word) if word == "range")
    }

    /// Returns the leading keys of a step, if it consists of keys from the start.
    pub fn leading_keys(&self) -> Option<Vec<&str>> {
        match &self.kind {
            NodeKind::Lookup(lookup) if !lookup.descend => {
                Some(lookup.keys.iter().map(|key| key.name.as_str()).collect())
            }
            _ => None,
        }
    }

    /// Returns true if this step depends on the value that the template is evaluated against.
    pub fn reads_value(&self) -> bool {
        match &self.kind {
            NodeKind::Text(_) | NodeKind::Int(_) | NodeKind::Float(_) | NodeKind::Bool(_) | NodeKind::Word(_) => false,
            NodeKind::Field(_)
            | NodeKind::Wildcard
            | NodeKind::Recursive
            | NodeKind::Slice(_)
            | NodeKind::Union(_)
            | NodeKind::Filter(_)
            | NodeKind::Lookup(_) => true,
        }
    }
}
