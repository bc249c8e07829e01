//! A cluster is emptied on purpose (DRN-01).
//!
//! Whoever drains puts a taint and an annotation on the Cluster ([`mark`]). While both are there everything leaves it,
//! whatever gates, rates and tolerations say, and nothing new comes. [`Progress`] says how far that is.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;

use crate::api::{Binding, BindingSpec, Cluster, GracefulEvictionTask, PurgeMode, Taint, TaintEffect, Work};
use crate::conditions;
use crate::evict;
use crate::keys::{self, ObjectKey};
use crate::preserve::Obstacle;
use crate::settings::Settings;

/// Key of the taint of a cluster that is drained; its effect is `NoSchedule`. Removing it ends the drain.
pub const TAINT: &str = "cluster.karmada.io/drain";
/// On clusters: since when it is drained.
pub const SINCE: &str = "baton.dev/drain";
/// On clusters: how workloads leave whose policy has no `failover.cluster`.
pub const PURGE_MODE: &str = "baton.dev/drain-purge-mode";
/// On clusters: how long old copies wait at most under `Gracefully`, for workloads whose policy does not say.
pub const GRACE_PERIOD: &str = "baton.dev/drain-grace-period-seconds";
/// Reason of evictions by a drain.
pub const DRAINED: &str = "Drained";
/// Producer of evictions by a drain.
pub const PRODUCER: &str = "Drain";

/// What whoever drains may choose.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Request {
    /// How workloads leave whose policy has no `failover.cluster`; as the controller is set up if unset.
    pub purge_mode: Option<PurgeMode>,
    /// How long old copies wait at most under `Gracefully`, in seconds, for workloads whose policy does not say.
    pub grace_period_seconds: Option<i32>,
}

/// Marks a cluster as to be drained. A second drain keeps the taint and takes the place of the first.
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

/// Whether a cluster is drained.
pub fn is_drained(cluster: &Cluster) -> bool {
    is_tainted(cluster) && cluster.annotation(SINCE).is_some()
}

fn is_tainted(cluster: &Cluster) -> bool {
    let drains = |taint: &Taint| taint.key == TAINT && taint.effect == TaintEffect::NoSchedule;
    cluster.spec.taints.iter().any(drains)
}

/// Writes the task of a workload that leaves a drained cluster. Its state is preserved as on a failover.
///
/// # Errors
/// If there is no state where the policy asks for some.
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

/// How far a drain is.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Progress {
    /// The bindings whose workload ran on the cluster at some moment since the drain began.
    seen: BTreeSet<ObjectKey>,
    /// Those of them whose workload still does: the workload in words, with what keeps it there.
    left: BTreeMap<ObjectKey, String>,
    /// Whether any Work is left, also of what workloads depend on.
    works_left: bool,
}

impl Progress {
    /// Looks at the cluster's Works and at all bindings.
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

    /// Whether nothing is left on the cluster.
    pub fn is_done(&self) -> bool {
        !self.works_left
    }

    /// It in words, for the cluster of this name.
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

/// A binding's workload, and what keeps it where it is.
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
