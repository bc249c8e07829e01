//! Fleets of real API servers on this machine, each with an etcd of its own: the programs that the ecosystem's
//! `setup-envtest` fetches. Nobody runs workloads there but the simulator.
//!
//! - [`Assets`]: where the programs are;
//! - `certificates`: what the servers trust, made anew each time; `process`: programs that do not outlive the harness;
//! - `boot`: starts an etcd, an API server and, if there is one, the controllers that remove what has no owner any more;
//! - [`Envtest`]: the backend. Its clusters are leased as existing ones are ([`super::external`]), each control plane with
//!   its members to one case at a time.

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

/// Where `setup-envtest` tells its users to say where the programs are.
pub const ASSETS_VARIABLE: &str = "KUBEBUILDER_ASSETS";

/// Why there are no clusters.
#[derive(Debug, Error)]
pub enum EnvtestError {
    /// Nobody says where the programs are.
    #[error("the folder of etcd and kube-apiserver is not set")]
    NoAssets,
    /// A program is not there.
    #[error("there is no {program} in {}", folder.display())]
    NoProgram {
        /// The program.
        program: &'static str,
        /// Where it was looked for.
        folder: PathBuf,
    },
    /// Something on this machine does not work.
    #[error("{what} failed")]
    Io {
        /// What was to be done.
        what: String,
        /// What the system says.
        source: io::Error,
    },
    /// Certificates cannot be made.
    #[error("certificates cannot be made")]
    Certificates(#[from] rcgen::Error),
    /// A program ended, or does not serve.
    #[error("{program} of {cluster} {what}; it said last:\n{}", said.join("\n"))]
    Program {
        /// The program.
        program: &'static str,
        /// Its cluster.
        cluster: ClusterName,
        /// What is wrong.
        what: String,
        /// The last lines of its output.
        said: Vec<String>,
    },
    /// What the servers were given does not lead to them.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// They do not serve as a backend.
    #[error(transparent)]
    Connect(#[from] ConnectError),
}

impl EnvtestError {
    /// What to do about it.
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

/// The programs of a control plane.
#[derive(Debug, Clone)]
pub struct Assets {
    etcd: PathBuf,
    api_server: PathBuf,
    /// Removes what has no owner any more, and namespaces. Not all collections have it.
    controllers: Option<PathBuf>,
}

impl Assets {
    /// The programs in a folder; if none is given, in the one that the environment names.
    ///
    /// # Errors
    /// If they are not there.
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

/// Real API servers on this machine, as a backend.
#[derive(Debug)]
pub struct Envtest {
    /// Each a control plane and its members, for one case at a time.
    sets: Vec<External>,
    planes: Mutex<Vec<ControlPlane>>,
    has_controllers: bool,
}

impl Envtest {
    /// Boots control planes, each with members of its own, all at once. As many cases can be run at once.
    ///
    /// # Errors
    /// If one of them does not come to serve; nothing is left then.
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
            // A workload's pods, and whatever is deleted in the foreground, would stay for ever.
            return Some(
                "needs a garbage collector, and there is no kube-controller-manager among the assets".to_owned(),
            );
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

    /// Nothing need be cleaned on clusters that are thrown away.
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
        assert_eq!(error.to_string(), format!("there is no kube-apiserver in {place}"));
        std::fs::write(folder.path().join("kube-apiserver"), "").unwrap();
        assert!(Assets::find(Some(folder.path())).unwrap().controllers.is_none());
    }
}
