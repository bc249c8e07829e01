//! Cases: what people write into `cases/`, checked.
//!
//! [`model`] is what the rest of the harness sees. Nothing in it refers to anything that is not there: references,
//! requirement ids and paths were checked when the file was read. On the way there:
//!
//! - [`yaml`]: the file as a tree with positions; `decode`: taking it apart, keeping all errors;
//! - `scenarios`: one file, several cases;
//! - [`shapes`]: what a file may hold; [`refs`]: what it refers to; `steps` and [`read`](mod@read): taking it in;
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
pub mod shapes;
mod steps;
pub mod yaml;
