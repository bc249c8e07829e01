//! Embedded members of an existing control plane: API servers in this process that serve HTTPS. There can be many of
//! them, so that each of several concurrent cases has different members.

use std::{fmt, io};

use futures::future::try_join_all;
use jiff::Timestamp;
use tokio::runtime::{Builder, Runtime};

use super::{Access, AccessError};
use crate::fleet::{
    Cluster, Fleet as _, FleetError,
    embedded::{Embedded, Options, Time},
};

/// An error while embedded members are started.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedMembersError {
    /// The runtime cannot be started.
    #[error("cannot start the async runtime of embedded members")]
    Runtime(#[source] io::Error),
    /// The API servers cannot be started.
    #[error(transparent)]
    Fleet(#[from] FleetError),
    /// A generated kubeconfig does not work.
    #[error(transparent)]
    Access(#[from] AccessError),
}

/// Embedded API servers that serve until this is dropped.
pub struct EmbeddedMembers {
    accesses: Vec<Access>,
    /// The servers. Their control plane is not used.
    _servers: Embedded,
    /// Outlives the runtimes of cases. `None` once it has ended.
    runtime: Option<Runtime>,
}

impl fmt::Debug for EmbeddedMembers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedMembers")
            .field("members", &self.accesses)
            .finish_non_exhaustive()
    }
}

impl EmbeddedMembers {
    /// Boots `count` members: `member1`, `member2`, …
    ///
    /// # Errors
    /// If they cannot be started.
    pub fn boot(count: usize) -> Result<Self, EmbeddedMembersError> {
        let runtime = Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(EmbeddedMembersError::Runtime)?;
        let booted = runtime.block_on(async {
            let options = Options {
                doors: true,
                bare: true,
                observed: false,
                ..Options::new(count, Time::Real(Timestamp::now()))
            };
            let servers = Embedded::boot(options).await?;
            let accesses = try_join_all(servers.members().iter().map(access)).await?;
            Ok::<_, EmbeddedMembersError>((servers, accesses))
        });
        let (servers, accesses) = booted?;
        Ok(Self {
            accesses,
            _servers: servers,
            runtime: Some(runtime),
        })
    }

    /// Access to each member.
    pub fn accesses(&self) -> Vec<Access> {
        self.accesses.clone()
    }
}

async fn access(member: &Cluster) -> Result<Access, EmbeddedMembersError> {
    let path = member
        .kubeconfig()
        .ok_or_else(|| FleetError::Kubeconfig(member.name().clone()))?;
    let text = tokio::fs::read_to_string(path).await.map_err(|source| FleetError::Io {
        what: format!("reading {}", path.display()),
        source,
    })?;
    Ok(Access::by_text(member.name().clone(), &text).await?.made_for_run())
}

impl Drop for EmbeddedMembers {
    fn drop(&mut self) {
        // A drop may happen on another runtime, which must not wait.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
