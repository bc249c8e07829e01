//! Merging objects of the built-in kinds.

mod apply;
mod field_validation;
mod fuzz;
mod strategic;
mod typed;
