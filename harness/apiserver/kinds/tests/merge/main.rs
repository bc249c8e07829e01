//! Merging objects of the built-in kinds.

#![expect(clippy::expect_used, reason = "tests fail by panicking")]

mod apply;
mod field_validation;
mod fuzz;
mod strategic;
mod typed;
