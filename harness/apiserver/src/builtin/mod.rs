//! The built-in kinds: what there is and how each behaves, as tables.
//!
//! Read [`catalogue`] first: the resources with their names, verbs and subresources; then [`shape`]: what a body becomes
//! when it is read into the types of its kind.

pub mod catalogue;
pub mod quantity;
pub mod shape;
