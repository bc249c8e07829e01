//! The documents, compared with recordings from a real API server.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::options::Revisions;
use crate::registry::Registry;
use crate::store::Store;

fn catalogue() -> Arc<Catalogue> {
    let store = Store::new(Revisions::default(), Arc::new(|| Timestamp::UNIX_EPOCH), 10);
    let registry = Registry::new(&store);
    let definition = json!({
        "metadata": {"name": "widgets.ex.com"},
        "spec": {"group": "ex.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
                 "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                     "type": "object", "properties": {"spec": {"type": "object", "nullable": true}}}}}]},
        "status": {"conditions": [{"type": "Established", "status": "True"}]},
    });
    registry.rebuild(&store, std::iter::once(&definition));
    registry.current()
}

#[test]
fn the_index_names_every_group() {
    let catalogue = catalogue();
    let index = answer(&catalogue, "v3").expect("index");
    for path in ["api/v1", "apis/apps/v1", "apis/ex.com/v1"] {
        let url = index["paths"][path]["serverRelativeURL"].as_str().unwrap_or_default();
        assert!(url.starts_with(&format!("/openapi/v3/{path}?hash=")), "{url}");
    }
    assert_eq!(answer(&catalogue, "v3/apis/nope/v1"), None);
}

#[test]
fn schemas_of_version_3() {
    let document = answer(&catalogue(), "v3/api/v1").expect("document");
    let schemas = &document["components"]["schemas"];
    let port = &schemas["io.k8s.api.core.v1.ContainerPort"]["properties"];
    assert_eq!(port["containerPort"]["default"], json!(0));
    assert_eq!(port["protocol"]["default"], json!("TCP"));
    let metadata = &schemas["io.k8s.api.core.v1.ConfigMap"]["properties"]["metadata"];
    assert_eq!(
        metadata["allOf"],
        json!([{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}])
    );
    assert_eq!(metadata["default"], json!({}));
    let conditions = &schemas["io.k8s.api.core.v1.NamespaceStatus"]["properties"]["conditions"];
    assert_eq!(conditions["x-kubernetes-list-map-keys"], json!(["type"]));
    assert_eq!(conditions["x-kubernetes-patch-merge-key"], json!("type"));
    assert!(schemas["io.k8s.api.core.v1.ConfigMapList"].is_object());
}

#[test]
fn every_reference_leads_somewhere() {
    for path in [
        "v2",
        "v3/api/v1",
        "v3/apis/apps/v1",
        "v3/apis/ex.com/v1",
        "v3/apis/batch/v1",
    ] {
        let document = answer(&catalogue(), path).expect("document");
        check_references(&document, &document);
    }
}

fn check_references(document: &Value, value: &Value) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get("$ref") {
                let pointer = reference.trim_start_matches('#');
                assert!(document.pointer(pointer).is_some(), "{reference}");
            }
            members.values().for_each(|inner| check_references(document, inner));
        }
        Value::Array(items) => items.iter().for_each(|inner| check_references(document, inner)),
        _ => {}
    }
}

#[test]
fn custom_resources_are_patched_without_the_strategic_type() {
    let document = answer(&catalogue(), "v3/apis/ex.com/v1").expect("document");
    let item = &document["paths"]["/apis/ex.com/v1/namespaces/{namespace}/widgets/{name}"]["patch"];
    let media = item["requestBody"]["content"].as_object().expect("content");
    assert!(media.contains_key("application/apply-patch+yaml"));
    assert!(!media.contains_key("application/strategic-merge-patch+json"));
    let schema = &document["components"]["schemas"]["com.ex.v1.Widget"];
    assert_eq!(
        schema["x-kubernetes-group-version-kind"],
        json!([{"group": "ex.com", "version": "v1", "kind": "Widget"}])
    );
}
