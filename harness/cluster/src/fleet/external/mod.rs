//! Fleets on existing clusters. They are leased to one case after another, or to several concurrent cases that do not
//! affect each other, each with different members.
//!
//! In reading order:
//!
//! - [`access`]: kubeconfigs and addresses; `registered`: members by their registration; `check`: preconditions of
//!   clusters; `tls`: reasons of failed connections;
//! - [`External`]: the backend; `leased`: a fleet for one case, with a separate namespace; `fault_proxies`: proxies
//!   between the target and the clusters; `credentials`: tokens for targets that connect directly;
//! - `reach`: steps that these clusters cannot carry out;
//! - [`record`](fn@record): records clusters while another program drives them;
//! - `pool`: distributes members among cases; `names`: names of members in concurrent cases; `translated`: clients that
//!   apply them; [`embedded_members`]: members that this process makes for a run;
//! - `clean`: removes the objects of a case, and checks that they are gone; `remains`: removes the objects of a killed
//!   run.
//!
//! A target finds its members as on any other control plane: a `Cluster` and a `Secret` each, `member1`, `member2`, …
//! Members that an installed implementation has already registered stay as they are.

pub mod access;
mod check;
mod clean;
mod credentials;
pub mod embedded_members;
mod fault_proxies;
mod leased;
mod names;
mod pool;
mod reach;
mod record;
mod registered;
mod remains;
mod tls;
mod translated;

use std::{
    collections::BTreeSet,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
};

pub use access::{Access, AccessError, Clusters};
use async_trait::async_trait;
use baton_core::{
    case::{model::Case, sharing},
    names::ClusterName,
};
pub use check::{CheckError, TEST_CLUSTER};
use embedded_members::EmbeddedMembers;
use futures::future::{join_all, try_join_all};
use jiff::Timestamp;
use k8s_openapi::{
    api::admissionregistration::v1::MutatingWebhookConfiguration,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api,
    api::{DeleteParams, ListParams, ObjectMeta},
};
pub use record::{RecordError, record};
pub use registered::RegisteredError;
use serde_json::{Value, json};

use pool::Pool;
pub(super) use pool::Turn;

use super::{
    Backend, Fleet, FleetError, Request, TargetLocation, TimeMode,
    cluster_api::{self, Dating},
    embedded::{FLEET, bundled_rules},
    register,
};
use crate::{
    actions::BATON,
    clock::Clock,
    simulator::{Rules, rules::KindRef},
};

/// Provider of the members' workloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workloads {
    /// The simulator: the members have neither kubelets nor controllers.
    Simulated,
    /// The members, except for custom kinds, whose operators the simulator replaces.
    CustomSimulated,
    /// The members, with all operators that cases need.
    Own,
}

/// Options for existing clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Provider of the members' workloads.
    pub workloads: Workloads,
    /// Keep the objects of each case on the clusters, for inspection.
    pub keep: bool,
    /// The user confirms that all clusters are for tests. Otherwise each must be marked ([`TEST_CLUSTER`]).
    pub vouched_for: bool,
    /// Address of this machine that a target elsewhere reaches: members are registered with fault proxies there.
    pub address: Option<IpAddr>,
    /// Address of this machine that the members reach, for webhooks; `None` if unknown.
    pub webhooks: Option<IpAddr>,
}

/// The backend for existing clusters.
#[derive(Debug)]
pub struct External {
    name: &'static str,
    clusters: Clusters,
    options: Options,
    /// Members that were registered before, under other addresses.
    registered: BTreeSet<ClusterName>,
    removed: BTreeSet<String>,
    /// Definitions of the failover API that this run added.
    defined: Mutex<BTreeSet<String>>,
    /// Webhook that sets the time of taints, if this run added the kind Cluster.
    dates_taints: Mutex<Option<Dating>>,
    /// Shared objects of concurrent cases, until a case runs alone; locked while they change.
    common: tokio::sync::Mutex<Common>,
    pool: Pool,
    /// The members, if this process made them.
    _embedded: Option<EmbeddedMembers>,
}

/// Shared objects of concurrent cases, which no case may remove.
#[derive(Debug, Default)]
struct Common {
    /// Definitions that existed before the first concurrent case; `None` if there is no such case.
    before: Option<BTreeSet<String>>,
    /// Set if this run created the namespace for the secrets of members.
    namespace: bool,
}

/// An error while clusters are prepared as a backend.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The clusters cannot be used.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// Another operation failed.
    #[error(transparent)]
    Fleet(#[from] FleetError),
}

impl External {
    /// Checks clusters and makes a backend of them. Only removes the objects of a killed run; changes nothing else yet.
    ///
    /// # Errors
    /// If a cluster cannot be reached, is not for tests, is used by another run, or its clock differs.
    pub async fn connect(name: &'static str, clusters: Clusters, options: Options) -> Result<Self, ConnectError> {
        let looks = clusters
            .all()
            .map(|access| look(access, options.vouched_for || access.is_own()));
        let clocks = try_join_all(looks).await?;
        let clocks: Vec<_> = clocks.into_iter().flatten().collect();
        check::agree(&clocks)?;
        let removed = remains::remove(&clusters).await?;
        let registered = register::registered(&client(&clusters.control, FLEET)?).await?;
        let pool = Pool::new(clusters.members.len());
        Ok(Self {
            name,
            clusters,
            options,
            registered,
            removed,
            defined: Mutex::default(),
            dates_taints: Mutex::default(),
            common: tokio::sync::Mutex::default(),
            pool,
            _embedded: None,
        })
    }

    /// Keeps embedded members alive as long as the backend.
    #[must_use]
    pub fn keeping(self, members: EmbeddedMembers) -> Self {
        Self {
            _embedded: Some(members),
            ..self
        }
    }

    /// Namespaces of cases of an earlier run that were removed.
    pub fn removed(&self) -> &BTreeSet<String> {
        &self.removed
    }

    /// Rules of the simulator for a case; `None` without a simulator.
    fn rules(&self, request: &Request) -> Result<Option<Arc<Rules>>, FleetError> {
        let rules = || request.rules.clone().map_or_else(bundled_rules, Ok);
        match self.options.workloads {
            Workloads::Simulated => rules().map(Some),
            Workloads::CustomSimulated => Ok(Some(Arc::new(Rules::clone(&*rules()?).custom_only()))),
            Workloads::Own => Ok(None),
        }
    }

    /// Waits until enough members are free, and no case that must run alone is waiting or running.
    pub(super) async fn turn(&self, request: &Request) -> Result<Turn, FleetError> {
        if request.beside_others {
            self.pool.beside_others(request.members).await
        } else {
            self.pool.alone(request.members).await
        }
    }

    /// Leases a fleet, which holds its members until it is shut down.
    pub(super) async fn lease(&self, request: &Request, turn: Turn) -> Result<Box<dyn Fleet>, FleetError> {
        let taken = turn.members().iter().filter_map(|it| self.clusters.members.get(*it));
        let taken: Vec<&Access> = taken.collect();
        {
            let mut common = self.common.lock().await;
            if request.beside_others {
                self.begin_common(&mut common).await?;
            } else {
                self.end_common(&mut common).await?;
            }
            self.define(request.definitions.as_deref()).await?;
        }
        let rules = self.rules(request)?;
        let lessor = leased::Lessor {
            backend: self.name,
            control: &self.clusters.control,
            members: taken,
            company: request.beside_others.then_some(&self.pool.company),
            rules: rules.as_ref(),
            keep: self.options.keep,
            location: request.location,
            address: self.options.address,
            webhooks: self.options.webhooks,
        };
        Ok(Box::new(lessor.lease(request, turn).await?))
    }

    /// Notes the existing definitions before the first of several concurrent cases begins.
    async fn begin_common(&self, common: &mut Common) -> Result<(), FleetError> {
        if common.before.is_some() {
            return Ok(());
        }
        let client = client(&self.clusters.control, FLEET)?;
        common.before = Some(definitions(self.clusters.control.name(), &client).await?);
        common.namespace = register::make_namespace(&client, &remains::labels()).await?;
        Ok(())
    }

    /// Removes the shared objects of concurrent cases, after the last of them.
    async fn end_common(&self, common: &mut Common) -> Result<(), FleetError> {
        let Common { before, namespace } = std::mem::take(common);
        let Some(mut before) = before.filter(|_| !self.options.keep) else {
            return Ok(());
        };
        before.extend(
            self.defined
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .iter()
                .cloned(),
        );
        let control = self.clusters.control.name();
        let client = client(&self.clusters.control, FLEET)?;
        let made = definitions_of(control, &client, BATON).await?;
        let mut left = undefine(control, &client, &made.difference(&before).cloned().collect()).await;
        if namespace {
            let removed = clean::remove_namespace(control, &client, register::NAMESPACE).await;
            left.extend(removed.map_err(refused(control, "removing what cases had in common"))?);
        }
        if left.is_empty() {
            Ok(())
        } else {
            Err(FleetError::LeftBehind(left))
        }
    }

    /// Defines the failover API on the control plane, as far as it is missing: from the target's definitions, if it has
    /// any.
    async fn define(&self, of_target: Option<&Vec<Value>>) -> Result<(), FleetError> {
        let client = client(&self.clusters.control, FLEET)?;
        let (definitions, is_cluster_ours) = match of_target {
            Some(definitions) => {
                let clusters = cluster_api::if_missing(definitions)?;
                let is_ours = clusters.is_some();
                (definitions.iter().cloned().chain(clusters).collect(), is_ours)
            }
            None => (register::failover_api()?.to_vec(), false),
        };
        let mut missing = register::missing(&client, definitions).await?;
        if !self.options.keep {
            for definition in &mut missing {
                definition["metadata"]["labels"] = json!(remains::labels());
            }
        }
        let names = missing.iter().filter_map(|it| it["metadata"]["name"].as_str());
        let names: Vec<String> = names.map(str::to_owned).collect();
        let to_date = {
            let mut defined = self.defined.lock().unwrap_or_else(PoisonError::into_inner);
            defined.extend(names);
            let is_dated = self
                .dates_taints
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .is_some();
            is_cluster_ours && defined.contains(cluster_api::NAME) && !is_dated
        };
        register::define(&client, &missing).await?;
        if to_date {
            let address = self.options.webhooks.ok_or(FleetError::Undated)?;
            let clock: Clock = Arc::new(Timestamp::now);
            let dating = Dating::serve_apart(&clock, address)?;
            dating.register(&client, &remains::labels()).await?;
            *self.dates_taints.lock().unwrap_or_else(PoisonError::into_inner) = Some(dating);
        }
        Ok(())
    }

    /// Removes the webhook that sets the time of taints: once it stops, no Cluster could be written.
    async fn stop_dating(&self) -> Result<(), FleetError> {
        let dating = self.dates_taints.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(dating) = dating else { return Ok(()) };
        let removed = remove_webhook(&client(&self.clusters.control, FLEET)?, cluster_api::WEBHOOK).await;
        dating.stop().await;
        removed.map_err(refused(self.clusters.control.name(), "removing what dates taints"))
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

/// Builds the error for a refused operation on a cluster.
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

    fn at_once(&self, members: usize) -> Option<usize> {
        Some((self.clusters.members.len() / members.max(1)).max(1))
    }

    fn beside_each_other(&self, cases: &[&Case], location: TargetLocation) -> Option<BTreeSet<usize>> {
        Some(match location {
            // A target that is started for each case must run alone.
            TargetLocation::Beside => BTreeSet::new(),
            TargetLocation::Elsewhere => sharing::together(cases),
        })
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
        self.lease(request, self.turn(request).await?).await
    }

    async fn shut_down(&self) -> Result<(), FleetError> {
        self.end_common(&mut *self.common.lock().await).await?;
        self.stop_dating().await?;
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

/// Removes a webhook configuration, if it exists.
async fn remove_webhook(client: &kube::Client, name: &str) -> kube::Result<()> {
    let api: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
    match api.delete(name, &DeleteParams::background()).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(error),
    }
}

/// Names of a cluster's definitions.
async fn definitions(cluster: &ClusterName, client: &kube::Client) -> Result<BTreeSet<String>, FleetError> {
    let all = listed_definitions(cluster, client).await?;
    Ok(all.into_iter().filter_map(|it| it.name).collect())
}

/// The definitions that were written by the field manager `by`.
async fn definitions_of(
    cluster: &ClusterName,
    client: &kube::Client,
    by: &str,
) -> Result<BTreeSet<String>, FleetError> {
    let all = listed_definitions(cluster, client).await?;
    let is_theirs = |it: &ObjectMeta| {
        let mut managers = it.managed_fields.iter().flatten();
        managers.any(|entry| entry.manager.as_deref() == Some(by))
    };
    Ok(all.into_iter().filter(is_theirs).filter_map(|it| it.name).collect())
}

async fn listed_definitions(cluster: &ClusterName, client: &kube::Client) -> Result<Vec<ObjectMeta>, FleetError> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let all = api.list_metadata(&ListParams::default()).await;
    let all = all.map_err(refused(cluster, "listing definitions"))?;
    Ok(all.items.into_iter().map(|it| it.metadata).collect())
}

/// Removes definitions with all their objects; returns descriptions of those that stay.
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
