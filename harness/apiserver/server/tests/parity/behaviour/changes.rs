//! Changes that are refused: one object of a kind, a merge patch, and the message after `is invalid: `.

use rstest::rstest;
use serde_json::{Value, json};

use super::client;
use crate::raw::{JSON, MERGE, Raw};

/// Returns the path of a kind, and an object of it.
fn object(plural: &str) -> (String, Value) {
    let (group, mut object) = match plural {
        "priorityclasses" => ("scheduling.k8s.io", json!({"value": 5})),
        "runtimeclasses" => ("node.k8s.io", json!({"handler": "h"})),
        "ingressclasses" => ("networking.k8s.io", json!({"spec": {"controller": "a.b/c"}})),
        "csidrivers" => ("storage.k8s.io", json!({"spec": {"attachRequired": true}})),
        "csinodes" => (
            "storage.k8s.io",
            json!({"spec": {"drivers": [{"name": "d", "nodeID": "n", "topologyKeys": ["a"]}]}}),
        ),
        "volumeattachments" => (
            "storage.k8s.io",
            json!({"spec": {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "pv"}}}),
        ),
        "endpointslices" => (
            "discovery.k8s.io",
            json!({"addressType": "IPv4", "endpoints": [{"addresses": ["1.2.3.4"]}], "ports": [{"port": 80}]}),
        ),
        "configmaps" => ("", json!({})),
        "endpoints" => (
            "",
            json!({"subsets": [{"addresses": [{"ip": "1.2.3.4"}], "ports": [{"port": 80}]}]}),
        ),
        "clusterroles" => (
            "rbac.authorization.k8s.io",
            json!({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}),
        ),
        "resourcequotas" => (
            "",
            json!({"spec": {"hard": {"pods": "5"}, "scopes": ["NotTerminating"]}}),
        ),
        "limitranges" => (
            "",
            json!({"spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}}]}}),
        ),
        "jobs" => (
            "batch",
            json!({"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}),
        ),
        "statefulsets" => (
            "apps",
            json!({"spec": {"serviceName": "s", "selector": {"matchLabels": {"a": "b"}}, "template": {
                "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}),
        ),
        other => unreachable!("{other}"),
    };
    let namespaced = [
        "configmaps",
        "endpointslices",
        "endpoints",
        "resourcequotas",
        "limitranges",
        "jobs",
        "statefulsets",
    ];
    let base = match group {
        "" => "/api/v1".to_owned(),
        group => format!("/apis/{group}/v1"),
    };
    let namespace = if namespaced.contains(&plural) {
        "/namespaces/default"
    } else {
        ""
    };
    object["metadata"] = json!({"name": "x"});
    (format!("{base}{namespace}/{plural}"), object)
}

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
    and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
    must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

#[rstest]
#[case("clusterroles", json!({"rules": [{"verbs": []}]}), "[rules[0].verbs: Required value: verbs must contain at least one value, rules[0].apiGroups: Required value: resource rules must supply at least one api group, rules[0].resources: Required value: resource rules must supply at least one resource]")]
#[case("clusterroles", json!({"rules": [{"verbs": ["get"]}]}), "[rules[0].apiGroups: Required value: resource rules must supply at least one api group, rules[0].resources: Required value: resource rules must supply at least one resource]")]
#[case("clusterroles", json!({"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"], "resources": ["p"], "apiGroups": [""]}]}), r#"rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs"#)]
#[case("clusterroles", json!({"rules": [{"verbs": ["get"], "resources": ["p"]}]}), "rules[0].apiGroups: Required value: resource rules must supply at least one api group")]
#[case("statefulsets", json!({"spec": {"updateStrategy": {"type": "OnDelete"}}}), r#"spec.updateStrategy.rollingUpdate: Invalid value: {"Partition":0,"MaxUnavailable":null}: only allowed for updateStrategy 'RollingUpdate'"#)]
#[tokio::test]
async fn a_change_is_refused(#[case] plural: &str, #[case] patch: Value, #[case] message: &str) {
    let (path, object) = object(plural);
    let mut client = client();
    let (status, answer) = client.send("POST", &path, JSON, &object).await;
    assert_eq!(status, 201, "{answer}");
    let (status, answer) = client.send("PATCH", &format!("{path}/x"), MERGE, &patch).await;
    let message = message.replace("LABEL", LABEL).replace("SUBDOMAIN", SUBDOMAIN);
    let given = answer["message"].as_str().unwrap_or_default();
    assert_eq!(
        (status, given.split_once(" is invalid: ").map(|(_, reason)| reason)),
        (422, Some(message.as_str())),
        "{answer}"
    );
}

#[tokio::test]
async fn a_changed_job_is_told_twice_what_is_wrong_with_it() {
    let (path, object) = object("jobs");
    let mut client = client();
    client.send("POST", &path, JSON, &object).await;
    let change = json!({"spec": {"parallelism": -3}});
    let (_, answer) = client.send("PATCH", &format!("{path}/x"), MERGE, &change).await;
    assert_eq!(
        answer["details"]["causes"].as_array().map(Vec::len),
        Some(2),
        "{answer}"
    );
}

#[tokio::test]
async fn a_stateful_set_may_have_any_limit_of_revisions() {
    let (path, object) = object("statefulsets");
    let mut client = client();
    client.send("POST", &path, JSON, &object).await;
    let change = json!({"spec": {"revisionHistoryLimit": -3}});
    assert_eq!(client.send("PATCH", &format!("{path}/x"), MERGE, &change).await.0, 200);
}

#[tokio::test]
async fn who_means_another_object_is_told_before_all_else() {
    let mut client = client();
    let (path, object) = object("configmaps");
    client.send("POST", &path, JSON, &object).await;
    for metadata in [
        json!({"name": "x", "uid": "u"}),
        json!({"name": "x", "uid": "u", "resourceVersion": "1"}),
    ] {
        let (status, answer) = client
            .send("PUT", &format!("{path}/x"), JSON, &json!({"metadata": metadata}))
            .await;
        let message = answer["message"].as_str().unwrap_or_default();
        assert!(status == 409 && message.contains("UID in precondition: u"), "{message}");
    }
}

/// Returns the warnings of an answer, without their code.
async fn warnings(client: &mut Raw, method: &str, path: &str, media: &str, body: &Value) -> Vec<String> {
    let answer = client.open(method, path, media, body.to_string().into_bytes()).await;
    let warnings = answer.headers().get_all(http::header::WARNING).into_iter();
    warnings
        .filter_map(|warning| Some(warning.to_str().ok()?.strip_prefix("299 - ")?.to_owned()))
        .collect()
}

#[tokio::test]
async fn finalizers_that_others_may_use_are_warned_of_once() {
    let mut client = client();
    let definition = json!({"metadata": {"name": "foos.x.io"}, "spec": {
        "group": "x.io", "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}});
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_eq!(client.send("POST", definitions, JSON, &definition).await.0, 201);
    let path = "/apis/x.io/v1/namespaces/default/foos";
    while client.get(path).await.0 != 200 {
        tokio::task::yield_now().await;
    }
    let warning = |finalizer: &str| {
        format!(
            r#""metadata.finalizers: \"{finalizer}\": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers""#
        )
    };
    let object = json!({"apiVersion": "x.io/v1", "kind": "Foo", "metadata": {"name": "f", "finalizers": ["a", "x.io/b", "orphan"]}});
    assert_eq!(warnings(&mut client, "POST", path, JSON, &object).await, [warning("a")]);
    let more = json!({"metadata": {"finalizers": ["a", "c"]}});
    assert_eq!(
        warnings(&mut client, "PATCH", &format!("{path}/f"), MERGE, &more).await,
        [warning("c")]
    );
}
