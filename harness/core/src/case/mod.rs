//! Cases: what people write into `cases/`, checked.
//!
//! [`model`] is what the rest of the harness sees. Nothing in it refers to anything that is not there: references,
//! requirement ids and paths were checked when the file was read. On the way there:
//!
//! - `scenarios`: one file, several cases; `parameters`: what differs between them;
//! - [`file`](mod@file): the fields of a file; `steps`: the kinds of steps, each with its reader; [`shapes`]: their fields;
//! - [`refs`]: references in a file; `setup` and [`read`](mod@read): the reader of a file.
//!
//! [`claims`] says what an assertion shows by which fields; [`sharing`], which cases can be run side by side.

pub mod claims;
pub mod file;
pub mod model;
mod parameters;
pub mod read;
pub mod refs;
mod scenarios;
pub(crate) mod setup;
pub mod shapes;
pub mod sharing;
mod steps;

use std::collections::BTreeSet;

use crate::names::Feature;

impl model::Case {
    /// Returns what the case needs and a target with these features lacks, as the reason for not running it.
    pub fn lacking(&self, declared: &BTreeSet<Feature>) -> Option<String> {
        let missing: Vec<&str> = self.features.difference(declared).map(Feature::as_str).collect();
        (!missing.is_empty()).then(|| format!("needs {}", missing.join(", ")))
    }
}
