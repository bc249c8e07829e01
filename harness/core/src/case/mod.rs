//! Cases: what people write into `cases/`, checked.
//!
//! [`model`] is what the rest of the harness sees. Nothing in it refers to anything that is not there: references,
//! requirement ids and paths were checked when the file was read.

pub mod model;
