//! The `ConversionReview` that a webhook gets, and its answer.

use baton_apimachinery::field::{ErrorList, FieldError, FieldPath, aggregate};
use baton_apimachinery::go_fmt::type_name;
use baton_apimachinery::go_json::{JsonError, UnmarshalTypeError};
use baton_apimachinery::meta;
use baton_apimachinery::meta::text;
use baton_apimachinery::metadata::{validate_annotations, validate_labels};
use serde_json::{Map, Value, json};

use crate::webhook_client::CallError;
use crate::webhook_client::answer::{Form, Member, ReviewError};

const REVIEW: Form = Form {
    group: "apiextensions.k8s.io",
    kind: "ConversionReview",
    response: "ConversionResponse",
    members: &[
        Member::new("uid", Value::is_string, "types.UID"),
        Member::new("convertedObjects", Value::is_array, "[]runtime.RawExtension"),
        Member::new("result", Value::is_object, "v1.Status"),
    ],
};

/// Reason for which a webhook has not converted its objects, in the words of the server. `about` names the webhook.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConversionError {
    #[error("{about} failed: {source}")]
    Failed { about: String, source: AnswerError },
    #[error("{about} returned {got} objects, expected {wanted}")]
    Count { about: String, got: usize, wanted: usize },
    /// An object is missing.
    #[error(transparent)]
    Missing(#[from] JsonError),
    #[error(transparent)]
    NotAnObject(#[from] UnmarshalTypeError),
    #[error(
        "{about} returned invalid object at index {index}: invalid {what} (expected {expected}, received {received})"
    )]
    Type {
        about: String,
        index: usize,
        what: &'static str,
        expected: String,
        received: String,
    },
    #[error("{about} returned invalid object: must have the same {what}: {before} != {after}")]
    OtherObject {
        about: String,
        what: &'static str,
        before: String,
        after: String,
    },
    #[error("{about} returned invalid metadata: {source}")]
    Metadata { about: String, source: MetadataError },
}

/// Reason for which an answer has no converted objects.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AnswerError {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error(transparent)]
    Review(#[from] ReviewError),
    #[error("no response provided")]
    NoResponse,
    #[error("response.result.status was '{0}', not 'Success'")]
    Status(String),
    /// The webhook refused, for this reason.
    #[error("{0}")]
    Refused(String),
}

/// Reason for which the labels or annotations of a converted object cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MetadataError {
    #[error("metadata.{0} must be a map, but is {1} in converted object")]
    NotAMap(String, &'static str),
    #[error("metadata.{0}[{1}] must be a string, but is {2} in converted object")]
    NotAText(String, String, &'static str),
    #[error("{}", aggregate(.0))]
    Invalid(Vec<FieldError>),
}

/// The request to a webhook.
pub(super) struct Review<'a> {
    /// The version of the review.
    pub(super) version: &'a str,
    pub(super) uid: &'a str,
    /// The `apiVersion` that the objects must have.
    pub(super) to: &'a str,
    pub(super) objects: &'a [Value],
}

impl Review<'_> {
    /// Returns the body of the call.
    pub(super) fn body(&self) -> Vec<u8> {
        let review = json!({
            "kind": REVIEW.kind,
            "apiVersion": format!("{}/{}", REVIEW.group, self.version),
            "request": {"uid": self.uid, "desiredAPIVersion": self.to, "objects": self.objects},
            "response": {"uid": "", "convertedObjects": null, "result": {"metadata": {}}},
        });
        review.to_string().into_bytes()
    }

    /// Returns the converted objects in an answer.
    pub(super) fn read(&self, answer: Result<Vec<u8>, CallError>) -> Result<Vec<Value>, ConversionError> {
        let first = self.objects.first().unwrap_or(&Value::Null);
        let about = format!(
            "conversion webhook for {}, Kind={}",
            text(first, "apiVersion"),
            text(first, "kind")
        );
        let converted = answer
            .map_err(AnswerError::from)
            .and_then(|body| self.objects_in(&body));
        let converted = converted.map_err(|source| ConversionError::Failed {
            about: about.clone(),
            source,
        })?;
        let (got, wanted) = (converted.len(), self.objects.len());
        if got != wanted {
            return Err(ConversionError::Count { about, got, wanted });
        }
        let pairs = self.objects.iter().zip(converted).enumerate();
        pairs
            .map(|(index, (original, converted))| self.take(&about, index, original, converted))
            .collect()
    }

    fn objects_in(&self, body: &[u8]) -> Result<Vec<Value>, AnswerError> {
        let review = REVIEW.read(body, self.version)?;
        let response = review.response().ok_or(AnswerError::NoResponse)?;
        if self.version == "v1" {
            review.check_head(self.uid)?;
        }
        let result = response.get("result").unwrap_or(&Value::Null);
        match (text(result, "status"), text(result, "message")) {
            ("Success", _) => {}
            (status, "") => return Err(AnswerError::Status(status.to_owned())),
            (_, message) => return Err(AnswerError::Refused(message.to_owned())),
        }
        let objects = response.get("convertedObjects").and_then(Value::as_array);
        Ok(objects.cloned().unwrap_or_default())
    }

    /// Checks that a converted object is still the same object, and restores the parts that a conversion must not
    /// change.
    fn take(
        &self,
        about: &str,
        index: usize,
        original: &Value,
        mut converted: Value,
    ) -> Result<Value, ConversionError> {
        let about = || about.to_owned();
        match &converted {
            Value::Object(_) => {}
            Value::Null => return Err(JsonError::End.into()),
            other => return Err(UnmarshalTypeError::value(other, "map[string]interface {}").into()),
        }
        let invalid = |what, expected: &str, received: &str| ConversionError::Type {
            about: about(),
            index,
            what,
            expected: expected.to_owned(),
            received: received.to_owned(),
        };
        let (version, kind) = (text(&converted, "apiVersion"), text(&converted, "kind"));
        if version != self.to {
            return Err(invalid("groupVersion", self.to, version));
        }
        if kind != text(original, "kind") {
            return Err(invalid("kind", text(original, "kind"), kind));
        }
        for (key, what) in [("name", "name"), ("namespace", "namespace"), ("uid", "UID")] {
            let [before, after] =
                [original, &converted].map(|object| meta::str_at(object, &["metadata", key]).unwrap_or_default());
            if before != after {
                return Err(ConversionError::OtherObject {
                    about: about(),
                    what,
                    before: before.to_owned(),
                    after: after.to_owned(),
                });
            }
        }
        let metadata =
            restored(original, &converted).map_err(|source| ConversionError::Metadata { about: about(), source })?;
        if let Some(members) = converted.as_object_mut() {
            members.insert("metadata".to_owned(), metadata);
        }
        Ok(converted)
    }
}

/// Returns the original metadata with the labels and annotations from the webhook.
fn restored(original: &Value, converted: &Value) -> Result<Value, MetadataError> {
    let metadata = original.get("metadata").and_then(Value::as_object);
    let mut metadata = metadata.cloned().unwrap_or_default();
    let field = FieldPath::Named(&FieldPath::Root, "metadata");
    let checks: [(&str, Check); 2] = [("labels", validate_labels), ("annotations", validate_annotations)];
    for (key, check) in checks {
        metadata.remove(key);
        let given = meta::at(converted, &["metadata", key]).filter(|given| !given.is_null());
        let Some(given) = given else { continue };
        let given = texts(key, given)?;
        let mut found = ErrorList::default();
        check(&given, &field.child(key), &mut found);
        if !found.is_empty() {
            return Err(MetadataError::Invalid(found.into_vec()));
        }
        metadata.insert(key.to_owned(), Value::Object(given));
    }
    Ok(Value::Object(metadata))
}

/// A validation of labels or annotations.
type Check = fn(&Map<String, Value>, &FieldPath<'_>, &mut ErrorList);

/// Reads a map whose values are texts.
fn texts(key: &str, given: &Value) -> Result<Map<String, Value>, MetadataError> {
    let Some(members) = given.as_object() else {
        return Err(MetadataError::NotAMap(key.to_owned(), type_name(given)));
    };
    match members.iter().find(|(_, value)| !value.is_string()) {
        Some((name, value)) => Err(MetadataError::NotAText(key.to_owned(), name.clone(), type_name(value))),
        None => Ok(members.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn foo(version: &str) -> Value {
        json!({
            "apiVersion": format!("a.io/{version}"), "kind": "Foo", "spec": {},
            "metadata": {"name": "a", "namespace": "d", "uid": "u", "generation": 1, "labels": {"l": "1"}},
        })
    }

    /// Reads the answer of a webhook: a correct one, with one `change`.
    fn read(version: &str, change: impl FnOnce(&mut Value)) -> Result<Vec<Value>, String> {
        let review = Review {
            version,
            uid: "1",
            to: "a.io/v1",
            objects: &[foo("v2")],
        };
        let mut answer = json!({
            "apiVersion": format!("apiextensions.k8s.io/{version}"), "kind": "ConversionReview",
            "response": {"uid": "1", "convertedObjects": [foo("v1")], "result": {"status": "Success"}},
        });
        change(&mut answer);
        let converted = review.read(Ok(answer.to_string().into_bytes()));
        converted.map_err(|error| error.to_string())
    }

    #[test]
    fn labels_and_annotations_are_all_of_the_metadata_that_changes() {
        let changed = read("v1", |answer| {
            answer["response"]["convertedObjects"][0]["metadata"] = json!({
                "name": "a", "namespace": "d", "uid": "u", "labels": {"n": "2"}, "annotations": {"n": "3"},
                "finalizers": ["a/b"],
            });
        });
        let mut expected = foo("v1");
        expected["metadata"]["labels"] = json!({"n": "2"});
        expected["metadata"]["annotations"] = json!({"n": "3"});
        assert_eq!(changed, Ok(vec![expected]));
    }

    #[test]
    fn older_reviews_need_not_say_what_they_answer() {
        for version in ["v1", "v1beta1"] {
            let anonymous = read(version, |answer| {
                let response = answer["response"].take();
                *answer = json!({"response": response});
                answer["response"]["uid"] = json!("x");
            });
            assert_eq!(anonymous.is_ok(), version == "v1beta1");
        }
    }

    #[rstest]
    #[case("/response", Value::Null, " failed: no response provided")]
    #[case("/response/uid", json!("x"), " failed: expected response.uid=\"1\", got \"x\"")]
    #[case("/response/result", json!({"status": "Failure", "message": "no"}), " failed: no")]
    #[case("/response/result", json!({"status": "Failure"}), " failed: response.result.status was 'Failure', not 'Success'")]
    #[case(
        "/response/result",
        Value::Null,
        " failed: response.result.status was '', not 'Success'"
    )]
    #[case("/response/convertedObjects", Value::Null, " returned 0 objects, expected 1")]
    #[case("/response/convertedObjects", json!([{}, {}]), " returned 2 objects, expected 1")]
    #[case("/response/convertedObjects/0/kind", json!("Bar"), " returned invalid object at index 0: invalid kind (expected Foo, received Bar)")]
    #[case("/response/convertedObjects/0/apiVersion", json!("a.io/v2"), " returned invalid object at index 0: invalid groupVersion (expected a.io/v1, received a.io/v2)")]
    #[case("/response/convertedObjects/0/metadata/name", json!("b"), " returned invalid object: must have the same name: a != b")]
    #[case("/response/convertedObjects/0/metadata/namespace", json!("b"), " returned invalid object: must have the same namespace: d != b")]
    #[case("/response/convertedObjects/0/metadata/uid", json!("b"), " returned invalid object: must have the same UID: u != b")]
    #[case(
        "/response/convertedObjects/0/metadata",
        Value::Null,
        " returned invalid object: must have the same name: a != "
    )]
    #[case("/response/convertedObjects/0/metadata/labels", json!({"n": 1}), " returned invalid metadata: metadata.labels[n] must be a string, but is int64 in converted object")]
    #[case("/kind", json!("Foo"), " failed: no kind \"Foo\" is registered for version \"apiextensions.k8s.io/v1\" in scheme \"pkg/runtime/scheme.go:111\"")]
    #[case("/apiVersion", json!("apiextensions.k8s.io/v1beta1"), " failed: converting (v1beta1.ConversionReview) to (v1.ConversionReview): unknown conversion")]
    #[case(
        "/apiVersion",
        Value::Null,
        " failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind=ConversionReview"
    )]
    fn what_is_wrong_with_an_answer_is_told_as_the_api_server_does(
        #[case] at: &str,
        #[case] value: Value,
        #[case] words: &str,
    ) {
        let refused = read("v1", |answer| {
            if let Some(place) = answer.pointer_mut(at) {
                *place = value;
            }
        });
        let expected = format!("conversion webhook for a.io/v2, Kind=Foo{words}");
        assert_eq!(refused, Err(expected));
    }

    #[test]
    fn labels_are_checked_and_objects_are_objects() {
        let label = read("v1", |answer| {
            answer["response"]["convertedObjects"][0]["metadata"]["labels"] = json!({"n": "l l"});
        });
        let begin = "conversion webhook for a.io/v2, Kind=Foo returned invalid metadata: metadata.labels: Invalid value: \"l l\": ";
        assert!(label.is_err_and(|reason| reason.starts_with(begin)));
        for (object, words) in [
            (Value::Null, "unexpected end of JSON input"),
            (
                json!("x"),
                "json: cannot unmarshal string into Go value of type map[string]interface {}",
            ),
        ] {
            let refused = read("v1", |answer| answer["response"]["convertedObjects"][0] = object);
            assert_eq!(refused, Err(words.to_owned()));
        }
    }
}
