//! Strategic merge patches, as recorded from a real API server.

use baton_apikinds::types::builtin;
use baton_apimachinery::merge::strategic::{MergeError, merge};
use serde_json::{Value, json};

fn patched(kind: (&str, &str, &str), original: &Value, patch: &Value) -> Result<Value, MergeError> {
    merge(&builtin(kind.0, kind.1, kind.2).expect("model"), original, patch)
}

const POD: (&str, &str, &str) = ("", "v1", "Pod");

#[test]
fn lists_are_merged_by_key() {
    for (original, patch, merged) in [
        (
            json!(["a", "b"]),
            json!([{"name": "a", "image": "2"}]),
            json!([{"name": "a", "image": "2"}, {"name": "b", "image": "1"}]),
        ),
        (
            json!(["a", "b"]),
            json!([{"name": "c", "image": "1"}]),
            json!([{"name": "c", "image": "1"}, {"name": "a", "image": "1"}, {"name": "b", "image": "1"}]),
        ),
        (
            json!(["a", "b"]),
            json!([{"name": "b", "$patch": "delete"}]),
            json!([{"name": "a", "image": "1"}]),
        ),
        (
            json!(["a", "b"]),
            json!([{"name": "o", "image": "1"}, {"$patch": "replace"}]),
            json!([{"name": "o", "image": "1"}]),
        ),
    ] {
        let names = original.as_array().expect("names").iter();
        let containers: Vec<Value> = names.map(|name| json!({"name": name, "image": "1"})).collect();
        let outcome = patched(
            POD,
            &json!({"spec": {"containers": containers}}),
            &json!({"spec": {"containers": patch}}),
        );
        assert_eq!(outcome, Ok(json!({"spec": {"containers": merged}})));
    }
    let outcome = patched(
        POD,
        &json!({"spec": {"containers": [{"name": "a"}]}}),
        &json!({"spec": {"containers": [{"image": "x"}]}}),
    );
    assert_eq!(
        outcome,
        Err(MergeError::Internal(
            "map: map[image:x] does not contain declared merge key: name".to_owned()
        ))
    );
}

#[test]
fn the_order_of_a_list_can_be_set() {
    let original = json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}});
    let patch = json!({"spec": {"$setElementOrder/containers": [{"name": "c"}, {"name": "d"}, {"name": "a"}, {"name": "b"}],
                                 "containers": [{"name": "d", "image": "d"}]}});
    let names = |value: &Value| -> Vec<String> {
        let containers = value["spec"]["containers"].as_array().expect("containers").iter();
        containers
            .map(|container| container["name"].as_str().expect("name").to_owned())
            .collect()
    };
    assert_eq!(
        names(&patched(POD, &original, &patch).expect("merged")),
        ["c", "d", "a", "b"]
    );
    let wrong = json!({"spec": {"$setElementOrder/containers": [{"name": "a"}], "containers": [{"name": "b", "image": "b:9"}]}});
    assert_eq!(
        patched(POD, &original, &wrong),
        Err(MergeError::Internal(
            "The order in patch list:\n[map[image:b:9 name:b]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n"
                .to_owned()
        ))
    );
}

#[test]
fn primitive_lists_are_united_and_shortened() {
    let original = json!({"metadata": {"finalizers": ["c", "a", "b"]}});
    for (patch, finalizers) in [
        (json!({"finalizers": ["d"]}), json!(["d", "c", "a", "b"])),
        (json!({"finalizers": ["a"]}), json!(["c", "a", "b"])),
        (
            json!({"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["d"]}),
            json!(["d", "c", "b"]),
        ),
        (
            json!({"$setElementOrder/finalizers": ["b", "x", "a"], "finalizers": ["x"]}),
            json!(["c", "b", "x", "a"]),
        ),
    ] {
        let outcome = patched(POD, &original, &json!({"metadata": patch}));
        assert_eq!(outcome, Ok(json!({"metadata": {"finalizers": finalizers}})));
    }
}

#[test]
fn directives_on_maps() {
    let original = json!({"metadata": {"labels": {"a": "1"}}, "spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}});
    let deployment = ("apps", "v1", "Deployment");
    for (patch, pointer, expected) in [
        (
            json!({"metadata": {"labels": {"$patch": "replace", "b": "2"}}}),
            "/metadata/labels",
            json!({"b": "2"}),
        ),
        (
            json!({"metadata": {"labels": {"$patch": "delete"}}}),
            "/metadata/labels",
            json!({}),
        ),
        (
            json!({"metadata": {"annotations": {"$patch": "explode"}}}),
            "/metadata/annotations",
            json!({}),
        ),
        (
            json!({"metadata": {"labels": {"a": null, "b": null}}}),
            "/metadata/labels",
            json!({}),
        ),
        (
            json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}),
            "/spec/strategy",
            json!({"type": "Recreate"}),
        ),
    ] {
        let merged = patched(deployment, &original, &patch).expect("merged");
        assert_eq!(merged.pointer(pointer), Some(&expected), "{patch}");
    }
    assert_eq!(
        patched(
            deployment,
            &original,
            &json!({"spec": {"strategy": {"$retainKeys": ["type"], "rollingUpdate": {}}}})
        ),
        Err(MergeError::BadRequest("invalid patch format of retainKeys".to_owned()))
    );
}
