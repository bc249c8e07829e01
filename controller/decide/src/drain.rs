//! Drains a cluster: moves all workloads off it on request (DRN-01).
//!
//! A taint and an annotation on the Cluster start the drain ([`mark`]). While both are present, every workload leaves
//! the cluster regardless of feature gates, rates and tolerations, and none is scheduled to it. [`Progress`] reports
//! how many workloads have left.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;

use crate::api::{Binding, BindingSpec, Cluster, GracefulEvictionTask, PurgeMode, Taint, TaintEffect, Work};
use crate::conditions;
use crate::evict;
use crate::keys::{self, ObjectKey};
use crate::preserve::Obstacle;
use crate::settings::Settings;

/// Key of the taint on a drained cluster; its effect is `NoSchedule`. Removing it ends the drain.
pub const TAINT: &str = "cluster.karmada.io/drain";
/// Annotation on clusters: time at which the drain began.
pub const SINCE: &str = "baton.dev/drain";
/// Annotation on clusters: purge mode of workloads whose policy has no `failover.cluster`.
pub const PURGE_MODE: &str = "baton.dev/drain-purge-mode";
/// Annotation on clusters: grace period under `Gracefully` of workloads whose policy has none.
pub const GRACE_PERIOD: &str = "baton.dev/drain-grace-period-seconds";
/// Reason of evictions by a drain.
pub const DRAINED: &str = "Drained";
/// Producer of evictions by a drain.
pub const PRODUCER: &str = "Drain";

/// Options of a drain.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Request {
    /// Purge mode of workloads whose policy has no `failover.cluster`; if unset, the controller's option applies.
    pub purge_mode: Option<PurgeMode>,
    /// Grace period under `Gracefully` of workloads whose policy has none. Seconds.
    pub grace_period_seconds: Option<i32>,
}

/// Marks a cluster for draining. A second drain keeps the taint and replaces the options of the first.
pub fn mark(cluster: &Cluster, request: Request, now: Timestamp) -> Cluster {
    let mut marked = cluster.clone();
    let annotations = marked.metadata.annotations.get_or_insert_default();
    let mode = request.purge_mode.map(|mode| mode.name().to_owned());
    let period = request.grace_period_seconds.map(|seconds| seconds.to_string());
    for (key, value) in [
        (SINCE, Some(now.to_string())),
        (PURGE_MODE, mode),
        (GRACE_PERIOD, period),
    ] {
        match value {
            Some(value) => annotations.insert(key.to_owned(), value),
            None => annotations.remove(key),
        };
    }
    if !is_tainted(cluster) {
        marked.spec.taints.push(Taint {
            key: TAINT.to_owned(),
            value: None,
            effect: TaintEffect::NoSchedule,
            time_added: Some(now),
        });
    }
    marked
}

/// Returns true if the cluster is being drained.
pub fn is_drained(cluster: &Cluster) -> bool {
    is_tainted(cluster) && cluster.annotation(SINCE).is_some()
}

fn is_tainted(cluster: &Cluster) -> bool {
    let drains = |taint: &Taint| taint.key == TAINT && taint.effect == TaintEffect::NoSchedule;
    cluster.spec.taints.iter().any(drains)
}

/// Returns the task for a workload that leaves a drained cluster. Its state is preserved as in a failover.
///
/// # Errors
/// Fails if the policy asks for state that cannot be preserved.
pub fn task(
    spec: &BindingSpec,
    cluster: &Cluster,
    collected: Option<&Value>,
    settings: &Settings,
    now: Timestamp,
) -> Result<GracefulEvictionTask, Obstacle> {
    let mut settings = settings.clone();
    let modes = [PurgeMode::Directly, PurgeMode::Gracefully];
    let mode = cluster.annotation(PURGE_MODE);
    if let Some(mode) = modes.into_iter().find(|known| Some(known.name()) == mode) {
        settings.default_purge_mode = mode;
    }
    let mut task = evict::task(spec, cluster.name(), collected, &settings, now)?;
    DRAINED.clone_into(&mut task.reason);
    PRODUCER.clone_into(&mut task.producer);
    if task.purge_mode == Some(PurgeMode::Gracefully) {
        let period = cluster
            .annotation(GRACE_PERIOD)
            .and_then(|seconds| seconds.parse().ok());
        let period = period.filter(|seconds| *seconds > 0);
        task.grace_period_seconds = task.grace_period_seconds.or(period);
    }
    Ok(task)
}

/// Progress of a drain.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Progress {
    /// Bindings whose workload has run on the cluster since the drain began.
    seen: BTreeSet<ObjectKey>,
    /// Bindings of `seen` whose workload is still there, with a description of the workload and what keeps it.
    left: BTreeMap<ObjectKey, String>,
    /// True if a Work is left, including those of dependencies.
    works_left: bool,
}

impl Progress {
    /// Updates the progress from the cluster's Works and all bindings.
    pub fn look<'a>(&mut self, works: impl IntoIterator<Item = &'a Work>, bindings: &BTreeMap<ObjectKey, Binding>) {
        self.left.clear();
        self.works_left = false;
        for work in works {
            self.works_left = true;
            let Some(key) = keys::binding_of(work) else { continue };
            let binding = bindings.get(&key);
            if binding.is_some_and(|binding| binding.spec.placement.is_none()) {
                continue;
            }
            self.seen.insert(key.clone());
            let text = binding.map_or_else(|| key.to_string(), describe);
            self.left.insert(key, text);
        }
    }

    /// Returns true if nothing is left on the cluster.
    pub fn is_done(&self) -> bool {
        !self.works_left
    }

    /// Describes the progress for the cluster of this name.
    pub fn describe(&self, cluster: &str) -> String {
        let evicted = self.seen.len() - self.left.len();
        let mut text = format!("evicted {evicted} of {} from {cluster}", self.seen.len());
        if self.left.is_empty() {
            return text;
        }
        text.push_str("; waiting for ");
        let waiting: Vec<&str> = self.left.values().map(String::as_str).collect();
        text.push_str(&waiting.join(", "));
        text
    }
}

/// Describes a binding's workload and what keeps it on the cluster.
fn describe(binding: &Binding) -> String {
    let resource = &binding.spec.resource;
    let workload = ObjectKey::new(resource.namespace.as_deref(), &resource.name);
    let blocked = conditions::get(&binding.status.conditions, conditions::FAILOVER_BLOCKED);
    match blocked.filter(|blocked| blocked.status == "True") {
        Some(blocked) => format!("{workload} ({})", blocked.message),
        None => workload.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use serde_json::json;

    fn work(binding: &str) -> Work {
        serde_json::from_value(json!({
            "metadata": {"name": "w", "namespace": "karmada-es-member1", "annotations": {
                "resourcebinding.karmada.io/name": binding, "resourcebinding.karmada.io/namespace": "ns"}},
            "spec": {"workload": {"manifests": []}}
        }))
        .unwrap()
    }

    #[test]
    fn a_cluster_is_drained_while_it_has_taint_and_annotation() {
        let cluster = testing::cluster("member1", &testing::no_execute());
        assert!(!is_drained(&cluster));
        let mut marked = mark(&cluster, Request::default(), testing::at(5));
        assert!(is_drained(&marked));
        assert_eq!(marked.spec.taints.len(), 2, "other taints stay");
        assert_eq!(mark(&marked, Request::default(), testing::at(5)), marked);
        marked.spec.taints.pop();
        assert!(!is_drained(&marked), "the drain was ended by hand");
    }

    #[test]
    fn the_policy_comes_before_the_drain_and_the_drain_before_the_option() {
        let request = Request {
            purge_mode: Some(PurgeMode::Gracefully),
            grace_period_seconds: Some(7),
        };
        let cluster = mark(&testing::cluster("member1", &json!([])), request, testing::at(0));
        let settings = Settings {
            default_purge_mode: PurgeMode::Directly,
            ..Settings::default()
        };
        for (failover, mode, period) in [
            (json!({"cluster": {"purgeMode": "Directly"}}), PurgeMode::Directly, None),
            (
                json!({"cluster": {"purgeMode": "Gracefully", "gracePeriodSeconds": 9}}),
                PurgeMode::Gracefully,
                Some(9),
            ),
            (json!(null), PurgeMode::Gracefully, Some(7)),
        ] {
            let spec = testing::binding(&json!({"clusters": [{"name": "member1"}], "failover": failover})).spec;
            let task = task(&spec, &cluster, None, &settings, testing::at(1)).unwrap();
            assert_eq!(
                (task.purge_mode, task.grace_period_seconds),
                (Some(mode), period),
                "{failover}"
            );
            assert_eq!((task.reason.as_str(), task.producer.as_str()), ("Drained", "Drain"));
        }
    }

    #[test]
    fn progress_counts_what_was_seen_and_names_what_waits() {
        let mut binding = testing::binding(&json!({}));
        binding.status.conditions = serde_json::from_value(json!([{"type": "FailoverBlocked", "status": "True",
            "reason": "r", "message": "no cluster fits", "lastTransitionTime": "2026-01-01T00:00:00Z"}]))
        .unwrap();
        let bindings = BTreeMap::from([(ObjectKey::new(Some("ns"), "deploy-deployment"), binding)]);
        let mut progress = Progress::default();
        progress.look(&[work("deploy-deployment"), work("gone")], &bindings);
        assert_eq!(
            progress.describe("member1"),
            "evicted 0 of 2 from member1; waiting for ns/deploy (no cluster fits), ns/gone"
        );
        progress.look(&[work("deploy-deployment")], &bindings);
        assert!(!progress.is_done());
        progress.look(&[], &bindings);
        assert!(progress.is_done());
        assert_eq!(progress.describe("member1"), "evicted 2 of 2 from member1");
    }
}
