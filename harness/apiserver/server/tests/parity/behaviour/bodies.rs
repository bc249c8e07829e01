//! Bodies of new objects that are refused, kind by kind; and what patches do to rarer kinds.

use rstest::rstest;
use serde_json::{Value, json};

use super::{client, reason};
use crate::raw::{JSON, MERGE, Raw};

const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// Where the objects of a kind are.
fn collection(kind: &str) -> &'static str {
    match kind {
        "autoscalers" => "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
        "budgets" => "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
        "capacities" => "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities",
        "classes" => "/apis/storage.k8s.io/v1/storageclasses",
        "drivers" => "/apis/storage.k8s.io/v1/csidrivers",
        "events" => "/api/v1/namespaces/default/events",
        "jobs" => "/apis/batch/v1/namespaces/default/jobs",
        "nodes" => "/api/v1/nodes",
        "pods" => "/api/v1/namespaces/default/pods",
        "policies" => "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
        "priorities" => "/apis/scheduling.k8s.io/v1/priorityclasses",
        "rules" => "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
        "secrets" => "/api/v1/namespaces/default/secrets",
        "statefulsets" => "/apis/apps/v1/namespaces/default/statefulsets",
        "slices" => "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
        "volumes" => "/api/v1/persistentvolumes",
        _ => "/apis/coordination.k8s.io/v1/namespaces/default/leases",
    }
}

fn named(body: &Value) -> Value {
    let mut object = body.clone();
    object["metadata"]["name"] = json!("n");
    object
}

async fn created(client: &mut Raw, kind: &str, body: &Value) -> Value {
    let (code, object) = client.send("POST", collection(kind), JSON, &named(body)).await;
    assert_eq!(code, 201, "{object}");
    object
}

#[rstest]
#[case("nodes", json!({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}]}}), "metadata.taints[1]: Duplicate value: {\"Key\":\"a\",\"Value\":\"\",\"Effect\":\"NoSchedule\",\"TimeAdded\":null}: taints must be unique by key and effect pair")]
#[case("nodes", json!({"spec": {"taints": [{}]}}), "[metadata.taints[0].key: Invalid value: \"\": name part must be non-empty, metadata.taints[0].key: Invalid value: \"\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'), metadata.taints[0].effect: Required value]")]
#[case("nodes", json!({"spec": {"taints": [{"key": "a"}]}}), "metadata.taints[0].effect: Required value")]
#[case("nodes", json!({"spec": {"taints": [{"key": "a b", "effect": "X"}]}}), "[metadata.taints[0].key: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'), metadata.taints[0].effect: Unsupported value: \"X\": supported values: \"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\"]")]
#[case("nodes", json!({"spec": {"taints": [{"key": "a", "value": "x y", "effect": "NoSchedule"}]}}), "metadata.taints[0].value: Invalid value: \"x y\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')")]
#[case("nodes", json!({"spec": {"taints": [{"key": "a", "effect": "NoSchedule", "timeAdded": "2020-01-01T00:00:00Z"}, {"key": "a", "effect": "NoSchedule", "value": "v"}]}}), "metadata.taints[1]: Duplicate value: {\"Key\":\"a\",\"Value\":\"v\",\"Effect\":\"NoSchedule\",\"TimeAdded\":null}: taints must be unique by key and effect pair")]
#[case("nodes", json!({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}]}}), "[metadata.taints[1]: Duplicate value: {\"Key\":\"a\",\"Value\":\"\",\"Effect\":\"NoSchedule\",\"TimeAdded\":null}: taints must be unique by key and effect pair, metadata.taints[2]: Duplicate value: {\"Key\":\"a\",\"Value\":\"\",\"Effect\":\"NoSchedule\",\"TimeAdded\":null}: taints must be unique by key and effect pair]")]
#[case("classes", json!({"provisioner": "A_"}), "provisioner: Invalid value: \"a_\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')")]
#[case("classes", json!({"provisioner": "a/b/c"}), "provisioner: Invalid value: \"a/b/c\": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')")]
#[case("classes", json!({"provisioner": ""}), "provisioner: Required value")]
#[case("classes", json!({"provisioner": "x", "parameters": {"": "y"}}), "parameters: Invalid value: \"\": field can not be empty.")]
#[case("classes", json!({"provisioner": "x", "reclaimPolicy": "Recycle"}), "reclaimPolicy: Unsupported value: \"Recycle\": supported values: \"Delete\", \"Retain\"")]
#[case("classes", json!({"provisioner": "x", "volumeBindingMode": "X"}), "volumeBindingMode: Unsupported value: \"X\": supported values: \"Immediate\", \"WaitForFirstConsumer\"")]
#[case("classes", json!({"provisioner": "x", "allowedTopologies": [{}]}), "allowedTopologies[0].matchLabelExpressions: Duplicate value: \"\"")]
#[case("classes", json!({"provisioner": "x", "allowedTopologies": [{"matchLabelExpressions": []}]}), "allowedTopologies[0].matchLabelExpressions: Duplicate value: \"\"")]
#[case("classes", json!({"provisioner": "x", "allowedTopologies": [{"matchLabelExpressions": [{"key": "a", "values": []}]}]}), "allowedTopologies[0].matchLabelExpressions[0].values: Required value")]
#[case("classes", json!({"provisioner": "x", "allowedTopologies": [{"matchLabelExpressions": [{"key": "a b", "values": ["x", "x"]}]}]}), "[allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: \"x\", allowedTopologies[0].matchLabelExpressions[0].key: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')]")]
#[case("classes", json!({"provisioner": "x", "allowedTopologies": [{"matchLabelExpressions": [{"key": "a", "values": ["x"]}, {"key": "a", "values": ["y"]}]}]}), "allowedTopologies[0].matchLabelExpressions[1].key: Duplicate value: \"a\"")]
#[case("classes", json!({"provisioner": "x", "allowedTopologies": [{"matchLabelExpressions": [{"key": "a", "values": ["x"]}]}, {"matchLabelExpressions": [{"key": "a", "values": ["x"]}]}]}), "allowedTopologies[1].matchLabelExpressions: Duplicate value: \"\"")]
#[case("priorities", json!({"value": 1, "preemptionPolicy": "X"}), "preemptionPolicy: Unsupported value: \"X\": supported values: \"PreemptLowerPriority\", \"Never\"")]
#[case("autoscalers", json!({"spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "D", "name": "d"}, "behavior": {"scaleUp": {"policies": []}}}}), "[spec.scaleTargetRef.apiVersion: Invalid value: \"\": apiVersion must specify API group, spec.behavior.scaleUp.policies: Required value: must specify at least one Policy]")]
#[case("autoscalers", json!({"spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "D", "name": "d"}, "behavior": {"scaleDown": {"policies": []}}}}), "[spec.scaleTargetRef.apiVersion: Invalid value: \"\": apiVersion must specify API group, spec.behavior.scaleDown.policies: Required value: must specify at least one Policy]")]
#[case("autoscalers", json!({"spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "D", "name": "d"}, "behavior": {"scaleUp": {}}}}), "spec.scaleTargetRef.apiVersion: Invalid value: \"\": apiVersion must specify API group")]
#[case("autoscalers", json!({"spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "D", "name": "d"}, "behavior": {"scaleUp": {"policies": null}}}}), "spec.scaleTargetRef.apiVersion: Invalid value: \"\": apiVersion must specify API group")]
#[case("autoscalers", json!({"spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "D", "name": "d"}, "behavior": {"scaleUp": {"selectPolicy": "Disabled", "policies": []}}}}), "[spec.scaleTargetRef.apiVersion: Invalid value: \"\": apiVersion must specify API group, spec.behavior.scaleUp.policies: Required value: must specify at least one Policy]")]
#[case("slices", json!({"addressType": "X", "endpoints": [{"addresses": ["x"], "hostname": "A_"}], "ports": [{"name": "a", "protocol": "X"}, {"name": "a", "port": -1}]}), "[addressType: Unsupported value: \"X\": supported values: \"FQDN\", \"IPv4\", \"IPv6\", ports[0].protocol: Unsupported value: \"X\": supported values: \"SCTP\", \"TCP\", \"UDP\", ports[1].name: Duplicate value: \"a\", endpoints[0].hostname: Invalid value: \"A_\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')]")]
#[case("drivers", json!({"spec": {"serviceAccountTokenInSecrets": false}}), "spec.serviceAccountTokenInSecrets: Invalid value: false: serviceAccountTokenInSecrets is set but no tokenRequests are specified")]
#[case("nodes", json!({"spec": {"podCIDR": "x"}}), "spec.podCIDRs[0]: Invalid value: \"x\": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")]
#[case("nodes", json!({"spec": {"podCIDRs": ["10.0.0.0/24", "10.1.0.0/24"]}}), "spec.podCIDRs: Invalid value: [\"10.0.0.0/24\",\"10.1.0.0/24\"]: may specify no more than one CIDR for each IP family")]
#[case("nodes", json!({"spec": {"podCIDRs": ["x", "y", "z"]}}), "[spec.podCIDRs[0]: Invalid value: \"x\": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64), spec.podCIDRs[1]: Invalid value: \"y\": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64), spec.podCIDRs[2]: Invalid value: \"z\": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64), spec.podCIDRs: Internal error: invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[0]: <nil> (invalid CIDR address: x), spec.podCIDRs: Invalid value: [\"x\",\"y\",\"z\"]: may specify no more than one CIDR for each IP family]")]
#[case("capacities", json!({}), "storageClassName: Invalid value: \"\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')")]
#[case("capacities", json!({"storageClassName": "A b"}), "storageClassName: Invalid value: \"A b\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')")]
#[case("capacities", json!({"storageClassName": "a", "nodeTopology": {"matchLabels": {"a b": "c"}}, "capacity": "-1", "maximumVolumeSize": "-1"}), "[nodeTopology.matchLabels: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'), capacity: Invalid value: \"-1\": must be greater than or equal to 0]")]
#[tokio::test]
async fn what_is_wrong_is_told_in_order(#[case] kind: &str, #[case] body: Value, #[case] wanted: &str) {
    let (code, refused) = client().send("POST", collection(kind), JSON, &named(&body)).await;
    assert_eq!((code, reason(&refused)), (422, wanted));
}

#[rstest]
#[case("leases", json!({"spec": {"renewTime": "2020-01-01T00:00:00Z"}}), "parsing time \"2020-01-01T00:00:00Z\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"Z\" as \".000000\"")]
#[case("secrets", json!({"data": {"a": "bbb"}}), "illegal base64 data at input byte 0")]
#[tokio::test]
async fn what_cannot_be_read_is_told_as_go_does(#[case] kind: &str, #[case] body: Value, #[case] wanted: &str) {
    let (code, refused) = client().send("POST", collection(kind), JSON, &named(&body)).await;
    let message = refused["message"].as_str().unwrap_or_default();
    assert_eq!(code, 400);
    assert!(message.ends_with(&format!(": {wanted}")), "{message}");
}

#[rstest]
#[case("secrets", json!({"data": {"a": "YR==", "b": null}}), "/data", json!({"a": "YQ==", "b": ""}))]
#[case("nodes", json!({"spec": {"podCIDR": "10.0.0.0/24"}}), "/spec/podCIDRs", json!(["10.0.0.0/24"]))]
#[case("nodes", json!({"spec": {"podCIDRs": ["10.0.0.0/24", "fd00::/64"]}}), "/spec/podCIDR", json!("10.0.0.0/24"))]
#[case("nodes", json!({"spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.1.0.0/24"]}}), "/spec/podCIDRs", json!(["10.0.0.0/24"]))]
#[case("priorities", json!({}), "/value", json!(0))]
#[case("slices", json!({"addressType": "IPv4"}), "/endpoints", Value::Null)]
#[tokio::test]
async fn what_is_left_out_is_filled_in(
    #[case] kind: &str,
    #[case] body: Value,
    #[case] place: &str,
    #[case] wanted: Value,
) {
    let object = created(&mut client(), kind, &body).await;
    assert_eq!(object.pointer(place), Some(&wanted));
}

/// The creator owns what it set, and not what is always there.
#[rstest]
#[case("events", json!({"involvedObject": {"kind": "Pod", "name": "x", "namespace": "default"}, "reason": "r"}), json!({"f:involvedObject": {}, "f:reason": {}}))]
#[case("policies", json!({"spec": {"podSelector": {}, "ingress": [{}]}}), json!({"f:spec": {"f:ingress": {}, "f:policyTypes": {}}}))]
#[case("volumes", json!({"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}, "claimRef": {"name": "c", "namespace": "d"}}}),
    json!({"f:spec": {"f:accessModes": {}, "f:capacity": {".": {}, "f:storage": {}}, "f:claimRef": {".": {}, "f:name": {}, "f:namespace": {}},
        "f:hostPath": {".": {}, "f:path": {}, "f:type": {}}, "f:persistentVolumeReclaimPolicy": {}, "f:volumeMode": {}}}))]
#[tokio::test]
async fn nobody_owns_what_go_always_writes(#[case] kind: &str, #[case] body: Value, #[case] owned: Value) {
    let object = created(&mut client(), kind, &body).await;
    assert_eq!(object["metadata"]["managedFields"][0]["fieldsV1"], owned);
}

#[tokio::test]
async fn a_patch_replaces_the_selector_of_a_budget() {
    let mut client = client();
    let selector = |key: &str| json!({"spec": {"selector": {"matchLabels": {key: "x"}}}});
    created(&mut client, "budgets", &selector("a")).await;
    let path = format!("{}/n", collection("budgets"));
    let (_, patched) = client.send("PATCH", &path, STRATEGIC, &selector("b")).await;
    assert_eq!(patched["spec"]["selector"], selector("b")["spec"]["selector"]);
}

#[tokio::test]
async fn generations_of_drivers_begin_with_their_first_change() {
    let mut client = client();
    let object = created(&mut client, "drivers", &json!({"spec": {}})).await;
    assert_eq!(object["metadata"].get("generation"), None);
    let path = format!("{}/n", collection("drivers"));
    for (patch, generation) in [
        (json!({"metadata": {"labels": {"a": "b"}}}), None),
        (json!({"spec": {"requiresRepublish": true}}), Some(&json!(1))),
        (json!({"spec": {"podInfoOnMount": true}}), Some(&json!(2))),
    ] {
        let (_, patched) = client.send("PATCH", &path, MERGE, &patch).await;
        assert_eq!(patched["metadata"].get("generation"), generation, "{patch}");
    }
}

#[tokio::test]
async fn a_pod_keeps_its_priority_when_it_is_written_without_one() {
    let mut client = client();
    let pod = |image: &str| json!({"spec": {"containers": [{"name": "c", "image": image}]}});
    created(&mut client, "pods", &pod("a")).await;
    let path = format!("{}/n", collection("pods"));
    let (code, updated) = client.send("PUT", &path, JSON, &named(&pod("b"))).await;
    assert_eq!((code, &updated["spec"]["priority"]), (200, &json!(0)), "{updated}");
}

#[tokio::test]
async fn a_status_of_a_policy_has_no_labels() {
    let mut client = client();
    let rules = json!([{"apiGroups": ["x"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["y"]}]);
    let spec = json!({"matchConstraints": {"resourceRules": rules}, "validations": [{"expression": "true"}]});
    created(&mut client, "rules", &json!({"spec": spec})).await;
    let path = format!("{}/n/status", collection("rules"));
    let status = json!({"metadata": {"labels": {"a": "b"}}, "status": {"observedGeneration": 1}});
    let (code, patched) = client.send("PATCH", &path, MERGE, &status).await;
    assert_eq!((code, patched["metadata"].get("labels")), (200, None));
    assert_eq!(patched["status"]["observedGeneration"], 1);
}

#[tokio::test]
async fn a_capacity_stays_where_it_is() {
    let mut client = client();
    created(&mut client, "capacities", &json!({"storageClassName": "s"})).await;
    let path = format!("{}/n", collection("capacities"));
    let (code, refused) = client
        .send("PATCH", &path, MERGE, &json!({"storageClassName": "t"}))
        .await;
    assert_eq!(
        (code, reason(&refused)),
        (422, "storageClassName: Invalid value: \"t\": field is immutable")
    );
}

/// A specification with what every one of its kind needs, and more.
fn with_needed(kind: &str, more: &Value) -> Value {
    let containers = json!([{"name": "c", "image": "i"}]);
    let mut spec = match kind {
        "pods" => json!({"containers": containers}),
        "statefulsets" => json!({
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}},
        }),
        _ => json!({}),
    };
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    json!({"spec": spec})
}

#[rstest]
#[case("pods", json!({"containers": [{"name": "c", "image": "i", "lifecycle": {"preStop": {"sleep": {"seconds": -1}}}}], "volumes": [{"name": "v", "emptyDir": {}}]}), "spec.containers[0].lifecycle.preStop.sleep: Invalid value: -1: must be non-negative and less than terminationGracePeriodSeconds (30)")]
#[case("pods", json!({"containers": [{"name": "c", "image": "i", "lifecycle": {"preStop": {"sleep": {"seconds": 31}}}}], "volumes": [{"name": "v", "emptyDir": {}}]}), "spec.containers[0].lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)")]
#[case("pods", json!({"containers": [{"name": "c", "image": "i", "lifecycle": {"postStart": {"sleep": {"seconds": 31}}}}], "volumes": [{"name": "v", "emptyDir": {}}]}), "spec.containers[0].lifecycle.postStart.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)")]
#[case("pods", json!({"containers": [{"name": "c", "image": "i", "volumeMounts": [{"name": "v", "mountPath": "/a", "subPath": "../x"}]}], "volumes": [{"name": "v", "emptyDir": {}}]}), "spec.containers[0].volumeMounts.subPath: Invalid value: \"../x\": must not contain '..'")]
#[case("pods", json!({"containers": [{"name": "c", "image": "i", "volumeMounts": [{"name": "v", "mountPath": "a:b", "subPath": "/x", "subPathExpr": "$(A)"}]}], "volumes": [{"name": "v", "emptyDir": {}}]}), "[spec.containers[0].volumeMounts.subPath: Invalid value: \"/x\": must be a relative path, spec.containers[0].volumeMounts[0].subPathExpr: Invalid value: \"$(A)\": subPathExpr and subPath are mutually exclusive]")]
#[case("pods", json!({"containers": [{"name": "c", "image": "i", "volumeMounts": [{"name": "v", "mountPath": "a", "subPathExpr": "../$(A)"}]}], "volumes": [{"name": "v", "emptyDir": {}}]}), "spec.containers[0].volumeMounts.subPathExpr: Invalid value: \"../$(A)\": must not contain '..'")]
#[case("pods", json!({"volumes": [{"name": "v", "configMap": {"name": "c", "items": [{"key": "k", "path": "../a", "mode": 9999}]}}]}), "[spec.volumes[0].configMap.items[0].path: Invalid value: \"../a\": must not contain '..', spec.volumes[0].configMap.items[0].mode: Invalid value: 9999: must be a number between 0 and 0777 (octal), both inclusive]")]
#[case("pods", json!({"volumes": [{"name": "v", "secret": {"secretName": "c", "items": [{"key": "k", "path": "a", "mode": -1}]}}]}), "spec.volumes[0].secret.items[0].mode: Invalid value: -1: must be a number between 0 and 0777 (octal), both inclusive")]
#[case("pods", json!({"volumes": [{"name": "v", "downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "spec.x"}}]}}]}), "spec.volumes[0].downwardAPI.fieldRef.fieldPath: Invalid value: \"spec.x\": error converting fieldPath: field label not supported: spec.x")]
#[case("pods", json!({"volumes": [{"name": "v", "projected": {"sources": [{"downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "spec.x"}}]}}]}}]}), "spec.volumes[0].projected.sources[0].downwardAPI.fieldRef.fieldPath: Invalid value: \"spec.x\": error converting fieldPath: field label not supported: spec.x")]
#[case("pods", json!({"volumes": [{"name": "v", "downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "spec.nodeName"}}]}}]}), "spec.volumes[0].downwardAPI.fieldRef.fieldPath: Unsupported value: \"spec.nodeName\": supported values: \"metadata.annotations\", \"metadata.labels\", \"metadata.name\", \"metadata.namespace\", \"metadata.uid\"")]
#[case("pods", json!({"volumes": [{"name": "v", "projected": {"sources": [{"downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "spec.nodeName"}}]}}]}}]}), "spec.volumes[0].projected.sources[0].downwardAPI.fieldRef.fieldPath: Unsupported value: \"spec.nodeName\": supported values: \"metadata.annotations\", \"metadata.labels\", \"metadata.name\", \"metadata.namespace\", \"metadata.uid\"")]
#[case("pods", json!({"volumes": [{"name": "v", "downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": ""}}]}}]}), "spec.volumes[0].downwardAPI.fieldRef.fieldPath: Required value")]
#[case("pods", json!({"volumes": [{"name": "v", "projected": {"sources": [{"downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": ""}}]}}]}}]}), "spec.volumes[0].projected.sources[0].downwardAPI.fieldRef.fieldPath: Required value")]
#[case("pods", json!({"volumes": [{"name": "v", "downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "status.podIP"}}]}}]}), "spec.volumes[0].downwardAPI.fieldRef.fieldPath: Unsupported value: \"status.podIP\": supported values: \"metadata.annotations\", \"metadata.labels\", \"metadata.name\", \"metadata.namespace\", \"metadata.uid\"")]
#[case("pods", json!({"volumes": [{"name": "v", "projected": {"sources": [{"downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "status.podIP"}}]}}]}}]}), "spec.volumes[0].projected.sources[0].downwardAPI.fieldRef.fieldPath: Unsupported value: \"status.podIP\": supported values: \"metadata.annotations\", \"metadata.labels\", \"metadata.name\", \"metadata.namespace\", \"metadata.uid\"")]
#[case("pods", json!({"volumes": [{"name": "v", "downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.foo"}}]}}]}), "spec.volumes[0].downwardAPI.fieldRef.fieldPath: Invalid value: \"metadata.foo\": error converting fieldPath: field label not supported: metadata.foo")]
#[case("pods", json!({"volumes": [{"name": "v", "projected": {"sources": [{"downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.foo"}}]}}]}}]}), "spec.volumes[0].projected.sources[0].downwardAPI.fieldRef.fieldPath: Invalid value: \"metadata.foo\": error converting fieldPath: field label not supported: metadata.foo")]
#[case("pods", json!({"volumes": [{"name": "v", "nfs": {}}]}), "[spec.volumes[0].nfs.server: Required value, spec.volumes[0].nfs.path: Required value, spec.volumes[0].nfs.path: Invalid value: \"\": must be an absolute path]")]
#[case("pods", json!({"volumes": [{"name": "v", "nfs": {"server": "s", "path": "x"}}]}), "spec.volumes[0].nfs.path: Invalid value: \"x\": must be an absolute path")]
#[case("pods", json!({"volumes": [{"name": "v", "emptyDir": {"sizeLimit": "-1"}}]}), "spec.volumes[0].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity")]
#[case("pods", json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [{"key": "x", "operator": "In", "values": ["a", "b"]}]}]}}}}), "[spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].values: Required value: must be only one value when `operator` is 'In' or 'NotIn' for node field selector, spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].key: Invalid value: \"x\": not a valid field selector key]")]
#[case("pods", json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["A_"]}]}]}}}}), "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].values[0]: Invalid value: \"A_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')")]
#[case("pods", json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "Exists"}]}]}}}}), "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].operator: Invalid value: \"Exists\": not a valid selector operator")]
#[case("pods", json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "Gt", "values": ["1"]}]}]}}}}), "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].operator: Invalid value: \"Gt\": not a valid selector operator")]
#[case("pods", json!({"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 101, "podAffinityTerm": {"topologyKey": "a b", "namespaces": ["A_"], "labelSelector": {"matchExpressions": [{"key": "a", "operator": "X"}]}}}]}}}), "[spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 101: must be in the range 1-100, spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector.matchExpressions[0].operator: Invalid value: \"X\": not a valid selector operator, spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.namespace: Invalid value: \"A_\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?'), spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')]")]
#[case("pods", json!({"initContainers": [{"name": "d", "image": "i", "readinessProbe": {"tcpSocket": {"port": 1}}, "lifecycle": {"preStop": {"exec": {"command": ["a"]}}}}]}), "[spec.initContainers[0].lifecycle: Forbidden: may not be set for init containers without restartPolicy=Always, spec.initContainers[0].readinessProbe: Forbidden: may not be set for init containers without restartPolicy=Always]")]
#[case("pods", json!({"initContainers": [{"name": "d", "image": "i", "livenessProbe": {"tcpSocket": {"port": 0}}, "startupProbe": {}}]}), "[spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always, spec.initContainers[0].startupProbe: Forbidden: may not be set for init containers without restartPolicy=Always]")]
#[case("statefulsets", json!({"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}), "[spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn', spec.selector: Invalid value: {\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\"}]}]")]
#[case("statefulsets", json!({"updateStrategy": {"type": "OnDelete", "rollingUpdate": {}}}), "spec.updateStrategy.rollingUpdate: Invalid value: {\"Partition\":0,\"MaxUnavailable\":null}: only allowed for updateStrategy 'RollingUpdate'")]
#[case("statefulsets", json!({"serviceName": "A_"}), "spec.serviceName: Invalid value: \"A_\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')")]
#[case("statefulsets", json!({"volumeClaimTemplates": [{"metadata": {"name": "v"}, "spec": {}}]}), "[spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required, spec.volumeClaimTemplates[0].spec.resources[storage]: Required value]")]
#[case("statefulsets", json!({"serviceName": "a.b"}), "spec.serviceName: Invalid value: \"a.b\": must not contain dots")]
#[case("statefulsets", json!({"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 2, "maxUnavailable": 1}}}), "spec.updateStrategy.rollingUpdate: Invalid value: {\"Partition\":2,\"MaxUnavailable\":null}: only allowed for updateStrategy 'RollingUpdate'")]
#[case("jobs", json!({"template": {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}, "completionMode": "X"}), "spec.completionMode: Unsupported value: \"X\": supported values: \"NonIndexed\", \"Indexed\"")]
#[case("jobs", json!({"template": {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}, "manualSelector": true}), "[spec.selector: Required value, spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`]")]
#[case("jobs", json!({"template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}, "manualSelector": true}), "[spec.selector: Required value, spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`]")]
#[case("pods", json!({"containers": [{"name": "c", "image": "i", "envFrom": [{"configMapRef": {"name": ""}}]}], "volumes": [{"name": "v", "emptyDir": {}}]}), "spec.containers[0].envFrom[0].configMapRef.name: Required value")]
#[case("pods", json!({"containers": [{"name": "c", "image": "i", "envFrom": [{"secretRef": {}}]}], "volumes": [{"name": "v", "emptyDir": {}}]}), "spec.containers[0].envFrom[0].secretRef.name: Required value")]
#[tokio::test]
async fn what_is_wrong_with_what_runs(#[case] kind: &str, #[case] more: Value, #[case] wanted: &str) {
    let body = named(&with_needed(kind, &more));
    let (code, refused) = client().send("POST", collection(kind), JSON, &body).await;
    assert_eq!((code, reason(&refused)), (422, wanted));
}

#[rstest]
#[case("pods", json!({"imagePullSecrets": [{"name": ""}]}), "spec.imagePullSecrets[0].name: invalid empty name \"\"")]
#[case("pods", json!({"containers": [{"name": "c", "image": "i", "resources": {"requests": {"memory": "100m"}}}]}), "spec.containers[0].resources.requests[memory]: fractional byte value \"100m\" is invalid, must be an integer")]
#[case("statefulsets", json!({"revisionHistoryLimit": -1}), "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended")]
#[tokio::test]
async fn what_is_hardly_meant_is_said(#[case] kind: &str, #[case] more: Value, #[case] wanted: &str) {
    let body = named(&with_needed(kind, &more)).to_string().into_bytes();
    let answer = client().open("POST", collection(kind), JSON, body).await;
    assert_eq!(answer.status(), 201);
    let warning = answer
        .headers()
        .get("warning")
        .and_then(|warning| warning.to_str().ok());
    let quoted = wanted.replace('"', "\\\"");
    assert_eq!(warning, Some(&*format!("299 - \"{quoted}\"")));
}

#[tokio::test]
async fn a_pod_behind_gates_says_that_it_waits() {
    let gated = with_needed("pods", &json!({"schedulingGates": [{"name": "a"}]}));
    let pod = created(&mut client(), "pods", &gated).await;
    let condition = &pod["status"]["conditions"][0];
    assert_eq!(
        (&condition["type"], &condition["status"], &condition["reason"]),
        (&json!("PodScheduled"), &json!("False"), &json!("SchedulingGated"))
    );
}
