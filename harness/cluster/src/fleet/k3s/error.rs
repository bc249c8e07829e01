//! What can go wrong with k3s containers.

use std::time::Duration;

use baton_core::names::ClusterName;
use testcontainers::{
    TestcontainersError,
    bollard::errors::Error as EngineError,
    core::{client::ClientError, error::WaitContainerError},
};
use thiserror::Error;

/// Why k3s clusters cannot be had, or not be removed.
#[derive(Debug, Error)]
pub enum K3sError {
    /// The container engine cannot be reached.
    #[error("the container engine cannot be reached{}", at(.host.as_deref()))]
    NoEngine {
        /// What `DOCKER_HOST` says, if it is set.
        host: Option<String>,
        /// What its client says.
        source: Box<EngineError>,
    },
    /// The engine answers, but not as it should; an old one refuses a newer API.
    #[error("the container engine refuses to be talked to")]
    Engine {
        /// What it says.
        source: Box<EngineError>,
    },
    /// An image without a tag, or without a name.
    #[error("`{image}` is no image with a tag")]
    ImageName {
        /// What was given.
        image: String,
    },
    /// The image is not here and cannot be pulled.
    #[error("the image {image} is not on this machine and cannot be pulled")]
    Image {
        /// The image.
        image: String,
        /// What the engine says.
        source: Box<TestcontainersError>,
    },
    /// A container cannot be made or started.
    #[error("the container of {cluster} cannot be started")]
    Start {
        /// The cluster.
        cluster: ClusterName,
        /// What the engine says.
        source: Box<TestcontainersError>,
    },
    /// k3s ended before its cluster was ready.
    #[error("k3s on {cluster} ended before it was ready: {last_words}")]
    Ended {
        /// The cluster.
        cluster: ClusterName,
        /// The end of its log.
        last_words: String,
    },
    /// k3s did not become ready in time.
    #[error("k3s on {cluster} was not ready within {within:?}: {last_words}")]
    Slow {
        /// The cluster.
        cluster: ClusterName,
        /// How long was waited.
        within: Duration,
        /// The end of its log.
        last_words: String,
    },
    /// What k3s says of how to reach it cannot be had or understood.
    #[error("the kubeconfig of {cluster} cannot be read from its container")]
    Kubeconfig {
        /// The cluster.
        cluster: ClusterName,
        /// What the engine says; none if the text makes no sense.
        source: Option<Box<TestcontainersError>>,
    },
    /// Containers are left behind.
    #[error("these containers could not be removed: {}", .containers.join(", "))]
    LeftBehind {
        /// Their names.
        containers: Vec<String>,
        /// What the engine says of the first of them.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

fn at(host: Option<&str>) -> String {
    host.map(|host| format!(" at {host}")).unwrap_or_default()
}

impl K3sError {
    /// Whether it is what was given that is wrong, and not the machine.
    pub fn is_input(&self) -> bool {
        matches!(self, Self::ImageName { .. })
    }

    /// What whoever reads the error can do about it.
    pub fn help(&self) -> String {
        match self {
            Self::NoEngine { .. } => {
                "start docker, see whether `docker ps` works as this user, and look at DOCKER_HOST; \
                 `--backend embedded` needs no engine"
            }
            Self::Engine { .. } => "an engine that speaks a newer API is needed; see `docker version`",
            Self::ImageName { .. } => "write it like rancher/k3s:v1.34.1-k3s1",
            Self::Image { .. } => {
                "name an image that the engine has with --image (`docker image ls`), load one with `docker load`, \
                 or see whether the engine reaches its registry"
            }
            Self::Start { .. } => {
                "k3s needs a privileged container; see whether `docker run --rm --privileged IMAGE --version` works"
            }
            Self::Ended { .. } | Self::Kubeconfig { .. } => {
                "see what `docker run --rm --privileged IMAGE server` says; is it an image of k3s?"
            }
            Self::Slow { .. } => "give it longer with --boot-timeout, or ask for fewer clusters with --members",
            Self::LeftBehind { containers, .. } => {
                return format!(
                    "remove them with `docker rm --force --volumes {}`",
                    containers.join(" ")
                );
            }
        }
        .to_owned()
    }

    /// From what the containers' library says of a container that should have started. `last_words` is the end of its
    /// log, if it came so far.
    pub(super) fn of_start(
        cluster: &ClusterName,
        image: &str,
        within: Duration,
        last_words: String,
        source: TestcontainersError,
    ) -> Self {
        let cluster = cluster.clone();
        match source {
            TestcontainersError::Client(ClientError::PullImage { .. }) => Self::Image {
                image: image.to_owned(),
                source: Box::new(source),
            },
            TestcontainersError::WaitContainer(WaitContainerError::StartupTimeout) => Self::Slow {
                cluster,
                within,
                last_words,
            },
            TestcontainersError::WaitContainer(_) => Self::Ended { cluster, last_words },
            TestcontainersError::Client(_)
            | TestcontainersError::PortNotExposed { .. }
            | TestcontainersError::MissingInfo(_)
            | TestcontainersError::Exec(_)
            | TestcontainersError::Io(_)
            | TestcontainersError::Other(_) => Self::Start {
                cluster,
                source: Box::new(source),
            },
        }
    }
}
