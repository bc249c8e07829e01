//! Fleets on clusters that exist already: they stay, and are leased to one case after the other.
//!
//! To read in this order:
//!
//! - [`access`]: how they are reached; `check`: whether they may be used and can be; `tls`: why a connection fails;
//! - [`External`]: the backend; `fleet`: what a case gets of it, with a namespace of its own; `proxies`: the way of the
//!   target to it, where faults are injected; `credentials`: what lets it in where it goes around them;
//! - `reach`: what cases ask for that these clusters cannot do;
//! - [`record`](fn@record): writes down what happens on clusters while somebody else drives;
//! - `clean`: removes all that came of a case, and proves it; `remains`: what a run has left that was killed.
//!
//! A target finds its members as on any other control plane: a `Cluster` and a `Secret` each, `member1`, `member2`, …
//! Those that are registered already, for an implementation that is installed there, stay as they are.

pub mod access;
mod check;
mod clean;
mod credentials;
mod fault_proxies;
mod leased;
mod reach;
mod record;
mod remains;
mod tls;

use std::{
    collections::BTreeSet,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use baton_core::{case::model::Case, names::ClusterName};
use futures::future::{join_all, try_join_all};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, api::DeleteParams};
use serde_json::json;
use tokio::sync::OwnedMutexGuard;

pub use access::{Access, AccessError, Clusters};
pub use check::{CheckError, TEST_CLUSTER};
pub use record::{RecordError, record};

use super::{
    Backend, Fleet, FleetError, Request, TargetLocation, TimeMode,
    embedded::{FLEET, bundled_rules},
    register,
};
use crate::simulator::{Rules, rules::KindRef};

/// Who makes workloads run on the members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workloads {
    /// The workload simulator: the members have neither kubelets nor controllers.
    Simulated,
    /// The members themselves, but for custom kinds, whose operators the simulator stands for.
    CustomSimulated,
    /// The members themselves, with all operators that cases need.
    Own,
}

/// What is done with clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Who makes workloads run on the members.
    pub workloads: Workloads,
    /// Whether what a case has made stays on the clusters, to be looked at.
    pub keep: bool,
    /// Whether somebody vouches that all of them are for tests. Otherwise each must be marked so ([`TEST_CLUSTER`]).
    pub vouched_for: bool,
    /// An address of this machine under which a target that stands elsewhere reaches it: members are registered with
    /// proxies there, so that faults can be injected.
    pub address: Option<IpAddr>,
    /// An address of this machine that the members reach: what they are to call listens there. None if no such address
    /// is known.
    pub webhooks: Option<IpAddr>,
}

/// Clusters that somebody else has started, as a backend.
#[derive(Debug)]
pub struct External {
    name: &'static str,
    clusters: Clusters,
    options: Options,
    /// The members that were registered before, under addresses of their own.
    registered: BTreeSet<ClusterName>,
    removed: BTreeSet<String>,
    /// The definitions of the failover API that were not there before.
    defined: Mutex<BTreeSet<String>>,
    /// Whose turn it is: a fleet holds it until it is shut down.
    turn: Arc<Turn>,
}

/// The right to use clusters, which one fleet has at a time.
type Turn = tokio::sync::Mutex<()>;

/// Why clusters cannot serve as a backend.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// They may not be used, or cannot be.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// Something else is wrong.
    #[error(transparent)]
    Fleet(#[from] FleetError),
}

impl External {
    /// Looks at clusters and makes a backend of them. Nothing is changed on them yet, but what a run has left there that
    /// was killed is removed.
    ///
    /// # Errors
    /// If one of them cannot be reached, is not for tests, is used by another run, or has a clock of its own.
    pub async fn connect(name: &'static str, clusters: Clusters, options: Options) -> Result<Self, ConnectError> {
        let looks = clusters.all().map(|access| look(access, options.vouched_for));
        let clocks = try_join_all(looks).await?;
        let clocks: Vec<_> = clocks.into_iter().flatten().collect();
        check::agree(&clocks)?;
        let removed = remains::remove(&clusters).await?;
        let registered = register::registered(&client(&clusters.control, FLEET)?).await?;
        Ok(Self {
            name,
            clusters,
            options,
            registered,
            removed,
            defined: Mutex::default(),
            turn: Arc::default(),
        })
    }

    /// The namespaces of cases that an earlier run had left, and that are gone now.
    pub fn removed(&self) -> &BTreeSet<String> {
        &self.removed
    }

    /// What the simulator does for a case; none if nobody simulates.
    fn rules(&self, request: &Request) -> Result<Option<Arc<Rules>>, FleetError> {
        let rules = || request.rules.clone().map_or_else(bundled_rules, Ok);
        match self.options.workloads {
            Workloads::Simulated => rules().map(Some),
            Workloads::CustomSimulated => Ok(Some(Arc::new(Rules::clone(&*rules()?).custom_only()))),
            Workloads::Own => Ok(None),
        }
    }

    /// Waits until no fleet has these clusters.
    pub(super) async fn turn(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.turn).lock_owned().await
    }

    /// A fleet of these clusters, which has them until it is shut down.
    pub(super) async fn lease(
        &self,
        request: &Request,
        turn: OwnedMutexGuard<()>,
    ) -> Result<Box<dyn Fleet>, FleetError> {
        let there = self.clusters.members.len();
        let members = self.clusters.members.get(..request.members);
        let members = members.ok_or(FleetError::TooFew {
            wanted: request.members,
            there,
        })?;
        self.define().await?;
        let rules = self.rules(request)?;
        let lessor = leased::Lessor {
            backend: self.name,
            control: &self.clusters.control,
            members,
            rules: rules.as_ref(),
            keep: self.options.keep,
            location: request.location,
            address: self.options.address,
            webhooks: self.options.webhooks,
        };
        Ok(Box::new(lessor.lease(request, turn).await?))
    }

    /// Makes the failover API known to the control plane, as far as it is not.
    async fn define(&self) -> Result<(), FleetError> {
        let client = client(&self.clusters.control, FLEET)?;
        let mut missing = register::missing(&client, register::failover_api()?).await?;
        if !self.options.keep {
            for definition in &mut missing {
                definition["metadata"]["labels"] = json!(remains::labels());
            }
        }
        let names = missing.iter().filter_map(|it| it["metadata"]["name"].as_str());
        let names: Vec<String> = names.map(str::to_owned).collect();
        self.defined
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(names);
        register::define(&client, &missing).await
    }
}

async fn look(access: &Access, vouched_for: bool) -> Result<Option<(ClusterName, jiff::SignedDuration)>, ConnectError> {
    let client = client(access, FLEET)?;
    let ahead = check::answers(access.name(), &access.url(), &client).await?;
    if !vouched_for {
        check::is_marked(access.name(), &client).await?;
    }
    Ok(ahead.map(|ahead| (access.name().clone(), ahead)))
}

pub(super) fn client(access: &Access, user_agent: &str) -> Result<kube::Client, FleetError> {
    access
        .client(user_agent)
        .map_err(|source| refused(access.name(), "making a client")(source))
}

/// What was to be done on a cluster, and was refused.
fn refused<T: Into<String>>(cluster: &ClusterName, what: T) -> impl FnOnce(kube::Error) -> FleetError + use<T> {
    let (cluster, what) = (cluster.clone(), what.into());
    move |source| FleetError::Prepare {
        cluster,
        what,
        source: Box::new(source),
    }
}

#[async_trait]
impl Backend for External {
    fn name(&self) -> &'static str {
        self.name
    }

    fn time_mode(&self) -> TimeMode {
        TimeMode::Real
    }

    fn at_once(&self) -> Option<usize> {
        Some(1)
    }

    fn cannot_carry(&self, case: &Case, location: TargetLocation) -> Option<String> {
        let there = self.clusters.members.len();
        if case.members > there {
            return Some(format!("needs {} members, and there are {there}", case.members));
        }
        let way = reach::Way {
            backend: self.name,
            location,
            has_address: self.options.address.is_some(),
            has_webhooks: self.options.webhooks.is_some(),
            registered: &self.registered,
        };
        let beyond = case.steps.iter().find_map(|step| way.beyond_reach(&step.action));
        if beyond.is_some() {
            return beyond;
        }
        let simulated: fn(&KindRef) -> bool = match self.options.workloads {
            Workloads::Simulated => |_| true,
            Workloads::CustomSimulated => KindRef::is_custom,
            Workloads::Own => |_| false,
        };
        let beyond = case
            .steps
            .iter()
            .any(|step| reach::tells_simulator(&step.action, simulated));
        beyond.then(|| "tells the workload simulator what to do, and the members run workloads themselves".to_owned())
    }

    async fn fleet(&self, request: &Request) -> Result<Box<dyn Fleet>, FleetError> {
        self.lease(request, self.turn().await).await
    }

    async fn shut_down(&self) -> Result<(), FleetError> {
        let defined = std::mem::take(&mut *self.defined.lock().unwrap_or_else(PoisonError::into_inner));
        if self.options.keep || defined.is_empty() {
            return Ok(());
        }
        let control = &self.clusters.control;
        let left = undefine(control.name(), &client(control, FLEET)?, &defined).await;
        if left.is_empty() {
            Ok(())
        } else {
            Err(FleetError::LeftBehind(left))
        }
    }
}

/// Removes definitions, with all objects of them; gives those that do not go, in words.
async fn undefine(cluster: &ClusterName, client: &kube::Client, names: &BTreeSet<String>) -> Vec<String> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let deletions = names.iter().map(|name| {
        let api = api.clone();
        async move { kube::runtime::wait::delete::delete_and_finalize(api, name, &DeleteParams::background()).await }
    });
    let results = tokio::time::timeout(leased::CLEANED_WITHIN, join_all(deletions)).await;
    if results.is_ok_and(|all| all.iter().all(Result::is_ok)) {
        return Vec::new();
    }
    let words = |name: &String| format!("CustomResourceDefinition {name} on {cluster}");
    names.iter().map(words).collect()
}
