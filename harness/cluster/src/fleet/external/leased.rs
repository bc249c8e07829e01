//! A leased fleet: clusters that stay, with a namespace for one case.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{BuildHasher as _, Hasher as _, RandomState},
    io,
    net::IpAddr,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use baton_core::{
    names::{CaseId, ClusterName},
    timeline::{Begin, Mark, Order},
};
use futures::future::{join_all, try_join_all};
use jiff::Timestamp;
use k8s_openapi::{api::core::v1::Namespace, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use tokio::{runtime::Handle, sync::OwnedMutexGuard};

use super::{
    Access, check, clean,
    clean::{Inventory, Ours},
    client, credentials,
    fault_proxies::FaultProxies,
    refused, remains,
};
use crate::{
    actions,
    admission::{Admission, Site},
    clock::{Clock, tokio_clock},
    error_chain::error_chain,
    fleet::{
        Cluster, Connect, Fault, Fleet, FleetError, Gatekeeper, Request, TargetLocation,
        embedded::{FLEET, SIMULATOR, starved},
        register::{self, Endpoint, clusters},
    },
    observer::{
        Recorder,
        watching::{FencePost, Watched, Watching},
    },
    scratch::{Scratch, write_private},
    simulator::{self, Rules, Simulator},
    storage::Storage,
};

/// The label of a case's namespace.
pub(super) const CASE: &str = "baton.dev/case";

/// How long all that is removed at once may take to go.
pub(super) const CLEANED_WITHIN: Duration = Duration::from_secs(120);

/// How long a cluster may take to say that it is still there.
const STILL_THERE_WITHIN: Duration = Duration::from_secs(5);

/// What a fleet is made of.
pub(super) struct Lessor<'a> {
    pub backend: &'static str,
    pub control: &'a Access,
    pub members: &'a [Access],
    /// What the simulator does on the members; none if there is none.
    pub rules: Option<&'a Arc<Rules>>,
    pub keep: bool,
    pub location: TargetLocation,
    /// An address of this machine that a target elsewhere reaches.
    pub address: Option<IpAddr>,
    /// An address of this machine that the members reach, for webhooks.
    pub webhooks: Option<IpAddr>,
}

impl Lessor<'_> {
    fn all(&self) -> impl Iterator<Item = &Access> {
        std::iter::once(self.control).chain(self.members)
    }

    /// The labels of what is made for the case; what stays on purpose belongs to nobody.
    fn labels(&self) -> BTreeMap<String, String> {
        if self.keep { BTreeMap::new() } else { remains::labels() }
    }

    /// Prepares a fleet for a case.
    pub(super) async fn lease(&self, request: &Request, turn: OwnedMutexGuard<()>) -> Result<LeasedFleet, FleetError> {
        let clock = tokio_clock(Timestamp::now());
        let namespace = namespace_for(&request.case.id);
        let folder = Scratch::new("baton-fleet-");
        let folder = folder.map_err(io_failed("making a temporary directory"))?;
        let proxies = FaultProxies::open(self.all(), self.location, self.address).await?;
        let control = cluster(self.control, &proxies, &folder).await?;
        let members = try_join_all(self.members.iter().map(|access| cluster(access, &proxies, &folder))).await?;
        // What the members' workloads share, as they would an object store.
        let storage = Storage::default();
        let site = self.webhooks.map(|address| Site {
            address,
            namespace: Some(namespace.clone()),
        });
        let mut fleet = LeasedFleet {
            backend: self.backend,
            urls: self.all().map(|access| (access.name().clone(), access.url())).collect(),
            ours: Ours {
                namespace,
                members: self.members.iter().map(|access| access.name().clone()).collect(),
            },
            before: BTreeMap::new(),
            tainted: Vec::new(),
            simulators: Vec::new(),
            admission: site.map(|site| Admission::at(site, storage.clone())),
            watching: Mutex::new(None),
            keep: self.keep,
            clock,
            control,
            members,
            proxies,
            _folder: folder,
            _turn: turn,
        };
        match self.prepare(&mut fleet, request, &storage).await {
            Ok(()) => Ok(fleet),
            Err(error) => {
                // The first error is the one to tell; what cannot be removed now is told by the next run.
                let _ = Box::new(fleet).shut_down().await;
                Err(error)
            }
        }
    }

    async fn prepare(&self, fleet: &mut LeasedFleet, request: &Request, storage: &Storage) -> Result<(), FleetError> {
        let inventories = fleet.all().map(|cluster| {
            let (name, client) = (cluster.name().clone(), cluster.inside(FLEET));
            async move {
                let there = clean::inventory(&client).await;
                let there = there.map_err(refused(&name, "listing what is there"))?;
                Ok::<_, FleetError>((name, there))
            }
        });
        fleet.before = try_join_all(inventories).await?.into_iter().collect();
        let namespaces = fleet.all().map(|cluster| {
            let (name, client) = (cluster.name().clone(), cluster.inside(FLEET));
            let namespace = fleet.namespace().to_owned();
            let labels = self.labels();
            async move { create_namespace(&name, &client, &namespace, &request.case.id, labels).await }
        });
        try_join_all(namespaces).await?;
        self.register(fleet).await?;
        if let Some(rules) = self.rules {
            let start = |member| simulate(member, rules, fleet, request, storage);
            fleet.simulators = fleet.members.iter().map(start).collect();
        }
        let watched = fleet.all().map(|cluster| watched(cluster, fleet.namespace()));
        let watched = try_join_all(watched).await?;
        let watching = Watching::start(watched, Arc::clone(&fleet.clock)).await?;
        fleet.proxies.tell(&watching);
        *fleet.watching.lock().unwrap_or_else(PoisonError::into_inner) = Some(watching);
        Ok(())
    }

    /// Makes members known to the control plane, unless they are.
    async fn register(&self, fleet: &mut LeasedFleet) -> Result<(), FleetError> {
        let control = fleet.control.inside(FLEET);
        let mut endpoints = Vec::new();
        for (access, member) in self.members.iter().zip(&fleet.members) {
            let failed = refused(
                fleet.control.name(),
                format!("looking for the Cluster {}", access.name()),
            );
            match clusters(&control)
                .get_opt(access.name().as_str())
                .await
                .map_err(failed)?
            {
                Some(known) => {
                    let taints = known.data.pointer("/spec/taints").cloned().unwrap_or(Value::Null);
                    fleet.tainted.push((access.name().clone(), taints));
                }
                None => endpoints.push(match fleet.proxies.endpoint(access.name()) {
                    Some(endpoint) => endpoint,
                    None => Endpoint {
                        name: access.name().clone(),
                        url: access.url_for_target(),
                        ca: access.ca(),
                        token: credentials::token(access, &member.inside(FLEET), &fleet.ours.namespace).await?,
                    },
                }),
            }
        }
        register::register(&control, endpoints, &self.labels()).await
    }
}

/// `baton-<case>-<random>`, at most as long as a namespace may be.
fn namespace_for(case: &CaseId) -> String {
    const LONGEST: usize = 63 - "baton--".len() - 6;
    let mut chance = RandomState::new().build_hasher().finish();
    let mut random = String::new();
    for _ in 0..6 {
        let digit = u32::try_from(chance % 36).unwrap_or_default();
        random.extend(char::from_digit(digit, 36));
        chance /= 36;
    }
    let case: String = case.as_str().chars().take(LONGEST).collect();
    format!("baton-{}-{random}", case.trim_end_matches('-'))
}

fn io_failed(what: &str) -> impl FnOnce(io::Error) -> FleetError {
    let what = what.to_owned();
    move |source| FleetError::Io { what, source }
}

/// A cluster of a fleet. Its clients are made anew for each user agent and stay in this runtime.
async fn cluster(access: &Access, proxies: &FaultProxies, folder: &Scratch) -> Result<Cluster, FleetError> {
    let kubeconfig: PathBuf = folder.path().join(format!("{}.kubeconfig", access.name()));
    let name = access.name().clone();
    let through = match proxies.kubeconfig(&name) {
        Some(text) => {
            let through = Access::by_text(name.clone(), &text).await;
            through.map_err(|_| FleetError::Kubeconfig(name.clone()))?
        }
        None => access.clone(),
    };
    let written = write_private(&kubeconfig, through.kubeconfig());
    written.map_err(io_failed("writing a kubeconfig"))?;
    Ok(Cluster {
        name,
        outside: connect(through)?,
        inside: connect(access.clone())?,
        kubeconfig: Some(kubeconfig),
    })
}

fn connect(access: Access) -> Result<Connect, FleetError> {
    let (plain, runtime) = (client(&access, FLEET)?, Handle::current());
    Ok(Arc::new(move |agent: &str| {
        let _in_runtime = runtime.enter();
        // It worked for the plain one, and only the user agent differs.
        access.client(agent).unwrap_or_else(|_| plain.clone())
    }))
}

async fn create_namespace(
    cluster: &ClusterName,
    client: &Client,
    name: &str,
    case: &CaseId,
    mut labels: BTreeMap<String, String>,
) -> Result<(), FleetError> {
    labels.insert(CASE.to_owned(), case.to_string());
    let namespace = Namespace {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(labels),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    };
    let api: Api<Namespace> = Api::all(client.clone());
    let created = api.create(&PostParams::default(), &namespace).await;
    created
        .map(drop)
        .map_err(refused(cluster, format!("creating the namespace {name}")))
}

fn simulate(
    member: &Cluster,
    rules: &Arc<Rules>,
    fleet: &LeasedFleet,
    request: &Request,
    storage: &Storage,
) -> Simulator {
    let with = simulator::Options {
        cluster: member.name().to_string(),
        clock: Arc::clone(&fleet.clock),
        seed: request.seed,
        storage: storage.clone(),
    };
    Simulator::start(member.inside(SIMULATOR), Arc::clone(rules), &with)
}

/// Fences are for members: what is compared is when copies come and go there.
async fn watched(cluster: &Cluster, namespace: &str) -> Result<Watched, FleetError> {
    let client = cluster.inside(FLEET);
    let fence = if cluster.name().is_control() {
        None
    } else {
        let post = FencePost::put_up(&client, namespace).await;
        Some(post.map_err(refused(cluster.name(), "putting up a fence"))?)
    };
    Ok(Watched {
        name: cluster.name().clone(),
        client,
        fence,
    })
}

/// A fleet that is leased to a case.
pub(super) struct LeasedFleet {
    backend: &'static str,
    clock: Clock,
    control: Cluster,
    members: Vec<Cluster>,
    urls: BTreeMap<ClusterName, String>,
    ours: Ours,
    /// What was there before, by cluster.
    before: BTreeMap<ClusterName, Inventory>,
    /// The taints of members that were registered before.
    tainted: Vec<(ClusterName, Value)>,
    simulators: Vec<Simulator>,
    /// None if no address is known under which the members would reach a webhook.
    admission: Option<Admission>,
    proxies: FaultProxies,
    watching: Mutex<Option<Watching>>,
    keep: bool,
    /// Where the kubeconfigs are.
    _folder: Scratch,
    /// Nobody else gets these clusters before the fleet is gone.
    _turn: OwnedMutexGuard<()>,
}

impl LeasedFleet {
    fn all(&self) -> impl Iterator<Item = &Cluster> {
        std::iter::once(&self.control).chain(&self.members)
    }

    /// Removes what the case has made; gives what is left.
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
            // Nothing has been made before it was known what is there.
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
        crate::fleet::inject(faults, fault);
        Ok(())
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
        crate::fleet::writes(self.proxies.all())
    }

    fn simulator_failures(&self) -> Vec<String> {
        let of_simulators = self.simulators.iter().flat_map(Simulator::failures);
        let of_admission = self.admission.iter().flat_map(Admission::failures);
        of_simulators.chain(of_admission).collect()
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
        // They may have had finalizers to see to until now.
        for simulator in self.simulators {
            simulator.stop().await;
        }
        // Nobody is told to call them any more.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_have_names_of_their_own_that_are_not_too_long() {
        let case = CaseId::new("a".repeat(80));
        let (one, other) = (namespace_for(&case), namespace_for(&case));
        assert_eq!(one.len(), 63);
        assert_ne!(one, other);
        assert!(namespace_for(&CaseId::new("x-")).starts_with("baton-x-"));
    }
}
