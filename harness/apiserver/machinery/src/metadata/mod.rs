//! `metadata` of every object, built in or custom: what may be in it and what may change.
//!
//! [`names`] has the rules for names, labels and keys, each giving the API server's own words. [`validate_create`] and
//! [`validate_update`] check a whole `metadata`; [`crate::field`] is how errors are written.

pub mod names;
mod object_meta;
mod owners;

pub use object_meta::STANDARD_FINALIZERS;
pub use object_meta::{Strictness, validate_annotations, validate_create, validate_labels, validate_update};
pub use owners::drop_duplicate_owners;
