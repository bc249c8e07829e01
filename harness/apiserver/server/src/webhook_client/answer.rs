//! Validation of the review that a webhook returns, whatever its kind.

use baton_apimachinery::go_json::{self, UnmarshalTypeError};
use baton_apimachinery::meta::text;
use baton_apimachinery::yaml;
use serde_json::{Map, Value};

use crate::api_error::{Untyped, not_registered_in};

/// The form of all reviews of one kind.
#[derive(Debug)]
pub(crate) struct Form {
    pub(crate) group: &'static str,
    pub(crate) kind: &'static str,
    /// The name of the response type.
    pub(crate) response: &'static str,
    /// The members of the response.
    pub(crate) members: &'static [Member],
}

/// A member of a response.
#[derive(Debug)]
pub(crate) struct Member {
    name: &'static str,
    /// Returns `true` if a value has the type of the member.
    fits: fn(&Value) -> bool,
    /// The Go type, as the API server names it.
    wanted: &'static str,
    of_texts: bool,
}

impl Member {
    pub(crate) const fn new(name: &'static str, fits: fn(&Value) -> bool, wanted: &'static str) -> Self {
        Self {
            name,
            fits,
            wanted,
            of_texts: false,
        }
    }

    /// Returns a member that is a list or a map of texts.
    pub(crate) const fn of_texts(name: &'static str, fits: fn(&Value) -> bool, wanted: &'static str) -> Self {
        Self {
            name,
            fits,
            wanted,
            of_texts: true,
        }
    }
}

/// Reason for which a review cannot be used, in the words of the server.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReviewError {
    #[error(transparent)]
    Untyped(#[from] Untyped),
    /// A review of another type.
    #[error("{}", not_registered_in(.0, .1, "pkg/runtime/scheme.go:111"))]
    NotRegistered(String, String),
    /// A review of another version: its type and the expected one.
    #[error("converting ({0}) to ({1}): unknown conversion")]
    Version(String, String),
    #[error(transparent)]
    Member(#[from] UnmarshalTypeError),
    #[error("expected response.uid={0:?}, got {1:?}")]
    Uid(String, String),
    /// The type is missing: the expected and the given one.
    #[error("expected webhook response of {0}, got {1}")]
    NoType(String, String),
}

/// A parsed review.
#[derive(Debug)]
pub(crate) struct Review {
    document: Value,
    /// The expected type.
    expected: String,
    kind: &'static str,
}

impl Form {
    /// Reads a review of this version.
    pub(crate) fn read(&self, body: &[u8], version: &str) -> Result<Review, ReviewError> {
        let document = match document(body)? {
            document @ Value::Object(_) => document,
            Value::Null => Value::Object(Map::new()),
            other => return Err(Untyped::not_an_object(&other).into()),
        };
        let expected = format!("{}/{version}", self.group);
        // An answer without a type is read as the expected one.
        let or = |given: &str, default: &str| if given.is_empty() { default } else { given }.to_owned();
        let api_version = or(text(&document, "apiVersion"), &expected);
        let kind = or(text(&document, "kind"), self.kind);
        if api_version != expected || kind != self.kind {
            return Err(self.other_type(&api_version, &kind, version));
        }
        match document.get("response") {
            None | Some(Value::Null) => {}
            Some(response) => self.check_types(response)?,
        }
        Ok(Review {
            document,
            expected,
            kind: self.kind,
        })
    }

    /// Returns the error for an answer of another type.
    fn other_type(&self, api_version: &str, kind: &str, expected: &str) -> ReviewError {
        let own = ["v1", "v1beta1"].map(|version| format!("{}/{version}", self.group));
        let is_own = kind == self.kind && own.iter().any(|version| version == api_version);
        if !is_own && (api_version, kind) != ("v1", "Status") {
            return ReviewError::NotRegistered(api_version.to_owned(), kind.to_owned());
        }
        let version = api_version.rsplit('/').next().unwrap_or_default();
        ReviewError::Version(format!("{version}.{kind}"), format!("{expected}.{}", self.kind))
    }

    fn check_types(&self, response: &Value) -> Result<(), UnmarshalTypeError> {
        if !response.is_object() {
            let field = format!("{}.response", self.kind);
            return Err(UnmarshalTypeError::field(
                response,
                &field,
                &format!("v1.{}", self.response),
            ));
        }
        for member in self.members {
            let Some(value) = response.get(member.name).filter(|value| !value.is_null()) else {
                continue;
            };
            let field = format!("{}.response.{}", self.response, member.name);
            if !(member.fits)(value) {
                return Err(UnmarshalTypeError::field(value, &field, member.wanted));
            }
            let inner = value.as_array().into_iter().flatten();
            let mut inner = inner.chain(value.as_object().into_iter().flat_map(Map::values));
            let other = inner.find(|inner| member.of_texts && !inner.is_string() && !inner.is_null());
            if let Some(other) = other {
                return Err(UnmarshalTypeError::field(other, &field, "string"));
            }
        }
        Ok(())
    }
}

impl Review {
    /// Returns the response in the review.
    pub(crate) fn response(&self) -> Option<&Value> {
        self.document.get("response").filter(|response| !response.is_null())
    }

    /// Checks that the response is to this request, and that the review states its type.
    pub(crate) fn check_head(&self, uid: &str) -> Result<(), ReviewError> {
        let given = self.response().map_or("", |response| text(response, "uid"));
        if given != uid {
            return Err(ReviewError::Uid(uid.to_owned(), given.to_owned()));
        }
        let (version, kind) = (text(&self.document, "apiVersion"), text(&self.document, "kind"));
        if version.is_empty() || kind.is_empty() {
            let given = if version.is_empty() { "/" } else { version };
            return Err(ReviewError::NoType(
                format!("{}, Kind={}", self.expected, self.kind),
                format!("{given}, Kind={kind}"),
            ));
        }
        Ok(())
    }
}

/// Reads a document in a body, JSON or YAML.
fn document(body: &[u8]) -> Result<Value, Untyped> {
    let is_json = body
        .trim_ascii_start()
        .first()
        .is_some_and(|first| b"{[\"".contains(first));
    if is_json {
        return Ok(go_json::parse(body)?);
    }
    Ok(yaml::read(body)?)
}
