//! Validation of the `metadata` of every object, built-in or custom.
//!
//! [`names`] has the rules for names, labels and keys, with the API server's messages. [`validate_create`] and
//! [`validate_update`] check a whole `metadata`.

pub mod names;
mod object_meta;
mod owners;

pub use object_meta::STANDARD_FINALIZERS;
pub use object_meta::{Strictness, validate_annotations, validate_create, validate_labels, validate_update};
pub use owners::drop_duplicate_owners;
