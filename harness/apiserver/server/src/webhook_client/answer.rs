//! Validation of the review that a webhook returns, whatever its kind.

use baton_apimachinery::go_json;
use baton_apimachinery::merge::go_type;
use baton_apimachinery::meta::text;
use baton_apimachinery::yaml;
use serde_json::{Map, Value};

use crate::api_error::{not_registered_in, not_typed};

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

/// A parsed review.
#[derive(Debug)]
pub(crate) struct Review {
    document: Value,
    /// The expected type.
    expected: String,
    kind: &'static str,
}

impl Form {
    /// Reads a review of this version; the error is in the words of the server.
    pub(crate) fn read(&self, body: &[u8], version: &str) -> Result<Review, String> {
        let untyped = |error: String| format!("couldn't get version/kind; json parse error: {error}");
        let document = match document(body).map_err(untyped)? {
            document @ Value::Object(_) => document,
            Value::Null => Value::Object(Map::new()),
            other => return Err(untyped(not_typed(&other))),
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
    fn other_type(&self, api_version: &str, kind: &str, expected: &str) -> String {
        let own = ["v1", "v1beta1"].map(|version| format!("{}/{version}", self.group));
        let is_own = kind == self.kind && own.iter().any(|version| version == api_version);
        if !is_own && (api_version, kind) != ("v1", "Status") {
            return not_registered_in(api_version, kind, "pkg/runtime/scheme.go:111");
        }
        let version = api_version.rsplit('/').next().unwrap_or_default();
        format!(
            "converting ({version}.{kind}) to ({expected}.{}): unknown conversion",
            self.kind
        )
    }

    fn check_types(&self, response: &Value) -> Result<(), String> {
        let mismatch = |value: &Value, field: &str, wanted: &str| {
            let given = go_type(value);
            format!("json: cannot unmarshal {given} into Go struct field {field} of type {wanted}")
        };
        if !response.is_object() {
            let field = format!("{}.response", self.kind);
            return Err(mismatch(response, &field, &format!("v1.{}", self.response)));
        }
        for member in self.members {
            let Some(value) = response.get(member.name).filter(|value| !value.is_null()) else {
                continue;
            };
            let field = format!("{}.response.{}", self.response, member.name);
            if !(member.fits)(value) {
                return Err(mismatch(value, &field, member.wanted));
            }
            let inner = value.as_array().into_iter().flatten();
            let mut inner = inner.chain(value.as_object().into_iter().flat_map(Map::values));
            let other = inner.find(|inner| member.of_texts && !inner.is_string() && !inner.is_null());
            if let Some(other) = other {
                return Err(mismatch(other, &field, "string"));
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
    pub(crate) fn check_head(&self, uid: &str) -> Result<(), String> {
        let given = self.response().map_or("", |response| text(response, "uid"));
        if given != uid {
            return Err(format!("expected response.uid={uid:?}, got {given:?}"));
        }
        let (version, kind) = (text(&self.document, "apiVersion"), text(&self.document, "kind"));
        if version.is_empty() || kind.is_empty() {
            let given = if version.is_empty() { "/" } else { version };
            let (expected, wanted) = (&self.expected, self.kind);
            return Err(format!(
                "expected webhook response of {expected}, Kind={wanted}, got {given}, Kind={kind}"
            ));
        }
        Ok(())
    }
}

/// Reads a document in a body, JSON or YAML.
fn document(body: &[u8]) -> Result<Value, String> {
    let is_json = body
        .trim_ascii_start()
        .first()
        .is_some_and(|first| b"{[\"".contains(first));
    if is_json {
        return go_json::parse(body);
    }
    yaml::read(body).map_err(|error| error.to_string())
}
