//! A `kube::Client` on the in-process endpoint.

use std::sync::Arc;

use baton_apiserver::{ApiServer, Change, Options};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, ResourceExt as _};
use serde_json::json;

fn server() -> ApiServer {
    let start = Timestamp::UNIX_EPOCH;
    ApiServer::new(Options::new("test", Arc::new(move || start)))
}

fn config_map(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"k": value}})).expect("a ConfigMap")
}

#[tokio::test(start_paused = true)]
async fn an_object_goes_through_its_life() {
    let server = server();
    let mut commits = server.commits();
    let client = Client::new(server.service("tester"), "default");
    let api: Api<ConfigMap> = Api::default_namespaced(client);

    let created = api
        .create(&PostParams::default(), &config_map("a", "1"))
        .await
        .expect("created");
    assert!(created.uid().is_some());
    let patch = Patch::Merge(json!({"data": {"k": "2"}}));
    let patched = api.patch("a", &PatchParams::default(), &patch).await.expect("patched");
    assert_ne!(created.resource_version(), patched.resource_version());
    let mut stale = created;
    stale.data = None;
    let conflict = api
        .replace("a", &PostParams::default(), &stale)
        .await
        .expect_err("a conflict");
    assert!(matches!(conflict, kube::Error::Api(status) if status.code == 409));
    let list = api.list(&ListParams::default()).await.expect("a list");
    assert_eq!(list.items.len(), 1);
    api.delete("a", &DeleteParams::default()).await.expect("deleted");
    assert!(api.get_opt("a").await.expect("an answer").is_none());

    let mut changes = Vec::new();
    while let Some(commit) = commits.try_recv() {
        if commit.kind == "ConfigMap" {
            assert_eq!(&*commit.by, "tester");
            assert_eq!(
                commit.object["metadata"]["resourceVersion"],
                commit.revision.to_string()
            );
            changes.push(commit.change);
        }
    }
    assert_eq!(changes, [Change::Added, Change::Modified, Change::Deleted]);
}

#[tokio::test(start_paused = true)]
async fn a_definition_brings_its_resource() {
    let server = server();
    let client = Client::new(server.service("tester"), "default");
    let definitions = ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
        "customresourcedefinitions",
    );
    let definition: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    }))
    .expect("a definition");
    let crds: Api<DynamicObject> = Api::all_with(client.clone(), &definitions);
    crds.create(&PostParams::default(), &definition)
        .await
        .expect("a definition");

    let widgets = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("example.com", "v1", "Widget"), "widgets");
    let api: Api<DynamicObject> = Api::default_namespaced_with(client, &widgets);
    let mut widget = DynamicObject::new("w", &widgets);
    widget.data = json!({"spec": {"x": 1}, "status": {"dropped": true}});
    let created = api.create(&PostParams::default(), &widget).await.expect("a widget");
    assert_eq!(created.data, json!({"spec": {"x": 1}}));
    assert_eq!(created.metadata.generation, Some(1));
    let status = Patch::Merge(json!({"status": {"phase": "Ready"}}));
    let patched = api
        .patch_status("w", &PatchParams::default(), &status)
        .await
        .expect("a status");
    assert_eq!(patched.data, json!({"spec": {"x": 1}, "status": {"phase": "Ready"}}));
    assert_eq!(patched.metadata.generation, Some(1));
    let spec = Patch::Merge(json!({"spec": {"x": 2}}));
    let patched = api.patch("w", &PatchParams::default(), &spec).await.expect("a spec");
    assert_eq!(patched.metadata.generation, Some(2));
}

#[tokio::test(start_paused = true)]
async fn namespaces_that_every_cluster_needs_cannot_be_deleted() {
    let server = server();
    let api: Api<Namespace> = Api::all(Client::new(server.service("tester"), "default"));
    for name in ["default", "kube-public", "kube-system"] {
        let refused = api.delete(name, &DeleteParams::default()).await;
        let Err(kube::Error::Api(status)) = refused else {
            panic!("{name} was deleted")
        };
        assert_eq!(status.code, 403);
        let message = format!("namespaces \"{name}\" is forbidden: this namespace may not be deleted");
        assert_eq!(status.message, message);
    }
    api.delete("kube-node-lease", &DeleteParams::default())
        .await
        .expect("deleted");
}
