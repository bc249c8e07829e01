//! Leases a fleet: prepares its members, its namespace and its watches.

use std::{
    collections::BTreeMap,
    hash::{BuildHasher as _, Hasher as _, RandomState},
    io,
    net::IpAddr,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use baton_core::names::{CaseId, ClusterName};
use futures::future::try_join_all;
use jiff::Timestamp;
use k8s_openapi::{api::core::v1::Namespace, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{Api, Client, api::PostParams};
use serde_json::Value;
use tokio::runtime::Handle;

use super::super::{
    Access, clean,
    clean::Ours,
    client, credentials,
    fault_proxies::FaultProxies,
    names::{Company, Names},
    pool::Turn,
    refused, remains,
    translated::{End, translated},
};
use super::LeasedFleet;
use crate::{
    admission::{Admission, Site},
    clock::tokio_clock,
    fleet::{
        Cluster, Connect, Fleet, FleetError, Request, TargetLocation,
        embedded::{FLEET, SIMULATOR},
        register::{self, Endpoint, clusters},
    },
    observer::watching::{FencePost, Watched, Watching},
    scratch::{Scratch, write_private},
    simulator::{self, Rules, Simulator},
    storage::Storage,
};

/// Label of a namespace that an implementation must not propagate to every member: with concurrent cases, most members
/// belong to other cases.
const NOT_EVERYWHERE: &str = "namespace.karmada.io/skip-auto-propagation";

/// Parts of a leased fleet.
pub(in crate::fleet::external) struct Lessor<'a> {
    pub backend: &'static str,
    pub control: &'a Access,
    pub members: Vec<&'a Access>,
    /// Other cases on the same control plane, if they run at the same time.
    pub company: Option<&'a Arc<Company>>,
    /// Rules of the simulator on the members; `None` for no simulator.
    pub rules: Option<&'a Arc<Rules>>,
    pub keep: bool,
    pub location: TargetLocation,
    /// Address of this machine that a target elsewhere reaches.
    pub address: Option<IpAddr>,
    /// Address of this machine that the members reach, for webhooks.
    pub webhooks: Option<IpAddr>,
}

impl Lessor<'_> {
    /// The members under the names that the case uses.
    fn members(&self) -> Vec<Access> {
        let numbered = self.members.iter().zip(1..);
        let called = |(access, number): (&&Access, u32)| {
            Access::clone(access).named(ClusterName::new(format!("member{number}")))
        };
        numbered.map(called).collect()
    }

    /// The case's names of its members, if they differ from the registered names.
    fn names(&self, namespace: &str, members: &[Access]) -> Option<Arc<Names>> {
        let company = self.company?;
        company.comes(namespace);
        let pairs = members.iter().zip(&self.members);
        let pairs: Vec<_> = pairs
            .map(|(ours, own)| (ours.name().to_string(), own.name().to_string()))
            .collect();
        Some(Arc::new(Names::new(namespace, &pairs, Arc::clone(company))))
    }

    /// Labels of objects that are made for the case; none if they stay, so that a later run does not remove them.
    fn labels(&self) -> BTreeMap<String, String> {
        if self.keep { BTreeMap::new() } else { remains::labels() }
    }

    /// Prepares a fleet for a case.
    pub(in crate::fleet::external) async fn lease(
        &self,
        request: &Request,
        turn: Turn,
    ) -> Result<LeasedFleet, FleetError> {
        let clock = tokio_clock(Timestamp::now());
        let namespace = namespace_for(&request.case.id);
        let folder = Scratch::new("fleet");
        let folder = folder.map_err(io_failed("making a temporary directory"))?;
        let accesses = self.members();
        let names = self.names(&namespace, &accesses);
        let all = || std::iter::once(self.control).chain(&accesses);
        let proxies = FaultProxies::open(all(), self.location, self.address).await?;
        let made = all().map(|access| cluster(access, &proxies, &folder, names.as_ref()));
        let mut members = try_join_all(made).await?;
        let control = members.remove(0);
        // The members' workloads share files, as in an object store.
        let storage = Storage::default();
        let site = self.webhooks.map(|address| Site {
            address,
            namespace: Some(namespace.clone()),
        });
        let mut fleet = LeasedFleet {
            backend: self.backend,
            urls: all().map(|access| (access.name().clone(), access.url())).collect(),
            ours: Ours {
                namespace,
                members: accesses.iter().map(|access| access.name().clone()).collect(),
                beside_others: names.is_some(),
            },
            company: self.company.cloned(),
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
        match self.prepare(&mut fleet, &accesses, request, &storage).await {
            Ok(()) => Ok(fleet),
            Err(error) => {
                // Return the first error; the next run reports the objects that cannot be removed now.
                let _ = Box::new(fleet).shut_down().await;
                Err(error)
            }
        }
    }

    async fn prepare(
        &self,
        fleet: &mut LeasedFleet,
        accesses: &[Access],
        request: &Request,
        storage: &Storage,
    ) -> Result<(), FleetError> {
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
            let mut labels = self.labels();
            if self.company.is_some() {
                labels.insert(NOT_EVERYWHERE.to_owned(), "true".to_owned());
            }
            async move { create_namespace(&name, &client, &namespace, &request.case.id, labels).await }
        });
        try_join_all(namespaces).await?;
        self.register(fleet, accesses).await?;
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

    /// Registers the members with the control plane, unless they are registered.
    async fn register(&self, fleet: &mut LeasedFleet, accesses: &[Access]) -> Result<(), FleetError> {
        let control = fleet.control.inside(FLEET);
        let mut endpoints = Vec::new();
        for (access, member) in accesses.iter().zip(&fleet.members) {
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

/// `baton-<case>-<random>`, cut to the longest length of a namespace.
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

/// Builds a cluster of a fleet. Each user agent gets a new client; clients stay in this runtime.
async fn cluster(
    access: &Access,
    proxies: &FaultProxies,
    folder: &Scratch,
    names: Option<&Arc<Names>>,
) -> Result<Cluster, FleetError> {
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
    let end = if name.is_control() { End::Control } else { End::Member };
    let as_it_is = connect(access.clone())?;
    let inside: Connect = match names.cloned() {
        None => as_it_is,
        Some(names) => Arc::new(move |agent: &str| translated(as_it_is(agent), &names, end)),
    };
    Ok(Cluster {
        name,
        outside: connect(through)?,
        inside,
        kubeconfig: Some(kubeconfig),
    })
}

fn connect(access: Access) -> Result<Connect, FleetError> {
    let (plain, runtime) = (client(&access, FLEET)?, Handle::current());
    Ok(Arc::new(move |agent: &str| {
        let _in_runtime = runtime.enter();
        // The plain client was built from the same configuration; only the user agent differs.
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
    labels.insert(remains::CASE.to_owned(), case.to_string());
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

/// Only members get fences: the order that matters is that of copies.
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
