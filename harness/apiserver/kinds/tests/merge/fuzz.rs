//! Random objects and patches: no operation panics, and the invariants hold.

use baton_apikinds::types::{builtin, custom};
use baton_apimachinery::merge::apply::{OneVersion, Write, apply, settle, update};
use baton_apimachinery::merge::typed::{check, combine, compare, fields_of};
use baton_apimachinery::merge::types::TypeModel;
use baton_apimachinery::merge::{field_validation, json_patch, strategic};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// Words with a meaning in some field or patch.
const WORDS: &[&str] = &[
    "metadata",
    "spec",
    "status",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
    "managedFields",
    "template",
    "containers",
    "ports",
    "env",
    "name",
    "containerPort",
    "protocol",
    "conditions",
    "type",
    "$patch",
    "$retainKeys",
    "$setElementOrder/containers",
    "$deleteFromPrimitiveList/finalizers",
    "delete",
    "replace",
    "data",
    "uid",
    "a",
    "b",
    "",
];

/// A deterministic random number generator.
struct TestRng(u64);

impl TestRng {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % sides
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.roll(WORDS.len())]
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.roll(if depth == 0 { 5 } else { 11 }) {
            0 => Value::Null,
            1 => json!(self.roll(3)),
            2 => json!(self.roll(2) == 0),
            3 | 4 => json!(self.word()),
            5 | 6 => (0..self.roll(4)).map(|_| self.value(depth - 1)).collect(),
            _ => self.object(depth - 1),
        }
    }

    fn object(&mut self, depth: usize) -> Value {
        let members = (0..self.roll(6)).map(|_| (self.word().to_owned(), self.value(depth)));
        Value::Object(members.collect::<Map<_, _>>())
    }
}

fn models() -> Vec<std::sync::Arc<TypeModel>> {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
            "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                      "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
            "env": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}}},
        "status": {"type": "object"}}});
    vec![
        builtin("", "v1", "Pod").expect("model"),
        builtin("apps", "v1", "Deployment").expect("model"),
        custom(&schema, true),
        TypeModel::deduced(),
    ]
}

#[test]
fn whatever_comes_is_survived() {
    let mut test_rng = TestRng(7);
    for model in models() {
        for _ in 0..400 {
            let (old, new) = (test_rng.object(6), test_rng.object(6));
            let text = new.to_string();
            field_validation::document(Some(&model), text.as_bytes());
            field_validation::unknown_fields(&model, &new);
            let _ = strategic::merge(&model, &old, &new);
            let _ = json_patch::apply(&old, &new);
            assert_eq!(compare(&model, &old, &old), compare(&model, &new, &new), "{old} {new}");
            let combined = combine(&model, &old, &new);
            let _ = check(&model, &combined, true);
            fields_of(&model, &combined);
        }
    }
}

#[test]
fn applying_the_same_twice_changes_nothing() {
    let mut test_rng = TestRng(11);
    let write = |manager: &'static str, subresource: &'static str| Write {
        manager,
        api_version: "v1",
        subresource,
        now: Timestamp::UNIX_EPOCH,
        versions: &OneVersion,
    };
    // With deduced types, applying a value of another type than the live one takes two steps.
    for model in models().into_iter().filter(|model| model.is_builtin()) {
        for _ in 0..400 {
            let mut live = test_rng.object(6);
            live["metadata"] = json!({"name": "n", "labels": {"a": test_rng.word()}});
            update(&model, None, &mut live, &write("creator", ""));
            let mut document = test_rng.object(6);
            document["apiVersion"] = json!("v1");
            document["metadata"] = json!({"name": "n", "labels": {"b": test_rng.word()}});
            let Ok(first) = apply(&model, Some(&live), &document, &write("applier", ""), true) else {
                continue;
            };
            let again = apply(&model, Some(&first.object), &document, &write("applier", ""), false);
            let mut again = again.expect("no conflict with oneself").object;
            settle(&first.object, &mut again);
            assert_eq!(first.object, again, "{live} {document}");
            let mut changed = test_rng.object(6);
            changed["metadata"] = json!({"name": "n", "managedFields": first.object["metadata"]["managedFields"]});
            update(&model, Some(&first.object), &mut changed, &write("updater", "status"));
        }
    }
}
