//! Merging: who set which field, and what a patch does to an object.
//!
//! Read [`types`] first: the [`types::TypeModel`] tells which lists are sets or maps and what is atomic. On it build
//! `typed` (validate, field sets, compare, merge, remove: the operations of structured merge), [`apply`] (managers of
//! updates, server-side apply), [`strategic`] (strategic merge patch), and [`strict`] (unknown and duplicate fields).
//! Everything is a pure function of JSON values.

pub mod apply;
pub mod conflict;
mod gofmt;
mod last_applied;
mod managers;
mod order;
mod set;
pub mod strategic;
pub mod strict;
#[cfg(test)]
mod tests;
mod typed;
pub mod types;
