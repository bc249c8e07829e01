//! Validation errors in the expected words: one table of creates and one of updates.

use serde_json::json;

use super::*;
use crate::{codec, defaults, resources, strategy};

fn resource(group: &str, plural: &str) -> &'static Resource {
    resources::by_plural(group, "v1", plural).expect("in the catalogue")
}

/// Returns an object in the form in which it is validated.
fn read(resource: &Resource, mut object: Value) -> Value {
    object["metadata"]["namespace"] = json!("n");
    object["metadata"]["uid"] = json!("u");
    assert_eq!(
        codec::decode(resource.group, resource.version, resource.kind, &mut object),
        Ok(())
    );
    defaults::default(resource.group, resource.kind, &mut object);
    object
}

fn messages(errors: &[FieldError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

fn template(labels: &Value, container: &Value) -> Value {
    json!({"metadata": {"labels": labels}, "spec": {"containers": [container]}})
}

fn refused(cases: Vec<(&str, &str, Value, Vec<&str>)>) {
    for (group, plural, object, expected) in cases {
        let resource = resource(group, plural);
        assert_eq!(messages(&validate_create(resource, &read(resource, object))), expected);
    }
}

#[test]
fn creates_are_refused_in_the_words_of_the_api() {
    let container = json!({"name": "c", "image": "i"});
    let pod = |spec: Value| json!({"metadata": {"name": "a"}, "spec": spec});
    let cases = vec![
        ("", "pods", pod(json!({})), vec!["spec.containers: Required value"]),
        (
            "",
            "pods",
            pod(json!({"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 0}]}]})),
            vec!["spec.containers[0].ports[0].containerPort: Required value"],
        ),
        (
            "",
            "pods",
            pod(
                json!({"containers": [container], "volumes": [{"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}}]}),
            ),
            vec!["spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type"],
        ),
        (
            "",
            "configmaps",
            json!({"metadata": {"name": "a"}, "data": {"..": "v"}}),
            vec!["data[..]: Invalid value: \"..\": must not be '..'"],
        ),
        (
            "",
            "secrets",
            json!({"metadata": {"name": "a"}, "type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "nope"}}),
            vec![
                "data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\": \
                invalid character 'o' in literal null (expecting 'u')",
            ],
        ),
        (
            "",
            "services",
            json!({"metadata": {"name": "a"}, "spec": {"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 80}]}}),
            vec![
                "spec.ports[1]: Duplicate value: {\"Name\":\"\",\"Protocol\":\"TCP\",\"AppProtocol\":null,\"Port\":80,\
                \"TargetPort\":0,\"NodePort\":0}",
            ],
        ),
    ];
    refused(cases);
}

#[test]
fn workloads_are_refused_in_the_words_of_the_api() {
    let container = json!({"name": "c", "image": "i"});
    let cases = vec![
        (
            "apps",
            "deployments",
            json!({"metadata": {"name": "a"}, "spec": {"strategy": {"type": "Chaos"}, "selector": {"matchLabels": {"a": "b"}},
                "template": template(&json!({"a": "b"}), &container)}}),
            vec![
                "spec.strategy: Unsupported value: {\"Type\":\"Chaos\",\"RollingUpdate\":null}: \
                supported values: \"Recreate\", \"RollingUpdate\"",
            ],
        ),
        (
            "apps",
            "deployments",
            json!({"metadata": {"name": "a"}, "spec": {}}),
            vec![
                "spec.selector: Required value",
                "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`",
                "spec.template.spec.containers: Required value",
            ],
        ),
        (
            "coordination.k8s.io",
            "leases",
            json!({"metadata": {"name": "a"}, "spec": {"leaseDurationSeconds": 0}}),
            vec!["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"],
        ),
    ];
    refused(cases);
}

#[test]
fn updates_are_refused_in_the_words_of_the_api() {
    let cases = [
        (
            "",
            "configmaps",
            json!({"metadata": {"name": "a"}, "immutable": true, "data": {"k": "v"}}),
            json!({"metadata": {"name": "a"}, "immutable": true, "data": {"k": "w"}}),
            vec!["data: Forbidden: field is immutable when `immutable` is set"],
        ),
        (
            "",
            "secrets",
            json!({"metadata": {"name": "a"}}),
            json!({"metadata": {"name": "a"}, "type": "x/y"}),
            vec!["type: Invalid value: \"x/y\": field is immutable"],
        ),
        (
            "",
            "pods",
            json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}], "activeDeadlineSeconds": 30}}),
            json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "j"}], "activeDeadlineSeconds": 60}}),
            vec!["spec.activeDeadlineSeconds: Invalid value: 60: must be less than or equal to previous value"],
        ),
    ];
    for (group, plural, old, new, expected) in cases {
        let resource = resource(group, plural);
        let mut old = read(resource, old);
        strategy::prepare_create(resource, &mut old);
        let mut new = read(resource, new);
        strategy::prepare_update(resource, &mut new, &old, None);
        assert_eq!(messages(&validate_update(resource, &new, &old, None)), expected);
    }
}

#[test]
fn a_wrong_label_is_told_as_often_as_it_is_checked() {
    let resource = resource("", "configmaps");
    let old = read(resource, json!({"metadata": {"name": "a"}}));
    let new = read(resource, json!({"metadata": {"name": "a", "labels": {"k": "a b"}}}));
    assert_eq!(validate_update(resource, &new, &old, None).len(), 4);
}
