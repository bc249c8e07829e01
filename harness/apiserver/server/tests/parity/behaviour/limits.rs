//! Limit ranges and quotas.

use rstest::rstest;
use serde_json::{Value, json};

use super::client;
use crate::raw::{JSON, MERGE, Raw};

const RANGES: &str = "/api/v1/namespaces/default/limitranges";

async fn under(limit: Value, plural: &str, spec: &Value) -> (u16, Value) {
    let mut client = client();
    let range = json!({"metadata": {"name": "l"}, "spec": {"limits": [limit]}});
    assert_eq!(client.send("POST", RANGES, JSON, &range).await.0, 201);
    let object = json!({"metadata": {"name": "x"}, "spec": spec});
    let path = format!("/api/v1/namespaces/default/{plural}");
    client.send("POST", &path, JSON, &object).await
}

fn containers(resources: &[Value]) -> Value {
    let container = |(index, resources): (usize, &Value)| json!({"name": format!("c{index}"), "image": "i", "resources": resources});
    json!({"containers": resources.iter().enumerate().map(container).collect::<Vec<_>>()})
}

#[tokio::test]
async fn what_a_container_does_not_say_is_filled_in_and_told() {
    let limit =
        json!({"type": "Container", "default": {"cpu": "500m", "memory": "64Mi"}, "defaultRequest": {"cpu": "100m"}});
    let (status, pod) = under(
        limit,
        "pods",
        &containers(&[json!({}), json!({"requests": {"cpu": "50m"}})]),
    )
    .await;
    assert_eq!(status, 201, "{pod}");
    assert_eq!(
        pod["metadata"]["annotations"]["kubernetes.io/limit-ranger"],
        json!(
            "LimitRanger plugin set: cpu, memory request for container c0; cpu, memory limit for container c0; \
             memory request for container c1; cpu, memory limit for container c1"
        )
    );
    assert_eq!(
        pod["spec"]["containers"][1]["resources"],
        json!({"limits": {"cpu": "500m", "memory": "64Mi"}, "requests": {"cpu": "50m", "memory": "64Mi"}})
    );
}

#[rstest]
#[case(json!({"type": "Pod", "min": {"memory": "10Mi"}}), json!({}),
    "minimum memory usage per Pod is 10Mi.  No request is specified")]
#[case(json!({"type": "Container", "min": {"cpu": "1"}, "defaultRequest": {"cpu": "2"}}), json!({"requests": {"cpu": "500m"}}),
    "minimum cpu usage per Container is 1, but request is 500m")]
#[case(json!({"type": "Pod", "max": {"cpu": "2"}}), json!({"limits": {"cpu": "2500m"}}),
    "maximum cpu usage per Pod is 2, but limit is 2500m")]
#[case(json!({"type": "Pod", "max": {"cpu": "2"}}), json!({}), "maximum cpu usage per Pod is 2.  No limit is specified")]
#[case(json!({"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}}), json!({"requests": {"cpu": "1"}, "limits": {"cpu": "3"}}),
    "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000")]
#[case(json!({"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}}), json!({}),
    "cpu max limit to request ratio per Container is 2, but no request is specified or request is 0")]
#[tokio::test]
async fn what_is_beyond_a_limit_is_forbidden(#[case] limit: Value, #[case] resources: Value, #[case] told: &str) {
    let (status, answer) = under(limit, "pods", &containers(&[resources])).await;
    assert_eq!(
        (status, &answer["message"]),
        (403, &json!(format!("pods \"x\" is forbidden: {told}")))
    );
}

#[rstest]
#[case(
    "500Mi",
    Some("minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 500Mi")
)]
#[case("1Gi", None)]
#[case(
    "6Gi",
    Some("maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 6Gi")
)]
#[tokio::test]
async fn claims_of_volumes_are_limited_too(#[case] size: &str, #[case] told: Option<&str>) {
    let limit = json!({"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "5Gi"}});
    let spec = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}});
    let (status, answer) = under(limit, "persistentvolumeclaims", &spec).await;
    match told {
        None => assert_eq!(status, 201, "{answer}"),
        Some(told) => assert_eq!(
            (status, &answer["message"]),
            (
                403,
                &json!(format!("persistentvolumeclaims \"x\" is forbidden: {told}"))
            )
        ),
    }
}

const QUOTA: &str = "/api/v1/namespaces/default/resourcequotas/q";

/// A server with a quota that somebody has counted.
async fn granted(spec: &Value) -> Raw {
    let mut client = client();
    let (path, _) = QUOTA.rsplit_once('/').expect("a path");
    let quota = json!({"metadata": {"name": "q"}, "spec": spec});
    assert_eq!(client.send("POST", path, JSON, &quota).await.0, 201);
    let status = json!({"status": {"hard": spec["hard"], "used": {}}});
    assert_eq!(
        client.send("PATCH", &format!("{QUOTA}/status"), MERGE, &status).await.0,
        200
    );
    client
}

async fn create(client: &mut Raw, plural: &str, name: &str, spec: &Value) -> (u16, Value) {
    let path = format!("/api/v1/namespaces/default/{plural}");
    let mut object = json!({"metadata": {"name": name}});
    if !spec.is_null() {
        object["spec"] = spec.clone();
    }
    client.send("POST", &path, JSON, &object).await
}

#[tokio::test]
async fn a_quota_grants_nothing_before_it_has_been_counted() {
    let mut client = client();
    let (path, _) = QUOTA.rsplit_once('/').expect("a path");
    let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": {"configmaps": "0"}}});
    assert_eq!(client.send("POST", path, JSON, &quota).await.0, 201);
    assert_eq!(create(&mut client, "configmaps", "a", &Value::Null).await.0, 201);
}

#[tokio::test]
async fn what_is_created_counts_until_nothing_is_left() {
    let mut client =
        granted(&json!({"hard": {"configmaps": "1", "services.nodeports": "0", "requests.storage": "2Gi"}})).await;
    let path = "/api/v1/namespaces/default/configmaps?dryRun=All";
    let dry = client
        .send("POST", path, JSON, &json!({"metadata": {"name": "d"}}))
        .await;
    assert_eq!(dry.0, 201, "what is not stored is not counted");
    assert_eq!(create(&mut client, "configmaps", "a", &Value::Null).await.0, 201);
    let (status, answer) = create(&mut client, "configmaps", "b", &Value::Null).await;
    let told = "configmaps \"b\" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=1, limited: configmaps=1";
    assert_eq!((status, &answer["message"]), (403, &json!(told)));
    let claim = |size: &str| json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}});
    assert_eq!(
        create(&mut client, "persistentvolumeclaims", "a", &claim("1Gi"))
            .await
            .0,
        201
    );
    let (_, answer) = create(&mut client, "persistentvolumeclaims", "b", &claim("1536Mi")).await;
    let told = "persistentvolumeclaims \"b\" is forbidden: exceeded quota: q, requested: requests.storage=1536Mi, \
                used: requests.storage=1Gi, limited: requests.storage=2Gi";
    assert_eq!(answer["message"], json!(told));
    let ports = json!({"ports": [{"port": 80}]});
    assert_eq!(create(&mut client, "services", "s", &ports).await.0, 201);
    let change = json!({"spec": {"type": "NodePort"}});
    let (status, answer) = client
        .send("PATCH", "/api/v1/namespaces/default/services/s", MERGE, &change)
        .await;
    assert_eq!(status, 403, "{answer}");
    let used = client.get(QUOTA).await.1["status"]["used"].clone();
    assert_eq!(used, json!({"configmaps": "1", "requests.storage": "1Gi"}));
}

#[tokio::test]
async fn pods_say_what_a_quota_grants_and_count_where_they_are_in_scope() {
    let mut client =
        granted(&json!({"hard": {"pods": "9", "limits.memory": "1Gi"}, "scopes": ["NotBestEffort"]})).await;
    for (name, resources, told) in [
        ("free", json!({}), None),
        ("first", json!({"limits": {"memory": "512Mi"}}), None),
        (
            "second",
            json!({"limits": {"memory": "600Mi"}}),
            Some(
                "exceeded quota: q, requested: limits.memory=600Mi, used: limits.memory=512Mi, limited: limits.memory=1Gi",
            ),
        ),
        (
            "silent",
            json!({"requests": {"cpu": "1"}}),
            Some("failed quota: q: must specify limits.memory for: c0"),
        ),
    ] {
        let (status, answer) = create(&mut client, "pods", name, &containers(&[resources])).await;
        match told {
            None => assert_eq!(status, 201, "{answer}"),
            Some(told) => assert_eq!(
                (status, &answer["message"]),
                (403, &json!(format!("pods \"{name}\" is forbidden: {told}")))
            ),
        }
    }
    let used = client.get(QUOTA).await.1["status"]["used"].clone();
    assert_eq!(used, json!({"limits.memory": "512Mi", "pods": "1"}));
}
