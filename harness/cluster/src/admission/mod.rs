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
//! - [`Admission`]: puts rules in force on a member: a webhook on this machine, which the member calls.

pub mod rules;

use std::sync::{Arc, Mutex, PoisonError};

use baton_apiserver::webhook::{Review, Said, Webhook};
use kube::Client;
use serde_json::{Value, json};
use thiserror::Error;

use crate::{
    actions::{self, ActionError, BATON},
    fleet::Cluster,
    simulator::Failures,
    storage::Storage,
};

pub use rules::AdmissionRules;

/// Why rules are not in force.
#[derive(Debug, Error)]
pub enum AdmissionError {
    /// The webhook cannot listen.
    #[error("the webhook for admission rules cannot listen")]
    Listen(#[from] std::io::Error),
    /// The member does not serve the kind, or does not take the configuration.
    #[error("the webhook for admission rules cannot be made known")]
    Configure(#[from] ActionError),
}

/// The admission rules in force on a fleet.
#[derive(Debug, Default)]
pub struct Admission {
    storage: Storage,
    failures: Failures,
    webhooks: Mutex<Vec<Webhook>>,
}

impl Admission {
    /// None in force yet; rules look into this storage.
    pub fn new(storage: Storage) -> Self {
        Self {
            storage,
            ..Self::default()
        }
    }

    /// Puts rules in force on a cluster: once this returns, they hold for every write. The cluster must serve the kind
    /// that they are for.
    ///
    /// # Errors
    /// If there is no webhook to be had, or the cluster does not take its configuration.
    pub async fn put_in_force(&self, cluster: &Cluster, rules: &AdmissionRules) -> Result<(), AdmissionError> {
        let client = cluster.inside(BATON);
        let rules = rules.with(self.storage.clone());
        let failures = self.failures.clone();
        let name = format!("{}.baton.dev", rules.name());
        let (resource, scope) = served(&client, &rules).await?;
        let operations = rules.operations().to_vec();
        let review: Review = Arc::new(move |write: &Value| review(&rules, write, &failures));
        let webhook = Webhook::serve(review).await?;
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": name},
            "webhooks": [{
                "name": name,
                "clientConfig": webhook.client_config(),
                "rules": [{
                    "apiGroups": [resource.group],
                    "apiVersions": [resource.version],
                    "resources": [resource.plural],
                    "operations": operations,
                    "scope": scope,
                }],
                "sideEffects": "None",
                "failurePolicy": "Fail",
                "admissionReviewVersions": ["v1"],
            }],
        });
        actions::apply(&client, &configuration, "default").await?;
        self.webhooks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(webhook);
        Ok(())
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

fn review(rules: &AdmissionRules, write: &Value, failures: &Failures) -> Said {
    match rules.changes(&write["object"]) {
        Ok(operations) if operations.is_empty() => Said::Allowed,
        Ok(operations) => Said::Patched(operations),
        Err(error) => {
            let message = error.to_string();
            failures.add(message.clone());
            Said::Denied(message)
        }
    }
}
