//! Defines the failover API on a control plane, and registers members with it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::OnceLock,
    time::Duration,
};

use baton_core::names::ClusterName;
use http::{HeaderValue, header};
use k8s_openapi::{
    ByteString,
    api::core::v1::{Namespace, Secret},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::{CustomResourceDefinition, CustomResourceDefinitionStatus},
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, ObjectMeta, PostParams, Request},
    runtime::{conditions, wait::await_condition},
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};

use super::FleetError;

/// Namespace of the secrets of members.
pub(super) const NAMESPACE: &str = "karmada-cluster";

/// Longest time until a definition is established; usually milliseconds.
const ESTABLISHED_WITHIN: Duration = Duration::from_secs(30);

/// `Accept` header for answers without the whole object.
const METADATA: HeaderValue = HeaderValue::from_static("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");

/// Connection data of a member for the target.
#[derive(Debug)]
pub(super) struct Endpoint {
    /// Name of the member.
    pub name: ClusterName,
    /// Address of its API server (`https://…`).
    pub url: String,
    /// Certificates of the authorities of its server (PEM).
    pub ca: Vec<u8>,
    /// Bearer token of the target.
    pub token: String,
}

/// The fields that are read from a list of definitions.
#[derive(Debug, Deserialize)]
struct Definitions {
    items: Vec<Definition>,
}

#[derive(Debug, Deserialize)]
struct Definition {
    metadata: Named,
    status: Option<CustomResourceDefinitionStatus>,
}

#[derive(Debug, Deserialize)]
struct Named {
    name: String,
}

impl Definition {
    fn is_established(&self) -> bool {
        let conditions = self.status.iter().flat_map(|status| status.conditions.iter().flatten());
        let mut established = conditions.filter(|condition| condition.type_ == "Established");
        established.any(|condition| condition.status == "True")
    }
}

fn failed(what: impl Into<String>) -> impl FnOnce(kube::Error) -> FleetError {
    let what = what.into();
    move |source| FleetError::Prepare {
        cluster: ClusterName::control(),
        what,
        source: Box::new(source),
    }
}

/// The definitions of the failover API, parsed once per process.
pub(crate) fn failover_api() -> Result<&'static [Value], FleetError> {
    static READ: OnceLock<Vec<Value>> = OnceLock::new();
    if let Some(read) = READ.get() {
        return Ok(read);
    }
    let read = |text: &&str| serde_json::from_str(text).map_err(FleetError::Definition);
    let read: Vec<Value> = crate::bundled::CRDS.iter().map(read).collect::<Result<_, _>>()?;
    Ok(READ.get_or_init(|| read))
}

/// The definitions that a cluster does not have yet.
pub(super) async fn missing(client: &Client, definitions: Vec<Value>) -> Result<Vec<Value>, FleetError> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let there = api.list_metadata(&ListParams::default()).await;
    let there = there.map_err(failed("listing definitions"))?;
    let there: BTreeSet<String> = there.into_iter().map(|definition| definition.name_any()).collect();
    let is_missing = |it: &Value| !it["metadata"]["name"].as_str().is_some_and(|name| there.contains(name));
    Ok(definitions.into_iter().filter(is_missing).collect())
}

/// Names of the members that are registered with a control plane.
pub(super) async fn registered(client: &Client) -> Result<BTreeSet<ClusterName>, FleetError> {
    match clusters(client).list_metadata(&ListParams::default()).await {
        Ok(known) => Ok(known.into_iter().map(|it| ClusterName::new(it.name_any())).collect()),
        // The failover API is not defined yet.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(BTreeSet::new()),
        Err(error) => Err(failed("listing the Clusters")(error)),
    }
}

/// Client for Clusters.
pub(super) fn clusters(client: &Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("cluster.karmada.io", "v1alpha1", "Cluster");
    Api::all_with(client.clone(), &ApiResource::from_gvk(&kind))
}

/// Creates definitions and waits until all of them are served. They are large, so only the metadata of the answers is
/// requested.
pub(crate) async fn define(client: &Client, definitions: &[Value]) -> Result<(), FleetError> {
    let requests = Request::new(CustomResourceDefinition::url_path(&(), None));
    for definition in definitions {
        let name = definition["metadata"]["name"].as_str().unwrap_or_default();
        let created = create(client, &requests, definition).await;
        created.map_err(failed(format!("creating the definition {name}")))?;
    }
    let listing = failed("listing definitions");
    let all = match requests.list(&ListParams::default()) {
        Ok(request) => client.request::<Definitions>(request).await,
        Err(error) => Err(kube::Error::BuildRequest(error)),
    };
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in all.map_err(listing)?.items {
        if definition.is_established() {
            continue;
        }
        let name = definition.metadata.name;
        let established = await_condition(api.clone(), &name, conditions::is_crd_established());
        let in_time = tokio::time::timeout(ESTABLISHED_WITHIN, established).await;
        if !matches!(in_time, Ok(Ok(_))) {
            let cluster = ClusterName::control();
            return Err(FleetError::NotEstablished { cluster, name });
        }
    }
    Ok(())
}

async fn create(client: &Client, requests: &Request, definition: &Value) -> Result<(), kube::Error> {
    let body = serde_json::to_vec(definition).map_err(kube::Error::SerdeError)?;
    let request = requests.create(&PostParams::default(), body);
    let mut request = request.map_err(kube::Error::BuildRequest)?;
    request.headers_mut().insert(header::ACCEPT, METADATA);
    client.request::<IgnoredAny>(request).await?;
    Ok(())
}

/// Registers members with these labels: a `Cluster` and a `Secret` each, as for members in push mode.
pub(super) async fn register(
    client: &Client,
    endpoints: Vec<Endpoint>,
    labels: &BTreeMap<String, String>,
) -> Result<(), FleetError> {
    if endpoints.is_empty() {
        return Ok(());
    }
    make_namespace(client, labels).await?;
    let secrets: Api<Secret> = Api::namespaced(client.clone(), NAMESPACE);
    let clusters = clusters(client);
    for Endpoint { name, url, ca, token } in endpoints {
        let data = [
            ("caBundle".to_owned(), ByteString(ca)),
            ("token".to_owned(), ByteString(token.into_bytes())),
        ];
        let secret = Secret {
            metadata: named(name.as_str(), labels),
            data: Some(data.into()),
            ..Secret::default()
        };
        let created = secrets.create(&PostParams::default(), &secret).await;
        created.map_err(failed(format!("creating the secret of {name}")))?;
        let cluster = json!({
            "apiVersion": "cluster.karmada.io/v1alpha1",
            "kind": "Cluster",
            "metadata": named(name.as_str(), labels),
            "spec": {
                "syncMode": "Push",
                "apiEndpoint": url,
                "secretRef": {"namespace": NAMESPACE, "name": name.as_str()},
            },
        });
        let cluster = serde_json::from_value(cluster).map_err(kube::Error::SerdeError);
        let created = match cluster {
            Ok(cluster) => clusters.create(&PostParams::default(), &cluster).await,
            Err(error) => Err(error),
        };
        created.map_err(failed(format!("registering {name}")))?;
    }
    Ok(())
}

/// Removes members from a control plane: the `Cluster` and the `Secret` of each. Absent ones count as removed.
pub(super) async fn unregister(client: &Client, names: &[ClusterName]) -> Result<(), FleetError> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), NAMESPACE);
    let clusters = clusters(client);
    for name in names {
        let removed = [
            clusters.delete(name.as_str(), &DeleteParams::default()).await.map(drop),
            secrets.delete(name.as_str(), &DeleteParams::default()).await.map(drop),
        ];
        for removed in removed {
            match removed {
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                other => other.map_err(failed(format!("removing {name}")))?,
            }
        }
    }
    Ok(())
}

/// Creates the namespace for the secrets of members; returns `false` if it existed.
pub(super) async fn make_namespace(client: &Client, labels: &BTreeMap<String, String>) -> Result<bool, FleetError> {
    let namespace = Namespace {
        metadata: named(NAMESPACE, labels),
        ..Namespace::default()
    };
    let namespaces: Api<Namespace> = Api::all(client.clone());
    match namespaces.create(&PostParams::default(), &namespace).await {
        // An installed implementation has created it.
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
        Ok(_) => Ok(true),
        Err(error) => Err(failed(format!("creating the namespace {NAMESPACE}"))(error)),
    }
}

fn named(name: &str, labels: &BTreeMap<String, String>) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        labels: (!labels.is_empty()).then(|| labels.clone()),
        ..ObjectMeta::default()
    }
}
