//! Fleets of real API servers on this machine, each with its etcd: the programs that `setup-envtest` downloads. Only
//! the simulator runs workloads there.
//!
//! - [`Assets`]: finds the programs;
//! - `certificates`: generates the servers' certificates; `process`: child processes that end with the harness;
//! - `boot`: starts etcd, the API server and, if there is one, the controller manager with the garbage collector;
//! - [`Envtest`]: the backend. It leases its clusters as [`super::external`] does, each control plane with its members
//!   to one case at a time.

mod boot;
mod certificates;
mod process;

use std::{
    ffi::OsStr,
    io,
    net::Ipv4Addr,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use async_trait::async_trait;
use baton_core::{case::model::Case, names::ClusterName};
use futures::future::{select_all, try_join_all};
use thiserror::Error;

use super::{
    Backend, Fleet, FleetError, Request, TargetLocation, TimeMode,
    external::{Access, AccessError, Clusters, ConnectError, External, Options, Workloads},
};
use boot::ControlPlane;

/// Environment variable in which `setup-envtest` users name the folder of the programs.
pub const ASSETS_VARIABLE: &str = "KUBEBUILDER_ASSETS";

/// An error while envtest clusters are started.
#[derive(Debug, Error)]
pub enum EnvtestError {
    /// No folder of programs was given.
    #[error("the folder of etcd and kube-apiserver is not set")]
    NoAssets,
    /// The folder lacks a program.
    #[error("cannot find {program} in {}", folder.display())]
    NoProgram {
        /// Name of the program.
        program: &'static str,
        /// Folder that was searched.
        folder: PathBuf,
    },
    /// An operation on this machine failed.
    #[error("{what} failed")]
    Io {
        /// Operation, such as `looking for free ports`.
        what: String,
        /// Error from the system.
        source: io::Error,
    },
    /// The certificates could not be generated.
    #[error("cannot generate certificates")]
    Certificates(#[from] rcgen::Error),
    /// A program ended, or does not serve.
    #[error("{program} of {cluster} {what}; it said last:\n{}", said.join("\n"))]
    Program {
        /// Name of the program.
        program: &'static str,
        /// Name of its cluster.
        cluster: ClusterName,
        /// Problem, such as `has ended`.
        what: String,
        /// Last lines of its output.
        said: Vec<String>,
    },
    /// The generated kubeconfig does not work.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The clusters cannot be used as a backend.
    #[error(transparent)]
    Connect(#[from] ConnectError),
}

impl EnvtestError {
    /// Suggests a fix.
    pub fn help(&self) -> String {
        match self {
            Self::NoAssets | Self::NoProgram { .. } => format!(
                "harness/assets.sh builds the programs, `setup-envtest use -p path` fetches them; name their folder \
                 with --assets or {ASSETS_VARIABLE}"
            ),
            Self::Connect(ConnectError::Check(error)) => error.help(),
            Self::Connect(ConnectError::Fleet(_))
            | Self::Io { .. }
            | Self::Certificates(_)
            | Self::Program { .. }
            | Self::Access(_) => String::new(),
        }
    }
}

/// Paths of the control plane's programs.
#[derive(Debug, Clone)]
pub struct Assets {
    etcd: PathBuf,
    api_server: PathBuf,
    /// kube-controller-manager, which collects garbage and finalizes namespaces. Not all collections have it.
    controllers: Option<PathBuf>,
}

impl Assets {
    /// Finds the programs in a folder, or in the folder that the environment names if none is given.
    ///
    /// # Errors
    /// If the programs do not exist.
    pub fn find(folder: Option<&Path>) -> Result<Self, EnvtestError> {
        let named = std::env::var_os(ASSETS_VARIABLE).filter(|it| it != OsStr::new(""));
        let folder = folder.map(Path::to_owned).or(named.map(PathBuf::from));
        let folder = folder.ok_or(EnvtestError::NoAssets)?;
        let program = |name| Some(folder.join(name)).filter(|path| path.is_file());
        let needed = |program_name| {
            program(program_name).ok_or(EnvtestError::NoProgram {
                program: program_name,
                folder: folder.clone(),
            })
        };
        Ok(Self {
            etcd: needed("etcd")?,
            api_server: needed("kube-apiserver")?,
            controllers: program("kube-controller-manager"),
        })
    }
}

/// The backend for real API servers on this machine.
#[derive(Debug)]
pub struct Envtest {
    /// Sets of a control plane and its members; a set serves one case at a time.
    sets: Vec<External>,
    planes: Mutex<Vec<ControlPlane>>,
    has_controllers: bool,
}

impl Envtest {
    /// Boots `sets` control planes with their members at the same time. As many cases can run at once.
    ///
    /// # Errors
    /// If a cluster does not serve; all clusters are removed then.
    pub async fn boot(assets: &Assets, sets: NonZeroUsize, members: usize, keep: bool) -> Result<Self, EnvtestError> {
        let booting = (0..sets.get()).map(|_| boot_set(assets, members, keep));
        let (sets, planes): (Vec<_>, Vec<_>) = try_join_all(booting).await?.into_iter().unzip();
        Ok(Self {
            sets,
            planes: Mutex::new(planes.into_iter().flatten().collect()),
            has_controllers: assets.controllers.is_some(),
        })
    }
}

async fn boot_set(assets: &Assets, members: usize, keep: bool) -> Result<(External, Vec<ControlPlane>), EnvtestError> {
    let names = (1..=members).map(|number| ClusterName::new(format!("member{number}")));
    let names = std::iter::once(ClusterName::control()).chain(names);
    let booting = names.map(|name| ControlPlane::boot(assets, name));
    let planes = try_join_all(booting).await?;
    let accesses = planes
        .iter()
        .map(|plane| Access::by_text(plane.name.clone(), &plane.kubeconfig));
    let mut accesses: Vec<Access> = try_join_all(accesses).await?;
    let members = accesses.split_off(1);
    let control = accesses.remove(0);
    let options = Options {
        workloads: Workloads::Simulated,
        keep,
        vouched_for: true,
        address: None,
        webhooks: Some(Ipv4Addr::LOCALHOST.into()),
    };
    let external = External::connect("envtest", Clusters::new(control, members)?, options).await?;
    Ok((external, planes))
}

#[async_trait]
impl Backend for Envtest {
    fn name(&self) -> &'static str {
        "envtest"
    }

    fn time_mode(&self) -> TimeMode {
        TimeMode::Real
    }

    fn at_once(&self, _members: usize) -> Option<usize> {
        Some(self.sets.len())
    }

    fn cannot_carry(&self, case: &Case, location: TargetLocation) -> Option<String> {
        if !self.has_controllers {
            // Without it, a workload's pods and objects deleted in the foreground would stay forever.
            return Some("needs a garbage collector, and the assets lack kube-controller-manager".to_owned());
        }
        self.sets.first()?.cannot_carry(case, location)
    }

    async fn fleet(&self, request: &Request) -> Result<Box<dyn Fleet>, FleetError> {
        let turns = self.sets.iter().map(|set| {
            Box::pin(async move {
                let turn = set.turn(request).await;
                (set, turn)
            })
        });
        let ((set, turn), ..) = select_all(turns).await;
        set.lease(request, turn?).await
    }

    /// Clusters that are thrown away need no cleaning.
    async fn shut_down(&self) -> Result<(), FleetError> {
        let planes = std::mem::take(&mut *self.planes.lock().unwrap_or_else(PoisonError::into_inner));
        drop(planes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_is_named_with_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("etcd"), "").unwrap();
        let error = Assets::find(Some(folder.path())).unwrap_err();
        let place = folder.path().display();
        assert_eq!(error.to_string(), format!("cannot find kube-apiserver in {place}"));
        std::fs::write(folder.path().join("kube-apiserver"), "").unwrap();
        assert!(Assets::find(Some(folder.path())).unwrap().controllers.is_none());
    }
}
