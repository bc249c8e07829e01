//! Limit ranges.

use rstest::rstest;
use serde_json::{Value, json};

use super::client;
use super::raw::JSON;

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
