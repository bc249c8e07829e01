//! Persistent volumes and claims that are refused: what the answer says behind `is invalid: `.

use rstest::rstest;
use serde_json::{Value, json};

use super::{client, reason};
use crate::raw::{JSON, MERGE, Raw};

const VOLUMES: &str = "/api/v1/persistentvolumes";
const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";

fn volume(more: &Value) -> Value {
    let mut spec = json!({"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]});
    let more = more.as_object().expect("an object").clone();
    spec.as_object_mut().expect("an object").extend(more);
    json!({"metadata": {"name": "v"}, "spec": spec})
}

#[rstest]
#[case(json!({"nfs": {"server": "", "path": "p"}}), "[spec.nfs.server: Required value, spec.nfs.path: Invalid value: \"p\": must be an absolute path]")]
#[case(json!({"local": {"path": "/a"}}), "spec.nodeAffinity: Required value: Local volume requires node affinity")]
#[case(json!({"csi": {"driver": "", "volumeHandle": ""}}), "[spec.csi.driver: Required value, spec.csi.volumeHandle: Required value]")]
#[case(json!({"fc": {}}), "spec.fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both")]
#[case(json!({"hostPath": {"path": "/"}, "persistentVolumeReclaimPolicy": "Recycle"}), "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'")]
#[tokio::test]
async fn a_volume_is_refused(#[case] more: Value, #[case] wanted: &str) {
    let (code, answer) = client().send("POST", VOLUMES, JSON, &volume(&more)).await;
    assert_eq!(reason(&answer), wanted);
    assert_eq!(code, 422);
}

#[rstest]
#[case(json!({"capacity": {"cpu": "1"}}), "spec.capacity: Unsupported value: {\"cpu\":\"1\",\"storage\":\"1Gi\"}: supported values: \"storage\"")]
#[case(json!({"capacity": {"storage": "0"}}), "spec.capacity[storage]: Invalid value: \"0\": must be greater than zero")]
#[case(json!({"accessModes": []}), "spec.accessModes: Required value")]
#[case(json!({"volumeMode": "Block"}), "volumeMode: Invalid value: \"Block\": field is immutable")]
#[case(json!({"nodeAffinity": {"required": null}}), "[spec.nodeAffinity.required: Required value: must specify required node constraints, nodeAffinity: Invalid value: {\"Required\":null}: field is immutable, except for updating from beta label to GA]")]
#[case(json!({"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "X"}]}]}}}), "[spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].operator: Invalid value: \"X\": not a valid selector operator, nodeAffinity: Invalid value: {\"Required\":{\"NodeSelectorTerms\":[{\"MatchExpressions\":[{\"Key\":\"a\",\"Operator\":\"X\",\"Values\":null}],\"MatchFields\":null}]}}: field is immutable, except for updating from beta label to GA]")]
#[tokio::test]
async fn a_changed_volume_is_refused(#[case] change: Value, #[case] wanted: &str) {
    let mut server = client();
    let terms = json!([{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]);
    let before = volume(&json!({
        "hostPath": {"path": "/a"}, "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
    }));
    let (code, answer) = server.send("POST", VOLUMES, JSON, &before).await;
    assert_eq!(code, 201, "{answer}");
    let (code, answer) = server
        .send("PATCH", &format!("{VOLUMES}/v"), MERGE, &json!({"spec": change}))
        .await;
    assert_eq!(reason(&answer), wanted);
    assert_eq!(code, 422);
}

async fn bound_claim(server: &mut Raw) -> String {
    let claim = json!({"metadata": {"name": "c"}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeName": "v",
        "storageClassName": "s",
    }});
    let (code, answer) = server.send("POST", CLAIMS, JSON, &claim).await;
    assert_eq!(code, 201, "{answer}");
    let path = format!("{CLAIMS}/c");
    let bound = json!({"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}});
    let (code, answer) = server.send("PATCH", &format!("{path}/status"), MERGE, &bound).await;
    assert_eq!(code, 200, "{answer}");
    path
}

#[rstest]
#[case(
    "1Mi",
    "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"
)]
#[case(
    "0",
    "[spec.resources[storage]: Invalid value: \"0\": must be greater than zero, spec.resources.requests.storage: Forbidden: field can not be less than status.capacity]"
)]
#[case(
    "2Gi",
    "persistentvolumeclaims \"c\" is forbidden: only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
)]
#[tokio::test]
async fn a_claim_may_not_have_every_size(#[case] size: &str, #[case] wanted: &str) {
    let mut server = client();
    let path = bound_claim(&mut server).await;
    let change = json!({"spec": {"resources": {"requests": {"storage": size}}}});
    let (_, answer) = server.send("PATCH", &path, MERGE, &change).await;
    assert_eq!(reason(&answer), wanted);
}

#[tokio::test]
async fn a_claim_of_a_class_that_can_grow_grows() {
    let mut server = client();
    let class = json!({"metadata": {"name": "s"}, "provisioner": "a.b", "allowVolumeExpansion": true});
    let classes = "/apis/storage.k8s.io/v1/storageclasses";
    let (code, answer) = server.send("POST", classes, JSON, &class).await;
    assert_eq!(code, 201, "{answer}");
    let path = bound_claim(&mut server).await;
    let change = json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}});
    let (code, answer) = server.send("PATCH", &path, MERGE, &change).await;
    assert_eq!(code, 200, "{answer}");
    assert_eq!(answer["spec"]["resources"]["requests"]["storage"], "2Gi");
}

#[tokio::test]
async fn the_status_of_a_claim_has_no_negative_capacity() {
    let mut server = client();
    let path = bound_claim(&mut server).await;
    let status = json!({"status": {"capacity": {"storage": "-1"}}});
    let (_, answer) = server.send("PATCH", &format!("{path}/status"), MERGE, &status).await;
    assert_eq!(
        reason(&answer),
        "status.capacity[storage]: Invalid value: -1: must be a valid resource quantity"
    );
}
