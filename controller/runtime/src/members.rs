//! Connects to members.

use std::sync::Arc;

use async_trait::async_trait;
use baton_decide::api::Cluster;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, Config};

use crate::client::client;

/// A member cannot be connected to, because its cluster object or secret is incomplete or invalid.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The cluster object lacks a field.
    #[error("cluster has no {0}")]
    Incomplete(&'static str),
    /// The secret cannot be read.
    #[error("secret {namespace}/{name} cannot be read")]
    Secret {
        /// Namespace of the secret.
        namespace: String,
        /// Name of the secret.
        name: String,
        /// Cause of the error.
        source: Box<kube::Error>,
    },
    /// The endpoint, the token or the certificate is invalid.
    #[error("{0}")]
    Client(String),
}

/// Provides clients for members. Called once per cluster, and again when its endpoint or secret reference changes or
/// when it was removed and joined again.
#[async_trait]
pub trait Members: Send + Sync + 'static {
    /// Returns a client for the member that this `Cluster` refers to.
    async fn connect(&self, cluster: &Cluster) -> Result<Client, ConnectError>;
}

/// Members in push mode: their `Cluster` refers to endpoint and secret (`token`, `caBundle`).
#[derive(Clone)]
pub struct PushMembers {
    control: Client,
}

impl PushMembers {
    /// Creates a provider that reads the secrets through this client.
    pub fn new(control: Client) -> Arc<Self> {
        Arc::new(Self { control })
    }
}

#[async_trait]
impl Members for PushMembers {
    async fn connect(&self, cluster: &Cluster) -> Result<Client, ConnectError> {
        let endpoint = cluster
            .spec
            .api_endpoint
            .as_deref()
            .ok_or(ConnectError::Incomplete("spec.apiEndpoint"))?;
        let reference = cluster
            .spec
            .secret_ref
            .as_ref()
            .ok_or(ConnectError::Incomplete("spec.secretRef"))?;
        let secrets: Api<Secret> = Api::namespaced(self.control.clone(), &reference.namespace);
        let secret = secrets
            .get(&reference.name)
            .await
            .map_err(|source| ConnectError::Secret {
                namespace: reference.namespace.clone(),
                name: reference.name.clone(),
                source: Box::new(source),
            })?;
        let url = endpoint
            .parse()
            .map_err(|_| ConnectError::Client(format!("{endpoint:?} is not a valid URL")))?;
        let mut config = Config::new(url);
        config.accept_invalid_certs = cluster.spec.insecure_skip_tls_verification == Some(true);
        config.connect_timeout = Some(std::time::Duration::from_secs(5));
        let entry = |key: &str| {
            secret
                .data
                .as_ref()
                .and_then(|data| data.get(key))
                .map(|bytes| bytes.0.clone())
        };
        if let Some(pem) = entry("caBundle") {
            config.root_cert = Some(certificates(&pem)?);
        }
        if let Some(token) = entry("token") {
            let token = String::from_utf8(token)
                .map_err(|_| ConnectError::Client("the token is not valid UTF-8".to_owned()))?;
            config.auth_info.token = Some(token.trim().to_owned().into());
        }
        client(config).map_err(|error| ConnectError::Client(error.to_string()))
    }
}

/// Returns the certificates of a bundle as DER.
fn certificates(pem: &[u8]) -> Result<Vec<Vec<u8>>, ConnectError> {
    let bundle = pem::parse_many(pem).map_err(|error| ConnectError::Client(format!("caBundle: {error}")))?;
    Ok(bundle.into_iter().map(pem::Pem::into_contents).collect())
}
