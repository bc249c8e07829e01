//! The errors of the API, in the words of a kube-apiserver.

use baton_apimachinery::field::FieldError;
use baton_apimachinery::go_json::{JsonError, UnmarshalTypeError};
use baton_apimachinery::yaml::YamlError;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::fmt::Display;

/// An answer of kind `Status` with status `Failure`.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{code}: {message}")]
pub(crate) struct ApiError {
    pub(crate) code: u16,
    /// `NotFound`, `Invalid`, …; empty if the answer has none.
    pub(crate) reason: Cow<'static, str>,
    pub(crate) message: String,
    pub(crate) details: Option<Value>,
}

/// The resource that an [`ApiError`] is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About<'a> {
    pub(crate) group: &'a str,
    /// Plural of the resource for most errors, kind for `Invalid` and failed preconditions.
    pub(crate) kind: &'a str,
    pub(crate) name: &'a str,
}

impl About<'_> {
    fn qualified(&self) -> String {
        if self.group.is_empty() {
            self.kind.to_owned()
        } else {
            format!("{}.{}", self.kind, self.group)
        }
    }

    fn details(&self) -> Map<String, Value> {
        let members = [("group", self.group), ("kind", self.kind), ("name", self.name)];
        members
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(key, value)| (key.to_owned(), Value::from(value)))
            .collect()
    }
}

impl ApiError {
    pub(crate) fn new(
        code: u16,
        reason: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
        details: Option<Value>,
    ) -> Self {
        Self {
            code,
            reason: reason.into(),
            message: message.into(),
            details,
        }
    }

    pub(crate) fn bad_request(message: impl Display) -> Self {
        Self::new(400, "BadRequest", message.to_string(), None)
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized", None)
    }

    pub(crate) fn not_found(about: About<'_>) -> Self {
        let message = format!("{} {:?} not found", about.qualified(), about.name);
        Self::new(404, "NotFound", message, Some(about.details().into()))
    }

    /// Returns the error for a path without a resource.
    pub(crate) fn no_resource() -> Self {
        let message = "the server could not find the requested resource";
        Self::new(404, "NotFound", message, Some(json!({})))
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message, Some(json!({})))
    }

    /// Returns the error for a verb that the subresource of a custom resource does not support.
    pub(crate) fn not_supported(about: About<'_>, verb: &str) -> Self {
        let message = format!("{verb} is not supported on resources of kind {:?}", about.qualified());
        Self::new(405, "MethodNotAllowed", message, Some(about.details().into()))
    }

    pub(crate) fn already_exists(about: About<'_>) -> Self {
        let message = format!("{} {:?} already exists", about.qualified(), about.name);
        Self::new(409, "AlreadyExists", message, Some(about.details().into()))
    }

    pub(crate) fn conflict(about: About<'_>, cause: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} {:?}: {cause}",
            about.qualified(),
            about.name
        );
        Self::new(409, "Conflict", message, Some(about.details().into()))
    }

    /// Returns the error for a write that is based on an older version than the stored one.
    pub(crate) fn modified(about: About<'_>) -> Self {
        let cause = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(about, cause)
    }

    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message, None)
    }

    pub(crate) fn too_large() -> Self {
        let message = "Request entity too large: limit is 3145728";
        Self::new(413, "RequestEntityTooLarge", message, Some(json!({})))
    }

    pub(crate) fn forbidden(about: About<'_>, cause: &str) -> Self {
        let message = format!("{} {:?} is forbidden: {cause}", about.qualified(), about.name);
        Self::new(403, "Forbidden", message, Some(about.details().into()))
    }

    pub(crate) fn internal(message: &str) -> Self {
        let details = json!({"causes": [{"message": message}]});
        Self::new(
            500,
            "InternalError",
            format!("Internal error occurred: {message}"),
            Some(details),
        )
    }

    /// Returns a 500 with only a message, as for errors that are not a `Status` inside a kube-apiserver.
    pub(crate) fn plain_500(message: impl Display) -> Self {
        Self::new(500, "", message.to_string(), None)
    }

    /// Returns a 422 with one cause per error; `about.kind` is the kind.
    pub(crate) fn invalid(about: About<'_>, errors: &[FieldError]) -> Self {
        let causes: Vec<Value> = errors
            .iter()
            .map(|error| json!({"reason": error.error_type.reason(), "message": error.message, "field": error.field}))
            .collect();
        let list = baton_apimachinery::field::aggregate(errors);
        let mut details = about.details();
        if !causes.is_empty() {
            details.insert("causes".to_owned(), causes.into());
        }
        let message = format!("{} {:?} is invalid: {list}", about.qualified(), about.name);
        Self::new(422, "Invalid", message, Some(details.into()))
    }

    /// Returns the `Status` object.
    pub(crate) fn to_status(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        });
        if let Some(members) = status.as_object_mut() {
            if !self.reason.is_empty() {
                members.insert("reason".to_owned(), self.reason.as_ref().into());
            }
            if let Some(details) = &self.details {
                members.insert("details".to_owned(), details.clone());
            }
        }
        status
    }
}

/// Reason for which the type of a document cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Untyped {
    #[error("couldn't get version/kind; json parse error: {0}")]
    Json(#[from] JsonError),
    #[error("couldn't get version/kind; json parse error: {0}")]
    Yaml(#[from] YamlError),
    #[error("couldn't get version/kind; json parse error: {0}")]
    Value(#[from] UnmarshalTypeError),
}

impl Untyped {
    /// Returns the error for a value that is not an object.
    pub(crate) fn not_an_object(value: &Value) -> Self {
        const TYPED: &str = "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; \
                             Kind string \"json:\\\"kind,omitempty\\\"\" }";
        UnmarshalTypeError::value(value, TYPED).into()
    }
}

/// Returns the error for an unknown kind; `scheme` is the name that the API server gives its registry of kinds.
pub(crate) fn not_registered_in(api_version: &str, kind: &str, scheme: &str) -> String {
    format!("no kind {kind:?} is registered for version {api_version:?} in scheme {scheme:?}")
}
