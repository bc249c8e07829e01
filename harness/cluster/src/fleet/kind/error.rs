//! Errors of kind clusters, and their diagnosis from kind's output.

use std::{fmt, io, path::PathBuf, time::Duration};

use thiserror::Error;

/// Memory of a node that only serves its API; less is never enough.
pub(super) const MEMORY_PER_CLUSTER: u64 = 400 << 20;

/// An error while kind clusters are created or removed.
#[derive(Debug, Error)]
pub enum KindError {
    /// kind is not installed.
    #[error("the program `kind` is not in PATH")]
    NotInstalled,
    /// The container engine's client is not installed.
    #[error("the program `{engine}` is not in PATH; kind runs its nodes with it")]
    EngineMissing {
        /// Client, such as `docker`.
        engine: String,
    },
    /// The container engine does not answer.
    #[error("{engine} does not run, or may not be used: {said}")]
    EngineDown {
        /// Client, such as `docker`.
        engine: String,
        /// Output of the client.
        said: String,
    },
    /// A program exists but cannot be started.
    #[error("`{command}` cannot be started")]
    NotStarted {
        /// Command line.
        command: String,
        /// Error from the system.
        source: io::Error,
    },
    /// A configuration file cannot be read.
    #[error("the configuration {} cannot be read", .file.display())]
    Configuration {
        /// Path of the file.
        file: PathBuf,
        /// Error from the system.
        source: io::Error,
    },
    /// kind would reject the names.
    #[error("`{prefix}` cannot begin the name of a cluster: lower-case letters, digits and `-` only, 30 at most")]
    Prefix {
        /// The given prefix.
        prefix: String,
    },
    /// Clusters of these names exist, and `--reuse` was not given.
    #[error("there are kind clusters of these names already: {}", .clusters.join(", "))]
    Exists {
        /// Names of the clusters.
        clusters: Vec<String>,
    },
    /// A cluster to reuse does not serve its API.
    #[error("the kind cluster {cluster} is there, but cannot be used: {said}")]
    NotUsable {
        /// Name of the cluster.
        cluster: String,
        /// Output of kind.
        said: String,
    },
    /// The node image is not on this machine and cannot be pulled.
    #[error("the node image {image} is not on this machine and cannot be pulled: {said}")]
    Image {
        /// Name of the image.
        image: String,
        /// Output of the engine.
        said: String,
    },
    /// Another process listens on an address that a configuration asks for.
    #[error("{cluster} cannot have {address}: something else listens there")]
    PortTaken {
        /// Name of the cluster.
        cluster: String,
        /// Address and port, if the engine reports them.
        address: String,
    },
    /// The engine has less memory than the clusters need.
    #[error("{clusters} clusters need {} of memory at least, and the engine has {}", Mebibytes(*.needed), Mebibytes(*.there))]
    LittleMemory {
        /// Number of clusters to create.
        clusters: usize,
        /// In bytes.
        needed: u64,
        /// In bytes.
        there: u64,
    },
    /// The system killed a process in a node, or refused it memory.
    #[error("{cluster} ran out of memory: {said}")]
    OutOfMemory {
        /// Name of the cluster.
        cluster: String,
        /// Output of kind.
        said: String,
    },
    /// The engine has no disk space left.
    #[error("{cluster} ran out of disk space: {said}")]
    OutOfDisk {
        /// Name of the cluster.
        cluster: String,
        /// Output of kind.
        said: String,
    },
    /// A command exceeded its time limit.
    #[error("`{command}` did not end within {within:?}")]
    Slow {
        /// Command line.
        command: String,
        /// Time limit.
        within: Duration,
    },
    /// A command failed for another reason.
    #[error("`{command}` failed: {said}")]
    Failed {
        /// Command line.
        command: String,
        /// Output of the command.
        said: String,
    },
    /// Clusters could not be removed.
    #[error("these kind clusters could not be removed: {}", .clusters.join(", "))]
    LeftBehind {
        /// Names of the clusters.
        clusters: Vec<String>,
        /// Error for the first of them.
        source: Box<KindError>,
    },
}

struct Mebibytes(u64);

impl fmt::Display for Mebibytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MiB", self.0 >> 20)
    }
}

impl KindError {
    /// Checks whether the input is wrong, as opposed to the machine.
    pub fn is_input(&self) -> bool {
        matches!(
            self,
            Self::Prefix { .. } | Self::Configuration { .. } | Self::Exists { .. }
        )
    }

    /// Suggests a fix.
    pub fn help(&self) -> String {
        match self {
            Self::NotInstalled => {
                "install it (kind.sigs.k8s.io), for example with `go install sigs.k8s.io/kind@latest`, or run without it: \
                 `--backend embedded` needs nothing"
                    .to_owned()
            }
            Self::EngineMissing { engine } => format!(
                "install {engine}, or name another engine that kind knows in KIND_EXPERIMENTAL_PROVIDER (docker, podman, nerdctl)"
            ),
            Self::EngineDown { engine, .. } => {
                format!("start {engine}, see whether `{engine} ps` works as this user, and look at DOCKER_HOST")
            }
            Self::NotStarted { .. } => "look at the file's permissions".to_owned(),
            Self::Configuration { .. } => {
                "the folder that --root names holds a whole suite, so it needs kind-config/ too".to_owned()
            }
            Self::Prefix { .. } => "choose another --name-prefix".to_owned(),
            Self::Exists { clusters } => format!(
                "use them with --reuse, remove them with `kind delete clusters {}`, or choose another --name-prefix",
                clusters.join(" ")
            ),
            Self::NotUsable { cluster, .. } => {
                format!("remove it with `kind delete cluster --name {cluster}`; it is made anew then")
            }
            Self::Image { .. } => "name an image that the engine has with --image (`docker image ls`), load one with \
                                   `docker load`, or see whether the engine reaches its registry; where no image can be \
                                   pulled, harness/kind-node.sh of the repository makes one"
                .to_owned(),
            Self::PortTaken { .. } => {
                "let kind choose: leave networking.apiServerPort and hostPort out of kind-config/*.yaml; or free the port"
                    .to_owned()
            }
            Self::LittleMemory { .. } | Self::OutOfMemory { .. } => {
                "give the engine more memory, or ask for fewer clusters with --members".to_owned()
            }
            Self::OutOfDisk { .. } => "make room, for example with `docker system prune`".to_owned(),
            Self::Slow { .. } => "give it longer with --boot-timeout".to_owned(),
            Self::Failed { .. } => "run the command by hand, with `--retain` and `-v 1` if it creates a cluster".to_owned(),
            Self::LeftBehind { clusters, .. } => format!("remove them with `kind delete clusters {}`", clusters.join(" ")),
        }
    }
}

/// Derives from the output of `command` why a cluster could not be created.
pub(super) fn diagnose(cluster: &str, command: &str, output: &str) -> KindError {
    let (cluster, said) = (cluster.to_owned(), gist(output));
    let has = |words: &[&str]| words.iter().any(|word| output.contains(word));
    if let Some(image) = between(output, "failed to pull image \"", "\"") {
        return KindError::Image { image, said };
    }
    if has(&["port is already allocated", "address already in use"]) {
        let address = between(output, "Bind for ", " failed")
            .or_else(|| between(output, "listen tcp4 ", ": bind"))
            .or_else(|| between(output, "listen tcp ", ": bind"));
        let address = address.unwrap_or_else(|| "a port that its configuration asks for".to_owned());
        return KindError::PortTaken { cluster, address };
    }
    if has(&[
        "cannot allocate memory",
        "exit status 137",
        "signal: killed",
        "OOMKilled",
    ]) {
        return KindError::OutOfMemory { cluster, said };
    }
    if has(&["no space left on device"]) {
        return KindError::OutOfDisk { cluster, said };
    }
    if has(&["already exist for a cluster with the name"]) {
        let clusters = vec![cluster];
        return KindError::Exists { clusters };
    }
    let command = command.to_owned();
    KindError::Failed { command, said }
}

fn between(text: &str, before: &str, after: &str) -> Option<String> {
    let (_, rest) = text.split_once(before)?;
    let (found, _) = rest.split_once(after)?;
    Some(found.to_owned())
}

/// Extracts the error from a program's output, on one line: the output of a command that kind ran, or else kind's
/// error, or else the last lines.
pub(super) fn gist(output: &str) -> String {
    const LINES: usize = 4;
    let told = |(_, rest): (&str, &str)| (!rest.trim().is_empty()).then(|| rest.to_owned());
    let inner = output.split_once("Command Output:").and_then(told);
    let own = || output.split_once("ERROR:").and_then(told);
    let (text, from_the_end) = match inner.or_else(own) {
        Some(text) => (text, false),
        None => (output.to_owned(), true),
    };
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let kept = if from_the_end {
        &lines[lines.len().saturating_sub(LINES)..]
    } else {
        &lines[..lines.len().min(LINES)]
    };
    if kept.is_empty() {
        "it said nothing".to_owned()
    } else {
        kept.join("; ")
    }
}
