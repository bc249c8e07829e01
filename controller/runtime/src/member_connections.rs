//! The members that the controller has a connection to.

use std::collections::BTreeMap;

use baton_decide::api::{Cluster, ClusterSpec};
use baton_decide::keys::Gvk;
use tokio::task::AbortHandle;

use crate::kinds::Kinds;

/// A connection to a member.
pub struct MemberConnection {
    identity: Identity,
    /// Its kinds, and the client.
    pub kinds: Kinds,
    watches: BTreeMap<Option<Gvk>, AbortHandle>,
}

/// What makes a connection another one when it changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    uid: Option<String>,
    spec: ClusterSpec,
}

impl Identity {
    /// The identity of the member that this cluster object stands for now.
    pub fn of(cluster: &Cluster) -> Self {
        let spec = ClusterSpec {
            taints: Vec::new(),
            ..cluster.spec.clone()
        };
        Self {
            uid: cluster.metadata.uid.clone(),
            spec,
        }
    }
}

/// The connections, by cluster.
#[derive(Default)]
pub struct MemberConnections(BTreeMap<String, MemberConnection>);

impl MemberConnections {
    /// The connection, if it is to this very member.
    pub fn get(&self, name: &str, identity: &Identity) -> Option<&MemberConnection> {
        self.0.get(name).filter(|connection| connection.identity == *identity)
    }

    /// A connection was made; an earlier one of that name ends.
    pub fn put(&mut self, name: &str, identity: Identity, kinds: Kinds) {
        let connection = MemberConnection {
            identity,
            kinds,
            watches: BTreeMap::new(),
        };
        self.0.insert(name.to_owned(), connection);
    }

    /// The connection ends.
    pub fn close(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Whether the kind is watched on the member already; `None` stands for its definitions.
    pub fn is_watched(&self, name: &str, gvk: Option<&Gvk>) -> bool {
        self.0
            .get(name)
            .is_some_and(|connection| connection.watches.contains_key(&gvk.cloned()))
    }

    /// A watch was started.
    pub fn watched(&mut self, name: &str, gvk: Option<Gvk>, handle: AbortHandle) {
        match self.0.get_mut(name) {
            Some(connection) => {
                connection.watches.insert(gvk, handle);
            }
            None => handle.abort(),
        }
    }
}

impl Drop for MemberConnection {
    fn drop(&mut self) {
        for handle in self.watches.values() {
            handle.abort();
        }
    }
}
