//! The documents of `/openapi`.

use rstest::rstest;
use serde_json::{Value, json};

use super::client;

async fn schemas(path: &str) -> Value {
    let document = client().get(&format!("/openapi/v3/{path}")).await.1;
    document["components"]["schemas"].clone()
}

const CORE: &str = "io.k8s.api.core.v1";

#[rstest]
#[case("HTTPGetAction", "scheme", "enum", json!(["HTTP", "HTTPS"]))]
#[case("PersistentVolumeClaimSpec", "accessModes", "items", json!({"type": "string", "default": "", "enum": ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"]}))]
#[case("Container", "args", "items", json!({"type": "string", "default": ""}))]
#[case("ReplicationControllerSpec", "replicas", "default", json!(1))]
#[case("ContainerRestartRule", "action", "default", Value::Null)]
#[tokio::test]
async fn fields_have_values_and_defaults(
    #[case] definition: &str,
    #[case] field: &str,
    #[case] keyword: &str,
    #[case] expected: Value,
) {
    let schemas = schemas("api/v1").await;
    assert_eq!(
        schemas[format!("{CORE}.{definition}")]["properties"][field][keyword],
        expected
    );
}

#[tokio::test]
async fn what_must_be_given_and_what_is_not_known_yet() {
    let core = schemas("api/v1").await;
    assert_eq!(core[format!("{CORE}.ConfigMapKeySelector")]["required"], json!(["key"]));
    assert_eq!(
        core[format!("{CORE}.Event")]["required"],
        json!(["involvedObject", "metadata"])
    );
    assert_eq!(
        core[format!("{CORE}.HTTPGetAction")]["properties"].get("protocol"),
        None
    );
    assert_eq!(core.get(format!("{CORE}.EvictionResponder")), None);
    let batch = schemas("apis/batch/v1").await;
    assert_eq!(batch["io.k8s.api.batch.v1.CronJob"]["required"], json!(["spec"]));
}

#[tokio::test]
async fn a_field_that_is_not_known_yet_is_dropped() {
    let mut client = client();
    let probe = json!({"httpGet": {"port": 80, "protocol": "HTTP2"}});
    let spec = json!({"containers": [{"name": "c", "image": "i", "livenessProbe": probe}]});
    let path = "/api/v1/namespaces/default/pods";
    let pod = json!({"metadata": {"name": "p"}, "spec": spec});
    let (status, answer) = client
        .send(
            "POST",
            &format!("{path}?fieldValidation=Strict"),
            crate::raw::JSON,
            &pod,
        )
        .await;
    assert_eq!(status, 400);
    let message = answer["message"].as_str().expect("a text");
    assert!(
        message.ends_with("unknown field \"spec.containers[0].livenessProbe.httpGet.protocol\""),
        "{message}"
    );
    let (status, answer) = client.send("POST", path, crate::raw::JSON, &pod).await;
    assert_eq!(status, 201);
    let probe = &answer["spec"]["containers"][0]["livenessProbe"]["httpGet"];
    assert_eq!(probe, &json!({"path": "/", "port": 80, "scheme": "HTTP"}));
}
