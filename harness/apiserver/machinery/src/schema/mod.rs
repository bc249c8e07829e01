//! Custom resources: the schemas that CRDs carry, and CRDs themselves.
//!
//! Read in this order: `node` (a schema compiled for walking), `structure` (validation of schemas), `prune`,
//! `defaults`, `validate`, `program` (parsed expressions of CEL), `rule`, `cel` (evaluation, also used by admission), `crd` (the object that carries the schemas:
//! names, versions, conditions, columns, scale). Everything is pure: values in, values and errors out; `memory` only
//! avoids repeated work.
//!
//! [`Schema`] combines them for one version of one custom resource.

pub mod cel;
pub mod crd;
mod defaults;
mod field_path;
mod formats;
mod memory;
mod node;
mod numbers;
mod path;
mod pattern;
pub mod program;
mod prune;
mod rule;
mod structure;
mod validate;

use std::sync::Arc;

use serde_json::Value;

use crate::field::{FieldError, FieldErrorType};
use memory::Memory;
use path::Path;

pub use node::{Additional, ListType, Node as SchemaNode};
pub use numbers::normalize as normalize_numbers;
pub use prune::OBJECT_META_FIELDS;
pub use structure::not_supported;

impl SchemaNode {
    /// Checks and compiles an `openAPIV3Schema`; the errors name fields relative to the schema itself.
    pub fn compile(openapi_v3: &Value) -> Result<Schema, Vec<FieldError>> {
        let errors = structure::check(openapi_v3, "openAPIV3Schema", false);
        if errors.is_empty() {
            Ok(Schema::build(openapi_v3))
        } else {
            Err(errors)
        }
    }
}

/// The compiled schema of one version of a custom resource.
#[derive(Debug, Clone)]
pub struct Schema {
    root: Arc<SchemaNode>,
}

impl Schema {
    /// Compiles a schema that has been checked before (it is stored in a CRD).
    pub fn build(openapi_v3: &Value) -> Self {
        static BUILT: Memory<Schema> = Memory::new();
        BUILT.of(openapi_v3).unwrap_or_else(|| {
            let built = Self {
                root: Arc::new(SchemaNode::build(openapi_v3)),
            };
            BUILT.keep(openapi_v3, built.clone());
            built
        })
    }

    /// Returns the compiled form, for callers that walk it themselves.
    pub fn root(&self) -> &SchemaNode {
        &self.root
    }

    /// Removes fields that the schema does not know; returns the removed paths in the order of the warnings.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        prune::prune(&self.root, object)
    }

    /// Fills in defaults and removes nulls that are not allowed.
    pub fn apply_defaults(&self, object: &mut Value) {
        defaults::apply(&self.root, object);
    }

    /// Validates a whole object. On an update, `old` is the object before; unchanged parts are not validated again.
    pub fn validate(&self, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let root = Path::root("");
        let mut outcome = validate::Outcome::default();
        validate::check(&self.root, new, old, &root, &mut outcome);
        self.validate_rest(new, old, outcome.errors)
    }

    /// Validates a write of the status: the schema of the status, and the rules of the whole object.
    pub fn validate_status(&self, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let path = Path::root("status");
        let mut outcome = validate::Outcome::default();
        if let (Some(node), Some(status)) = (self.root.properties.get("status"), new.get("status")) {
            validate::check(node, status, old.and_then(|old| old.get("status")), &path, &mut outcome);
        }
        self.validate_rest(new, old, outcome.errors)
    }

    fn validate_rest(&self, new: &Value, old: Option<&Value>, mut errors: Vec<FieldError>) -> Vec<FieldError> {
        let root = Path::root("");
        validate::embedded::check(&self.root, new, &root, &mut errors);
        validate::keyed::check(&self.root, new, old, &root, &mut errors);
        if self.root.below.rules {
            if errors.iter().any(blocks_rules) {
                errors.push(FieldError {
                    error_type: FieldErrorType::Invalid,
                    field: "<nil>".to_owned(),
                    message: "Invalid value: null: some validation rules were not checked because the object was \
                              invalid; correct the existing errors to complete validation"
                        .to_owned(),
                });
            } else {
                cel::rules::check(&self.root, new, old, &root, &mut errors);
            }
        }
        errors
    }
}

/// Returns `true` for errors after which rules must not be evaluated.
fn blocks_rules(error: &FieldError) -> bool {
    matches!(
        error.error_type,
        FieldErrorType::NotSupported
            | FieldErrorType::Required
            | FieldErrorType::TooLong
            | FieldErrorType::TooMany
            | FieldErrorType::TypeInvalid
    )
}
