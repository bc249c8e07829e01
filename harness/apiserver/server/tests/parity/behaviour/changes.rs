//! Changes that are refused: one object of a kind, a merge patch, and what the answer says behind `is invalid: `.

use rstest::rstest;
use serde_json::{Value, json};

use super::client;
use crate::raw::{JSON, MERGE, Raw};

/// Where a kind lives, and an object of it.
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
#[case("priorityclasses", json!({"value": 6}), "value: Forbidden: may not be changed in an update.")]
#[case("priorityclasses", json!({"preemptionPolicy": "Never"}), r#"preemptionPolicy: Invalid value: "Never": field is immutable"#)]
#[case("priorityclasses", json!({"value": null}), "value: Forbidden: may not be changed in an update.")]
#[case("runtimeclasses", json!({"handler": "i"}), r#"handler: Invalid value: "i": field is immutable"#)]
#[case("runtimeclasses", json!({"handler": "H_"}), r#"[handler: Invalid value: "H_": LABEL, handler: Invalid value: "H_": field is immutable]"#)]
#[case("runtimeclasses", json!({"overhead": {"podFixed": {"cpu": "-1"}}}), r#"overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0"#)]
#[case("runtimeclasses", json!({"scheduling": {"tolerations": [{"operator": "Bad"}]}}), r#"[scheduling.tolerations[0].operator: Invalid value: "Bad": operator must be Exists when `key` is empty, which means "match all values and all keys", scheduling.tolerations[0].operator: Unsupported value: "Bad": supported values: "Equal", "Exists"]"#)]
#[case("ingressclasses", json!({"spec": {"controller": "a.b/d"}}), r#"spec.controller: Invalid value: "a.b/d": field is immutable"#)]
#[case("ingressclasses", json!({"spec": {"parameters": {"kind": "K", "name": "n", "scope": "Namespace"}}}), "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'")]
#[case("ingressclasses", json!({"spec": {"parameters": {"kind": "K", "name": "n", "scope": "X", "apiGroup": "A_"}}}), r#"[spec.parameters.apiGroup: Invalid value: "A_": SUBDOMAIN, spec.parameters.scope: Unsupported value: "X": supported values: "Cluster", "Namespace"]"#)]
#[case("ingressclasses", json!({"spec": {"controller": ""}}), r#"[spec.controller: Invalid value: "": field is immutable, spec.controller: Required value]"#)]
#[case("csidrivers", json!({"spec": {"attachRequired": false}}), "spec.attachedRequired: Invalid value: false: field is immutable")]
#[case("csidrivers", json!({"spec": {"tokenRequests": [{"audience": "a"}, {"audience": "a"}]}}), r#"spec.tokenRequests[1].audience: Duplicate value: "a""#)]
#[case("csidrivers", json!({"spec": {"volumeLifecycleModes": ["Ephemeral"]}}), r#"spec.volumeLifecycleModes: Invalid value: ["Ephemeral"]: field is immutable"#)]
#[case("csidrivers", json!({"spec": {"fsGroupPolicy": "x"}}), r#"spec.fsGroupPolicy: Unsupported value: "x": supported values: "File", "None", "ReadWriteOnceWithFSType""#)]
#[case("csinodes", json!({"spec": {"drivers": [{"name": "d", "nodeID": "m", "topologyKeys": ["a"]}]}}), r#"spec.drivers: Invalid value: {"Name":"d","NodeID":"m","TopologyKeys":["a"],"Allocatable":null}: field is immutable"#)]
#[case("csinodes", json!({"spec": {"drivers": [{"name": "d", "nodeID": "n", "topologyKeys": ["a"], "allocatable": {"count": -1}}]}}), "spec.drivers[0].allocatable.count: Invalid value: -1: must be greater than or equal to 0")]
#[case("csinodes", json!({"spec": {"drivers": [{"name": "d", "nodeID": "n", "topologyKeys": ["b"]}]}}), r#"spec.drivers: Invalid value: {"Name":"d","NodeID":"n","TopologyKeys":["b"],"Allocatable":null}: field is immutable"#)]
#[case("volumeattachments", json!({"spec": {"attacher": "b"}}), r#"spec: Invalid value: {"Attacher":"b","Source":{"PersistentVolumeName":"pv","InlineVolumeSpec":null},"NodeName":"n"}: field is immutable"#)]
#[case("volumeattachments", json!({"spec": {"nodeName": "m"}}), r#"spec: Invalid value: {"Attacher":"a","Source":{"PersistentVolumeName":"pv","InlineVolumeSpec":null},"NodeName":"m"}: field is immutable"#)]
#[case("volumeattachments", json!({"spec": {"source": {"persistentVolumeName": "x"}}}), r#"spec: Invalid value: {"Attacher":"a","Source":{"PersistentVolumeName":"x","InlineVolumeSpec":null},"NodeName":"n"}: field is immutable"#)]
#[case("volumeattachments", json!({"spec": {"attacher": ""}}), r#"[spec.attacher: Required value, spec: Invalid value: {"Attacher":"","Source":{"PersistentVolumeName":"pv","InlineVolumeSpec":null},"NodeName":"n"}: field is immutable]"#)]
#[case("endpointslices", json!({"addressType": "IPv6"}), r#"addressType: Invalid value: "IPv6": field is immutable"#)]
#[case("endpointslices", json!({"endpoints": [{"addresses": ["::1"]}]}), r#"[endpoints[0].addresses: Invalid value: "::1": must be an IPv4 address, endpoints[0].addresses[0]: Invalid value: "::1": may not be in the loopback range (127.0.0.0/8, ::1/128)]"#)]
#[case("endpointslices", json!({"endpoints": [{"addresses": []}]}), "endpoints[0].addresses: Required value: must contain at least 1 address")]
#[case("endpointslices", json!({"ports": [{"name": "a", "port": 1}, {"name": "a", "port": 2}]}), r#"ports[1].name: Duplicate value: "a""#)]
#[case("endpointslices", json!({"ports": [{"protocol": "X", "port": 1}]}), r#"ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP""#)]
#[case("endpoints", json!({"subsets": [{}]}), "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`")]
#[case("endpoints", json!({"subsets": [{"addresses": [{"ip": "x"}]}]}), r#"[subsets[0].addresses[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff), subsets[0].addresses[0].ip: Invalid value: "x": must be a valid IP address]"#)]
#[case("endpoints", json!({"subsets": [{"addresses": [{"ip": "1.2.3.4", "nodeName": "A_"}], "ports": [{"port": 80}, {"port": 81}]}]}), r#"[subsets[0].addresses[0].nodeName: Invalid value: "A_": SUBDOMAIN, subsets[0].ports[0].name: Required value, subsets[0].ports[1].name: Required value]"#)]
#[case("endpoints", json!({"subsets": [{"addresses": [{"ip": "127.0.0.1"}], "ports": [{"port": 70000}]}]}), r#"[subsets[0].addresses[0].ip: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128), subsets[0].ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive]"#)]
#[case("endpoints", json!({"subsets": [{"addresses": [{"ip": "1.2.3.4", "hostname": "h"}], "notReadyAddresses": [{"ip": "1.2.3.4"}], "ports": [{"port": 1, "name": "A_"}]}]}), r#"subsets[0].ports[0].name: Invalid value: "A_": LABEL"#)]
#[case("clusterroles", json!({"rules": [{"verbs": []}]}), "[rules[0].verbs: Required value: verbs must contain at least one value, rules[0].apiGroups: Required value: resource rules must supply at least one api group, rules[0].resources: Required value: resource rules must supply at least one resource]")]
#[case("clusterroles", json!({"rules": [{"verbs": ["get"]}]}), "[rules[0].apiGroups: Required value: resource rules must supply at least one api group, rules[0].resources: Required value: resource rules must supply at least one resource]")]
#[case("clusterroles", json!({"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"], "resources": ["p"], "apiGroups": [""]}]}), r#"rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs"#)]
#[case("clusterroles", json!({"rules": [{"verbs": ["get"], "resources": ["p"]}]}), "rules[0].apiGroups: Required value: resource rules must supply at least one api group")]
#[case("clusterroles", json!({"aggregationRule": {"clusterRoleSelectors": []}}), "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil")]
#[case("resourcequotas", json!({"spec": {"scopes": ["Terminating"]}}), r#"spec.scopes: Invalid value: ["Terminating"]: field is immutable"#)]
#[case("resourcequotas", json!({"spec": {"hard": {"pods": "1.5"}}}), r#"spec.hard[pods]: Invalid value: "1500m": must be an integer"#)]
#[case("resourcequotas", json!({"spec": {"hard": {"x": "1"}}}), r#"[spec.hard[x]: Invalid value: "x": must be a standard resource type or fully qualified, spec.hard[x]: Invalid value: "x": must be a standard resource for quota]"#)]
#[case("resourcequotas", json!({"spec": {"hard": {"pods": "-1"}}}), r#"spec.hard[pods]: Invalid value: "-1": must be greater than or equal to 0"#)]
#[case("resourcequotas", json!({"spec": {"scopes": null}}), "spec.scopes: Invalid value: null: field is immutable")]
#[case("limitranges", json!({"spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "2"}}]}}), r#"[spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1, spec.limits[0].defaultRequest[cpu]: Invalid value: "1": min value 2 is greater than default request value 1, spec.limits[0].default[cpu]: Invalid value: "2": min value 2 is greater than default value 1]"#)]
#[case("limitranges", json!({"spec": {"limits": [{"type": "Pod", "default": {"cpu": "1"}}]}}), "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'")]
#[case("limitranges", json!({"spec": {"limits": [{"type": "Container"}, {"type": "Container"}]}}), r#"spec.limits[1].type: Duplicate value: "Container""#)]
#[case("limitranges", json!({"spec": {"limits": [{"type": "Container", "maxLimitRequestRatio": {"cpu": "0.5"}}]}}), r#"spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1"#)]
#[case("limitranges", json!({"spec": {"limits": [{"type": "PersistentVolumeClaim"}]}}), "spec.limits[0].limits: Required value: either minimum or maximum storage value is required, but neither was provided")]
#[case("statefulsets", json!({"spec": {"updateStrategy": {"type": "OnDelete"}}}), r#"spec.updateStrategy.rollingUpdate: Invalid value: {"Partition":0,"MaxUnavailable":null}: only allowed for updateStrategy 'RollingUpdate'"#)]
#[case("resourcequotas", json!({"spec": {"hard": {"services": "1"}}}), r#"spec.scopes: Invalid value: ["NotTerminating"]: unsupported scope applied to resource"#)]
#[case("resourcequotas", json!({"spec": {"scopeSelector": {"matchExpressions": [{"scopeName": "Terminating", "operator": "Exists"}, {"scopeName": "NotTerminating", "operator": "Exists"}]}}}), "spec.scopeSelector.matchExpressions: Invalid value: null: conflicting scopes")]
#[case("limitranges", json!({"spec": {"limits": [{"type": "Container", "default": {"x/y": "2"}, "defaultRequest": {"x/y": "1"}}]}}), r#"spec.limits[0].defaultRequest[x/y]: Invalid value: "1": default value 2 must equal to defaultRequest value 1 in x/y"#)]
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
        (status, given.split_once(" is invalid: ").map(|(_, told)| told)),
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
        let told = answer["message"].as_str().unwrap_or_default();
        assert!(status == 409 && told.contains("UID in precondition: u"), "{told}");
    }
}

/// The warnings of an answer, without their code.
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
