//! The built-in kinds: what there is and how each behaves, as tables.
//!
//! Read [`catalogue`] first: the resources with their names, verbs and subresources.

pub mod catalogue;
