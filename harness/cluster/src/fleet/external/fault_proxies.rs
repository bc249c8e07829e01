//! Fault proxies between the target and leased clusters, which inject faults. The harness, the simulator and the
//! observer connect to the clusters directly.

use std::{
    collections::BTreeMap,
    io,
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use baton_apiserver::{
    FaultInjector, Gate, Gatekeeper,
    fault_proxy::{FaultProxy, Kinds, Upstream},
};
use baton_core::names::ClusterName;
use futures::{StreamExt as _, future::try_join_all};
use http_body_util::BodyExt as _;
use kube::client::Body;

use super::{Access, refused};
use crate::{
    fleet::{FleetError, TargetLocation, embedded::reserved_agents, register::Endpoint},
    observer::{served, watching::Watching},
};

/// Fault proxies of a fleet, by cluster.
#[derive(Debug, Default)]
pub(super) struct FaultProxies(BTreeMap<ClusterName, FaultProxy>);

impl FaultProxies {
    /// Opens a proxy for each cluster that the target reaches through this process; none for an installed target
    /// without an address of this machine.
    pub(super) async fn open(
        accesses: impl Iterator<Item = &Access>,
        location: TargetLocation,
        address: Option<IpAddr>,
    ) -> Result<Self, FleetError> {
        let address = match (address, location) {
            (Some(address), TargetLocation::Beside | TargetLocation::Elsewhere) => address,
            (None, TargetLocation::Beside) => Ipv4Addr::LOCALHOST.into(),
            (None, TargetLocation::Elsewhere) => return Ok(Self::default()),
        };
        let opened = try_join_all(accesses.map(|access| open(access, address))).await?;
        Ok(Self(opened.into_iter().collect()))
    }

    /// Fault injection for one cluster.
    pub(super) fn faults(&self, cluster: &ClusterName) -> Option<&FaultInjector> {
        self.0.get(cluster).map(FaultProxy::faults)
    }

    /// Fault injection for all clusters.
    pub(super) fn all(&self) -> impl Iterator<Item = &FaultInjector> {
        self.0.values().map(FaultProxy::faults)
    }

    /// A gate in front of all proxies, with its keeper; `None` without proxies.
    pub(super) fn gate(&self) -> Option<Gatekeeper> {
        if self.0.is_empty() {
            return None;
        }
        let (gate, keeper) = Gate::new();
        for (name, proxy) in &self.0 {
            proxy.faults().guard(gate.before(name.as_str()));
        }
        Some(keeper)
    }

    /// Kubeconfig for a cluster through its proxy.
    pub(super) fn kubeconfig(&self, cluster: &ClusterName) -> Option<String> {
        Some(self.0.get(cluster)?.serving().kubeconfig())
    }

    /// Registration of a member that the target reaches through its proxy.
    pub(super) fn endpoint(&self, member: &ClusterName) -> Option<Endpoint> {
        let serving = self.0.get(member)?.serving();
        Some(Endpoint {
            name: member.clone(),
            url: serving.url(),
            ca: serving.ca().as_bytes().to_vec(),
            token: serving.token().to_owned(),
        })
    }

    /// Reports the target's creations on members as fences: the proxy knows when each was requested.
    pub(super) fn tell(&self, watching: &Watching) {
        for (name, proxy) in self.0.iter().filter(|(name, _)| !name.is_control()) {
            proxy.tell_of_creations(watching.fences_of(name.clone()));
        }
    }

    /// Clusters whose proxy had no file descriptor left for a connection.
    pub(super) fn starved(&self) -> impl Iterator<Item = &ClusterName> {
        let starved = self.0.iter().filter(|(_, proxy)| proxy.serving().starved());
        starved.map(|(name, _)| name)
    }

    /// Closes all proxies.
    pub(super) async fn close(self) {
        for proxy in self.0.into_values() {
            proxy.close().await;
        }
    }
}

async fn open(access: &Access, address: IpAddr) -> Result<(ClusterName, FaultProxy), FleetError> {
    let name = access.name().clone();
    let client = access.client_of_others();
    let client = client.map_err(refused(&name, "making a client"))?;
    let kinds = served(&client).await;
    let kinds = kinds.map_err(refused(&name, "asking which kinds it serves"))?;
    let kinds: Kinds = kinds
        .into_iter()
        .map(|(resource, _)| ((resource.group, resource.plural), resource.kind))
        .collect();
    let proxy = FaultProxy::open(name.as_str(), address, upstream(client), kinds, reserved_agents()).await;
    let proxy = proxy.map_err(|source| FleetError::Io {
        what: format!("opening a port on {address}"),
        source,
    })?;
    Ok((name, proxy))
}

fn upstream(client: kube::Client) -> Upstream {
    Arc::new(move |request| {
        let client = client.clone();
        Box::pin(async move {
            let answer = client.send(request.map(Body::from)).await;
            let answer = answer.map_err(io::Error::other)?;
            Ok(answer.map(|body| {
                let pieces = body.into_data_stream();
                let pieces: baton_apiserver::fault_proxy::Answered =
                    Box::pin(pieces.map(|it| it.map_err(io::Error::other)));
                pieces
            }))
        })
    })
}
