//! Which taints a binding was affected by when they came (EVQ-06).
//!
//! A workload that comes to be affected only by a change of its policy, made after the cluster failed, is not evicted by
//! that failure. Kept in memory; after a restart the present policy counts.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::api::{BindingSpec, Cluster, Taint};
use crate::evict;
use crate::keys::ObjectKey;
use crate::settings::Settings;
use crate::taints::EvictionTime;

/// What tells one taint of a cluster from another.
type TaintKey = (String, &'static str);

#[derive(Clone, Copy, Debug)]
struct Seen {
    time_added: Option<Timestamp>,
    is_affected: bool,
}

/// For each binding and cluster, the taints that were seen there, and whether they affected the binding then.
#[derive(Clone, Debug, Default)]
pub struct Affected(BTreeMap<ObjectKey, BTreeMap<String, BTreeMap<TaintKey, Seen>>>);

impl Affected {
    /// Takes note of a cluster's taints, and returns those that may evict the binding: those that affected it when they
    /// were first seen.
    pub fn taints(
        &mut self,
        binding: &ObjectKey,
        spec: &BindingSpec,
        cluster: &Cluster,
        settings: &Settings,
    ) -> Vec<Taint> {
        let seen = self.0.entry(binding.clone()).or_default();
        let seen = seen.entry(cluster.name().to_owned()).or_default();
        let key = |taint: &Taint| (taint.key.clone(), taint.effect.name());
        let present = &cluster.spec.taints;
        seen.retain(|known, _| present.iter().any(|taint| key(taint) == *known));
        let mut may_evict = |taint: &Taint| {
            let is_affected =
                || evict::eviction_time(spec, std::slice::from_ref(taint), settings) != EvictionTime::Never;
            let known = seen.entry(key(taint)).or_insert_with(|| Seen {
                time_added: taint.time_added,
                is_affected: is_affected(),
            });
            // A taint that gets its time later is the same; with another time it has come anew.
            if known.time_added.is_some() && known.time_added != taint.time_added {
                known.is_affected = is_affected();
            }
            known.time_added = taint.time_added;
            known.is_affected
        };
        present.iter().filter(|taint| may_evict(taint)).cloned().collect()
    }

    /// Forgets a binding's clusters, except these: it may be scheduled there anew.
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
    use crate::testing::{binding, cluster, no_execute};
    use serde_json::json;

    fn settings() -> Settings {
        Settings {
            failover: true,
            ..Settings::default()
        }
    }

    #[test]
    fn a_toleration_that_goes_after_the_taint_came_makes_no_difference() {
        let tolerations = json!({"placement": {"clusterTolerations": [{"operator": "Exists"}]}});
        let (tolerant, plain) = (binding(&tolerations).spec, binding(&json!({})).spec);
        let (key, failed) = (ObjectKey::new(Some("ns"), "a"), cluster("member1", &no_execute()));
        let mut affected = Affected::default();
        let mut count = |spec, cluster: &_| affected.taints(&key, spec, cluster, &settings()).len();
        assert_eq!(count(&tolerant, &failed), 0);
        assert_eq!(count(&plain, &failed), 0, "the failure came before the change");
        let mut again = failed.clone();
        again.spec.taints[0].time_added = Some(crate::testing::at(9));
        assert_eq!(count(&plain, &again), 1, "the cluster failed anew");
        assert_eq!(
            count(&tolerant, &again),
            1,
            "what was affected stays so; its policy decides when it leaves"
        );
        assert_eq!(count(&tolerant, &cluster("member1", &json!([]))), 0);
        assert_eq!(count(&tolerant, &failed), 0);
        affected.keep_only(&key, &[]);
        assert_eq!(
            affected.taints(&key, &plain, &failed, &settings()).len(),
            1,
            "scheduled there anew"
        );
    }

    #[test]
    fn a_taint_that_gets_its_time_later_is_the_same() {
        let spec = binding(&json!({"placement": {"clusterTolerations": [{"operator": "Exists"}]}})).spec;
        let mut failed = cluster("member1", &json!([{"key": "down", "effect": "NoExecute"}]));
        let (key, mut affected) = (ObjectKey::new(None, "a"), Affected::default());
        assert!(affected.taints(&key, &spec, &failed, &settings()).is_empty());
        failed.spec.taints[0].time_added = Some(crate::testing::at(1));
        let plain = binding(&json!({})).spec;
        assert!(affected.taints(&key, &plain, &failed, &settings()).is_empty());
    }
}
