//! Waits until a cluster calls a newly registered webhook. API servers pick up a configuration some time after they
//! have stored it and do not report when, so a probe write tests it.

use std::{net::SocketAddr, time::Duration};

use baton_apiserver::test_webhook::Answer;
use baton_core::names::ClusterName;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt,
    api::{ObjectMeta, PostParams},
};
use serde_json::{Value, json};
use thiserror::Error;
use tokio::time::Instant;

/// Label of a probe, and of the webhook's answer to it.
const PROBE: &str = "baton.dev/admission-probe";

/// Longest time until a cluster calls a registered webhook.
const CALLED_WITHIN: Duration = Duration::from_secs(60);

/// Pause between probes. See above for why this has to poll.
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// Timeout of a webhook call for a probe, in seconds; the answer needs no computation.
const ANSWER_SECS: u32 = 5;

/// A cluster that does not call the webhook.
#[derive(Debug, Error)]
pub enum ProbeError {
    /// The cluster cannot call the webhook, or refuses the probe.
    #[error(
        "{cluster} cannot call the webhook for admission rules at {address} on this machine; --address names an address \
         of it that the members reach"
    )]
    Refused {
        /// Name of the cluster.
        cluster: ClusterName,
        /// Address of the webhook.
        address: SocketAddr,
        /// Error from the API server.
        source: Box<kube::Error>,
    },
    /// The cluster did not call the webhook in time.
    #[error("{cluster} has not called the webhook for admission rules within {CALLED_WITHIN:?}")]
    NotCalled {
        /// Name of the cluster.
        cluster: ClusterName,
    },
}

/// Builds the probe webhook that goes with `hook`. Both are in one configuration, so an API server that calls one calls
/// the other.
pub(super) fn hook(hook: &Value) -> Value {
    let mut probe = hook.clone();
    probe["name"] = json!(format!("probe.{}", hook["name"].as_str().unwrap_or_default()));
    probe["rules"] = json!([{
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "resources": ["configmaps"],
        "operations": ["CREATE"],
        "scope": "Namespaced",
    }]);
    probe["objectSelector"] = json!({"matchLabels": {PROBE: "asked"}});
    probe["timeoutSeconds"] = json!(ANSWER_SECS);
    probe
}

/// Answers a probe; `None` for any other write.
pub(super) fn answer(write: &Value) -> Option<Answer> {
    let asked = write["object"]["metadata"]["labels"][PROBE] == "asked";
    asked.then(|| {
        let answered = json!({PROBE: "answered"});
        Answer::Patched(vec![
            json!({"op": "add", "path": "/metadata/annotations", "value": answered}),
        ])
    })
}

/// Waits until a cluster calls the webhook at `address`, by dry-run writes of probes.
pub(super) async fn until_called(
    cluster: &ClusterName,
    client: &Client,
    namespace: &str,
    address: SocketAddr,
) -> Result<(), ProbeError> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let probe = ConfigMap {
        metadata: ObjectMeta {
            name: Some("baton-admission-probe".to_owned()),
            labels: Some([(PROBE.to_owned(), "asked".to_owned())].into()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    };
    let not_stored = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let deadline = Instant::now() + CALLED_WITHIN;
    loop {
        let shown = api.create(&not_stored, &probe).await;
        let shown = shown.map_err(|source| ProbeError::Refused {
            cluster: cluster.clone(),
            address,
            source: Box::new(source),
        })?;
        if shown.annotations().contains_key(PROBE) {
            return Ok(());
        }
        if Instant::now() > deadline {
            let cluster = cluster.clone();
            return Err(ProbeError::NotCalled { cluster });
        }
        tokio::time::sleep(ASK_AGAIN_AFTER).await;
    }
}
