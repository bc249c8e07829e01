//! Checks that the object of a request is the one that its path names.

use baton_apimachinery::meta;
use serde_json::Value;

use crate::api_error::ApiError;
use crate::handlers::Call;

/// Refuses an object without a name, or with another one than the path.
pub(in crate::handlers) fn check_name(call: &Call, object: &Value) -> Result<(), ApiError> {
    let wanted = call.name.as_deref().unwrap_or_default();
    match meta::name(object) {
        Some(name) if name == wanted => Ok(()),
        Some(name) => Err(ApiError::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({wanted})"
        ))),
        None => Err(ApiError::bad_request(format!(
            "the name of the object ({wanted} based on URL) was undeterminable: name must be provided"
        ))),
    }
}

/// Sets the namespace of the object to that of the path; refuses another one.
pub(in crate::handlers) fn check_namespace(call: &Call, object: &mut Value) -> Result<(), ApiError> {
    match (&call.namespace, meta::namespace(object)) {
        (Some(namespace), None) => meta::set(object, "namespace", namespace.clone()),
        (Some(namespace), Some(given)) if namespace == given => {}
        (None, None) => {}
        (None, Some(_)) => meta::unset(object, "namespace"),
        (Some(_), Some(_)) => {
            return Err(ApiError::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
    }
    Ok(())
}
