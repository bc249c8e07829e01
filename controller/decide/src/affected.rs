//! Records which evictions each taint caused when it was added (EVQ-05, EVQ-06).
//!
//! Editing a policy after a cluster failed changes nothing about that failure: a workload that the failure did not
//! affect stays, and one that it affected leaves after the time that its policy granted. As long as the current policy
//! also evicts the workload, that policy determines when and how. The record is kept in memory; after a restart the
//! current policy counts.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::api::failover::ClusterFailoverBehavior;
use crate::api::{BindingSpec, Cluster, Taint, TaintEffect};
use crate::evict;
use crate::keys::ObjectKey;
use crate::settings::Settings;
use crate::taints::{self, EvictionTime};

/// Identity of a taint on a cluster: key and effect.
type TaintKey = (String, &'static str);

/// Time and behaviour of an eviction because of a taint.
#[derive(Clone, Debug, PartialEq)]
struct Claim {
    tolerated_for: SignedDuration,
    behavior: Option<ClusterFailoverBehavior>,
}

impl Claim {
    /// Returns the claim under the current policy; `None` if the policy keeps the workload.
    fn present(spec: &BindingSpec, taint: &Taint, settings: &Settings) -> Option<Self> {
        let behavior = evict::behavior(spec).filter(|_| taint.effect == TaintEffect::PreferNoExecute);
        Some(Self {
            tolerated_for: evict::tolerated_for(spec, taint, settings)?,
            behavior: behavior.cloned(),
        })
    }
}

#[derive(Clone, Debug)]
struct Seen {
    time_added: Option<Timestamp>,
    /// Most recent claim; `None` if the taint did not affect the binding when it was added.
    claim: Option<Claim>,
}

/// Time at which the taints of a cluster evict a binding, and the failover behaviour that applies.
#[derive(Clone, Debug, PartialEq)]
pub struct Eviction {
    /// Time of the eviction.
    pub time: EvictionTime,
    /// `failover.cluster` of the policy at the time of the claim, if the eviction follows from it.
    behavior: Option<ClusterFailoverBehavior>,
}

impl Eviction {
    /// Returns the binding's spec, with the recorded `failover.cluster` if the policy no longer has one.
    pub fn spec<'a>(&self, spec: &'a BindingSpec) -> Cow<'a, BindingSpec> {
        let lost = self.behavior.as_ref().filter(|_| evict::behavior(spec).is_none());
        let Some(behavior) = lost else {
            return Cow::Borrowed(spec);
        };
        let mut spec = spec.clone();
        spec.failover.get_or_insert_default().cluster = Some(behavior.clone());
        Cow::Owned(spec)
    }
}

/// Taints seen for each binding and cluster, with the claims that follow from them.
#[derive(Clone, Debug, Default)]
pub struct Affected(BTreeMap<ObjectKey, BTreeMap<String, BTreeMap<TaintKey, Seen>>>);

impl Affected {
    /// Records the taints of a cluster and returns when they evict the binding.
    pub fn eviction(
        &mut self,
        binding: &ObjectKey,
        spec: &BindingSpec,
        cluster: &Cluster,
        settings: &Settings,
    ) -> Eviction {
        let seen = self.0.entry(binding.clone()).or_default();
        let seen = seen.entry(cluster.name().to_owned()).or_default();
        let key = |taint: &Taint| (taint.key.clone(), taint.effect.name());
        let taints = &cluster.spec.taints;
        seen.retain(|known, _| taints.iter().any(|taint| key(taint) == *known));
        let mut eviction = Eviction {
            time: EvictionTime::Never,
            behavior: None,
        };
        for taint in taints {
            let present = Claim::present(spec, taint, settings);
            let known = seen.entry(key(taint)).or_insert_with(|| Seen {
                time_added: taint.time_added,
                claim: present.clone(),
            });
            // A taint that receives its time later is the same taint; one with a different time was added again.
            if known.time_added.is_some() && known.time_added != taint.time_added {
                known.claim.clone_from(&present);
            }
            known.time_added = taint.time_added;
            let Some(claim) = &mut known.claim else { continue };
            if let Some(present) = present {
                *claim = present;
            }
            let time = taints::eviction_time(taint, claim.tolerated_for);
            if time < eviction.time {
                eviction.time = time;
                eviction.behavior.clone_from(&claim.behavior);
            }
        }
        eviction
    }

    /// Forgets all clusters of a binding except these, because the binding may be scheduled to the others again.
    pub fn keep_only(&mut self, binding: &ObjectKey, clusters: &[&str]) {
        let Some(seen) = self.0.get_mut(binding) else { return };
        seen.retain(|cluster, _| clusters.contains(&cluster.as_str()));
        if seen.is_empty() {
            self.0.remove(binding);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, binding, cluster, no_execute};
    use serde_json::{Value, json};

    fn settings() -> Settings {
        Settings {
            failover: true,
            ..Settings::default()
        }
    }

    fn tolerates(tolerations: &Value) -> BindingSpec {
        binding(&json!({"placement": {"clusterTolerations": tolerations}})).spec
    }

    fn key() -> ObjectKey {
        ObjectKey::new(Some("ns"), "a")
    }

    #[test]
    fn what_a_failure_did_not_affect_stays_until_the_next() {
        let (tolerant, plain) = (tolerates(&json!([{"operator": "Exists"}])), tolerates(&json!([])));
        let for_a_time = tolerates(&json!([{"operator": "Exists", "tolerationSeconds": 5}]));
        let failed = cluster("member1", &no_execute());
        let mut affected = Affected::default();
        let mut time = |spec, cluster: &_| affected.eviction(&key(), spec, cluster, &settings()).time;
        assert_eq!(time(&tolerant, &failed), EvictionTime::Never);
        assert_eq!(time(&plain, &failed), EvictionTime::Never, "the failure came before");
        assert_eq!(
            time(&for_a_time, &failed),
            EvictionTime::Never,
            "the failure came before"
        );
        let mut again = failed.clone();
        again.spec.taints[0].time_added = Some(at(9));
        assert_eq!(time(&plain, &again), EvictionTime::Now, "the cluster failed anew");
        assert_eq!(time(&plain, &cluster("member1", &json!([]))), EvictionTime::Never);
        assert_eq!(time(&tolerant, &failed), EvictionTime::Never);
        affected.keep_only(&key(), &[]);
        let time = affected.eviction(&key(), &plain, &failed, &settings()).time;
        assert_eq!(time, EvictionTime::Now, "scheduled there anew");
    }

    #[test]
    fn what_a_failure_affected_leaves_after_the_last_time_that_a_policy_granted() {
        let for_ever = tolerates(&json!([{"operator": "Exists"}]));
        let for_60 = tolerates(&json!([{"operator": "Exists", "tolerationSeconds": 60}]));
        let for_90 = tolerates(&json!([{"operator": "Exists", "tolerationSeconds": 90}]));
        let failed = cluster("member1", &no_execute());
        let mut affected = Affected::default();
        let mut time = |spec| affected.eviction(&key(), spec, &failed, &settings()).time;
        assert_eq!(time(&for_60), EvictionTime::At(at(60)));
        assert_eq!(time(&for_ever), EvictionTime::At(at(60)));
        assert_eq!(
            time(&for_90),
            EvictionTime::At(at(90)),
            "it still leaves: its policy says when"
        );
        assert_eq!(time(&for_ever), EvictionTime::At(at(90)));
    }

    #[test]
    fn a_policy_that_loses_its_failover_counts_as_it_was() {
        let prefer = json!([{"key": "down", "effect": "PreferNoExecute", "timeAdded": "2026-01-01T00:00:00Z"}]);
        let failed = cluster("member1", &prefer);
        let with = binding(&json!({"failover": {"cluster": {"purgeMode": "Directly", "tolerationSeconds": 60}}})).spec;
        let without = binding(&json!({"failover": null})).spec;
        let mut affected = Affected::default();
        let mut eviction = |spec| affected.eviction(&key(), spec, &failed, &settings());
        assert_eq!(eviction(&with).time, EvictionTime::At(at(60)));
        let left = eviction(&without);
        assert_eq!(left.time, EvictionTime::At(at(60)));
        assert_eq!(left.spec(&without).failover, with.failover);
        let mut gains = Affected::default();
        let mut time = |spec| gains.eviction(&key(), spec, &failed, &settings()).time;
        assert_eq!(
            (time(&without), time(&with)),
            (EvictionTime::Never, EvictionTime::Never)
        );
    }

    #[test]
    fn a_taint_that_gets_its_time_later_is_the_same() {
        let tolerant = tolerates(&json!([{"operator": "Exists"}]));
        let mut failed = cluster("member1", &json!([{"key": "down", "effect": "NoExecute"}]));
        let mut affected = Affected::default();
        let mut time = |spec, cluster: &_| affected.eviction(&key(), spec, cluster, &settings()).time;
        assert_eq!(time(&tolerant, &failed), EvictionTime::Never);
        failed.spec.taints[0].time_added = Some(at(1));
        assert_eq!(time(&tolerates(&json!([])), &failed), EvictionTime::Never);
    }
}
