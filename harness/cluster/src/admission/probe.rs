//! Waits until a cluster calls a webhook that has been made known to it. API servers hear of configurations some time
//! after they have stored them, and say nowhere that they have: a write tells.

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

/// What tells a probe from other objects, and what the webhook adds to it.
const PROBE: &str = "baton.dev/admission-probe";

/// How long a cluster may take to call a webhook that has been made known to it.
const CALLED_WITHIN: Duration = Duration::from_secs(60);

/// How long to wait before a cluster that does not call the webhook yet is asked again; see above for why there is no
/// other way.
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// How long a cluster may wait for an answer to a probe, in seconds: nothing has to be thought about.
const ANSWER_SECS: u32 = 5;

/// Why a cluster does not call a webhook.
#[derive(Debug, Error)]
pub enum ProbeError {
    /// It cannot, or refuses to make an object that would lead to a call.
    #[error(
        "{cluster} cannot call the webhook for admission rules at {address} on this machine; --address names an address \
         of it that the members reach"
    )]
    Refused {
        /// The cluster.
        cluster: ClusterName,
        /// Where the webhook is.
        address: SocketAddr,
        /// What the cluster said.
        source: Box<kube::Error>,
    },
    /// It has not in time.
    #[error("{cluster} has not called the webhook for admission rules within {CALLED_WITHIN:?}")]
    NotCalled {
        /// The cluster.
        cluster: ClusterName,
    },
}

/// The webhook beside `hook` that probes go to. Both stand in one configuration, so that who knows of one knows of both.
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

/// What the webhook says to a probe; none if a write is something else.
pub(super) fn answer(write: &Value) -> Option<Answer> {
    let asked = write["object"]["metadata"]["labels"][PROBE] == "asked";
    asked.then(|| {
        let answered = json!({PROBE: "answered"});
        Answer::Patched(vec![
            json!({"op": "add", "path": "/metadata/annotations", "value": answered}),
        ])
    })
}

/// Returns once a cluster calls the webhook at `address`: it is shown objects that are not stored.
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
