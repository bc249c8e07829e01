//! What a kube-apiserver v1.36 does with requests of which no transcript tells: applies beside updates, bodies that are
//! no JSON, custom resources of another type, pages of deletions. All of it was compared with one.

#![expect(clippy::expect_used, reason = "a test: what goes wrong is to be seen")]

mod raw;

use std::sync::Arc;

use baton_apiserver::{ApiServer, Options};
use jiff::Timestamp;
use raw::{JSON, MERGE, Raw};
use rstest::rstest;
use serde_json::{Value, json};

const STRATEGIC: &str = "application/strategic-merge-patch+json";
const PATCH: &str = "application/json-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const FOOS: &str = "/apis/ex.com/v1/namespaces/default/foos";

async fn client() -> Raw {
    let server = ApiServer::new(Options::new("test", Arc::new(|| Timestamp::UNIX_EPOCH)));
    let mut client = Raw::new(&server);
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "foos.ex.com"},
        "spec": {"group": "ex.com", "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"}, "versions": [{
            "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}},
        }]},
    });
    assert_eq!(client.send("POST", definitions, JSON, &definition).await.0, 201);
    let object = json!({"apiVersion": "ex.com/v1", "kind": "Foo", "metadata": {"name": "f"}});
    assert_eq!(client.send("POST", FOOS, JSON, &object).await.0, 201);
    for name in ["a", "b", "c"] {
        let object = json!({"metadata": {"name": name}, "data": {"k": "v", "l": "w"}});
        assert_eq!(client.send("POST", MAPS, JSON, &object).await.0, 201);
    }
    client
}

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
    let (code, answer) = client().await.bytes(method, path, media, body.into()).await;
    let answer: Value = serde_json::from_slice(&answer).expect("a Status");
    assert_eq!((code, &answer["message"]), (status, &json!(message)));
}

#[tokio::test]
async fn what_an_updater_owns_stays_when_nobody_applies_it_any_more() {
    let mut client = client().await;
    let path = format!("{MAPS}/a?fieldManager=m");
    let mut map =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v", "n": "1"}});
    assert_eq!(client.send("PATCH", &path, APPLY, &map).await.0, 200);
    map["data"] = json!({});
    let (status, answer) = client.send("PATCH", &path, APPLY, &map).await;
    assert_eq!((status, &answer["data"]), (200, &json!({"k": "v", "l": "w"})));
}

#[tokio::test]
async fn an_empty_map_is_owned_as_a_whole() {
    let mut client = client().await;
    let map = |data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "e"}, "data": data});
    let path = |manager: &str| format!("{MAPS}/e?fieldManager={manager}");
    assert_eq!(client.send("PATCH", &path("m1"), APPLY, &map(json!({}))).await.0, 201);
    let (status, answer) = client.send("PATCH", &path("m2"), APPLY, &map(json!({"x": "1"}))).await;
    let message = "Apply failed with 1 conflict: conflict with \"m1\": .data";
    assert_eq!((status, &answer["message"]), (409, &json!(message)));
}

#[tokio::test]
async fn replicas_are_applied_through_the_scale() {
    let mut client = client().await;
    let path = "/apis/apps/v1/namespaces/default/deployments/d";
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": {
            "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]},
        }},
    });
    let applied = format!("{path}?fieldManager=m");
    assert_eq!(client.send("PATCH", &applied, APPLY, &deployment).await.0, 201);
    let scale =
        json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"}, "spec": {"replicas": 7}});
    let scaled = format!("{path}/scale?fieldManager=s");
    let (status, answer) = client.send("PATCH", &scaled, APPLY, &scale).await;
    let message = "Apply failed with 1 conflict: conflict with \"m\": .spec.replicas";
    assert_eq!((status, &answer["message"]), (409, &json!(message)));
    let (status, answer) = client
        .send("PATCH", &format!("{scaled}&force=true"), APPLY, &scale)
        .await;
    assert_eq!(
        (status, &answer["kind"], &answer["spec"]["replicas"]),
        (200, &json!("Scale"), &json!(7))
    );
    let (_, answer) = client.get(path).await;
    assert_eq!(
        answer["metadata"]["managedFields"][0],
        json!({
            "manager": "s", "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:replicas": {}}}, "subresource": "scale",
        })
    );
    let (status, answer) = client
        .send(
            "PATCH",
            &format!("{path}/scale"),
            MERGE,
            &json!({"spec": {"replicas": "x"}}),
        )
        .await;
    let message = answer["message"].as_str().expect("a message");
    let cause = "json: cannot unmarshal string into Go struct field ScaleSpec.spec.replicas of type int32";
    assert!(status == 422 && message.ends_with(cause), "{message}");
}

#[tokio::test]
async fn a_collection_is_deleted_page_by_page() {
    let mut client = client().await;
    let (status, page) = client
        .send("DELETE", &format!("{MAPS}?limit=2"), JSON, &Value::Null)
        .await;
    assert_eq!((status, page["items"].as_array().map(Vec::len)), (200, Some(2)));
    assert_eq!(page["metadata"]["remainingItemCount"], 1);
    let (_, left) = client.get(MAPS).await;
    assert_eq!(left["items"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn a_body_is_all_that_a_deletion_is_told() {
    let mut client = client().await;
    let path = format!("{MAPS}/a?dryRun=All");
    assert_eq!(client.send("DELETE", &path, JSON, &json!({})).await.0, 200);
    assert_eq!(client.get(&format!("{MAPS}/a")).await.0, 404);
    let held = json!({"metadata": {"finalizers": ["a.b/c"]}});
    assert_eq!(client.send("PATCH", &format!("{MAPS}/b"), MERGE, &held).await.0, 200);
    let (status, _) = client
        .send(
            "DELETE",
            &format!("{MAPS}/b"),
            JSON,
            &json!({"orphanDependents": false}),
        )
        .await;
    assert_eq!(status, 202);
}

#[tokio::test]
async fn a_list_of_any_age_is_whole() {
    let mut client = client().await;
    let (_, all) = client.get(&format!("{MAPS}?limit=1&resourceVersion=0")).await;
    assert_eq!(
        (all["items"].as_array().map(Vec::len), &all["metadata"]["continue"]),
        (Some(3), &Value::Null)
    );
    let (_, one) = client.get(&format!("{MAPS}?limit=1")).await;
    assert_eq!(one["items"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn a_definition_keeps_what_its_type_knows() {
    let mut client = client().await;
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All";
    let definition = |schema: Value| {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "bars.ex.com"},
            "spec": {"group": "ex.com", "scope": "Namespaced", "names": {"plural": "bars", "kind": "Bar"}, "versions": [{
                "name": "v1", "served": true, "storage": true, "more": 1, "schema": {"openAPIV3Schema": schema},
            }]},
        })
    };
    let schema = json!({"type": "object", "properties": {"a": {"type": "string", "enum": [], "default": null}}});
    let (status, answer) = client.send("POST", path, JSON, &definition(schema)).await;
    assert_eq!(
        (status, &answer["spec"]["versions"][0]),
        (
            201,
            &json!({"name": "v1", "served": true, "storage": true, "schema": {
                "openAPIV3Schema": {"type": "object", "properties": {"a": {"type": "string"}}},
            }})
        )
    );
    let schema = json!({"type": "object", "properties": {"kind": {"type": "integer"}}});
    let (status, answer) = client.send("POST", path, JSON, &definition(schema)).await;
    let message = "CustomResourceDefinition.apiextensions.k8s.io \"bars.ex.com\" is invalid: \
                   spec.validation.openAPIV3Schema.properties[kind].type: Invalid value: \"integer\": must be string";
    assert_eq!((status, &answer["message"]), (422, &json!(message)));
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
    let (status, answer) = client().await.send("POST", &path, JSON, &object).await;
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

#[tokio::test]
async fn a_claim_that_nothing_is_bound_to_may_not_grow() {
    let mut client = client().await;
    let claims = "/api/v1/namespaces/default/persistentvolumeclaims";
    let size = |size: &str| json!({"spec": {"resources": {"requests": {"storage": size}}}});
    let mut claim = size("1Gi");
    claim["metadata"] = json!({"name": "c"});
    claim["spec"]["accessModes"] = json!(["ReadWriteOnce"]);
    assert_eq!(client.send("POST", claims, JSON, &claim).await.0, 201);
    let path = format!("{claims}/c");
    let (status, answer) = client.send("PATCH", &path, MERGE, &size("2Gi")).await;
    assert_eq!(
        (status, &answer["details"]["causes"][0]["field"]),
        (422, &json!("spec"))
    );
}

#[tokio::test]
async fn a_stateful_set_always_names_its_service() {
    let mut client = client().await;
    let sets = "/apis/apps/v1/namespaces/default/statefulsets";
    let set = json!({"metadata": {"name": "s"}, "spec": {
        "selector": {"matchLabels": {"a": "b"}}, "updateStrategy": {"type": "RollingUpdate"},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    }});
    let (status, answer) = client.send("POST", sets, JSON, &set).await;
    assert_eq!(
        (
            status,
            &answer["spec"]["serviceName"],
            &answer["spec"]["updateStrategy"]
        ),
        (201, &json!(""), &json!({"type": "RollingUpdate"}))
    );
}

#[tokio::test]
async fn a_state_that_is_not_there_yet_is_an_event() {
    let mut client = client().await;
    let path = format!(
        "{MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=99999"
    );
    let (status, answer) = client.get(&path).await;
    let message = answer["object"]["message"].as_str().unwrap_or_default();
    assert_eq!(
        (status, &answer["type"], &answer["object"]["code"]),
        (200, &json!("ERROR"), &json!(504))
    );
    assert!(
        message.starts_with("Timeout: Too large resource version: 99999, current: "),
        "{message}"
    );
}
