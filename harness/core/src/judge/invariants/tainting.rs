//! Taints that the implementation puts on clusters and takes away: only those of a `ClusterTaintPolicy`, and not before their
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

/// Seconds for which the conditions must hold if the policy does not say (CTP-03).
const WINDOW: u64 = 300;

/// Seconds for which they must not hold before a taint goes, if the policy does not say (CTP-03).
const WINDOW_OF_REMOVAL: u64 = 180;

/// Prefix of the keys of taints that Karmada puts on clusters without a policy.
const OF_KARMADA: &str = "cluster.karmada.io/";

/// Statuses of a condition, each with the moment of the change; `None` if the timeline began with it.
type Statuses = Vec<(Option<Duration>, String)>;

/// Policies, and conditions of clusters, as seen so far.
#[derive(Default)]
struct Seen {
    /// Every specification that a `ClusterTaintPolicy` ever had.
    policies: Vec<Value>,
    /// The present specification of each policy.
    present: BTreeMap<String, Value>,
    /// Set once a policy was edited or deleted: no document says when the taints go that it had.
    has_edited: bool,
    /// By cluster and type.
    conditions: BTreeMap<(String, String), Statuses>,
    /// The taints of each cluster, by key and effect.
    taints: BTreeMap<String, Vec<(String, String)>>,
}

/// A taint that the implementation added or removed.
struct Written<'a> {
    entry: &'a Entry,
    id: ObjectId,
    taint: (String, String),
    is_removed: bool,
}

fn each(history: &History<'_>, target: &Target<'_>, mut judge: impl FnMut(&Written<'_>, &Seen)) {
    let mut seen = Seen::default();
    for (entry, revision) in bindings::revisions(history) {
        match revision.kind.as_str() {
            "ClusterTaintPolicy" if revision.change == Change::Deleted => seen.has_edited = true,
            "ClusterTaintPolicy" => {
                let spec = revision.object.get("spec").cloned().unwrap_or_default();
                let before = seen.present.insert(ObjectId::of(revision).name, spec.clone());
                seen.has_edited |= before.is_some_and(|before| before != spec);
                if seen.policies.last() != Some(&spec) {
                    seen.policies.push(spec);
                }
            }
            "Cluster" => {
                let id = ObjectId::of(revision);
                seen.note_conditions(&id.name, entry, revision);
                let now = taints::of(&revision.object);
                let known = seen.taints.insert(id.name.clone(), now.clone());
                let Some(known) = known.filter(|_| target.wrote(revision) == Some(true)) else {
                    continue;
                };
                let removed = known.iter().filter(|it| !now.contains(it)).map(|it| (it, true));
                let added = now.iter().filter(|it| !known.contains(it)).map(|it| (it, false));
                let is_of_karmada =
                    |(key, effect): &(String, String)| effect == "NoSchedule" && key.starts_with(OF_KARMADA);
                for (taint, is_removed) in added.chain(removed).filter(|(taint, _)| !is_of_karmada(taint)) {
                    if revision.change != Change::Deleted {
                        let (id, taint) = (id.clone(), taint.clone());
                        judge(
                            &Written {
                                entry,
                                id,
                                taint,
                                is_removed,
                            },
                            &seen,
                        );
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
        if effect != "NoExecute" || added.is_removed {
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

/// CTP-01, CTP-04, CTP-06: not before the conditions of one of these policies have held for its window.
pub(super) fn not_before_the_window(history: &History<'_>, target: &Target<'_>) -> Found {
    let mut found = Found::default();
    each(history, target, |added, seen| {
        if added.is_removed {
            return;
        }
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
            let never = windows
                .iter()
                .all(|(held, _)| matches!(held, Held::No { never: true, .. }));
            let requirement = match (never, broken_before) {
                (true, _) => "CTP-04",
                (false, true) => "CTP-06",
                (false, false) => "CTP-01",
            };
            found.findings.push(blaming(told, requirement));
        }
    });
    found
}

/// CTP-02: a taint is not removed before the conditions of its policy have not held for its other window.
pub(super) fn stays_for_the_window(history: &History<'_>, target: &Target<'_>) -> Found {
    let mut found = Found::default();
    each(history, target, |written, seen| {
        if written.is_removed {
            removed(written, seen, &mut found);
        }
    });
    found
}

/// Judges the removal of a taint of the only policy that has it, if the policy has one condition, names the cluster and has not
/// changed.
fn removed(removed: &Written<'_>, seen: &Seen, found: &mut Found) {
    let wanting: Vec<_> = seen.wanting(&removed.taint).collect();
    let &[(spec, taint)] = wanting.as_slice() else { return };
    let conditions = spec["matchConditions"].as_array().map_or(0, Vec::len);
    let is_of_proposal = spec.get("taintsToAdd").is_some();
    if conditions != 1 || !is_of_proposal || !names(spec, &removed.id.name) || seen.has_edited {
        return;
    }
    let lasted = match seen.held(&removed.id.name, spec) {
        Held::Always | Held::No { since: None, .. } => return,
        Held::Since { .. } => None,
        Held::No { since: Some(since), .. } => Some(removed.entry.at.saturating_sub(since)),
    };
    found.judged += 1;
    let window = taint["removeOnMismatchSeconds"].as_u64().unwrap_or(WINDOW_OF_REMOVAL);
    if lasted.is_some_and(|lasted| lasted + TICK >= Duration::from_secs(window)) {
        return;
    }
    let (key, effect) = &removed.taint;
    found.findings.push(finding(
        Invariant::TaintStaysForItsWindow,
        removed.entry,
        Some(removed.id.clone()),
        format!("the taint {key}:{effect} until the conditions have not held for {window} s"),
        lasted.map_or_else(
            || "it was removed while they hold".to_owned(),
            |lasted| format!("it was removed after {:.0} s", lasted.as_secs_f64()),
        ),
    ));
}

/// Returns `true` if a policy applies to a cluster whatever its labels are.
fn names(policy: &Value, cluster: &str) -> bool {
    policy.get("targetCluster").is_none_or(|target| {
        let others = target
            .as_object()
            .is_none_or(|fields| fields.keys().any(|key| key != "clusterNames"));
        let names = target["clusterNames"].as_array();
        !others && names.is_some_and(|names| names.iter().any(|name| name == cluster))
    })
}

/// Time for which the conditions of a policy hold.
enum Held {
    /// Since before the timeline began, or the policy has no conditions.
    Always,
    /// Since this moment; whether they had held before and were interrupted.
    Since { at: Duration, again: bool },
    /// They do not; for a policy with one condition, with the moment since when, unless the timeline began so.
    /// `never`: one of them has not held so far.
    No { since: Option<Duration>, never: bool },
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
                let failing = statuses.iter().rev().take_while(|(_, status)| !holds(status)).last();
                return Held::No {
                    since: failing.and_then(|(at, _)| *at),
                    never: !statuses.iter().any(|(_, status)| holds(status)),
                };
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
