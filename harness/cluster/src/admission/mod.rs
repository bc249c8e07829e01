//! Admission rules: changes to objects before a member stores them, in place of a policy engine such as Kyverno.
//!
//! ```yaml
//! apiVersion: baton.dev/v1alpha1
//! kind: AdmissionRules
//! metadata: {name: resume-from-checkpoint}
//! spec:
//!   resource: {apiVersion: flink.apache.org/v1beta1, kind: FlinkDeployment}
//!   operations: [CREATE]
//!   rules:
//!     - name: resumes
//!       when: object.metadata.labels["failover.karmada.io/failover-jobid"]   # an expression; always, if absent
//!       merge: |                                # a template that gives YAML, merged into the object; null removes
//!         spec: {job: {upgradeMode: savepoint}}
//! ```
//!
//! Templates are those of the simulator's rules (see [`crate::simulator`]), with `object` as the only variable and with
//! the folder that all members share. In reading order:
//!
//! - [`rules`]: parses rules and applies them to an object;
//! - [`Admission`]: enforces rules on a member through a webhook on this machine;
//! - `probe`: waits until the member calls the webhook.

mod probe;
pub mod rules;

use std::{
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
};

use baton_apiserver::{
    in_process,
    test_webhook::{Answer, Review, Webhook},
};
use baton_core::names::ClusterName;
use kube::Client;
use serde_json::{Value, json};
use thiserror::Error;

use crate::{
    actions::{self, ActionError},
    error_chain::error_chain,
    simulator::Failures,
    storage::Storage,
};

pub use probe::ProbeError;
pub use rules::{AdmissionRules, RulesError};

/// An error while admission rules are put in force.
#[derive(Debug, Error)]
pub enum AdmissionError {
    /// The webhook cannot listen.
    #[error("the webhook for admission rules cannot listen on {address}")]
    Listen {
        /// Address for the webhook.
        address: IpAddr,
        /// Error from the system.
        source: std::io::Error,
    },
    /// The member does not serve the kind, or rejects the webhook configuration.
    #[error("cannot register the webhook for admission rules")]
    Configure(#[from] ActionError),
    /// The member does not call the webhook.
    #[error(transparent)]
    Probe(#[from] ProbeError),
}

/// Address and scope of a fleet's webhooks.
#[derive(Debug, Clone)]
pub struct Site {
    /// Address of this machine that the members reach.
    pub address: IpAddr,
    /// Namespace whose objects the rules change, on leased clusters; `None` for all objects, on clusters made for one
    /// fleet. Cluster-scoped kinds always match.
    pub namespace: Option<String>,
}

/// The admission rules in force on a fleet.
#[derive(Debug)]
pub struct Admission {
    site: Site,
    storage: Storage,
    failures: Failures,
    webhooks: Mutex<Vec<Webhook>>,
}

impl Admission {
    /// No rules yet, for clusters in this process. Templates use the files of `storage`.
    pub fn new(storage: Storage) -> Self {
        let site = Site {
            address: in_process::ADDRESS,
            namespace: None,
        };
        Self::at(site, storage)
    }

    /// No rules yet, for leased clusters.
    pub fn at(site: Site, storage: Storage) -> Self {
        Self {
            site,
            storage,
            failures: Failures::default(),
            webhooks: Mutex::default(),
        }
    }

    /// Enforces rules on a cluster, which `client` reaches from inside. Once this returns, they apply to every write.
    /// The cluster must serve the kind that they are for.
    ///
    /// # Errors
    /// If the webhook cannot listen, or the cluster rejects its configuration or does not call it.
    pub async fn put_in_force(
        &self,
        cluster: &ClusterName,
        client: Client,
        rules: &AdmissionRules,
    ) -> Result<(), AdmissionError> {
        let rules = rules.with(self.storage.clone());
        let failures = self.failures.clone();
        let (resource, scope) = served(&client, &rules).await?;
        let (name, operations) = (rules.name().to_owned(), rules.operations().to_vec());
        let review: Review = Arc::new(move |write: &Value| review(&rules, write, &failures));
        let address = self.site.address;
        let webhook = Webhook::serve(address, review).await;
        let webhook = webhook.map_err(|source| AdmissionError::Listen { address, source });
        let webhook = webhook.inspect_err(|error| self.failures.add(error_chain(error)))?;
        let rule = json!({
            "apiGroups": [resource.group],
            "apiVersions": [resource.version],
            "resources": [resource.plural],
            "operations": operations,
            "scope": scope,
        });
        let configuration = configuration(&name, &webhook, &rule, self.site.namespace.as_deref());
        let reached_at = webhook.address();
        self.webhooks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(webhook);
        actions::apply(&client, &configuration, "default").await?;
        // A server in this process applies a configuration as soon as it is stored; other servers do so some time
        // later.
        let Some(namespace) = &self.site.namespace else {
            return Ok(());
        };
        let probed = probe::until_called(cluster, &client, namespace, reached_at).await;
        // The member or the network has a problem, not the target.
        Ok(probed.inspect_err(|error| self.failures.add(error_chain(error)))?)
    }

    /// Address of this machine that the clusters reach.
    pub fn address(&self) -> IpAddr {
        self.site.address
    }

    /// Failures of rules so far, as messages. Any failure means that the environment is broken.
    pub fn failures(&self) -> Vec<String> {
        self.failures.all()
    }

    /// Stops all webhooks. Members that still run refuse writes that match the rules.
    pub async fn stop(self) {
        let webhooks = self.webhooks.into_inner().unwrap_or_else(PoisonError::into_inner);
        for webhook in webhooks {
            webhook.stop().await;
        }
    }
}

/// Builds the webhook configuration for a cluster. With a namespace, it covers only that namespace, has a name that no
/// other fleet uses, and can be probed.
fn configuration(name: &str, webhook: &Webhook, rule: &Value, namespace: Option<&str>) -> Value {
    let name = match namespace {
        Some(namespace) => format!("{name}.{namespace}.baton.dev"),
        None => format!("{name}.baton.dev"),
    };
    let mut hook = json!({
        "name": name,
        "clientConfig": webhook.client_config(),
        "rules": [rule],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "admissionReviewVersions": ["v1"],
    });
    let mut hooks = Vec::new();
    if let Some(namespace) = namespace {
        hook["namespaceSelector"] = json!({"matchLabels": {"kubernetes.io/metadata.name": namespace}});
        hooks.push(probe::hook(&hook));
    }
    hooks.insert(0, hook);
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": hooks,
    })
}

/// Looks up how the cluster serves the kind that the rules are for.
async fn served(
    client: &Client,
    rules: &AdmissionRules,
) -> Result<(kube::core::ApiResource, &'static str), ActionError> {
    let kind = rules.resource();
    let (resource, capabilities) = actions::served(client, &kind.api_version, &kind.kind).await?;
    let scope = match capabilities.scope {
        kube::discovery::Scope::Namespaced => "Namespaced",
        kube::discovery::Scope::Cluster => "Cluster",
    };
    Ok((resource, scope))
}

fn review(rules: &AdmissionRules, write: &Value, failures: &Failures) -> Answer {
    if let Some(said) = probe::answer(write) {
        return said;
    }
    match rules.changes(&write["object"]) {
        Ok(operations) if operations.is_empty() => Answer::Allowed,
        Ok(operations) => Answer::Patched(operations),
        Err(error) => {
            let message = error.to_string();
            failures.add(message.clone());
            Answer::Denied(message)
        }
    }
}
