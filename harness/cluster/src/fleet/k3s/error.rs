//! Errors of k3s containers.

use std::time::Duration;

use baton_core::names::ClusterName;
use testcontainers::{
    TestcontainersError,
    bollard::errors::Error as EngineError,
    core::{client::ClientError, error::WaitContainerError},
};
use thiserror::Error;

/// An error while k3s clusters are started or removed.
#[derive(Debug, Error)]
pub enum K3sError {
    /// The container engine cannot be reached.
    #[error("the container engine cannot be reached{}", at(.host.as_deref()))]
    NoEngine {
        /// Value of `DOCKER_HOST`, if it is set.
        host: Option<String>,
        /// Error from the engine's client.
        source: Box<EngineError>,
    },
    /// The engine answers with an error, such as an old one that lacks the API version.
    #[error("the container engine refuses requests")]
    Engine {
        /// Error from the engine.
        source: Box<EngineError>,
    },
    /// The image lacks a tag or a name.
    #[error("`{image}` is not an image with a tag")]
    ImageName {
        /// The given image.
        image: String,
    },
    /// The image is not on this machine and cannot be pulled.
    #[error("the image {image} is not on this machine and cannot be pulled")]
    Image {
        /// The image.
        image: String,
        /// Error from the engine.
        source: Box<TestcontainersError>,
    },
    /// A container cannot be created or started.
    #[error("the container of {cluster} cannot be started")]
    Start {
        /// Name of the cluster.
        cluster: ClusterName,
        /// Error from the engine.
        source: Box<TestcontainersError>,
    },
    /// k3s ended before its cluster was ready.
    #[error("k3s on {cluster} ended before it was ready: {last_words}")]
    Ended {
        /// Name of the cluster.
        cluster: ClusterName,
        /// Last lines of its log.
        last_words: String,
    },
    /// k3s did not become ready in time.
    #[error("k3s on {cluster} was not ready within {within:?}: {last_words}")]
    Slow {
        /// Name of the cluster.
        cluster: ClusterName,
        /// Time limit.
        within: Duration,
        /// Last lines of its log.
        last_words: String,
    },
    /// The kubeconfig of k3s cannot be read or parsed.
    #[error("the kubeconfig of {cluster} cannot be read from its container")]
    Kubeconfig {
        /// Name of the cluster.
        cluster: ClusterName,
        /// Error from the engine; `None` if the text cannot be parsed.
        source: Option<Box<TestcontainersError>>,
    },
    /// Containers could not be removed.
    #[error("these containers could not be removed: {}", .containers.join(", "))]
    LeftBehind {
        /// Names of the containers.
        containers: Vec<String>,
        /// Error from the engine for the first of them.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

fn at(host: Option<&str>) -> String {
    host.map(|host| format!(" at {host}")).unwrap_or_default()
}

impl K3sError {
    /// Checks whether the input is wrong, as opposed to the machine.
    pub fn is_input(&self) -> bool {
        matches!(self, Self::ImageName { .. })
    }

    /// Suggests a fix.
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

    /// Classifies the error of the testcontainers library for a container that did not start. `last_words` is the end
    /// of its log, if it has one.
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
