//! Kinds of a cluster that are observed.

use kube::{
    Client,
    api::ApiResource,
    core::discovery::verbs,
    discovery::{ApiCapabilities, Discovery},
};
use serde_json::Value;

use super::NOT_RECORDED;

/// Groups whose kinds are not watched: their events are duplicates of those of the core group.
const NOT_WATCHED: &[&str] = &["events.k8s.io", "metrics.k8s.io"];

/// Discovers all kinds that a cluster can list, each in one version.
pub(crate) async fn served(client: &Client) -> kube::Result<Vec<(ApiResource, ApiCapabilities)>> {
    let discovery = Discovery::new(client.clone()).exclude(NOT_WATCHED);
    let discovery = match discovery.run_aggregated().await {
        Ok(discovery) => discovery,
        // Older servers do not support aggregated discovery.
        Err(_) => Discovery::new(client.clone()).exclude(NOT_WATCHED).run().await?,
    };
    // Some kinds of a group are not served in its preferred version.
    let all = discovery
        .groups()
        .flat_map(kube::discovery::ApiGroup::resources_by_stability);
    let mut all: Vec<_> = all.filter(|(_, can)| can.supports_operation(verbs::LIST)).collect();
    all.sort_by(|(one, _), (other, _)| (&one.group, &one.kind).cmp(&(&other.group, &other.kind)));
    Ok(all)
}

/// Selects the kinds that are recorded.
pub(super) fn recorded(served: Vec<(ApiResource, ApiCapabilities)>) -> impl Iterator<Item = ApiResource> {
    let watched = served
        .into_iter()
        .filter(|(_, can)| can.supports_operation(verbs::WATCH));
    let resources = watched.map(|(resource, _)| resource);
    resources.filter(|resource| !NOT_RECORDED.contains(&resource.kind.as_str()))
}

/// The kind of a definition, once it is served.
pub(super) fn defined(definition: &Value) -> Option<ApiResource> {
    let list = |pointer: &str| definition.pointer(pointer).and_then(Value::as_array);
    let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let established = list("/status/conditions")?
        .iter()
        .any(|it| it["type"] == "Established" && it["status"] == "True");
    let versions = list("/spec/versions")?;
    let stored = versions.iter().find(|version| version["storage"] == true)?;
    let served = if stored["served"] == true {
        stored
    } else {
        versions.iter().find(|version| version["served"] == true)?
    };
    let (group, version) = (text("/spec/group")?, served["name"].as_str()?.to_owned());
    established.then_some(ApiResource {
        api_version: format!("{group}/{version}"),
        group,
        version,
        kind: text("/spec/names/kind")?,
        plural: text("/spec/names/plural")?,
    })
}
