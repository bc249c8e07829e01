//! Connections to members.

use std::collections::BTreeMap;

use baton_decide::api::{Cluster, ClusterSpec};
use baton_decide::keys::Gvk;
use tokio::task::AbortHandle;

use crate::kinds::Kinds;

/// A connection to a member.
pub struct MemberConnection {
    identity: Identity,
    /// Kinds of the member, and its client.
    pub kinds: Kinds,
    watches: BTreeMap<Option<Gvk>, AbortHandle>,
}

/// Fields of the cluster object that require a new connection when they change.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    uid: Option<String>,
    spec: ClusterSpec,
}

impl Identity {
    /// Returns the identity of the member that this cluster object refers to.
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

    fn without_credentials(&self) -> Self {
        let mut identity = self.clone();
        identity.spec.secret_ref = None;
        identity
    }
}

/// Connections by cluster.
#[derive(Default)]
pub struct MemberConnections(BTreeMap<String, MemberConnection>);

impl MemberConnections {
    /// Returns the connection, if it belongs to this member.
    pub fn get(&self, name: &str, identity: &Identity) -> Option<&MemberConnection> {
        self.0.get(name).filter(|connection| connection.identity == *identity)
    }

    /// Returns the connection, if it belongs to this member, perhaps with other credentials.
    pub fn with_other_credentials(&self, name: &str, identity: &Identity) -> Option<&MemberConnection> {
        let member = identity.without_credentials();
        self.0
            .get(name)
            .filter(|connection| connection.identity.without_credentials() == member)
    }

    /// Stores a new connection; closes an earlier one to the same cluster.
    pub fn put(&mut self, name: &str, identity: Identity, kinds: Kinds) {
        let connection = MemberConnection {
            identity,
            kinds,
            watches: BTreeMap::new(),
        };
        self.0.insert(name.to_owned(), connection);
    }

    /// Closes the connection.
    pub fn close(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Returns true if the kind is watched on the member; `None` stands for its definitions.
    pub fn is_watched(&self, name: &str, gvk: Option<&Gvk>) -> bool {
        self.0
            .get(name)
            .is_some_and(|connection| connection.watches.contains_key(&gvk.cloned()))
    }

    /// Records that a watch was started.
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
