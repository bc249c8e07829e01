//! What a kube-apiserver v1.36 says to bodies that it cannot read and to objects that it refuses.

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

#[rstest]
#[case("networking.k8s.io/v1", "ingresses", json!({"rules": [{"host": "1.2.3.4", "http": {"paths": [{"path": "x", "pathType": "Prefix", "backend": {}}]}}]}), &[
    "spec.rules[0].host: Invalid value: \"1.2.3.4\": must be a DNS name, not an IP address",
    "spec.rules[0].http.paths[0].path: Invalid value: \"x\": must be an absolute path",
    "spec.rules[0].http.paths[0].backend: Invalid value: \"\": resource or service backend is required",
])]
#[case("networking.k8s.io/v1", "networkpolicies", json!({"podSelector": {}, "policyTypes": ["X"], "ingress": [{
    "ports": [{"port": 80, "endPort": 79}], "from": [{}, {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["11.0.0.0/8"]}}],
}]}), &[
    "spec.ingress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to `port`",
    "spec.ingress[0].from[0]: Required value: must specify a peer",
    "spec.ingress[0].from[1].ipBlock.except[0]: Invalid value: \"11.0.0.0/8\": must be a strict subset of `cidr`",
    "spec.policyTypes[0]: Unsupported value: \"X\": supported values: \"Ingress\", \"Egress\"",
])]
#[case("policy/v1", "poddisruptionbudgets", json!({"minAvailable": "150%"}), &[
    "spec.minAvailable: Invalid value: \"150%\": must not be greater than 100%",
])]
#[case("batch/v1", "cronjobs", json!({"schedule": "* * * * *", "timeZone": "local", "jobTemplate": {"spec": {
    "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}},
}}}), &[
    "spec.timeZone: Invalid value: \"local\": timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones",
])]
#[case("v1", "persistentvolumeclaims", json!({"accessModes": ["ReadWriteOnce", "ReadWriteOncePod"], "resources": {"requests": {"storage": "0"}}}), &[
    "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
    "spec.resources[storage]: Invalid value: \"0\": must be greater than zero",
])]
#[case("v1", "resourcequotas", json!({"hard": {"cpu": "-1", "pods": "1.5"}}), &[
    "spec.hard[cpu]: Invalid value: \"-1\": must be greater than or equal to 0",
    "spec.hard[pods]: Invalid value: \"1500m\": must be an integer",
])]
#[case("v1", "pods", json!({"dnsPolicy": "None", "containers": [{"name": "c", "image": "i", "env": [
    {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.x"}}},
    {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['b']"}}},
]}]}), &[
    "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: \"spec.x\": error converting fieldPath: field label not supported: spec.x",
    "spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None",
])]
#[tokio::test]
async fn is_refused_in_its_words(
    #[case] api_version: &str,
    #[case] plural: &str,
    #[case] spec: Value,
    #[case] findings: &[&str],
) {
    let root = if api_version == "v1" { "/api" } else { "/apis" };
    let path = format!("{root}/{api_version}/namespaces/default/{plural}");
    let object = json!({"metadata": {"name": "x"}, "spec": spec});
    let (status, answer) = client_with_foos().await.send("POST", &path, JSON, &object).await;
    let causes = answer["details"]["causes"].as_array().cloned().unwrap_or_default();
    let text = |cause: &Value| {
        let part = |name: &str| cause[name].as_str().unwrap_or_default().to_owned();
        format!("{}: {}", part("field"), part("message"))
    };
    let found: Vec<String> = causes.iter().map(text).collect();
    assert_eq!(
        (status, found),
        (422, findings.iter().map(|text| (*text).to_owned()).collect())
    );
}
