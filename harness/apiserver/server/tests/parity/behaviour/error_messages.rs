//! Error messages of a kube-apiserver v1.36 for bodies that it cannot read and for objects that it refuses.

use rstest::rstest;
use serde_json::{Value, json};

use super::{FOOS, MAPS, client_with_foos};
use crate::raw::{JSON, MERGE};

const STRATEGIC: &str = "application/strategic-merge-patch+json";
const PATCH: &str = "application/json-patch+json";
const UNRECOGNIZED: &str = "the object provided is unrecognized (must be of type";

#[rstest]
#[case("POST", MAPS, JSON, "", 400, &format!("{UNRECOGNIZED} ConfigMap): couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)"))]
#[case("POST", MAPS, JSON, "{\"metadata\": {\"name\": \"x\"}} trailing", 400, &format!("{UNRECOGNIZED} ConfigMap): couldn't get version/kind; json parse error: invalid character 't' after top-level value ({{\"metadata\": {{\"name\": \"x\"}}}} tr ...)"))]
#[case("PUT", "/api/v1/namespaces/default/configmaps/a", JSON, "[]", 400, &format!("{UNRECOGNIZED} ConfigMap): couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }} (5b5d)"))]
#[case(
    "PATCH",
    "/api/v1/namespaces/default/configmaps/a",
    MERGE,
    "{",
    400,
    "error decoding patch: unexpected end of JSON input"
)]
#[case(
    "PATCH",
    "/api/v1/namespaces/default/configmaps/a",
    MERGE,
    "[]",
    400,
    "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"
)]
#[case(
    "PATCH",
    "/api/v1/namespaces/default/configmaps/a",
    MERGE,
    "null",
    400,
    "Invalid JSON Patch"
)]
#[case(
    "PATCH",
    "/api/v1/namespaces/default/configmaps/a",
    STRATEGIC,
    "1",
    400,
    "json: cannot unmarshal number into Go value of type map[string]interface {}"
)]
#[case(
    "PATCH",
    "/api/v1/namespaces/default/configmaps/a",
    PATCH,
    "{}",
    400,
    "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
)]
#[case(
    "DELETE",
    "/api/v1/namespaces/default/configmaps/a",
    JSON,
    "{",
    400,
    "couldn't get version/kind; json parse error: unexpected end of JSON input"
)]
#[case(
    "DELETE",
    "/api/v1/namespaces/default/configmaps/nope",
    JSON,
    "{\"dryRun\": [\"x\"]}",
    422,
    "DeleteOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"x\"]: supported values: \"All\""
)]
#[case(
    "DELETE",
    "/api/v1/namespaces/default/configmaps/nope",
    JSON,
    "{\"kind\": \"Pod\", \"apiVersion\": \"v1\"}",
    400,
    "no kind \"Pod\" is registered for version \"v1\" in scheme \"k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30\""
)]
#[case("POST", FOOS, JSON, "{\"apiVersion\": \"ex.com/v1\"}", 400, &format!("{UNRECOGNIZED} Foo): Object 'Kind' is missing in '{{\"apiVersion\": \"ex.com/v1\"}}' ({{\"apiVersion\": \"ex.com/v1\"}})"))]
#[case(
    "POST",
    FOOS,
    JSON,
    "{\"kind\": \"Foo\", \"metadata\": {\"name\": \"g\"}}",
    400,
    "the API version in the data () does not match the expected API version (ex.com/v1)"
)]
#[case(
    "POST",
    FOOS,
    JSON,
    "{\"apiVersion\": \"ex.com/v1\", \"kind\": \"Bar\", \"metadata\": {\"name\": \"g\"}}",
    422,
    "Bar.ex.com \"g\" is invalid: kind: Invalid value: \"Bar\": must be Foo"
)]
#[case(
    "POST",
    FOOS,
    JSON,
    "{\"apiVersion\": \"ex.com/v1\", \"kind\": \"Foo\", \"metadata\": {\"name\": \"g\", \"labels\": {\"a\": 1}}}",
    400,
    "Foo in version \"v1\" cannot be handled as a Foo: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"
)]
#[case(
    "PATCH",
    "/apis/ex.com/v1/namespaces/default/foos/f",
    MERGE,
    "{\"apiVersion\": \"v1\"}",
    422,
    "Foo \"f\" is invalid: apiVersion: Invalid value: \"v1\": must be ex.com/v1"
)]
#[case("PUT", FOOS, JSON, "{}", 400, "name must be provided")]
#[case(
    "DELETE",
    "/apis/ex.com/v1/namespaces/default/foos/f/status",
    JSON,
    "",
    405,
    "delete is not supported on resources of kind \"foos.ex.com\""
)]
#[case(
    "GET",
    "/apis/ex.com/v1/namespaces/default/foos/f/scale",
    JSON,
    "",
    404,
    "foos.ex.com \"f\" not found"
)]
#[tokio::test]
async fn is_answered_in_its_words(
    #[case] method: &str,
    #[case] path: &str,
    #[case] media: &str,
    #[case] body: &str,
    #[case] status: u16,
    #[case] message: &str,
) {
    let (code, answer) = client_with_foos().await.bytes(method, path, media, body.into()).await;
    let answer: Value = serde_json::from_slice(&answer).expect("a Status");
    assert_eq!((code, &answer["message"]), (status, &json!(message)));
}
