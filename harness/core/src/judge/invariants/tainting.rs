//! Taints that the implementation puts on clusters: only where a `ClusterTaintPolicy` has them, and not before their
//! time.

use std::{collections::BTreeMap, time::Duration};

use serde_json::Value;

use super::{Found, History, bindings, blaming, finding, instances::Target, taints};
use crate::{
    case::model::Invariant,
    timeline::{Change, Entry, ObjectId, Revision},
};

/// How much earlier than the timeline an implementation may reckon: times have whole seconds.
const TICK: Duration = Duration::from_secs(2);

/// For how long the conditions must hold where the policy does not say (CTP-03).
const WINDOW: u64 = 300;

/// Statuses of a condition, each with the moment of the change; `None` if the timeline began with it.
type Statuses = Vec<(Option<Duration>, String)>;

/// Policies, and conditions of clusters, as seen so far.
#[derive(Default)]
struct Seen {
    /// Every specification that a `ClusterTaintPolicy` ever had.
    policies: Vec<Value>,
    /// By cluster and type.
    conditions: BTreeMap<(String, String), Statuses>,
    /// The taints of each cluster, by key and effect.
    taints: BTreeMap<String, Vec<(String, String)>>,
}

/// A taint that the implementation added, and what was known then.
struct Added<'a> {
    entry: &'a Entry,
    id: ObjectId,
    taint: (String, String),
}

fn each(history: &History<'_>, target: &Target<'_>, mut judge: impl FnMut(&Added<'_>, &Seen)) {
    let mut seen = Seen::default();
    for (entry, revision) in bindings::revisions(history) {
        match revision.kind.as_str() {
            "ClusterTaintPolicy" if revision.change != Change::Deleted => {
                let spec = revision.object.get("spec").cloned().unwrap_or_default();
                if seen.policies.last() != Some(&spec) {
                    seen.policies.push(spec);
                }
            }
            "Cluster" => {
                let id = ObjectId::of(revision);
                seen.note_conditions(&id.name, entry, revision);
                let now = taints::of(&revision.object);
                let known = seen.taints.insert(id.name.clone(), now.clone());
                let new = now
                    .into_iter()
                    .filter(|it| known.as_ref().is_some_and(|known| !known.contains(it)));
                let evicts =
                    |(_, effect): &(String, String)| matches!(effect.as_str(), "NoExecute" | "PreferNoExecute");
                if target.wrote(revision) == Some(true) && revision.change != Change::Deleted {
                    for taint in new.filter(evicts) {
                        let id = id.clone();
                        judge(&Added { entry, id, taint }, &seen);
                    }
                }
            }
            _ => {}
        }
    }
}

/// CTP-08: the implementation adds a `NoExecute` taint only where a `ClusterTaintPolicy` has it.
pub(super) fn only_policies(history: &History<'_>, target: &Target<'_>) -> Found {
    let mut found = Found::default();
    each(history, target, |added, seen| {
        let (key, effect) = &added.taint;
        if effect != "NoExecute" {
            return;
        }
        found.judged += 1;
        if seen.wanting(&added.taint).next().is_none() {
            found.findings.push(finding(
                Invariant::OnlyPoliciesTaint,
                added.entry,
                Some(added.id.clone()),
                "no NoExecute taint that no ClusterTaintPolicy has".to_owned(),
                format!("{key}:{effect}"),
            ));
        }
    });
    found
}

/// CTP-01, CTP-06: not before the conditions of one of these policies have held for its window.
pub(super) fn not_before_the_window(history: &History<'_>, target: &Target<'_>) -> Found {
    let mut found = Found::default();
    each(history, target, |added, seen| {
        let windows = seen.wanting(&added.taint).map(|(spec, taint)| {
            let window = taint["addOnMatchSeconds"].as_u64().unwrap_or(WINDOW);
            (seen.held(&added.id.name, spec), Duration::from_secs(window))
        });
        let windows: Vec<_> = windows.collect();
        // A condition that held when the timeline began may have held for long.
        if windows.is_empty() || windows.iter().any(|(held, _)| matches!(held, Held::Always)) {
            return;
        }
        found.judged += 1;
        let (mut longest, mut broken_before) = (None, false);
        let in_time = windows.iter().any(|(held, window)| {
            let Held::Since { at, again } = held else { return false };
            broken_before |= again;
            let lasted = added.entry.at.saturating_sub(*at);
            longest = longest.max(Some(lasted));
            lasted + TICK >= *window
        });
        if !in_time {
            let (key, effect) = &added.taint;
            let seen = longest.map_or_else(
                || "they do not hold".to_owned(),
                |lasted: Duration| format!("they have held for {:.0} s", lasted.as_secs_f64()),
            );
            let told = finding(
                Invariant::TaintNotBeforeItsWindow,
                added.entry,
                Some(added.id.clone()),
                format!("no taint {key}:{effect} before the conditions have held for its window"),
                seen,
            );
            let requirement = if broken_before { "CTP-06" } else { "CTP-01" };
            found.findings.push(blaming(told, requirement));
        }
    });
    found
}

/// Time for which the conditions of a policy hold.
enum Held {
    /// Since before the timeline began, or the policy has no conditions.
    Always,
    /// Since this moment; whether they had held before and were interrupted.
    Since {
        at: Duration,
        again: bool,
    },
    No,
}

impl Seen {
    fn note_conditions(&mut self, cluster: &str, entry: &Entry, revision: &Revision) {
        let is_first = !self.taints.contains_key(cluster);
        let conditions = revision.object.pointer("/status/conditions").and_then(Value::as_array);
        for condition in conditions.into_iter().flatten() {
            let text = |member: &str| condition[member].as_str().unwrap_or_default().to_owned();
            let statuses = self.conditions.entry((cluster.to_owned(), text("type"))).or_default();
            if statuses.last().is_none_or(|(_, last)| *last != text("status")) {
                statuses.push(((!is_first).then_some(entry.at), text("status")));
            }
        }
    }

    /// The policies that have a taint, each with how they have it. The released form has no window.
    fn wanting<'a>(&'a self, (key, effect): &'a (String, String)) -> impl Iterator<Item = (&'a Value, &'a Value)> {
        self.policies.iter().flat_map(move |spec| {
            let lists = ["taintsToAdd", "taints"]
                .into_iter()
                .filter_map(|name| spec[name].as_array());
            let has = move |taint: &&Value| taint["key"] == key.as_str() && taint["effect"] == effect.as_str();
            lists.flatten().filter(has).map(move |taint| (spec, taint))
        })
    }

    fn held(&self, cluster: &str, spec: &Value) -> Held {
        let conditions = spec["matchConditions"].as_array().filter(|it| !it.is_empty());
        let Some(conditions) = conditions else {
            return Held::Always;
        };
        let (mut since, mut broken) = (Duration::ZERO, false);
        let mut always = true;
        for condition in conditions {
            let kind = condition["conditionType"].as_str().unwrap_or_default().to_owned();
            let Some(statuses) = self.conditions.get(&(cluster.to_owned(), kind)) else {
                // No document says what a condition is that the cluster does not have.
                return Held::Always;
            };
            let values = condition["statusValues"]
                .as_array()
                .map(Vec::as_slice)
                .unwrap_or_default();
            let listed = |status: &str| values.iter().any(|value| value == status);
            let holds = |status: &str| listed(status) == (condition["operator"] == "In");
            let holding = statuses.iter().rev().take_while(|(_, status)| holds(status)).count();
            let Some((at, _)) = statuses
                .len()
                .checked_sub(holding)
                .and_then(|first| statuses.get(first))
            else {
                return Held::No;
            };
            if let Some(at) = at {
                always = false;
                since = since.max(*at);
            }
            let earlier = &statuses[..statuses.len() - holding];
            broken |= earlier.iter().any(|(_, status)| holds(status));
        }
        if always {
            Held::Always
        } else {
            Held::Since {
                at: since,
                again: broken,
            }
        }
    }
}
