//! Reconciles a cluster object, and probes the health of its member.

use std::sync::Arc;

use baton_decide::api::{Cluster, ClusterTaintPolicy, ClusterTaintPolicyStatus};
use baton_decide::evict::is_faulty;
use baton_decide::keys::ObjectKey;
use baton_decide::member::{self, Probe};
use baton_decide::names;
use baton_decide::tainting;
use serde_json::json;

use crate::context::{Context, Failure, MEMBER_TIMEOUT, Outcome};
use crate::error_chain::error_chain;
use crate::events::{self, About, EventType};
use crate::kinds::Kinds;
use crate::object_api::{Part, WriteError};
use crate::source::{Source, resource};

/// Taints the cluster as policies require (CTP), and dates the taints of others.
pub async fn run(context: &Context, name: &str) -> Outcome {
    let Some(cluster) = context.cache().cluster(name).cloned() else {
        context.connections().close(name);
        context.cache().forget_member(name);
        context.forget_tainting(name);
        return Ok(None);
    };
    if !is_faulty(&cluster) {
        context.forget_evictions(name);
    }
    let policies = context.cache().taint_policies();
    let (now, settings) = (context.now(), context.settings());
    let gate = settings.failover && settings.controllers.cluster_taint_policy;
    let decision = context.with_tainting(name, |memory| {
        tainting::decide(&cluster, policies.iter().map(Arc::as_ref), memory, gate, now)
    });
    for policy in &policies {
        if let Some(status) = decision.statuses.get(policy.name()) {
            record(context, policy, status).await?;
        }
    }
    let mut tainted = cluster.as_ref().clone();
    tainted.spec.taints = member::stamp(&decision.taints, now);
    let written = context
        .change(&Source::Clusters, &key_of(name), &cluster, &tainted, Part::Main)
        .await;
    tell(context, &cluster, &decision.notes, written.as_ref().err()).await;
    written?;
    Ok(decision.again)
}

/// Writes the status of a policy. If its definition has no status, the record is kept in memory alone.
async fn record(
    context: &Context,
    policy: &Arc<ClusterTaintPolicy>,
    status: &ClusterTaintPolicyStatus,
) -> Result<(), Failure> {
    let mut changed = policy.as_ref().clone();
    changed.status = status.clone();
    let source = Source::TaintPolicies;
    let written = context
        .change(&source, &key_of(policy.name()), policy, &changed, Part::Status)
        .await;
    match written {
        Err(error) if !error.is_not_found() => Err(error.into()),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Publishes events on the cluster: changes made by policies, and changes that failed.
async fn tell(context: &Context, cluster: &Cluster, notes: &[String], failed: Option<&WriteError>) {
    let about = About {
        api_version: "cluster.karmada.io/v1alpha1".to_owned(),
        kind: "Cluster".to_owned(),
        key: key_of(cluster.name()),
        uid: cluster.metadata.uid.clone(),
    };
    for note in notes {
        match failed {
            None => events::publish(context, &about, EventType::Normal, "TaintClusterSucceed", note).await,
            // The change is decided again at once.
            Some(WriteError::Conflict { .. }) => {}
            Some(error) => {
                let message = format!("{note}; not written: {}", error_chain(error));
                events::publish(context, &about, EventType::Warning, "TaintClusterFailed", &message).await;
            }
        }
    }
}

/// Probes the member and writes the result to the cluster's status.
pub async fn probe(context: &Context, name: &str) -> Outcome {
    let Some(cluster) = context.cache().cluster(name).cloned() else {
        return Ok(None);
    };
    if cluster.status.conditions.is_empty() {
        make_room(context, name).await?;
    }
    let probe = ask(context, name, &cluster).await;
    // The cluster may have changed during the probe.
    let Some(cluster) = context.cache().cluster(name).cloned() else {
        return Ok(None);
    };
    let mut changed = cluster.as_ref().clone();
    changed.status = member::status(&cluster.status, &probe, context.now());
    let was_ready = ready(&cluster);
    if context
        .change(&Source::Clusters, &key_of(name), &cluster, &changed, Part::Status)
        .await?
        && !was_ready
        && ready(&changed)
    {
        let works = context.cache().works_on(name);
        for key in works {
            context.wake(key);
        }
    }
    Ok(context.now().checked_add(member::next_probe(&probe)).ok())
}

fn ready(cluster: &Cluster) -> bool {
    use baton_decide::conditions::{READY, status};
    status(&cluster.status.conditions, READY) == Some("True")
}

fn key_of(name: &str) -> ObjectKey {
    ObjectKey::new(None, name)
}

/// Creates the namespace of the cluster's Works.
pub async fn make_room(context: &Context, name: &str) -> Result<(), Failure> {
    let space = names::execution_space(name);
    let kind = resource("", "v1", "Namespace", "namespaces");
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}});
    match context.object_api(&kind, &key_of(&space)).create(&namespace).await {
        Err(error) if !error.is_already_exists() => Err(error.into()),
        Ok(_) | Err(_) => Ok(()),
    }
}

async fn ask(context: &Context, name: &str, cluster: &Arc<Cluster>) -> Probe {
    let kinds = match context.connect_to(name, cluster).await {
        Ok(kinds) => kinds,
        Err(error) => return Probe::Unreachable(error_chain(&error)),
    };
    match tokio::time::timeout(MEMBER_TIMEOUT, ask_readyz(&kinds)).await {
        Ok(Ok(())) => {}
        Ok(Err(kube::Error::Api(status))) => return Probe::NotReady(status.message),
        Ok(Err(error)) => return Probe::Unreachable(error_chain(&error)),
        Err(_) => return Probe::Unreachable(Failure::Slow.to_string()),
    }
    if cluster.status.kubernetes_version.is_some() {
        return Probe::Ready { version: None };
    }
    let version = tokio::time::timeout(MEMBER_TIMEOUT, kinds.client().apiserver_version()).await;
    Probe::Ready {
        version: version.ok().and_then(Result::ok).map(|info| info.git_version),
    }
}

async fn ask_readyz(kinds: &Kinds) -> Result<(), kube::Error> {
    let request = http::Request::get("/readyz")
        .body(Vec::new())
        .map_err(kube::Error::HttpError)?;
    kinds.client().request_text(request).await.map(drop)
}
