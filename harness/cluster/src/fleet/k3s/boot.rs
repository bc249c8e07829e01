//! Starts the k3s containers of a fleet at the same time, and removes them.

use std::{
    collections::BTreeMap,
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use baton_core::{names::ClusterName, yaml::plain};
use futures::{StreamExt as _, TryStreamExt as _, future::join_all};
use serde_json::Value;
use testcontainers::{
    ContainerAsync, ContainerRequest, GenericImage, ImageExt as _,
    bollard::{
        Docker,
        container::LogOutput,
        errors::Error as EngineError,
        query_parameters::{
            DownloadFromContainerOptionsBuilder, InspectContainerOptions, LogsOptionsBuilder,
            RemoveContainerOptionsBuilder,
        },
    },
    core::{
        ContainerPort, Mount, WaitFor,
        client::{ClientError, docker_client_instance},
    },
    runners::AsyncRunner as _,
};

use super::{K3sOptions, error::K3sError};
use crate::fleet::{
    FleetError,
    provisioned::{Booted, Provisioner, Reach},
};

/// Port of the API inside the container.
const API: ContainerPort = ContainerPort::Tcp(6443);

/// Path of the kubeconfig inside the container.
const KUBECONFIG: &str = "/etc/rancher/k3s/k3s.yaml";

/// Log line of k3s once its node is registered.
const READY: &str = "Node controller sync successful";

/// Error while a container is removed.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Longest time for the first answer of the container engine.
const ANSWERS_WITHIN: Duration = Duration::from_secs(20);

/// The k3s containers of one fleet, from the first start until they are removed.
#[derive(Debug)]
pub struct K3sClusters {
    options: K3sOptions,
    /// Distinguishes the containers of this fleet from those of others.
    run: String,
    /// By container name, added before the container is created. `None` for a container that has not started.
    ours: Mutex<BTreeMap<String, Option<ContainerAsync<GenericImage>>>>,
}

impl K3sClusters {
    /// Prepares the clusters that the options describe, without starting them; `run` distinguishes their containers
    /// from others.
    pub fn new(options: K3sOptions, run: String) -> Self {
        let ours = Mutex::default();
        Self { options, run, ours }
    }

    /// Starts all clusters at the same time and returns them once they serve, the control plane first. If one does not
    /// start, all are removed. A caller that drops the future must [remove](Self::remove) the containers.
    ///
    /// # Errors
    /// [`K3sError`] with the reason.
    pub async fn boot(&self) -> Result<Vec<Booted>, K3sError> {
        let (image, tag) = split(&self.options.image)?;
        let engine = engine().await?;
        let members = (1..=self.options.members).map(|number| ClusterName::new(format!("member{number}")));
        let names: Vec<ClusterName> = std::iter::once(ClusterName::control()).chain(members).collect();
        let booted = join_all(names.iter().map(|name| self.start(&engine, name, &image, &tag))).await;
        match booted.into_iter().collect() {
            Ok(booted) => Ok(booted),
            Err(error) => {
                // The reason why the clusters did not start matters more than a container that could not be removed.
                if let Err(left) = self.remove().await {
                    tracing::warn!("{left}");
                }
                Err(error)
            }
        }
    }

    /// Removes all containers, with their data.
    ///
    /// # Errors
    /// If some are left; the error names them.
    pub async fn remove(&self) -> Result<(), K3sError> {
        let ours = std::mem::take(&mut *self.lock());
        if ours.is_empty() {
            return Ok(());
        }
        let engine = engine().await?;
        let removed = join_all(
            ours.into_iter()
                .map(|(name, container)| remove(&engine, name, container)),
        )
        .await;
        let failed: Vec<(String, Failure)> = removed.into_iter().filter_map(Result::err).collect();
        let (containers, failures): (Vec<_>, Vec<_>) = failed.into_iter().unzip();
        match failures.into_iter().next() {
            None => Ok(()),
            Some(source) => Err(K3sError::LeftBehind { containers, source }),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Option<ContainerAsync<GenericImage>>>> {
        self.ours.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn start(&self, engine: &Docker, name: &ClusterName, image: &str, tag: &str) -> Result<Booted, K3sError> {
        let container_name = format!("baton-k3s-{}-{name}", self.run);
        self.lock().insert(container_name.clone(), None);
        let started = self.request(&container_name, image, tag).start().await;
        let container = match started {
            Ok(container) => container,
            Err(error) => {
                let last_words = last_words(engine, &container_name).await;
                let (image, within) = (&self.options.image, self.options.ready_within);
                return Err(K3sError::of_start(name, image, within, last_words, error));
            }
        };
        let booted = booted(engine, name, &container, self.options.reach).await;
        self.lock().insert(container_name, Some(container));
        booted
    }

    fn request(&self, container_name: &str, image: &str, tag: &str) -> ContainerRequest<GenericImage> {
        let mut command = vec!["server".to_owned()];
        // Cases bring what they need; these components take memory and time.
        command.push("--disable=traefik,servicelb,metrics-server,local-storage".to_owned());
        command.push("--tls-san=127.0.0.1".to_owned());
        command.extend(remote_host().map(|host| format!("--tls-san={host}")));
        GenericImage::new(image, tag)
            .with_exposed_port(API)
            .with_wait_for(WaitFor::message_on_either_std(READY))
            .with_container_name(container_name)
            .with_hostname(container_name)
            .with_cmd(command)
            .with_privileged(true)
            .with_mount(Mount::tmpfs_mount("/run"))
            .with_mount(Mount::tmpfs_mount("/var/run"))
            .with_label("dev.baton.run", &self.run)
            .with_startup_timeout(self.options.ready_within)
    }
}

#[async_trait]
impl Provisioner for K3sClusters {
    fn name(&self) -> &'static str {
        "k3s"
    }

    fn stay(&self) -> bool {
        false
    }

    async fn boot(&self) -> Result<Vec<Booted>, FleetError> {
        Ok(self.boot().await?)
    }

    /// They run in the k3s process, which has been waited for.
    fn controllers(&self) -> &'static [&'static str] {
        &[]
    }

    async fn gateways(&self) -> Vec<IpAddr> {
        let member = self.lock().iter().find_map(|(name, container)| {
            let id = container.as_ref()?.id().to_owned();
            (!name.ends_with(ClusterName::control().as_str())).then_some(id)
        });
        match (member, engine().await) {
            (Some(id), Ok(engine)) => gateways(&engine, &id).await.unwrap_or_default(),
            // Cases whose members have to reach this machine are unsupported then.
            (None, _) | (_, Err(_)) => Vec::new(),
        }
    }

    async fn remove(&self) -> Result<(), FleetError> {
        Ok(self.remove().await?)
    }
}

/// Connects to the engine that the environment names, and waits for its first answer.
async fn engine() -> Result<Docker, K3sError> {
    let host = std::env::var("DOCKER_HOST").ok();
    let unreachable = |source: EngineError| K3sError::NoEngine {
        host: host.clone(),
        source: Box::new(source),
    };
    let engine = match docker_client_instance().await {
        Ok(engine) => engine.with_timeout(ANSWERS_WITHIN),
        Err(ClientError::Init(source)) => return Err(unreachable(source)),
        Err(other) => {
            let source = EngineError::IOError {
                err: std::io::Error::other(other),
            };
            return Err(unreachable(source));
        }
    };
    match engine.version().await {
        Ok(_) => Ok(engine),
        Err(source @ EngineError::DockerResponseServerError { .. }) => Err(K3sError::Engine {
            source: Box::new(source),
        }),
        Err(source) => Err(unreachable(source)),
    }
}

/// Host of an engine that is reached over the network.
fn remote_host() -> Option<String> {
    let address = std::env::var("DOCKER_HOST").ok()?;
    let (scheme, rest) = address.split_once("://")?;
    let host = rest.split(['/', ':']).next().filter(|host| !host.is_empty())?;
    matches!(scheme, "tcp" | "http" | "https").then(|| host.to_owned())
}

/// Splits an image into name and tag. The name may contain a port.
fn split(image: &str) -> Result<(String, String), K3sError> {
    match image.rsplit_once(':') {
        Some((name, tag)) if !name.is_empty() && !tag.is_empty() && !tag.contains('/') => {
            Ok((name.to_owned(), tag.to_owned()))
        }
        Some(_) | None => Err(K3sError::ImageName {
            image: image.to_owned(),
        }),
    }
}

/// Looks up the addresses of a started cluster, from this machine and from other containers.
async fn booted(
    engine: &Docker,
    name: &ClusterName,
    container: &ContainerAsync<GenericImage>,
    reach: Reach,
) -> Result<Booted, K3sError> {
    let failed = |source| K3sError::Kubeconfig {
        cluster: name.clone(),
        source: Some(Box::new(source)),
    };
    let host = container.get_host().await.map_err(failed)?;
    let port = container.get_host_port_ipv4(API).await.map_err(failed)?;
    let senseless = || K3sError::Kubeconfig {
        cluster: name.clone(),
        source: None,
    };
    let text = file(engine, container.id(), KUBECONFIG).await.ok_or_else(senseless)?;
    let reached_at = match reach {
        Reach::Host => None,
        Reach::Clusters => {
            let inside = address(engine, container.id()).await.ok_or_else(senseless)?;
            Some(format!("https://{inside}:6443"))
        }
    };
    // k3s writes `localhost`, which may resolve to an IPv6 address on which the engine need not listen.
    let host = match host.to_string() {
        local if local == "localhost" => "127.0.0.1".to_owned(),
        other => other,
    };
    Ok(Booted {
        name: name.clone(),
        kubeconfig: pointed_at(&text, format!("https://{host}:{port}")).ok_or_else(senseless)?,
        reached_at,
    })
}

/// Address of a container on the engine's network.
async fn address(engine: &Docker, id: &str) -> Option<String> {
    let container = engine
        .inspect_container(id, None::<InspectContainerOptions>)
        .await
        .ok()?;
    let networks = container.network_settings?.networks?;
    let addresses = networks.into_values().filter_map(|network| network.ip_address);
    addresses.into_iter().find(|address| !address.is_empty())
}

/// Addresses of the gateways of a container's networks.
async fn gateways(engine: &Docker, id: &str) -> Option<Vec<IpAddr>> {
    let container = engine
        .inspect_container(id, None::<InspectContainerOptions>)
        .await
        .ok()?;
    let networks = container.network_settings?.networks?;
    let gateways = networks.into_values().filter_map(|network| network.gateway);
    Some(gateways.filter_map(|address| address.parse().ok()).collect())
}

/// Reads a file of a container.
async fn file(engine: &Docker, id: &str, path: &str) -> Option<Vec<u8>> {
    let options = DownloadFromContainerOptionsBuilder::new().path(path).build();
    let chunks: Result<Vec<_>, EngineError> = engine.download_from_container(id, Some(options)).try_collect().await;
    first_file(&chunks.ok()?.concat())
}

/// Extracts the first regular file of a tar archive: the engine returns every file as an archive.
fn first_file(archive: &[u8]) -> Option<Vec<u8>> {
    const BLOCK: usize = 512;
    const ORDINARY: [u8; 2] = [b'0', 0];
    let mut rest = archive;
    loop {
        let (header, content) = rest.split_at_checked(BLOCK)?;
        let digits = std::str::from_utf8(header.get(124..135)?).ok()?;
        let size = usize::from_str_radix(digits.trim_matches(['\0', ' ']), 8).ok()?;
        if ORDINARY.contains(header.get(156)?) {
            return content.get(..size).map(<[u8]>::to_vec);
        }
        rest = content.get(size.next_multiple_of(BLOCK)..)?;
    }
}

/// Replaces the address of the first cluster of a kubeconfig.
fn pointed_at(kubeconfig: &[u8], server: String) -> Option<String> {
    let mut config: Value = plain::read(std::str::from_utf8(kubeconfig).ok()?).ok()?;
    *config.pointer_mut("/clusters/0/cluster/server")? = Value::String(server);
    plain::write(&config).ok()
}

/// Removes a container, by its name if it never started.
async fn remove(
    engine: &Docker,
    name: String,
    container: Option<ContainerAsync<GenericImage>>,
) -> Result<(), (String, Failure)> {
    if let Some(container) = container {
        return container.rm().await.map_err(|error| (name, Failure::from(error)));
    }
    let options = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
    match engine.remove_container(&name, Some(options)).await {
        // The container was never created.
        Err(EngineError::DockerResponseServerError { status_code: 404, .. }) | Ok(()) => Ok(()),
        Err(error) => Err((name, Failure::from(error))),
    }
}

/// The last lines of a container's log, joined to one line.
async fn last_words(engine: &Docker, name: &str) -> String {
    let options = LogsOptionsBuilder::new().stdout(true).stderr(true).tail("3").build();
    let lines: Vec<String> = engine
        .logs(name, Some(options))
        .filter_map(async |line: Result<LogOutput, EngineError>| {
            line.ok().map(|line| line.to_string().trim().to_owned())
        })
        .collect()
        .await;
    if lines.is_empty() {
        "it said nothing".to_owned()
    } else {
        lines.join("; ")
    }
}
