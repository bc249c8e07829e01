//! CEL: the rules of schemas (`x-kubernetes-validations`), and expressions of admission.
//!
//! The `cel` crate parses. This module evaluates, because evaluation must read JSON without copying it, know schemas,
//! offer the functions of Kubernetes and stop expressions that cost too much. Read `value`, `eval`, `ops`, `library`,
//! then `rules` (evaluates the rules of a schema) and `check` (refuses expressions before evaluation; `names` lists the
//! known names). Values know `quantity`, `url` and `duration`; evaluations have a `budget`.

mod budget;
pub mod check;
mod duration;
pub mod error;
pub mod eval;
pub mod library;
mod members;
mod names;
pub mod ops;
mod quantity;
pub mod rules;
pub mod scope;
mod url;
pub mod value;

#[cfg(test)]
mod tests;
