//! Actions of a case on a cluster: small functions, each of a few requests.
//!
//! Every action writes as `baton`. After a conflict with another writer it reads the object again and retries; a write whose
//! admission webhook was late is repeated.

use baton_core::{
    case::model::{ObjectRef, Taint},
    timeline::HANDS,
};
use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::Namespace, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client,
    api::{
        ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, ObjectMeta, Patch, PatchParams,
        PostParams,
    },
    discovery::{self, ApiCapabilities, Scope},
    runtime::{conditions, wait},
};
use serde_json::{Value, json};
use thiserror::Error;

use crate::late_webhook::sent;

/// Field manager and user agent of the harness when it carries out steps.
pub const BATON: &str = HANDS;

/// The finalizer by which a case holds objects.
pub const HOLD: &str = "baton.dev/hold";

/// Number of times a write is retried after a conflict.
const ATTEMPTS: usize = 50;

/// An action on a cluster that failed.
#[derive(Debug, Error)]
pub enum ActionError {
    /// The cluster refused the request.
    #[error("{what} was refused")]
    Refused {
        /// Action, such as `creating Deployment web`.
        what: String,
        /// Error from the API server.
        source: Box<kube::Error>,
    },
    /// The cluster does not serve the kind.
    #[error(
        "{what} failed: the cluster does not serve {kind} of {api_version}; no step before this one has applied its \
         CustomResourceDefinition there"
    )]
    NotServed {
        /// Action, such as `creating Deployment web`.
        what: String,
        /// Kind of the object.
        kind: String,
        /// Group and version of the kind.
        api_version: String,
    },
    /// The cluster did not serve a `CustomResourceDefinition`.
    #[error("{what} failed: the definition was not established")]
    NotEstablished {
        /// Action, such as `applying CustomResourceDefinition things.example.com`.
        what: String,
        /// Error while waiting.
        source: Box<wait::Error>,
    },
    /// A manifest without apiVersion, kind or name.
    #[error("a manifest needs apiVersion, kind and metadata.name: {0}")]
    NoObject(Value),
}

fn refused(what: &str) -> impl FnOnce(kube::Error) -> ActionError {
    let what = what.to_owned();
    move |source| ActionError::Refused {
        what,
        source: Box::new(source),
    }
}

/// Builds the error of a request that looks up the kind first.
fn not_served(what: &str, api_version: &str, kind: &str) -> impl FnOnce(kube::Error) -> ActionError {
    let (what, api_version, kind) = (what.to_owned(), api_version.to_owned(), kind.to_owned());
    move |source| {
        let unknown = match &source {
            kube::Error::Api(status) => status.code == 404,
            kube::Error::Discovery(_) => true,
            _ => false,
        };
        if unknown {
            return ActionError::NotServed {
                what,
                kind,
                api_version,
            };
        }
        let source = Box::new(source);
        ActionError::Refused { what, source }
    }
}

/// Looks up how a cluster serves a kind, with one request.
async fn resource(client: &Client, api_version: &str, kind: &str) -> kube::Result<(ApiResource, ApiCapabilities)> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    discovery::pinned_kind(client, &GroupVersionKind::gvk(group, version, kind)).await
}

/// Looks up how a cluster serves a kind.
pub(crate) async fn served(
    client: &Client,
    api_version: &str,
    kind: &str,
) -> Result<(ApiResource, ApiCapabilities), ActionError> {
    let what = format!("finding out how {kind} of {api_version} is served");
    resource(client, api_version, kind)
        .await
        .map_err(not_served(&what, api_version, kind))
}

fn scoped(client: &Client, served: &(ApiResource, ApiCapabilities), namespace: Option<&str>) -> Api<DynamicObject> {
    let (resource, capabilities) = served;
    match (&capabilities.scope, namespace) {
        (Scope::Namespaced, Some(namespace)) => Api::namespaced_with(client.clone(), namespace, resource),
        (Scope::Namespaced, None) => Api::default_namespaced_with(client.clone(), resource),
        (Scope::Cluster, _) => Api::all_with(client.clone(), resource),
    }
}

async fn api_of(
    client: &Client,
    of: &ObjectRef,
    what: &str,
) -> Result<(Api<DynamicObject>, ApiCapabilities), ActionError> {
    let served = resource(client, &of.api_version, &of.kind).await;
    let served = served.map_err(not_served(what, &of.api_version, &of.kind))?;
    Ok((scoped(client, &served, of.namespace.as_deref()), served.1))
}

/// Creates an object, in `namespace` if its kind is namespaced and its manifest names no namespace.
pub async fn create(client: &Client, object: &Value, namespace: &str) -> Result<(), ActionError> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let (Some(api_version), Some(kind), Some(name)) = (text("/apiVersion"), text("/kind"), text("/metadata/name"))
    else {
        return Err(ActionError::NoObject(object.clone()));
    };
    let what = format!("creating {kind} {name}");
    let served = resource(client, api_version, kind).await;
    let served = served.map_err(not_served(&what, api_version, kind))?;
    let api = scoped(client, &served, Some(text("/metadata/namespace").unwrap_or(namespace)));
    let object: DynamicObject = serde_json::from_value(object.clone())
        .map_err(kube::Error::SerdeError)
        .map_err(refused(&what))?;
    let params = PostParams {
        field_manager: Some(BATON.to_owned()),
        ..PostParams::default()
    };
    let created = sent(|| api.create(&params, &object)).await;
    created.map(drop).map_err(refused(&what))
}

/// Applies an object (server-side, forced), into `namespace` if its kind is namespaced and its manifest names no
/// namespace. For a `CustomResourceDefinition`, returns once it is established.
pub async fn apply(client: &Client, object: &Value, namespace: &str) -> Result<Value, ActionError> {
    let params = PatchParams::apply(BATON).force();
    let applied = apply_with(client, object, namespace, params).await?;
    if applied["kind"] == "CustomResourceDefinition"
        && let Some(name) = applied["metadata"]["name"].as_str()
    {
        let api: Api<CustomResourceDefinition> = Api::all(client.clone());
        let established = wait::await_condition(api, name, conditions::is_crd_established()).await;
        established.map_err(|source| ActionError::NotEstablished {
            what: format!("applying CustomResourceDefinition {name}"),
            source: Box::new(source),
        })?;
    }
    Ok(applied)
}

/// Applies an object as a dry run, and returns the result. Stores nothing.
pub async fn apply_dry_run(client: &Client, object: &Value, namespace: &str) -> Result<Value, ActionError> {
    let params = PatchParams::apply(BATON).force().dry_run();
    apply_with(client, object, namespace, params).await
}

async fn apply_with(
    client: &Client,
    object: &Value,
    namespace: &str,
    params: PatchParams,
) -> Result<Value, ActionError> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let (Some(api_version), Some(kind), Some(name)) = (text("/apiVersion"), text("/kind"), text("/metadata/name"))
    else {
        return Err(ActionError::NoObject(object.clone()));
    };
    let what = format!("applying {kind} {name}");
    let served = resource(client, api_version, kind).await;
    let served = served.map_err(not_served(&what, api_version, kind))?;
    let api = scoped(client, &served, Some(text("/metadata/namespace").unwrap_or(namespace)));
    let patch = Patch::Apply(object);
    let applied = sent(|| api.patch(name, &params, &patch)).await;
    let applied = applied.map_err(refused(&what))?;
    // An object that was parsed from JSON can always be written as JSON.
    Ok(serde_json::to_value(applied).unwrap_or_default())
}

/// Creates a namespace, unless it exists.
pub async fn create_namespace(client: &Client, name: &str) -> Result<(), ActionError> {
    let api: Api<Namespace> = Api::all(client.clone());
    let namespace = Namespace {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    };
    match api.create(&PostParams::default(), &namespace).await {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        created => created
            .map(drop)
            .map_err(refused(&format!("creating namespace {name}"))),
    }
}

/// Reads an object; `None` if it does not exist.
pub async fn get(client: &Client, of: &ObjectRef) -> Result<Option<Value>, ActionError> {
    let what = format!("reading {} {}", of.kind, of.name);
    let (api, _) = api_of(client, of, &what).await?;
    let object = api.get_opt(&of.name).await.map_err(refused(&what))?;
    // An object that was parsed from JSON can always be written as JSON.
    Ok(object.map(|object| serde_json::to_value(object).unwrap_or_default()))
}

/// Lists the objects of a kind in a namespace.
pub async fn list(client: &Client, api_version: &str, kind: &str, namespace: &str) -> Result<Vec<Value>, ActionError> {
    let what = format!("listing {kind}");
    let served = served(client, api_version, kind).await?;
    let listed = scoped(client, &served, Some(namespace))
        .list(&ListParams::default())
        .await;
    let objects = listed
        .map_err(refused(&what))?
        .items
        .into_iter()
        .map(serde_json::to_value);
    objects
        .collect::<Result<_, _>>()
        .map_err(|error| refused(&what)(kube::Error::SerdeError(error)))
}

/// Applies a merge patch to an object, and returns the stored object.
pub async fn patch(client: &Client, of: &ObjectRef, merge: &Value) -> Result<Value, ActionError> {
    let what = format!("patching {} {}", of.kind, of.name);
    let (api, _) = api_of(client, of, &what).await?;
    let params = PatchParams {
        field_manager: Some(BATON.to_owned()),
        ..PatchParams::default()
    };
    let merge = Patch::Merge(merge);
    let patched = sent(|| api.patch(&of.name, &params, &merge)).await;
    // An object that was parsed from JSON can always be written as JSON.
    Ok(serde_json::to_value(patched.map_err(refused(&what))?).unwrap_or_default())
}

/// Applies a merge patch to the status of an object, through the subresource if the kind has one.
pub async fn set_status(client: &Client, of: &ObjectRef, status: &Value) -> Result<(), ActionError> {
    let what = format!("setting the status of {} {}", of.kind, of.name);
    let (api, capabilities) = api_of(client, of, &what).await?;
    let params = PatchParams {
        field_manager: Some(BATON.to_owned()),
        ..PatchParams::default()
    };
    let patch = Patch::Merge(json!({"status": status}));
    let by_subresource = capabilities.subresources.iter().any(|(it, _)| it.plural == "status");
    let patched = if by_subresource {
        sent(|| api.patch_status(&of.name, &params, &patch)).await
    } else {
        sent(|| api.patch(&of.name, &params, &patch)).await
    };
    patched.map(drop).map_err(refused(&what))
}

/// Deletes an object in the background; succeeds if it does not exist. Does not wait until it is gone.
pub async fn delete(client: &Client, of: &ObjectRef) -> Result<(), ActionError> {
    let what = format!("deleting {} {}", of.kind, of.name);
    let (api, _) = api_of(client, of, &what).await?;
    let params = DeleteParams::background();
    match sent(|| api.delete(&of.name, &params)).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        deleted => deleted.map(drop).map_err(refused(&what)),
    }
}

/// Adds a finalizer to an object: once deleted, it stays until it is released.
pub async fn hold(client: &Client, of: &ObjectRef) -> Result<(), ActionError> {
    edit_list(client, of, &["metadata", "finalizers"], |finalizers| {
        if !finalizers.contains(&json!(HOLD)) {
            finalizers.push(json!(HOLD));
        }
    })
    .await
}

/// Removes the finalizer of an object that is held; succeeds if the object does not exist.
pub async fn release(client: &Client, of: &ObjectRef) -> Result<(), ActionError> {
    let released = edit_list(client, of, &["metadata", "finalizers"], |finalizers| {
        finalizers.retain(|finalizer| finalizer != HOLD);
    });
    match released.await {
        Err(ActionError::Refused { source, .. }) if matches!(&*source, kube::Error::Api(it) if it.code == 404) => {
            Ok(())
        }
        released => released,
    }
}

/// Reference to the Cluster of a member on the control plane.
pub(crate) fn cluster(name: &str) -> ObjectRef {
    ObjectRef {
        api_version: "cluster.karmada.io/v1alpha1".to_owned(),
        kind: "Cluster".to_owned(),
        namespace: None,
        name: name.to_owned(),
    }
}

fn same_taint(it: &Value, key: &str, effect: &str) -> bool {
    it["key"] == key && it["effect"] == effect
}

/// Sets the status of a condition of a Cluster, and its transition time. Other conditions stay.
pub async fn condition(
    control: &Client,
    name: &str,
    kind: &str,
    status: &str,
    now: Timestamp,
) -> Result<(), ActionError> {
    edit_list(control, &cluster(name), &["status", "conditions"], |conditions| {
        let changed = json!({
            "type": kind, "status": status, "reason": "SetByCase", "message": "", "lastTransitionTime": now.strftime("%FT%TZ").to_string(),
        });
        match conditions.iter_mut().find(|it| it["type"] == kind) {
            Some(same) if same["status"] == status => {}
            Some(other) => *other = changed,
            None => conditions.push(changed),
        }
    })
    .await
}

/// Prefix of the keys of taints that the control plane sets itself.
const OF_THE_CONTROL_PLANE: &str = "cluster.karmada.io/";

/// Adds a taint to a cluster on the control plane. Other taints stay; a taint of the same key and effect gets the new
/// value.
pub async fn taint(control: &Client, name: &str, taint: &Taint) -> Result<(), ActionError> {
    edit_list(control, &cluster(name), &["spec", "taints"], |taints| {
        let same = |it: &&mut Value| same_taint(it, &taint.key, &taint.effect);
        if let Some(there) = taints.iter_mut().find(same) {
            match (&taint.value, there.as_object_mut()) {
                (Some(value), _) => there["value"] = json!(value),
                (None, Some(members)) => drop(members.remove("value")),
                (None, None) => {}
            }
            return;
        }
        let mut new = json!({"key": taint.key, "effect": taint.effect});
        if let Some(value) = &taint.value {
            new["value"] = json!(value);
        }
        taints.push(new);
    })
    .await
}

/// Removes a taint from a cluster on the control plane. Other taints stay.
pub async fn untaint(control: &Client, name: &str, key: &str, effect: &str) -> Result<(), ActionError> {
    edit_list(control, &cluster(name), &["spec", "taints"], |taints| {
        taints.retain(|it| !same_taint(it, key, effect));
    })
    .await
}

/// Removes the taints of a cluster with the effect `NoExecute` that users set, and returns them.
pub async fn take_taints(control: &Client, name: &str) -> Result<Vec<Taint>, ActionError> {
    let mut taken = Vec::new();
    edit_list(control, &cluster(name), &["spec", "taints"], |taints| {
        taken.clear();
        taints.retain(|it| {
            let text = |member: &str| it[member].as_str().unwrap_or_default();
            if text("effect") != "NoExecute" || text("key").starts_with(OF_THE_CONTROL_PLANE) {
                return true;
            }
            taken.push(Taint {
                key: text("key").to_owned(),
                value: it["value"].as_str().map(str::to_owned),
                effect: text("effect").to_owned(),
            });
            false
        });
    })
    .await?;
    Ok(taken)
}

/// Edits a list in an object at the revision that was read, and retries after a conflict. Writes nothing if nothing
/// changes.
async fn edit_list(
    client: &Client,
    of: &ObjectRef,
    place: &[&str; 2],
    mut edit: impl FnMut(&mut Vec<Value>),
) -> Result<(), ActionError> {
    let [parent, list] = *place;
    let what = format!("changing {parent}.{list} of {} {}", of.kind, of.name);
    let (api, _) = api_of(client, of, &what).await?;
    let params = PatchParams {
        field_manager: Some(BATON.to_owned()),
        ..PatchParams::default()
    };
    let mut attempts = 0;
    loop {
        attempts += 1;
        let object = api.get(&of.name).await.map_err(refused(&what))?;
        let object = serde_json::to_value(object).map_err(kube::Error::SerdeError);
        let object = object.map_err(refused(&what))?;
        let before = object[parent][list].as_array().cloned().unwrap_or_default();
        let mut after = before.clone();
        edit(&mut after);
        if after == before {
            return Ok(());
        }
        let mut merge = json!({"metadata": {"resourceVersion": object["metadata"]["resourceVersion"]}});
        merge[parent][list] = if after.is_empty() { Value::Null } else { after.into() };
        let merge = Patch::Merge(&merge);
        let patched = match parent {
            "status" => sent(|| api.patch_status(&of.name, &params, &merge)).await,
            _ => sent(|| api.patch(&of.name, &params, &merge)).await,
        };
        match patched {
            Err(kube::Error::Api(status)) if status.code == 409 && attempts < ATTEMPTS => {}
            patched => return patched.map(drop).map_err(refused(&what)),
        }
    }
}
