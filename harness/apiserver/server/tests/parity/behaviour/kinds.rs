//! Single kinds.

use rstest::rstest;
use serde_json::{Value, json};

use super::client;
use crate::raw::{JSON, MERGE, Raw};

#[tokio::test]
async fn a_template_is_not_looked_at_when_its_selector_is_no_selector() {
    let labels = json!({"app": "D_"});
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"selector": {"matchLabels": labels}, "template": template});
    let object = json!({"metadata": {"name": "d"}, "spec": spec});
    let (status, answer) = client()
        .send("POST", "/apis/apps/v1/namespaces/default/deployments", JSON, &object)
        .await;
    assert_eq!(status, 422);
    let causes = answer["details"]["causes"].as_array().expect("a list");
    let fields: Vec<_> = causes.iter().filter_map(|cause| cause["field"].as_str()).collect();
    assert_eq!(fields, ["spec.selector.matchLabels", "spec.selector"]);
    assert_eq!(
        causes[1]["message"],
        json!("Invalid value: {\"matchLabels\":{\"app\":\"D_\"}}: invalid label selector")
    );
}

#[tokio::test]
async fn a_service_has_no_port_for_health_checks_that_is_zero() {
    let object = json!({"metadata": {"name": "s"}, "spec": {"healthCheckNodePort": 0, "ports": [{"port": 80}]}});
    let (status, answer) = client()
        .send("POST", "/api/v1/namespaces/default/services", JSON, &object)
        .await;
    assert_eq!((status, answer["spec"].get("healthCheckNodePort")), (201, None));
}

#[tokio::test]
async fn a_namespace_keeps_the_finalizers_that_it_is_created_with() {
    let object = json!({"metadata": {"name": "n"}, "spec": {"finalizers": ["x.io/f"]}});
    let (status, answer) = client().send("POST", "/api/v1/namespaces", JSON, &object).await;
    assert_eq!(
        (status, &answer["spec"]["finalizers"]),
        (201, &json!(["x.io/f", "kubernetes"]))
    );
}

#[rstest]
#[case::of_a_node("/api/v1/nodes", json!({"metadata": {"name": "x"}}), "spec.unschedulable=false")]
#[case::of_a_job("/apis/batch/v1/namespaces/default/jobs", json!({"metadata": {"name": "x"}, "spec": job(&json!({}))}), "status.successful=0")]
#[tokio::test]
async fn a_field_that_is_left_out_is_selected_by_its_zero(
    #[case] path: &str,
    #[case] object: Value,
    #[case] selector: &str,
) {
    let mut client = client();
    assert_eq!(client.send("POST", path, JSON, &object).await.0, 201);
    let (_, list) = client.get(&format!("{path}?fieldSelector={selector}")).await;
    assert_eq!(list["items"].as_array().map(Vec::len), Some(1), "{list}");
    let (_, list) = client
        .get(&format!("{path}?fieldSelector={}", selector.replacen('=', "!=", 1)))
        .await;
    assert_eq!(list["items"].as_array().map(Vec::len), Some(0), "{list}");
}

#[tokio::test]
async fn what_an_owner_of_an_unknown_kind_owns_is_no_garbage() {
    let mut client = client();
    let maps = "/api/v1/namespaces/default/configmaps";
    let owned = |name: &str, api_version: &str, kind: &str| {
        let owner = json!({"apiVersion": api_version, "kind": kind, "name": "o", "uid": "00000000-0000-0000-0000-000000000000"});
        json!({"metadata": {"name": name, "ownerReferences": [owner]}})
    };
    for object in [owned("kept", "x.io/v1", "Foo"), owned("gone", "v1", "ConfigMap")] {
        assert_eq!(client.send("POST", maps, JSON, &object).await.0, 201);
    }
    // What is looked at later shows that what came before has been looked at.
    while client.get(&format!("{maps}/gone")).await.0 != 404 {
        tokio::task::yield_now().await;
    }
    assert_eq!(client.get(&format!("{maps}/kept")).await.0, 200);
}

const STRATEGIC: &str = "application/strategic-merge-patch+json";
const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

fn container(more: &Value) -> Value {
    let mut container = json!({"name": "c", "image": "i"});
    for (key, value) in more.as_object().into_iter().flatten() {
        container[key] = value.clone();
    }
    json!({"containers": [container]})
}

const S: &str = "spec.topologySpreadConstraints[0]";

/// A pod with constraints, each a usual one with something else.
fn spread(others: &[Value]) -> Value {
    let constraint = |other: &Value| {
        let mut constraint = json!({
            "maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"a": "b"}},
        });
        for (field, value) in other.as_object().expect("an object") {
            constraint[field] = value.clone();
        }
        constraint
    };
    pod(&json!({"topologySpreadConstraints": others.iter().map(constraint).collect::<Vec<_>>()}))
}

fn pod(more: &Value) -> Value {
    let mut spec = container(&json!({}));
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    spec
}

const C: &str = "spec.containers[0]";

#[rstest]
#[case(container(&json!({"securityContext": {"runAsUser": -1}})), &format!("{C}.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive"))]
#[case(container(&json!({"securityContext": {"seccompProfile": {"type": "Localhost"}}})), &format!("{C}.securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost"))]
#[case(container(&json!({"securityContext": {"seccompProfile": {"type": "Unconfined", "localhostProfile": "a"}}})), &format!("{C}.securityContext.seccompProfile.localhostProfile: Invalid value: {{\"Type\":\"Unconfined\",\"LocalhostProfile\":\"a\"}}: can only be set when seccomp type is Localhost"))]
#[case(container(&json!({"securityContext": {"appArmorProfile": {}}})), &format!("{C}.securityContext.appArmorProfile.type: Required value: type is required when appArmorProfile is set"))]
#[case(container(&json!({"envFrom": [{}]})), &format!("{C}.envFrom: Invalid value: \"\": must specify one of: `configMapRef` or `secretRef`"))]
#[case(container(&json!({"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "3"}}}]})), &format!("{C}.env[0].valueFrom.resourceFieldRef.divisor: Invalid value: \"limits.cpu\": only divisor's values 1m and 1 are supported with the cpu resource"))]
#[case(container(&json!({"resources": {"requests": {"example.com/x": "1"}}})), &format!("{C}.resources.limits: Required value: Limit must be set for non overcommitable resources"))]
#[case(container(&json!({"resources": {"limits": {"example.com/x": "2"}, "requests": {"example.com/x": "1"}}})), &format!("{C}.resources.requests: Invalid value: \"1\": must be equal to example.com/x limit of 2"))]
#[case(container(&json!({"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "X"}]})), &format!("{C}.resizePolicy: Unsupported value: \"X\": supported values: \"NotRequired\", \"RestartContainer\""))]
#[case(pod(&json!({"securityContext": {"sysctls": [{"name": "a", "value": "1"}, {"name": "a", "value": "1"}]}})), "spec.securityContext.sysctls[1].name: Duplicate value: \"a\"")]
#[case(pod(&json!({"schedulingGates": [{"name": "a"}], "nodeName": "n"})), "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared")]
#[case(pod(&json!({"hostAliases": [{"ip": "x"}]})), "spec.hostAliases[0].ip: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")]
#[case(pod(&json!({"dnsConfig": {"nameservers": ["1.1.1.1", "1.1.1.1", "1.1.1.1", "1.1.1.1"]}})), "spec.dnsConfig.nameservers: Invalid value: [\"1.1.1.1\",\"1.1.1.1\",\"1.1.1.1\",\"1.1.1.1\"]: must not have more than 3 nameservers")]
#[case(container(&json!({"livenessProbe": {"tcpSocket": {"port": 80}, "terminationGracePeriodSeconds": 0}})), &format!("{C}.livenessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0"))]
#[case(container(&json!({"livenessProbe": {"httpGet": {"path": "/", "port": 80, "httpHeaders": [{"name": "a b", "value": "v"}]}}})), &format!("{C}.livenessProbe.httpGet.httpHeaders: Invalid value: \"a b\": a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')"))]
#[case(container(&json!({"resources": {"limits": {"hugepages-2Mi": "4Mi"}}})), &format!("{C}.resources: Forbidden: HugePages require cpu or memory"))]
#[case(container(&json!({"resources": {"limits": {"hugepages-2Mi": "4Mi", "cpu": "1"}, "requests": {"hugepages-2Mi": "2Mi"}}})), &format!("{C}.resources.requests: Invalid value: \"2Mi\": must be equal to hugepages-2Mi limit of 4Mi"))]
#[case(container(&json!({"resources": {"limits": {"hugepages-2Mi": "3Mi", "memory": "1Gi"}}})), &format!("[{C}.resources.limits[hugepages-2Mi]: Invalid value: \"3Mi\": 3Mi is not positive integer multiple of hugepages-2Mi, {C}.resources.requests[hugepages-2Mi]: Invalid value: \"3Mi\": 3Mi is not positive integer multiple of hugepages-2Mi]"))]
#[case(container(&json!({"resources": {"requests": {"storage": "1"}}})), &format!("{C}.resources.requests[storage]: Invalid value: \"storage\": must be a standard resource for containers"))]
#[case(pod(&json!({"securityContext": {"sysctls": [{"name": "a b", "value": "1"}]}})), r#"spec.securityContext.sysctls[0].name: Invalid value: "a b": must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"#)]
#[case(pod(&json!({"hostNetwork": true, "securityContext": {"sysctls": [{"name": "net.core.somaxconn", "value": "1"}]}})), "spec.securityContext.sysctls[0].name: Invalid value: \"net.core.somaxconn\": may not be specified when 'hostNetwork' is true")]
#[case(pod(&json!({"hostIPC": true, "securityContext": {"sysctls": [{"name": "kernel.sem", "value": "1"}]}})), "spec.securityContext.sysctls[0].name: Invalid value: \"kernel.sem\": may not be specified when 'hostIPC' is true")]
#[case(spread(&[json!({"minDomains": 0})]), &format!("{S}.minDomains: Invalid value: 0: must be greater than zero"))]
#[case(spread(&[json!({"minDomains": 2, "whenUnsatisfiable": "ScheduleAnyway"})]), &format!("{S}.minDomains: Invalid value: 2: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway"))]
#[case(spread(&[json!({"nodeTaintsPolicy": "X"})]), &format!("{S}.nodeTaintsPolicy: Unsupported value: \"X\": supported values: \"Honor\", \"Ignore\""))]
#[case(spread(&[json!({"matchLabelKeys": ["a"]})]), &format!("{S}[0]: Invalid value: \"a\": exists in both matchLabelKeys and labelSelector"))]
#[case(spread(&[json!({"matchLabelKeys": ["x"], "labelSelector": null})]), &format!("{S}.matchLabelKeys: Forbidden: must not be specified when labelSelector is not set"))]
#[case(spread(&[json!({}), json!({"maxSkew": 2})]), &format!("{S}.{{topologyKey, whenUnsatisfiable}}: Duplicate value: \"{{z, DoNotSchedule}}\""))]
#[case(pod(&json!({"dnsConfig": {"searches": [".", "a.", "_a.b", "x".repeat(254)]}})), &format!("spec.dnsConfig.searches[3]: Invalid value: \"{}\": must be no more than 253 characters", "x".repeat(254)))]
#[case(pod(&json!({"dnsConfig": {"options": [{}]}})), "spec.dnsConfig.options[0]: Required value: must not be empty")]
#[case(pod(&json!({"hostUsers": false, "hostNetwork": true})), "spec.hostNetwork: Forbidden: when `hostUsers` is false")]
#[case(pod(&json!({"securityContext": {"seLinuxChangePolicy": "X"}})), "spec.securityContext.seLinuxChangePolicy: Unsupported value: \"X\": supported values: \"Recursive\"")]
#[case(pod(&json!({"os": {"name": "x"}})), "spec.os: Unsupported value: \"x\": supported values: \"linux\", \"windows\"")]
#[case(pod(&json!({"volumes": [{"name": "v", "cephfs": {}}]})), "spec.volumes[0].cephfs.monitors: Required value")]
#[tokio::test]
async fn what_is_wrong_with_a_pod(#[case] spec: Value, #[case] expected: &str) {
    let object = json!({"metadata": {"name": "p", "labels": {"a": "b"}}, "spec": spec});
    let path = "/api/v1/namespaces/default/pods";
    let (status, answer) = client().send("POST", path, JSON, &object).await;
    let message = format!("Pod \"p\" is invalid: {expected}");
    assert_eq!((status, &answer["message"]), (422, &json!(message)));
}

#[rstest]
#[case(json!([]), "endpoints[0].addresses: Required value: must contain at least 1 address")]
#[case(json!(["x"]), "endpoints[0].addresses[0]: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")]
#[case(json!(["2001:db8::1"]), "endpoints[0].addresses: Invalid value: \"2001:db8::1\": must be an IPv4 address")]
#[case(json!(["127.0.0.1"]), "endpoints[0].addresses[0]: Invalid value: \"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, ::1/128)")]
#[tokio::test]
async fn what_is_wrong_with_a_slice(#[case] addresses: Value, #[case] expected: &str) {
    let object = json!({"metadata": {"name": "e"}, "addressType": "IPv4", "endpoints": [{"addresses": addresses}]});
    let answer = client().send("POST", SLICES, JSON, &object).await.1;
    let message = format!("EndpointSlice.discovery.k8s.io \"e\" is invalid: {expected}");
    assert_eq!(answer["message"], json!(message));
}

#[tokio::test]
async fn labels_of_a_slice_count_as_its_content() {
    let mut client = client();
    let object = json!({"metadata": {"name": "e"}, "addressType": "IPv4", "endpoints": []});
    assert_eq!(client.send("POST", SLICES, JSON, &object).await.0, 201);
    let path = format!("{SLICES}/e");
    for (change, generation) in [("labels", 2), ("annotations", 2)] {
        let answer = client
            .send("PATCH", &path, MERGE, &json!({"metadata": {change: {"a": "b"}}}))
            .await
            .1;
        assert_eq!(answer["metadata"]["generation"], json!(generation), "{change}");
    }
}

#[rstest]
#[case(json!({"data": {"a": 1}}), "map[data:map[a:1]]", "cannot convert int64 to string")]
#[case(json!({"metadata": {"labels": "x"}}), "map[metadata:map[labels:x]]", "cannot restore map from string")]
#[tokio::test]
async fn a_strategic_patch_of_wrong_types_is_not_restored(
    #[case] patch: Value,
    #[case] shown: &str,
    #[case] problem: &str,
) {
    let mut client = client();
    let maps = "/api/v1/namespaces/default/configmaps";
    let object = json!({"metadata": {"name": "m"}});
    assert_eq!(client.send("POST", maps, JSON, &object).await.0, 201);
    let (status, answer) = client.send("PATCH", &format!("{maps}/m"), STRATEGIC, &patch).await;
    let message = format!(" \"\" is invalid: patch: Invalid value: \"{shown}\": {problem}");
    assert_eq!((status, &answer["message"]), (422, &json!(message)));
}

#[tokio::test]
async fn an_empty_list_of_managers_forgets_them() {
    let mut client = client();
    let maps = "/api/v1/namespaces/default/configmaps";
    let object = json!({"metadata": {"name": "m"}, "data": {"a": "b"}});
    assert_eq!(client.send("POST", maps, JSON, &object).await.0, 201);
    let one = format!("{maps}/m");
    let patch = json!({"metadata": {"managedFields": []}});
    let answer = client.send("PATCH", &one, MERGE, &patch).await.1;
    assert_eq!(answer["metadata"].get("managedFields"), None, "{answer}");
}

fn job(more: &Value) -> Value {
    let mut spec = json!({"template": {"spec": container(&json!({}))}, "completionMode": "Indexed", "completions": 3});
    spec["template"]["spec"]["restartPolicy"] = json!("Never");
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    spec
}

const RULE: &str = "spec.podFailurePolicy.rules[0]";

#[rstest]
#[case(json!({"completionMode": "NonIndexed", "backoffLimitPerIndex": 1}), "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode")]
#[case(json!({"maxFailedIndexes": 1}), "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified")]
#[case(json!({"podFailurePolicy": {"rules": [{"action": "FailJob"}]}}), &format!("{RULE}: Invalid value: specifying one of OnExitCodes and OnPodConditions is required"))]
#[case(json!({"podFailurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [0]}}]}}), &format!("{RULE}.onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator"))]
#[case(json!({"podFailurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [2, 1]}}]}}), &format!("{RULE}.onExitCodes.values: Invalid value: [2,1]: must be ordered"))]
#[case(json!({"podFailurePolicy": {"rules": [{"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [1]}}]}}), &format!("{RULE}.action: Invalid value: \"FailIndex\": requires the backoffLimitPerIndex to be set"))]
#[case(json!({"successPolicy": {"rules": [{"succeededIndexes": "0-9"}]}}), "spec.successPolicy.rules[0].succeededIndexes: Invalid value: \"0-9\": error parsing succeededIndexes: too large index: \"9\"")]
#[case(json!({"successPolicy": {"rules": [{"succeededCount": 3, "succeededIndexes": "0-1"}]}}), "spec.successPolicy.rules[0].succeededCount: Invalid value: 3: must be less than or equal to 2 (the number of indexes in the specified succeededIndexes field)")]
#[case(json!({"managedBy": "x"}), "spec.managedBy: Invalid value: \"x\": must be a domain-prefixed path (such as \"acme.io/foo\")")]
#[tokio::test]
async fn what_is_wrong_with_a_job(#[case] more: Value, #[case] expected: &str) {
    let object = json!({"metadata": {"name": "j"}, "spec": job(&more)});
    let path = "/apis/batch/v1/namespaces/default/jobs";
    let (status, answer) = client().send("POST", path, JSON, &object).await;
    let message = format!("Job.batch \"j\" is invalid: {expected}");
    assert_eq!((status, &answer["message"]), (422, &json!(message)));
}

#[tokio::test]
async fn names_of_managers_are_short() {
    let mut client = client();
    let maps = "/api/v1/namespaces/default/configmaps";
    let object = json!({"metadata": {"name": "m"}, "data": {"a": "b"}});
    assert_eq!(client.send("POST", maps, JSON, &object).await.0, 201);
    let entry = json!({
        "manager": "m".repeat(129), "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:a": {}}},
    });
    let change = json!({"metadata": {"managedFields": [entry]}});
    let (status, answer) = client.send("PATCH", &format!("{maps}/m"), MERGE, &change).await;
    let message =
        "ConfigMap \"m\" is invalid: metadata.managedFields[0].manager: Too long: may not be more than 128 bytes";
    assert_eq!((status, &answer["message"]), (422, &json!(message)));
}

#[rstest]
#[case(json!({"runtimeClassName": "nope"}), "pod rejected: RuntimeClass \"nope\" not found")]
#[case(json!({"overhead": {"cpu": "1"}}), "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")]
#[case(json!({"runtimeClassName": "r", "overhead": {"cpu": "1"}}), "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")]
#[case(json!({"runtimeClassName": "r", "nodeSelector": {"a": "c"}}), "conflict: runtimeClass.scheduling.nodeSelector[a] = b; pod.spec.nodeSelector[a] = c")]
#[case(json!({"preemptionPolicy": "Never"}), "the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission controller computed PreemptLowerPriority from the given PriorityClass name")]
#[tokio::test]
async fn what_the_class_of_a_pod_does_not_allow(#[case] spec: Value, #[case] cause: &str) {
    let mut client = client();
    with_runtime_class(&mut client).await;
    let object = json!({"metadata": {"name": "p"}, "spec": pod(&spec)});
    let (status, answer) = client
        .send("POST", "/api/v1/namespaces/default/pods", JSON, &object)
        .await;
    assert_eq!(
        (status, &answer["message"]),
        (403, &json!(format!("pods \"p\" is forbidden: {cause}")))
    );
}

#[tokio::test]
async fn a_pod_gets_what_its_runtime_class_says() {
    let mut client = client();
    with_runtime_class(&mut client).await;
    let object =
        json!({"metadata": {"name": "p"}, "spec": pod(&json!({"runtimeClassName": "r", "nodeSelector": {"x": "y"}}))});
    let path = "/api/v1/namespaces/default/pods";
    let (_, answer) = client.send("POST", path, JSON, &object).await;
    let spec = &answer["spec"];
    assert_eq!(spec["overhead"], json!({"cpu": "100m"}), "{answer}");
    assert_eq!(spec["nodeSelector"], json!({"a": "b", "x": "y"}));
    let tolerated = spec["tolerations"].as_array().expect("a list");
    assert!(
        tolerated.contains(&json!({"key": "k", "operator": "Exists"})),
        "{answer}"
    );
}

async fn with_runtime_class(client: &mut Raw) {
    let class = json!({
        "metadata": {"name": "r"}, "handler": "h", "overhead": {"podFixed": {"cpu": "100m"}},
        "scheduling": {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "k", "operator": "Exists"}]},
    });
    let path = "/apis/node.k8s.io/v1/runtimeclasses";
    assert_eq!(client.send("POST", path, JSON, &class).await.0, 201);
}
