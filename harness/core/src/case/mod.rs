//! Cases: what people write into `cases/`, checked.
//!
//! [`model`] is what the rest of the harness sees. Nothing in it refers to anything that is not there: references,
//! requirement ids and paths were checked when the file was read. On the way there:
//!
//! - [`yaml`]: the file as a tree with positions; `decode`: taking it apart, keeping all errors;
//! - `scenarios`: one file, several cases;
//! - [`refs`]: what a case refers to; `steps` and [`read`](mod@read): the format itself;
//! - [`diagnostic`]: what its author is told.
//!
//! `namespace` gives the same case in another namespace.

pub(crate) mod decode;
pub mod diagnostic;
pub mod model;
mod namespace;
pub mod read;
pub mod refs;
mod scenarios;
mod steps;
pub mod yaml;
