//! Leased fleets: existing clusters, with a namespace for one case. `lessor` prepares them.

mod lessor;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use baton_core::{
    names::ClusterName,
    timeline::{Begin, Mark, Order},
};
use futures::future::join_all;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::{
    check, clean,
    clean::{Inventory, Ours},
    fault_proxies::FaultProxies,
    names::Company,
    pool::Turn,
    refused,
};
use crate::{
    actions,
    admission::Admission,
    clock::Clock,
    error_chain::error_chain,
    fleet::{
        Cluster, Fault, Fleet, FleetError, Gatekeeper, RequestCounts,
        embedded::{FLEET, starved},
        register::clusters,
    },
    observer::{Recorder, watching::Watching},
    scratch::Scratch,
    simulator::Simulator,
};

pub(super) use self::lessor::Lessor;

/// Longest time until all removed objects are gone.
pub(super) const CLEANED_WITHIN: Duration = Duration::from_secs(120);

/// Longest time for the answer to a check that a cluster still serves.
const STILL_THERE_WITHIN: Duration = Duration::from_secs(5);

/// A fleet that is leased to a case.
pub(super) struct LeasedFleet {
    backend: &'static str,
    clock: Clock,
    control: Cluster,
    members: Vec<Cluster>,
    urls: BTreeMap<ClusterName, String>,
    ours: Ours,
    /// Other cases on the same control plane, if they run at the same time.
    company: Option<Arc<Company>>,
    /// Objects that existed before the case, by cluster.
    before: BTreeMap<ClusterName, Inventory>,
    /// Taints of members that were registered before.
    tainted: Vec<(ClusterName, Value)>,
    simulators: Vec<Simulator>,
    /// `None` if the members cannot reach a webhook on this machine.
    admission: Option<Admission>,
    proxies: FaultProxies,
    watching: Mutex<Option<Watching>>,
    keep: bool,
    /// Folder of the kubeconfigs.
    _folder: Scratch,
    /// Reserves the clusters until the fleet is gone.
    _turn: Turn,
}

impl LeasedFleet {
    fn all(&self) -> impl Iterator<Item = &Cluster> {
        std::iter::once(&self.control).chain(&self.members)
    }

    /// Removes the objects that the case made; returns descriptions of those that are left.
    async fn clean(&self) -> Result<Vec<String>, FleetError> {
        self.restore_taints().await?;
        let to_clean = |cluster: &'_ Cluster| {
            let before = self.before.get_key_value(cluster.name())?;
            Some(clean::Cluster {
                name: before.0,
                client: cluster.inside(FLEET),
                before: before.1,
            })
        };
        let Some(control) = to_clean(&self.control) else {
            // The fleet makes nothing before it has the inventories.
            return Ok(Vec::new());
        };
        let failed = |name: &ClusterName| refused(name, "cleaning up");
        let templates = clean::templates(&control, &self.ours).await;
        let templates: BTreeSet<_> = templates.map_err(failed(control.name))?;
        let control_left = clean::clean(&control, &self.ours, &templates).await;
        let members: Vec<_> = self.members.iter().filter_map(to_clean).collect();
        let cleaned = join_all(
            members
                .iter()
                .map(|member| clean::clean(member, &self.ours, &templates)),
        )
        .await;
        let mut left = control_left.map_err(failed(control.name))?;
        for (member, cleaned) in members.iter().zip(cleaned) {
            left.extend(cleaned.map_err(failed(member.name))?);
        }
        Ok(left)
    }

    async fn restore_taints(&self) -> Result<(), FleetError> {
        for (name, taints) in &self.tainted {
            let merge = Patch::Merge(json!({"spec": {"taints": taints}}));
            let api = clusters(&self.control.inside(actions::BATON));
            let patched = api.patch(name.as_str(), &PatchParams::default(), &merge).await;
            patched.map_err(refused(self.control.name(), format!("restoring the taints of {name}")))?;
        }
        Ok(())
    }
}

#[async_trait]
impl Fleet for LeasedFleet {
    fn backend(&self) -> &'static str {
        self.backend
    }

    fn control(&self) -> &Cluster {
        &self.control
    }

    fn members(&self) -> &[Cluster] {
        &self.members
    }

    fn clock(&self) -> Clock {
        Arc::clone(&self.clock)
    }

    fn namespace(&self) -> &str {
        &self.ours.namespace
    }

    fn order(&self) -> Order {
        Order::ARRIVAL
    }

    async fn inject(&self, cluster: &ClusterName, fault: Fault) -> Result<(), FleetError> {
        crate::fleet::cluster(self, cluster)?;
        let faults = self.proxies.faults(cluster).ok_or_else(|| FleetError::Unsupported {
            backend: self.backend,
            fault: fault.to_string(),
        })?;
        crate::fleet::fault::inject(faults, self.backend, fault)
    }

    fn gate(&self) -> Option<Gatekeeper> {
        self.proxies.gate()
    }

    fn admission(&self) -> Option<&Admission> {
        self.admission.as_ref()
    }

    fn observe(&self, begin: Begin) -> Result<Recorder, FleetError> {
        let watching = self.watching.lock().unwrap_or_else(PoisonError::into_inner).take();
        let watching = watching.ok_or(FleetError::Observed)?;
        let started = begin.started;
        let source = Box::new(watching.begin(started));
        Ok(Recorder::start(self.clock(), started, Mark::Begin(begin), source))
    }

    fn writes(&self) -> BTreeMap<String, u64> {
        crate::fleet::requests::writes(self.proxies.all())
    }

    fn traffic(&self) -> RequestCounts {
        crate::fleet::requests::traffic(self.proxies.all())
    }

    fn simulator_failures(&self) -> Vec<String> {
        let of_simulators = self.simulators.iter().flat_map(Simulator::failures);
        let of_admission = self.admission.iter().flat_map(Admission::failures);
        of_simulators.chain(of_admission).collect()
    }

    fn stray(&self) -> Option<String> {
        self.company.as_ref()?.stray(&self.ours.namespace)
    }

    async fn lost(&self) -> Vec<String> {
        let looks = self.all().map(|cluster| {
            let url = self.urls.get(cluster.name()).cloned().unwrap_or_default();
            async move {
                let client = cluster.inside(FLEET);
                let look = check::answers(cluster.name(), &url, &client);
                match tokio::time::timeout(STILL_THERE_WITHIN, look).await {
                    Ok(Ok(_)) => None,
                    Ok(Err(error)) => Some(error_chain(&error)),
                    Err(_) => Some(format!("{} at {url} does not answer any more", cluster.name())),
                }
            }
        });
        let lost = join_all(looks).await.into_iter().flatten();
        lost.chain(starved(self.proxies.starved())).collect()
    }

    async fn shut_down(self: Box<Self>) -> Result<(), FleetError> {
        drop(self.watching.lock().unwrap_or_else(PoisonError::into_inner).take());
        let cleaned = if self.keep { Ok(Vec::new()) } else { self.clean().await };
        // The simulators may have had finalizers to remove until now.
        for simulator in self.simulators {
            simulator.stop().await;
        }
        // The webhook configurations have been removed, so no cluster calls the webhooks any more.
        if let Some(admission) = self.admission {
            admission.stop().await;
        }
        self.proxies.close().await;
        let left = cleaned?;
        if left.is_empty() {
            Ok(())
        } else {
            Err(FleetError::LeftBehind(left))
        }
    }
}
