//! The taints of clusters: whose they are.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Found, finding, instances::Target};
use crate::{
    case::model::Invariant,
    timeline::{Change, ObjectId, Timeline},
};

/// Key and effect: what tells one taint of a cluster from another.
type Taint = (String, String);

/// CTP-07, CTP-12: a write of the target to a Cluster takes no taint away that somebody else put there.
pub(super) fn others_taints_survive(timeline: &Timeline) -> Found {
    let mut found = Found::default();
    let target = Target::of(timeline);
    // Whether the target put it there, as far as that is known.
    let mut there: BTreeMap<ObjectId, BTreeMap<Taint, Option<bool>>> = BTreeMap::new();
    for (entry, revision) in timeline.revisions().filter(|(_, it)| it.kind == "Cluster") {
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
            if let Some(((key, effect), _)) = lost {
                found.findings.push(finding(
                    Invariant::OthersTaintsSurvive,
                    entry,
                    Some(id.clone()),
                    format!("the taint {key}:{effect}, which somebody else put there"),
                    "a write of the target without it".to_owned(),
                ));
            }
        }
        known.retain(|taint, _| present.contains(taint));
        for taint in present {
            known.entry(taint).or_insert(by_target);
        }
    }
    found
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

    /// Two writes of taints, and how often the second one takes something of others.
    fn findings(first: &str, second: &str, left: &Value) -> usize {
        let cluster = |taints: &Value| json!({"metadata": {"name": "member1"}, "spec": {"taints": taints}});
        let ours = json!([{"key": "a", "effect": "NoExecute"}, {"key": "b", "effect": "NoExecute"}]);
        let writes = [
            (first, Change::Added, cluster(&ours)),
            (second, Change::Modified, cluster(left)),
        ];
        let entries = (1..).zip(writes).map(|(seq, (by, change, object))| Entry {
            at: Duration::ZERO,
            seq,
            event: Event::Revision(Revision {
                cluster: "control".into(),
                kind: "Cluster".to_owned(),
                change,
                object: Arc::new(object),
                by: Some(by.to_owned()),
            }),
        });
        let timeline = Timeline::new(entries.collect()).unwrap();
        others_taints_survive(&timeline).findings.len()
    }

    #[test]
    fn the_target_may_take_away_its_own_taints_alone() {
        let one = json!([{"key": "a", "effect": "NoExecute"}]);
        assert_eq!(findings(HANDS, "a-controller", &one), 1);
        assert_eq!(findings("a-controller", "a-controller", &one), 0);
        assert_eq!(findings(HANDS, HANDS, &one), 0);
        let another = json!([{"key": "a", "effect": "NoExecute"}, {"key": "b", "effect": "NoSchedule"}]);
        assert_eq!(findings(HANDS, "a-controller", &another), 1);
    }
}
