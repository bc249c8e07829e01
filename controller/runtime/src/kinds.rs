//! Which resource a kind is, as the API server of a cluster tells.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use baton_decide::keys::Gvk;
use kube::Client;
use kube::core::{ApiResource, GroupVersionKind};
use kube::discovery;
use kube::error::DiscoveryError;

/// The status of an answer about something that is not there.
const NOT_FOUND: u16 = 404;

/// A kind cannot be found.
#[derive(Debug, thiserror::Error)]
pub enum KindError {
    /// The API server does not have it.
    #[error("the API server does not serve {0}")]
    Unknown(Gvk),
    /// The API server cannot be asked.
    #[error("the API server cannot be asked for its kinds: {0}")]
    Api(Box<kube::Error>),
}

/// The kinds of one cluster, each looked up once. A kind that is not there is asked for again each time.
#[derive(Clone)]
pub struct Kinds {
    client: Client,
    known: Arc<Mutex<BTreeMap<Gvk, ApiResource>>>,
}

impl Kinds {
    /// The kinds that are found through this client.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            known: Arc::default(),
        }
    }

    /// The client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Finds a kind.
    pub async fn find(&self, gvk: &Gvk) -> Result<ApiResource, KindError> {
        if let Some(resource) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(gvk) {
            return Ok(resource.clone());
        }
        let wanted = GroupVersionKind::gvk(&gvk.group, &gvk.version, &gvk.kind);
        let found = discovery::pinned_kind(&self.client, &wanted).await;
        let (resource, _) = found.map_err(|error| match error {
            kube::Error::Discovery(
                DiscoveryError::MissingKind(_)
                | DiscoveryError::MissingApiGroup(_)
                | DiscoveryError::MissingResource(_)
                | DiscoveryError::EmptyApiGroup(_),
            ) => KindError::Unknown(gvk.clone()),
            // For a group that it does not have an API server answers with a text, of which kube makes a status of another
            // reason.
            kube::Error::Api(status) if status.code == NOT_FOUND => KindError::Unknown(gvk.clone()),
            other => KindError::Api(Box::new(other)),
        })?;
        self.known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(gvk.clone(), resource.clone());
        Ok(resource)
    }
}
