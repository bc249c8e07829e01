//! Merging objects of the built-in kinds.

#![expect(clippy::expect_used, reason = "a test: what goes wrong is to be seen")]

mod apply;
mod field_validation;
mod fuzz;
mod strategic;
mod typed;
