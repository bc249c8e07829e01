//! Admission rules: what is changed about objects before a member stores them, in the place of a policy engine such as
//! Kyverno.
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
//! Templates are those of the simulator's rules (see [`crate::simulator`]), with `object` as the only variable, and
//! with the folder that all members share. To read in this order:
//!
//! - [`rules`]: reading rules, and what they make of an object;
//! - [`Admission`]: puts rules in force on a member: a webhook on this machine, which the member calls;
//! - `probe`: waits until it does.

mod probe;
pub mod rules;

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::{Arc, Mutex, PoisonError},
};

use baton_apiserver::test_webhook::{Answer, Review, Webhook};
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

/// Why rules are not in force.
#[derive(Debug, Error)]
pub enum AdmissionError {
    /// The webhook cannot listen.
    #[error("the webhook for admission rules cannot listen on {address}")]
    Listen {
        /// Where it was to listen.
        address: IpAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// The member does not serve the kind, or does not take the configuration.
    #[error("the webhook for admission rules cannot be made known")]
    Configure(#[from] ActionError),
    /// The member does not call the webhook.
    #[error(transparent)]
    Probe(#[from] ProbeError),
}

/// Where the webhooks of a fleet listen, and for whose objects.
#[derive(Debug, Clone)]
pub struct Site {
    /// An address of this machine that the members reach.
    pub address: IpAddr,
    /// The namespace whose objects the rules are for, on leased clusters; all objects, on the fleet's own. Kinds
    /// that are in no namespace are always meant.
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
    /// None in force yet, for clusters in this process; rules look into this storage.
    pub fn new(storage: Storage) -> Self {
        let site = Site {
            address: Ipv4Addr::LOCALHOST.into(),
            namespace: None,
        };
        Self::at(site, storage)
    }

    /// None in force yet, for leased clusters.
    pub fn at(site: Site, storage: Storage) -> Self {
        Self {
            site,
            storage,
            failures: Failures::default(),
            webhooks: Mutex::default(),
        }
    }

    /// Puts rules in force on a cluster, which `client` reaches from inside: once this returns, they hold for every write. The cluster must serve the kind
    /// that they are for.
    ///
    /// # Errors
    /// If there is no webhook to be had, or the cluster does not take its configuration or does not call it.
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
        // A server in this process goes by what it stores; others hear of it some time later.
        let Some(namespace) = &self.site.namespace else {
            return Ok(());
        };
        let probed = probe::until_called(cluster, &client, namespace, reached_at).await;
        // The member or the network is not as it must be, and not the target.
        Ok(probed.inspect_err(|error| self.failures.add(error_chain(error)))?)
    }

    /// An address of this machine that the clusters reach.
    pub fn address(&self) -> IpAddr {
        self.site.address
    }

    /// What went wrong with rules, in words; the environment is broken if there is anything.
    pub fn failures(&self) -> Vec<String> {
        self.failures.all()
    }

    /// Ends all webhooks. Members that are still there refuse what the rules are about.
    pub async fn stop(self) {
        let webhooks = self.webhooks.into_inner().unwrap_or_else(PoisonError::into_inner);
        for webhook in webhooks {
            webhook.stop().await;
        }
    }
}

/// What makes a webhook known to a cluster. With a namespace it is about nothing outside of it, is told apart from those
/// of other fleets, and can be probed.
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

/// How the cluster serves the kind that the rules are for.
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
