//! Members that are registered with a control plane in push mode, reached with the address and the token that an
//! implementation uses.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use baton_core::names::ClusterName;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client, ResourceExt as _,
    api::{DynamicObject, ListParams},
    config::Kubeconfig,
};
use serde_json::{Value, json};
use thiserror::Error;

use super::{Access, AccessError, Clusters, client};
use crate::fleet::{FleetError, embedded::FLEET, register};

/// Number of secrets that are read at the same time.
const READ_AT_ONCE: usize = 20;

/// An error while the registered members of a control plane are looked up.
#[derive(Debug, Error)]
pub enum RegisteredError {
    /// No client of the control plane can be made.
    #[error(transparent)]
    Fleet(#[from] FleetError),
    /// The control plane does not list its Clusters.
    #[error("the control plane does not list its Clusters")]
    Clusters(#[source] Box<kube::Error>),
    /// A member is not registered.
    #[error("{name} is not registered with the control plane, which has {}", listed(there))]
    NotRegistered {
        /// Name of the member.
        name: ClusterName,
        /// Names of the registered Clusters.
        there: Vec<String>,
    },
    /// A Cluster lacks a field that leads to its API server.
    #[error("the Cluster {name} has no {field}; it seems to be in pull mode")]
    Pull {
        /// Name of the member.
        name: ClusterName,
        /// The field, such as `spec.apiEndpoint`.
        field: &'static str,
    },
    /// The secret of a Cluster cannot be read.
    #[error("the secret {secret} of the Cluster {name} cannot be read")]
    Secret {
        /// Name of the member.
        name: ClusterName,
        /// Namespace and name of the secret.
        secret: String,
        /// Error of the request.
        source: Box<kube::Error>,
    },
    /// The secret of a Cluster has no token.
    #[error("the secret {secret} of the Cluster {name} has no token")]
    NoToken {
        /// Name of the member.
        name: ClusterName,
        /// Namespace and name of the secret.
        secret: String,
    },
    /// The address or the token of a member cannot be used.
    #[error(transparent)]
    Access(#[from] AccessError),
}

impl RegisteredError {
    /// Returns a remedy for the user.
    pub fn help(&self) -> String {
        match self {
            Self::NotRegistered { .. } => {
                "`baton member` registers members; --members says how many there are".to_owned()
            }
            Self::Pull { .. } | Self::Secret { .. } | Self::NoToken { .. } => {
                "members must be registered in push mode, with a secret that the kubeconfig's user may read".to_owned()
            }
            Self::Access(_) => {
                "the Cluster and its secret must have an address and a token that can be used".to_owned()
            }
            Self::Fleet(_) | Self::Clusters(_) => {
                "--kubeconfig and --control must lead to a control plane with the failover API".to_owned()
            }
        }
    }
}

/// At most this many Clusters are listed in a message.
const LISTED: usize = 5;

fn listed(names: &[String]) -> String {
    match names.len() {
        0 => "no Clusters".to_owned(),
        1..=LISTED => format!("the Clusters {}", names.join(", ")),
        all => format!("{all} Clusters, such as {}", names[..LISTED].join(", ")),
    }
}

impl Clusters {
    /// A control plane with its registered members `member1` to `member<count>`.
    ///
    /// # Errors
    /// If a member is not registered in push mode, or its secret cannot be read.
    pub async fn registered(control: Access, count: usize) -> Result<Self, RegisteredError> {
        let client = client(&control, FLEET)?;
        let listing = register::clusters(&client).list(&ListParams::default()).await;
        let listing = listing.map_err(|error| RegisteredError::Clusters(Box::new(error)))?;
        let there: BTreeMap<String, DynamicObject> = listing.into_iter().map(|it| (it.name_any(), it)).collect();
        let member = async |number: usize| {
            let name = ClusterName::new(format!("member{number}"));
            let Some(cluster) = there.get(name.as_str()) else {
                let there = there.keys().cloned().collect();
                return Err(RegisteredError::NotRegistered { name, there });
            };
            access(&client, name, &cluster.data["spec"]).await
        };
        let members = stream::iter(1..=count).map(member).buffered(READ_AT_ONCE);
        Ok(Self::new(control, members.try_collect().await?)?)
    }
}

async fn access(client: &Client, name: ClusterName, spec: &Value) -> Result<Access, RegisteredError> {
    let text = |pointer: &str, field: &'static str| {
        let found = spec.pointer(pointer).and_then(Value::as_str);
        found.ok_or_else(|| RegisteredError::Pull {
            name: name.clone(),
            field,
        })
    };
    let server = text("/apiEndpoint", "spec.apiEndpoint")?;
    let (namespace, secret) = (
        text("/secretRef/namespace", "spec.secretRef.namespace")?,
        text("/secretRef/name", "spec.secretRef.name")?,
    );
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let read = secrets.get(secret).await;
    let secret = format!("{namespace}/{secret}");
    let data = match read {
        Ok(read) => read.data.unwrap_or_default(),
        Err(source) => {
            return Err(RegisteredError::Secret {
                name,
                secret,
                source: Box::new(source),
            });
        }
    };
    let token = data.get("token").map(|it| String::from_utf8_lossy(&it.0));
    let Some(token) = token.filter(|it| !it.is_empty()) else {
        return Err(RegisteredError::NoToken { name, secret });
    };
    let mut cluster = json!({"server": server});
    if let Some(ca) = data.get("caBundle") {
        cluster["certificate-authority-data"] = BASE64.encode(&ca.0).into();
    }
    if spec["insecureSkipTLSVerification"] == true {
        cluster["insecure-skip-tls-verify"] = true.into();
    }
    let kubeconfig = json!({
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
    });
    let file = format!("of the Cluster {name}");
    let kubeconfig: Kubeconfig =
        serde_json::from_value(kubeconfig).map_err(|_| FleetError::Kubeconfig(name.clone()))?;
    let context = name.to_string();
    Ok(Access::by_context(name, &kubeconfig, &context, &file).await?)
}
