//! Cases: what people write into `cases/`, checked.
//!
//! [`model`] is what the rest of the harness sees. Nothing in it refers to anything that is not there: references,
//! requirement ids and paths were checked when the file was read. On the way there:
//!
//! - `scenarios`: one file, several cases; `parameters`: what differs between them;
//! - [`shapes`]: what a file may hold; [`refs`]: what it refers to; `steps` and [`read`](mod@read): taking it in.
//!
//! [`claims`] says what an assertion shows by which fields.

pub mod claims;
pub mod model;
mod parameters;
pub mod read;
pub mod refs;
mod scenarios;
pub mod shapes;
mod steps;
