//! Restores clusters after a case: removes the objects that the case made, and checks that they are gone.
//!
//! An `Inventory` lists the objects that existed when the fleet was leased. Of newer objects, only those that the
//! fleet, the case or the target made are removed; objects of other users stay.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use baton_core::{names::ClusterName, select::EXECUTION_NAMESPACE};
use futures::future::join_all;
use http::{Request, header::CONTENT_TYPE};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api, Client,
    api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams},
    runtime::{conditions, wait::await_condition},
};
use serde_json::json;

use crate::{fleet::register::NAMESPACE as REGISTERED, observer::served};

/// Longest time until an object is gone after it was deleted and its finalizers were removed.
const GONE_WITHIN: Duration = Duration::from_secs(30);

/// Longest time until a namespace is gone. After that it is finalized here, because the cluster may lack a namespace
/// controller.
const NAMESPACE_GONE_WITHIN: Duration = Duration::from_secs(15);

/// Kinds that clusters create and remove themselves.
const THEIR_OWN: [&str; 4] = ["Event", "Lease", "Node", "CSINode"];

/// Identity of an object on a cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Item {
    group: String,
    kind: String,
    namespace: Option<String>,
    name: String,
}

impl Item {
    fn words(&self, cluster: &ClusterName) -> String {
        match &self.namespace {
            Some(namespace) => format!("{} {namespace}/{} on {cluster}", self.kind, self.name),
            None => format!("{} {} on {cluster}", self.kind, self.name),
        }
    }
}

/// Objects of a cluster, with their uids.
pub(super) type Inventory = BTreeMap<Item, Option<String>>;

/// An object in a list.
struct Listed {
    item: Item,
    uid: Option<String>,
    resource: ApiResource,
    by: BTreeSet<String>,
    created: Option<Timestamp>,
    held: bool,
}

/// Lists all objects of all kinds.
async fn list(client: &Client) -> kube::Result<Vec<Listed>> {
    let kinds = served(client).await?;
    let lists = kinds
        .into_iter()
        .filter(|(resource, _)| !THEIR_OWN.contains(&resource.kind.as_str()))
        .map(|(resource, _)| list_kind(client, resource));
    let mut all = Vec::new();
    for listed in join_all(lists).await {
        all.extend(listed?);
    }
    Ok(all)
}

async fn list_kind(client: &Client, resource: ApiResource) -> kube::Result<Vec<Listed>> {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let objects = match api.list_metadata(&ListParams::default()).await {
        Ok(objects) => objects.items,
        // A definition may be removed at any time, with its kind. Any other error means that objects may be left.
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 405) => Vec::new(),
        Err(error) => return Err(error),
    };
    let listed = objects.into_iter().map(|object| {
        let metadata = object.metadata;
        let managers = metadata.managed_fields.unwrap_or_default();
        Listed {
            item: Item {
                group: resource.group.clone(),
                kind: resource.kind.clone(),
                namespace: metadata.namespace,
                name: metadata.name.unwrap_or_default(),
            },
            uid: metadata.uid,
            created: metadata.creation_timestamp.map(|time| time.0),
            resource: resource.clone(),
            by: managers.into_iter().filter_map(|entry| entry.manager).collect(),
            held: metadata.finalizers.is_some_and(|finalizers| !finalizers.is_empty()),
        }
    });
    Ok(listed.collect())
}

/// Lists the present objects.
pub(super) async fn inventory(client: &Client) -> kube::Result<Inventory> {
    let all = list(client).await?;
    Ok(all.into_iter().map(|listed| (listed.item, listed.uid)).collect())
}

/// Lists the present objects that were created before `moment`.
pub(super) async fn inventory_before(client: &Client, moment: Timestamp) -> kube::Result<Inventory> {
    let all = list(client).await?;
    let before = all
        .into_iter()
        .filter(|listed| listed.created.is_none_or(|it| it < moment));
    Ok(before.map(|listed| (listed.item, listed.uid)).collect())
}

/// Scope of a leased fleet: the objects to remove afterwards.
#[derive(Debug, Clone)]
pub(super) struct Ours {
    /// Namespace of the fleet.
    pub namespace: String,
    /// Members of the fleet.
    pub members: Vec<ClusterName>,
    /// Other cases use the control plane at the same time: objects that they may need stay.
    pub beside_others: bool,
}

impl Ours {
    /// Checks whether a new object was made by the fleet, the case or the target. `templates` are the case's objects on
    /// the control plane, of which a member has copies.
    fn made(&self, on: &ClusterName, listed: &Listed, templates: &BTreeSet<Item>) -> bool {
        let item = &listed.item;
        if self.beside_others && on.is_control() && self.is_common(item) {
            return false;
        }
        let hands = listed.by.iter().any(|manager| manager.starts_with("baton"));
        match item.namespace.as_deref() {
            Some(namespace) => namespace == self.namespace || self.is_space(namespace),
            None if item.kind == "Namespace" => item.name == self.namespace || self.is_space(&item.name),
            None => hands || templates.contains(item) || self.is_of_target(item),
        }
    }

    /// Checks whether the target may have made a cluster-scoped object for the case. Policies are written by users, and
    /// the policies of a case by the harness.
    fn is_of_target(&self, item: &Item) -> bool {
        match item.group.as_str() {
            "work.karmada.io" => true,
            "cluster.karmada.io" => self.members.iter().any(|member| member.as_str() == item.name),
            _ => false,
        }
    }

    /// Checks whether other cases may need the object.
    fn is_common(&self, item: &Item) -> bool {
        let is_of_member = || self.members.iter().any(|member| item.name.starts_with(member.as_str()));
        match item.namespace.as_deref() {
            Some(namespace) => namespace == REGISTERED && !is_of_member(),
            None => item.kind == "CustomResourceDefinition" || item.kind == "Namespace" && item.name == REGISTERED,
        }
    }

    /// Checks whether a namespace holds secrets of members or Works for them.
    fn is_space(&self, namespace: &str) -> bool {
        let member = namespace.strip_prefix(EXECUTION_NAMESPACE);
        namespace == REGISTERED || member.is_some_and(|name| self.members.iter().any(|it| it.as_str() == name))
    }
}

/// A cluster to clean.
pub(super) struct Cluster<'a> {
    pub name: &'a ClusterName,
    pub client: Client,
    pub before: &'a Inventory,
}

impl Cluster<'_> {
    async fn ours(&self, ours: &Ours, templates: &BTreeSet<Item>) -> kube::Result<Vec<Listed>> {
        let new = |listed: &Listed| self.before.get(&listed.item) != Some(&listed.uid);
        let all = list(&self.client).await?;
        Ok(all
            .into_iter()
            .filter(|it| new(it) && ours.made(self.name, it, templates))
            .collect())
    }

    fn api(&self, listed: &Listed) -> Api<DynamicObject> {
        match &listed.item.namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &listed.resource),
            None => Api::all_with(self.client.clone(), &listed.resource),
        }
    }

    /// Deletes an object and removes its finalizers, whose controllers have been stopped.
    async fn remove(&self, listed: &Listed) -> kube::Result<()> {
        let api = self.api(listed);
        let name = &listed.item.name;
        absent_is_fine(api.delete(name, &DeleteParams::background()).await.map(drop))?;
        if listed.held && listed.item.kind != "Namespace" {
            let release = Patch::Merge(json!({"metadata": {"finalizers": null}}));
            absent_is_fine(api.patch(name, &PatchParams::default(), &release).await.map(drop))?;
        }
        Ok(())
    }

    /// Waits until an object is gone, or the time is up. The next list shows whether it is gone.
    async fn await_gone(&self, listed: &Listed) {
        let uid = listed.uid.clone().unwrap_or_default();
        let gone = await_condition(self.api(listed), &listed.item.name, conditions::is_deleted(&uid));
        let limit = if listed.item.kind == "Namespace" {
            NAMESPACE_GONE_WITHIN
        } else {
            GONE_WITHIN
        };
        let _ = tokio::time::timeout(limit, gone).await;
    }

    /// Removes the finalizers of an empty namespace, in place of a namespace controller.
    async fn finalize(&self, namespace: &Listed) -> kube::Result<()> {
        let name = &namespace.item.name;
        let empty = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "spec": {"finalizers": []},
        });
        let request = Request::put(format!("/api/v1/namespaces/{name}/finalize"))
            .header(CONTENT_TYPE, "application/json")
            .body(empty.to_string().into_bytes())
            .map_err(kube::Error::HttpError)?;
        absent_is_fine(self.client.request::<serde_json::Value>(request).await.map(drop))
    }
}

fn absent_is_fine(done: kube::Result<()>) -> kube::Result<()> {
    match done {
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        done => done,
    }
}

/// Removes the fleet's objects from a cluster, and returns descriptions of those that are left. Namespaces are removed
/// last, and definitions after their objects.
pub(super) async fn clean(cluster: &Cluster<'_>, ours: &Ours, templates: &BTreeSet<Item>) -> kube::Result<Vec<String>> {
    // The second pass removes objects that were made during the first. A third would only fight a writer that does not
    // stop.
    for _ in 0..2 {
        let found = cluster.ours(ours, templates).await?;
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let (namespaces, rest): (Vec<_>, Vec<_>) = found.into_iter().partition(|it| it.item.kind == "Namespace");
        let (definitions, objects): (Vec<_>, Vec<_>) = rest
            .into_iter()
            .partition(|it| it.item.kind == "CustomResourceDefinition");
        for some in [&objects, &definitions, &namespaces] {
            for listed in some {
                cluster.remove(listed).await?;
            }
            join_all(some.iter().map(|listed| cluster.await_gone(listed))).await;
        }
        let left = cluster.ours(ours, templates).await?;
        let empty = |name: &str| !left.iter().any(|it| it.item.namespace.as_deref() == Some(name));
        let stuck = namespaces
            .iter()
            .filter(|it| left.iter().any(|left| left.uid == it.uid) && empty(&it.item.name));
        for namespace in stuck {
            cluster.finalize(namespace).await?;
            cluster.await_gone(namespace).await;
        }
    }
    let left = cluster.ours(ours, templates).await?;
    Ok(left.iter().map(|it| it.item.words(cluster.name)).collect())
}

/// Removes an empty namespace; returns its description if it stays.
pub(super) async fn remove_namespace(
    name: &ClusterName,
    client: &Client,
    namespace: &str,
) -> kube::Result<Vec<String>> {
    let before = Inventory::new();
    let cluster = Cluster {
        name,
        client: client.clone(),
        before: &before,
    };
    let find = async || {
        let all = list_kind(client, ApiResource::erase::<Namespace>(&())).await?;
        let found = all.into_iter().find(|it| it.item.name == namespace);
        Ok::<_, kube::Error>(found)
    };
    let Some(there) = find().await? else {
        return Ok(Vec::new());
    };
    cluster.remove(&there).await?;
    cluster.await_gone(&there).await;
    if find().await?.is_some_and(|it| it.uid == there.uid) {
        cluster.finalize(&there).await?;
        cluster.await_gone(&there).await;
    }
    let left = find().await?.filter(|it| it.uid == there.uid);
    Ok(left.iter().map(|it| it.item.words(name)).collect())
}

/// Lists the case's objects on a cluster: those that the harness wrote there.
pub(super) async fn templates(cluster: &Cluster<'_>, ours: &Ours) -> kube::Result<BTreeSet<Item>> {
    let found = cluster.ours(ours, &BTreeSet::new()).await?;
    Ok(found.into_iter().map(|listed| listed.item).collect())
}
