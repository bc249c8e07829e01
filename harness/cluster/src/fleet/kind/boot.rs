//! Creates the kind clusters of a fleet at the same time, and removes them.

use std::{
    collections::BTreeSet,
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use baton_core::{names::ClusterName, yaml::plain};
use futures::future::join_all;
use serde_json::Value;

use super::{
    KindOptions,
    error::{KindError, MEMORY_PER_CLUSTER, diagnose, gist},
    programs::Call,
};
use crate::{
    fleet::{
        FleetError,
        provisioned::{Booted, Provisioner, Reach},
    },
    scratch::Scratch,
};

/// Longest time to remove a cluster.
const REMOVED_WITHIN: Duration = Duration::from_secs(120);

/// Time that kind waits for the node of a new cluster to become ready. kind does not fail if the node becomes ready
/// later.
const NODE_READY_WITHIN: &str = "120s";

/// The kind clusters of one fleet, from the first command that creates one until they are removed.
#[derive(Debug)]
pub struct KindClusters {
    options: KindOptions,
    /// Clusters to remove: all that kind was asked to create; with `reuse`, those that are not yet complete. Added
    /// before kind starts, so that an interruption cannot leave an unknown cluster.
    ours: Mutex<BTreeSet<String>>,
}

impl KindClusters {
    /// Prepares the clusters that the options describe, without creating them.
    ///
    /// # Errors
    /// If kind would reject the names.
    pub fn new(options: KindOptions) -> Result<Self, KindError> {
        let prefix = &options.prefix;
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if prefix.is_empty() || prefix.len() > 30 || !prefix.chars().all(fits) || prefix.starts_with('-') {
            let prefix = prefix.clone();
            return Err(KindError::Prefix { prefix });
        }
        Ok(Self {
            options,
            ours: Mutex::default(),
        })
    }

    /// Creates the missing clusters at the same time, and returns all clusters, the control plane first. If one cannot
    /// be created, the new ones are removed. A caller that drops the future must [remove](Self::remove) them.
    ///
    /// # Errors
    /// [`KindError`] with the reason.
    pub async fn boot(&self) -> Result<Vec<Booted>, KindError> {
        let names = self.names();
        let programs = &self.options.programs;
        programs.check().await?;
        let there = programs.clusters().await?;
        let (there, missing): (Vec<_>, Vec<_>) = names.iter().partition(|name| there.contains(&self.kind_name(name)));
        if !there.is_empty() && !self.options.reuse {
            let clusters = there.into_iter().map(|name| self.kind_name(name)).collect();
            return Err(KindError::Exists { clusters });
        }
        self.has_room_for(missing.len()).await?;
        let made = join_all(missing.into_iter().map(|name| self.make(name))).await;
        let made: Result<(), KindError> = made.into_iter().collect();
        let booted = match made {
            Ok(()) => join_all(names.iter().map(|name| self.booted(name))).await,
            Err(error) => vec![Err(error)],
        };
        match booted.into_iter().collect() {
            Ok(booted) => Ok(booted),
            Err(error) => {
                // The reason why the clusters were not created matters more than a cluster that could not be removed.
                if let Err(left) = self.remove().await {
                    tracing::warn!("{left}");
                }
                Err(error)
            }
        }
    }

    /// Removes the clusters that were created here. With [`KindOptions::reuse`], only incomplete ones.
    ///
    /// # Errors
    /// If some are left; the error names them.
    pub async fn remove(&self) -> Result<(), KindError> {
        let ours: Vec<String> = self.lock().iter().cloned().collect();
        let removed = join_all(ours.iter().map(|name| self.delete(name))).await;
        let mut clusters = Vec::new();
        let mut first = None;
        for (name, result) in ours.into_iter().zip(removed) {
            match result {
                Ok(()) => {
                    self.lock().remove(&name);
                }
                Err(error) => {
                    clusters.push(name);
                    first.get_or_insert(Box::new(error));
                }
            }
        }
        match first {
            None => Ok(()),
            Some(source) => Err(KindError::LeftBehind { clusters, source }),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.ours.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn names(&self) -> Vec<ClusterName> {
        let members = (1..=self.options.members).map(|number| ClusterName::new(format!("member{number}")));
        std::iter::once(ClusterName::control()).chain(members).collect()
    }

    fn kind_name(&self, name: &ClusterName) -> String {
        format!("{}-{name}", self.options.prefix)
    }

    async fn has_room_for(&self, clusters: usize) -> Result<(), KindError> {
        let needed = MEMORY_PER_CLUSTER.saturating_mul(clusters.try_into().unwrap_or(u64::MAX));
        match self.options.programs.memory().await? {
            Some(there) if there < needed => Err(KindError::LittleMemory {
                clusters,
                needed,
                there,
            }),
            Some(_) | None => Ok(()),
        }
    }

    async fn make(&self, name: &ClusterName) -> Result<(), KindError> {
        let kind_name = self.kind_name(name);
        // kind makes a new cluster the current context of the kubeconfig that it writes: never use the user's
        // kubeconfig.
        let not_started = |source| KindError::NotStarted {
            command: "kind create cluster".to_owned(),
            source,
        };
        let folder = Scratch::new("kind").map_err(not_started)?;
        let kubeconfig = folder.path().join("kubeconfig");
        let configurations = &self.options.configurations;
        let (file, text) = if name.is_control() {
            ("control.yaml", &configurations.control)
        } else {
            ("member.yaml", &configurations.member)
        };
        let configuration = folder.path().join(file);
        std::fs::write(&configuration, text).map_err(not_started)?;
        let mut call = Call::kind(&["create", "cluster"])
            .with("--name", &kind_name)
            .with("--config", configuration.to_string_lossy())
            .with("--kubeconfig", kubeconfig.to_string_lossy())
            .with("--wait", NODE_READY_WITHIN);
        if let Some(image) = &self.options.image {
            call = call.with("--image", image);
        }
        self.lock().insert(kind_name.clone());
        let answer = self.options.programs.run(&call, self.options.ready_within).await?;
        if answer.ok {
            if self.options.reuse {
                self.lock().remove(&kind_name);
            }
            return Ok(());
        }
        let error = diagnose(&kind_name, &call.to_string(), &answer.all());
        if matches!(error, KindError::Exists { .. }) {
            // The cluster belongs to another user.
            self.lock().remove(&kind_name);
        }
        Err(error)
    }

    async fn booted(&self, name: &ClusterName) -> Result<Booted, KindError> {
        let kubeconfig = self.kubeconfig(name, &[]).await?;
        let reached_at = match self.options.reach {
            Reach::Host => None,
            Reach::Clusters => Some(self.internal_address(name).await?),
        };
        Ok(Booted {
            name: name.clone(),
            kubeconfig,
            reached_at,
        })
    }

    async fn internal_address(&self, name: &ClusterName) -> Result<String, KindError> {
        let text = self.kubeconfig(name, &["--internal"]).await?;
        let config: Value = plain::read(&text).unwrap_or_default();
        let address = config.pointer("/clusters/0/cluster/server").and_then(Value::as_str);
        address.map(str::to_owned).ok_or_else(|| KindError::NotUsable {
            cluster: self.kind_name(name),
            said: "its kubeconfig names no server".to_owned(),
        })
    }

    async fn kubeconfig(&self, name: &ClusterName, options: &[&str]) -> Result<String, KindError> {
        let cluster = self.kind_name(name);
        let arguments = [&["get", "kubeconfig"], options].concat();
        let call = Call::kind(&arguments).with("--name", &cluster);
        let answer = self.options.programs.run(&call, self.options.ready_within).await?;
        if answer.ok {
            return Ok(answer.stdout);
        }
        let said = gist(&answer.all());
        Err(KindError::NotUsable { cluster, said })
    }

    async fn delete(&self, kind_name: &str) -> Result<(), KindError> {
        let folder = Scratch::new("kind").map_err(|source| KindError::NotStarted {
            command: "kind delete cluster".to_owned(),
            source,
        })?;
        let kubeconfig = folder.path().join("kubeconfig");
        let call = Call::kind(&["delete", "cluster"])
            .with("--name", kind_name)
            .with("--kubeconfig", kubeconfig.to_string_lossy());
        let answer = self.options.programs.run(&call, REMOVED_WITHIN).await?;
        answer.succeeded(&call).map(drop)
    }
}

#[async_trait]
impl Provisioner for KindClusters {
    fn name(&self) -> &'static str {
        "kind"
    }

    fn stay(&self) -> bool {
        self.options.reuse
    }

    async fn boot(&self) -> Result<Vec<Booted>, FleetError> {
        Ok(self.boot().await?)
    }

    fn controllers(&self) -> &'static [&'static str] {
        &["kube-controller-manager", "kube-scheduler"]
    }

    async fn gateways(&self) -> Vec<IpAddr> {
        let member = self.names().into_iter().find(|name| !name.is_control());
        let Some(member) = member else { return Vec::new() };
        // Without an answer, cases whose members have to reach this machine are unsupported.
        let answer = self.options.programs.gateways(&node(&self.kind_name(&member))).await;
        answer
            .inspect_err(|error| tracing::debug!(%error, "no gateway is known"))
            .unwrap_or_default()
    }

    async fn remove(&self) -> Result<(), FleetError> {
        Ok(self.remove().await?)
    }
}

/// Name that kind gives to the container of a cluster's only node.
fn node(kind_name: &str) -> String {
    format!("{kind_name}-control-plane")
}
