//! The taints of clusters: whose they are.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Found, blaming, finding, instances::Target};
use crate::{
    case::model::Invariant,
    timeline::{Change, ObjectId, Timeline},
};

/// Key and effect: what tells one taint of a cluster from another.
type Taint = (String, String);

/// CTP-07, CTP-12: a write of the target to a Cluster does not remove a taint that another writer put there. CTP-12 is about
/// taints with key and effect of a policy's taint, CTP-07 about all others.
pub(super) fn others_taints_survive(timeline: &Timeline) -> Found {
    let mut found = Found::default();
    let target = Target::of(timeline);
    // Whether the target put it there, as far as that is known.
    let mut there: BTreeMap<ObjectId, BTreeMap<Taint, Option<bool>>> = BTreeMap::new();
    let mut of_policies: BTreeSet<Taint> = BTreeSet::new();
    for (entry, revision) in timeline.revisions() {
        if revision.kind == "ClusterTaintPolicy" {
            of_policies.extend(of_policy(&revision.object));
        }
        if revision.kind != "Cluster" {
            continue;
        }
        let id = ObjectId::of(revision);
        if revision.change == Change::Deleted {
            there.remove(&id);
            continue;
        }
        let by_target = target.wrote(revision);
        let present = of(&revision.object);
        let known = there.entry(id.clone()).or_default();
        let lost = known
            .iter()
            .find(|(taint, of)| **of == Some(false) && !present.contains(taint));
        if by_target == Some(true) && known.values().any(|of| *of == Some(false)) {
            found.judged += 1;
            if let Some((taint, _)) = lost {
                let (key, effect) = taint;
                let blamed = if of_policies.contains(taint) {
                    "CTP-12"
                } else {
                    "CTP-07"
                };
                let told = finding(
                    Invariant::OthersTaintsSurvive,
                    entry,
                    Some(id.clone()),
                    format!("the taint {key}:{effect}, which somebody else put there"),
                    "a write of the target without it".to_owned(),
                );
                found.findings.push(blaming(told, blamed));
            }
        }
        known.retain(|taint, _| present.contains(taint));
        for taint in present {
            known.entry(taint).or_insert(by_target);
        }
    }
    found
}

/// The taints that a `ClusterTaintPolicy` puts on clusters, in the proposal's form or the released one.
pub(super) fn of_policy(policy: &Value) -> Vec<Taint> {
    let lists = ["/spec/taintsToAdd", "/spec/taints"];
    lists.iter().flat_map(|list| listed(policy, list)).collect()
}

/// The taints of a cluster.
pub(super) fn of(cluster: &Value) -> Vec<Taint> {
    listed(cluster, "/spec/taints")
}

/// The taints of a list.
pub(super) fn listed(object: &Value, pointer: &str) -> Vec<Taint> {
    let taints = object.pointer(pointer).and_then(Value::as_array);
    let text = |taint: &Value, member: &str| taint[member].as_str().unwrap_or_default().to_owned();
    let taints = taints.into_iter().flatten();
    taints
        .map(|taint| (text(taint, "key"), text(taint, "effect")))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use serde_json::json;

    use super::*;
    use crate::timeline::{Entry, Event, HANDS, Revision};

    /// Two writes of taints, where a policy has the taint `b`, and what is blamed for the second.
    fn blamed(first: &str, second: &str, left: &Value) -> Vec<String> {
        let cluster = |taints: &Value| json!({"metadata": {"name": "member1"}, "spec": {"taints": taints}});
        let ours = json!([{"key": "a", "effect": "NoExecute"}, {"key": "b", "effect": "NoExecute"}]);
        let writes = [
            (first, Change::Added, cluster(&ours)),
            (second, Change::Modified, cluster(left)),
        ];
        let policy = json!({"metadata": {"name": "p"}, "spec": {"taintsToAdd": [{"key": "b", "effect": "NoExecute"}]}});
        let writes = writes.map(|(by, change, object)| ("Cluster", by, change, object));
        let policy = ("ClusterTaintPolicy", HANDS, Change::Added, policy);
        let entries = (1..).zip(std::iter::once(policy).chain(writes));
        let entries = entries.map(|(seq, (kind, by, change, object))| Entry {
            at: Duration::ZERO,
            seq,
            event: Event::Revision(Revision {
                cluster: "control".into(),
                kind: kind.to_owned(),
                change,
                object: Arc::new(object),
                by: Some(by.to_owned()),
            }),
        });
        let timeline = Timeline::new(entries.collect()).unwrap();
        let findings = others_taints_survive(&timeline).findings;
        let ids = findings.iter().flat_map(|it| &it.requirements);
        ids.map(ToString::to_string).collect()
    }

    #[test]
    fn the_target_may_take_away_its_own_taints_alone() {
        let one = json!([{"key": "a", "effect": "NoExecute"}]);
        assert_eq!(blamed(HANDS, "a-controller", &one), ["CTP-12"]);
        assert_eq!(blamed("a-controller", "a-controller", &one), [""; 0]);
        assert_eq!(blamed(HANDS, HANDS, &one), [""; 0]);
        let another = json!([{"key": "a", "effect": "NoExecute"}, {"key": "b", "effect": "NoSchedule"}]);
        assert_eq!(blamed(HANDS, "a-controller", &another), ["CTP-12"]);
        let no_policys = json!([{"key": "b", "effect": "NoExecute"}]);
        assert_eq!(blamed(HANDS, "a-controller", &no_policys), ["CTP-07"]);
    }
}
