//! The typed form of the built-in kinds: what a JSON body becomes when the API server reads it into its own types and
//! writes it back. Unknown fields are gone, empty optional fields are left out, a few are always there, quantities and
//! times have their canonical form, and a value of the wrong type is an error.
//!
//! The types come from `k8s-openapi` (`compile`), what they do not say about presence from the tables in `presence`.

mod compile;
mod decode;
mod kinds;
mod presence;

pub use kinds::decode;
pub(crate) use kinds::{decode_metadata, empty, zero_status};

use std::collections::BTreeMap;

/// The types of one kind as a graph; the first node is the kind itself.
#[derive(Debug)]
pub(crate) struct Shape {
    nodes: Vec<Node>,
}

#[derive(Debug)]
enum Node {
    Struct(Struct),
    List(usize),
    Map(usize),
    Text,
    Integer { bits: u8 },
    Number,
    Boolean,
    Bytes,
    Quantity,
    Time,
    MicroTime,
    IntOrString,
    Any,
}

#[derive(Debug, Default)]
struct Struct {
    /// `PodSpec`.
    name: String,
    /// `v1`, the last part of the package.
    package: String,
    fields: BTreeMap<String, Member>,
    /// The few fields whose presence asks for something where they are missing.
    written_if_missing: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
struct Member {
    node: usize,
    presence: Presence,
}

/// What becomes of a field that is missing or empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    /// An empty value stays, a missing one stays missing.
    Kept,
    /// An empty value is left out.
    Omitted,
    /// A missing value is written as the empty one.
    Always,
    /// A missing or empty value is written as `null`.
    Null,
}
