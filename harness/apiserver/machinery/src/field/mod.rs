//! Errors in the fields of an object, in the words of the Kubernetes API.
//!
//! [`FieldError`] is one error about one field, [`FieldPath`] is the path of the field, and an [`ErrorList`] collects
//! the errors of a validation. They become the causes of a `Status` with reason `Invalid`.

mod error;
mod error_list;
mod path;

pub use error::aggregate;
pub use error::{FieldError, FieldErrorType};
pub use error_list::ErrorList;
pub use path::FieldPath;
