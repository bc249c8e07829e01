//! Whether the aggregated API servers answer, as the statuses of their `APIServices` say, and what they serve.

use std::sync::{Arc, Weak};
use std::time::Duration;

use baton_apimachinery::schema::crd::set_condition;
use bytes::Bytes;
use futures::future::join_all;
use http::{Request, header};
use http_body_util::{BodyExt as _, Full, Limited};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time;

use super::proxy;
use crate::fault_injection::Side;
use crate::handlers::Core;
use crate::handlers::authentication::User;
use crate::registry::remote::{Remote, key_of};
use crate::store::{Expect, Write};

/// How often one is looked at that answers.
const PERIOD: Duration = Duration::from_secs(30);
/// How long it takes until one is looked at again that did not answer: at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How large a list of resources may be.
const MAX_ANSWER: usize = 4 << 20;

/// What was found: why it is so, in the words of a condition, and the resources of one that answered.
struct Found {
    reason: &'static str,
    message: String,
    resources: Option<Vec<Value>>,
}

/// Looks at all of them when woken, and again after a while.
pub(super) async fn run(core: Weak<Core>, wake: Arc<Notify>) {
    let (mut again, mut pause) = (None, FIRST_PAUSE);
    loop {
        match again {
            // Woken or not: they are looked at.
            Some(after) => drop(time::timeout(after, wake.notified()).await),
            None => wake.notified().await,
        }
        let Some(alive) = core.upgrade() else { return };
        if alive.faults.reachable(Side::Inside).await.is_err() {
            alive.faults.listening().await;
        }
        let catalogue = alive.registry.current();
        let remotes = catalogue.remotes();
        let answers = join_all(remotes.iter().map(|remote| alive.inspect(remote))).await;
        again = if remotes.is_empty() {
            None
        } else if answers.into_iter().all(|answers| answers) {
            pause = FIRST_PAUSE;
            Some(PERIOD)
        } else {
            let after = pause;
            pause = (2 * pause).min(LONGEST_PAUSE);
            Some(after)
        };
    }
}

impl Core {
    /// Looks at one, and says whether it answers.
    async fn inspect(self: &Arc<Self>, remote: &Remote) -> bool {
        let found = self.examine(remote).await;
        let answers = found.resources.is_some();
        remote.learn(answers, found.resources);
        self.tell(remote, answers, found.reason, &found.message);
        answers
    }

    async fn examine(&self, remote: &Remote) -> Found {
        let failed = |reason, message| Found {
            reason,
            message,
            resources: None,
        };
        let (host, port) = match self.find_service(&remote.service) {
            Ok(found) => found,
            Err(missing) => return failed(missing.reason, missing.message),
        };
        let path = format!("/apis/{}/{}", remote.group, remote.version);
        let url = format!("https://{host}:{port}{path}");
        let listed = time::timeout(TIMEOUT, self.resources_of(remote, &path)).await;
        let message = match listed {
            Ok(Ok((200..300, resources))) => {
                return Found {
                    reason: "Passed",
                    message: "all checks passed".to_owned(),
                    resources: Some(resources),
                };
            }
            Ok(Ok((code, _))) => format!("bad status from {url}: {code}"),
            Ok(Err(reason)) => format!("Get {url:?}: {reason}"),
            Err(_) => {
                format!("Get {url:?}: context deadline exceeded (Client.Timeout exceeded while awaiting headers)")
            }
        };
        failed(
            "FailedDiscoveryCheck",
            format!("failing or missing response from {url}: {message}"),
        )
    }

    /// The status of the answer, and what is listed in it.
    async fn resources_of(&self, remote: &Remote, path: &str) -> Result<(u16, Vec<Value>), String> {
        let mut request = Request::get(path)
            .header(header::ACCEPT, "application/json")
            .header(header::USER_AGENT, "kube-apiserver")
            .body(Full::new(Bytes::new()))
            .map_err(|error| error.to_string())?;
        let aggregator = User::new("system:kube-aggregator", &["system:masters"]);
        proxy::introduce(request.headers_mut(), &aggregator);
        let answer = self.ask_remote(remote, request).await?;
        let code = answer.status().as_u16();
        let body = Limited::new(answer.into_body(), MAX_ANSWER).collect().await;
        let body = body.map_err(|error| error.to_string())?.to_bytes();
        let list: Value = serde_json::from_slice(&body).unwrap_or_default();
        let listed = list.get("resources").and_then(Value::as_array);
        Ok((code, listed.cloned().unwrap_or_default()))
    }

    /// Writes into the status of the `APIService` what was found, unless it is another one now.
    fn tell(self: &Arc<Self>, remote: &Remote, is_available: bool, reason: &str, message: &str) {
        let bucket = self.buckets.api_services;
        while let Some(stored) = self.store.get(bucket, &remote.name) {
            let old = stored.value();
            if key_of(&old) != remote.key {
                return;
            }
            let mut new = Value::clone(&old);
            if let Some(members) = new.as_object_mut() {
                let status = members.entry("status").or_insert_with(|| json!({}));
                set_condition(status, "Available", is_available, reason, message, &self.now());
            }
            if new == *old {
                return;
            }
            let (expect, write) = (Expect::Revision(stored.revision), Write::Put(new));
            let caller = Self::own("kube-aggregator");
            if self.commit(bucket, &remote.name, expect, write, &caller).is_ok() {
                return;
            }
        }
    }
}
