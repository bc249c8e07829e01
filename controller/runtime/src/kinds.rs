//! Looks up the resource of a kind at the API server of a cluster.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use baton_decide::keys::Gvk;
use kube::Client;
use kube::core::{ApiResource, GroupVersionKind};
use kube::discovery;
use kube::error::DiscoveryError;

/// Status code of responses about missing objects.
const NOT_FOUND: u16 = 404;

/// A kind cannot be looked up.
#[derive(Debug, thiserror::Error)]
pub enum KindError {
    /// The API server does not serve the kind.
    #[error("the API server does not serve {0}")]
    Unknown(Gvk),
    /// The API server does not answer.
    #[error("the API server cannot be asked for its kinds: {0}")]
    Api(Box<kube::Error>),
}

/// Kinds of one cluster, each looked up once. Missing kinds are looked up again each time.
#[derive(Clone)]
pub struct Kinds {
    client: Client,
    known: Arc<Mutex<BTreeMap<Gvk, ApiResource>>>,
}

impl Kinds {
    /// Looks up kinds through this client.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            known: Arc::default(),
        }
    }

    /// Returns the client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Looks up a kind.
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
            // For an unknown group an API server answers with plain text, which kube converts to a status with a
            // different reason.
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
