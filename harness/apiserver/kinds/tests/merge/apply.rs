//! Sequences of applies and updates, as recorded from a real API server.

use baton_apikinds::types::{builtin, custom};
use baton_apimachinery::merge::apply::{ApplyError, OneVersion, Write, apply, settle, update};
use baton_apimachinery::merge::types::TypeModel;
use jiff::Timestamp;
use serde_json::{Value, json};

struct Object<'m> {
    model: &'m TypeModel,
    api_version: &'static str,
    live: Option<Value>,
}

impl<'m> Object<'m> {
    fn new(model: &'m TypeModel, api_version: &'static str) -> Self {
        Self {
            model,
            api_version,
            live: None,
        }
    }

    fn write<'a>(&self, manager: &'a str, subresource: &'a str) -> Write<'a> {
        Write {
            manager,
            api_version: self.api_version,
            subresource,
            now: Timestamp::UNIX_EPOCH,
            versions: &OneVersion,
        }
    }

    fn apply(&mut self, manager: &str, force: bool, mut document: Value) -> Result<(), String> {
        document["apiVersion"] = json!(self.api_version);
        let write = self.write(manager, "");
        match apply(self.model, self.live.as_ref(), &document, &write, force) {
            Ok(applied) => {
                self.live = Some(applied.object);
                Ok(())
            }
            Err(ApplyError::Conflicts(conflicts)) => Err(conflicts.to_string()),
            Err(other) => Err(format!("{other}")),
        }
    }

    fn update(&mut self, manager: &str, subresource: &str, change: impl FnOnce(&mut Value)) {
        let mut new = self.live.clone().unwrap_or_else(|| json!({"metadata": {}}));
        change(&mut new);
        update(
            self.model,
            self.live.as_ref(),
            &mut new,
            &self.write(manager, subresource),
        );
        if let Some(live) = &self.live {
            settle(live, &mut new);
        }
        self.live = Some(new);
    }

    fn at(&self, pointer: &str) -> Value {
        let live = self.live.as_ref().expect("an object");
        live.pointer(pointer).cloned().unwrap_or_default()
    }

    fn managers(&self) -> Vec<(String, String, Value)> {
        let list = self.at("/metadata/managedFields");
        let entries = list.as_array().cloned().unwrap_or_default();
        let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        let of = |entry: &Value| {
            (
                text(entry, "manager"),
                text(entry, "operation"),
                entry["fieldsV1"].clone(),
            )
        };
        entries.iter().map(of).collect()
    }
}

fn owned(manager: &str, operation: &str, fields: Value) -> (String, String, Value) {
    (manager.to_owned(), operation.to_owned(), fields)
}

#[test]
fn a_field_stays_until_all_who_applied_it_drop_it() {
    let model = builtin("", "v1", "ConfigMap").expect("model");
    let mut object = Object::new(&model, "v1");
    object
        .apply(
            "m1",
            false,
            json!({"metadata": {"name": "a"}, "data": {"shared": "v", "one": "1"}}),
        )
        .expect("m1");
    object
        .apply(
            "m2",
            false,
            json!({"metadata": {"name": "a"}, "data": {"shared": "v", "two": "2"}}),
        )
        .expect("m2");
    object
        .apply("m1", false, json!({"metadata": {"name": "a"}, "data": {"one": "1"}}))
        .expect("m1");
    assert_eq!(object.at("/data"), json!({"one": "1", "shared": "v", "two": "2"}));
    object
        .apply("m2", false, json!({"metadata": {"name": "a"}, "data": {"two": "2"}}))
        .expect("m2");
    assert_eq!(object.at("/data"), json!({"one": "1", "two": "2"}));
    object
        .apply("m1", false, json!({"metadata": {"name": "a"}}))
        .expect("m1");
    assert_eq!(object.at("/data"), json!({"two": "2"}));
    assert_eq!(
        object.managers(),
        [owned("m2", "Apply", json!({"f:data": {"f:two": {}}}))]
    );
}

#[test]
fn conflicts_name_managers_and_fields() {
    let model = builtin("", "v1", "ConfigMap").expect("model");
    let mut object = Object::new(&model, "v1");
    object.update("creator", "", |new| {
        *new = json!({"apiVersion": "v1", "metadata": {"name": "a"}, "data": {"k": "v", "n": "v"}});
    });
    assert_eq!(
        object.managers(),
        [owned(
            "creator",
            "Update",
            json!({"f:data": {".": {}, "f:k": {}, "f:n": {}}})
        )]
    );
    object
        .apply("applier", false, json!({"metadata": {"name": "a"}, "data": {"k": "v"}}))
        .expect("same value");
    assert_eq!(object.at("/metadata/managedFields/0/time"), Value::Null);
    assert_eq!(
        object.apply("other", false, json!({"metadata": {"name": "a"}, "data": {"k": "w"}})),
        Err("Apply failed with 2 conflicts: conflicts with \"applier\":\n- .data.k\nconflicts with \"creator\" using v1:\n- .data.k".to_owned())
    );
    object.update("updater", "", |new| new["data"]["k"] = json!("x"));
    assert_eq!(
        object.apply("applier", false, json!({"metadata": {"name": "a"}, "data": {"k": "v"}})),
        Err("Apply failed with 1 conflict: conflict with \"updater\" using v1: .data.k".to_owned())
    );
    object
        .apply("applier", true, json!({"metadata": {"name": "a"}, "data": {"k": "v"}}))
        .expect("force");
    assert_eq!(
        object.managers(),
        [
            owned("applier", "Apply", json!({"f:data": {"f:k": {}}})),
            owned("creator", "Update", json!({"f:data": {".": {}, "f:n": {}}}))
        ]
    );
}

#[test]
fn managed_fields_can_be_cleared_and_come_back_with_an_apply() {
    let model = builtin("", "v1", "ConfigMap").expect("model");
    let mut object = Object::new(&model, "v1");
    object
        .apply("m1", false, json!({"metadata": {"name": "a"}, "data": {"k": "v"}}))
        .expect("m1");
    object.update("jp", "", |new| new["metadata"]["managedFields"] = json!([{}]));
    assert_eq!(object.managers(), []);
    object.update("mp", "", |new| new["data"]["x"] = json!("y"));
    assert_eq!(object.managers(), []);
    assert_eq!(
        object.apply("m1", false, json!({"metadata": {"name": "a"}, "data": {"k": "w"}})),
        Err("Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.k".to_owned())
    );
}

#[test]
fn status_and_scale_are_owned_apart() {
    let model = builtin("apps", "v1", "Deployment").expect("model");
    let mut object = Object::new(&model, "apps/v1");
    object
        .apply(
            "m1",
            false,
            json!({"metadata": {"name": "d"}, "spec": {"replicas": 2}, "status": {"replicas": 5}}),
        )
        .expect("m1");
    object.update("ctl", "status", |new| new["status"] = json!({"replicas": 1}));
    object.update("hpa", "scale", |new| new["spec"]["replicas"] = json!(8));
    object.update("hpa", "scale", |new| {
        new["metadata"]["labels"] = json!({"nobodys": "1"});
    });
    assert_eq!(
        object.managers(),
        [
            owned("hpa", "Update", json!({"f:spec": {"f:replicas": {}}})),
            owned("ctl", "Update", json!({"f:status": {"f:replicas": {}}}))
        ]
    );
    assert_eq!(
        object.apply("m1", false, json!({"metadata": {"name": "d"}, "spec": {"replicas": 2}})),
        Err("Apply failed with 1 conflict: conflict with \"hpa\" with subresource \"scale\" using apps/v1: .spec.replicas".to_owned())
    );
}

#[test]
fn items_of_lists_are_owned_by_key() {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"map": {
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "port"],
        "items": {"type": "object", "properties": {"name": {"type": "string"}, "port": {"type": "integer", "default": 80}, "v": {"type": "string"}}}}}}}});
    let model = custom(&schema, true);
    let mut object = Object::new(&model, "ex.com/v1");
    let document = |items: Value| json!({"kind": "W", "metadata": {"name": "a"}, "spec": {"map": items}});
    object
        .apply(
            "m1",
            false,
            document(json!([{"name": "a", "v": "1"}, {"name": "a", "port": 81, "v": "2"}])),
        )
        .expect("m1");
    object
        .apply(
            "m2",
            false,
            document(json!([{"name": "a", "v": "1"}, {"name": "b", "port": 81}])),
        )
        .expect("m2");
    object
        .apply("m1", false, document(json!([{"name": "a", "port": 81, "v": "2"}])))
        .expect("m1");
    assert_eq!(
        object.at("/spec/map"),
        json!([{"name": "a", "v": "1"}, {"name": "a", "port": 81, "v": "2"}, {"name": "b", "port": 81}])
    );
    let wrong = object.apply("m1", false, document(json!([{"name": "q"}, {"name": "q"}])));
    assert_eq!(
        wrong,
        Err("failed to create typed patch object (/a; ex.com/v1, Kind=W): .spec.map: duplicate entries for key [name=\"q\",port=80]".to_owned())
    );
}

#[test]
fn kubectl_takes_over_what_its_annotation_says() {
    let model = builtin("", "v1", "ConfigMap").expect("model");
    let mut object = Object::new(&model, "v1");
    let last = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}"#;
    let annotations = json!({"kubectl.kubernetes.io/last-applied-configuration": last});
    object.update("kubectl-client-side-apply", "", |new| {
        *new = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a", "annotations": annotations}, "data": {"k": "v"}});
    });
    let document = json!({"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "w"}});
    assert!(object.apply("other", false, document.clone()).is_err());
    object.apply("kubectl", false, document).expect("taken over");
    assert_eq!(object.at("/data/k"), json!("w"));
}
