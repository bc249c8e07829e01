//! The writers of objects, and the objects that are left when everything has been removed.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::Value;

use super::{Finding, Found, blaming, finding, instances};
use crate::{
    case::model::Invariant,
    judge::allowances::Allowances,
    select::BINDING_KINDS,
    timeline::{
        Change, Entry, Event, GARBAGE_COLLECTOR, HANDS, HARNESS, Mark, ObjectId, Revision, StepEnd, Timeline, World,
    },
    workload::Workload,
};

/// POL-08: when policies and workloads have been deleted, no binding, no Work and no copy is left on any cluster.
pub(super) fn nothing_left(timeline: &Timeline) -> Found {
    let mut found = Found::default();
    let ended = timeline.marks().find_map(|(entry, mark)| match mark {
        Mark::CleanedUp { end, hurried } => Some((entry, end, *hurried)),
        _ => None,
    });
    let Some((entry, end, hurried)) = ended else {
        return found;
    };
    found.judged = 1;
    let waited = match end {
        StepEnd::Done => String::new(),
        StepEnd::TimedOut { waited_secs, .. } if hurried => format!(
            ", after {waited_secs} s; an earlier clean-up of this run had failed, so this one was given less time than is due"
        ),
        StepEnd::TimedOut { waited_secs, .. } => format!(", after {waited_secs} s"),
        StepEnd::GivenUp { as_in, .. } => format!("; ended early, as in {as_in}"),
        StepEnd::TargetEnded => "; the target had ended".to_owned(),
        StepEnd::HotLoop(hot) => format!("; {hot}"),
        StepEnd::Refused { message } | StepEnd::Unsupported { reason: message } => {
            format!("; clean-up was refused: {message}")
        }
    };
    let until = timeline.entries().partition_point(|it| it.seq <= entry.seq);
    let entries = &timeline.entries()[..until];
    let left = left_over(entries);
    let of_cluster = awaits_garbage_collector(entries, &left);
    for id in left {
        let mut seen = format!("still there{waited}");
        if of_cluster {
            seen += "; what should go with its owner waits for the cluster's garbage collector";
        }
        // With the time that is due it might have gone: that is no reason to blame anybody, and no success either.
        let told = if hurried || of_cluster {
            &mut found.inconclusive
        } else {
            &mut found.findings
        };
        let requirement = if id.cluster.is_control() { "POL-14" } else { "POL-08" };
        let left = finding(
            Invariant::NothingLeftAfterCleanUp,
            entry,
            Some(id),
            "nothing of it once policies and workloads are deleted".to_owned(),
            seen,
        );
        told.push(blaming(left, requirement));
    }
    found
}

/// Returns objects that the target created and that still exist: bindings, Works, and copies of workloads that had a binding.
/// Works of other objects do not belong to the case, such as those of namespaces, which some implementations propagate.
pub fn left_over(entries: &[Entry]) -> Vec<ObjectId> {
    let (bound, made) = (bound(entries), made(entries));
    let is_left = |(id, object): &(&ObjectId, &Arc<Value>)| {
        let ours = match id.kind.as_str() {
            "Work" if id.cluster.is_control() => {
                let carried = carried(object);
                carried.is_empty() || !carried.is_disjoint(&bound)
            }
            kind if id.cluster.is_control() => BINDING_KINDS.contains(&kind),
            _ => bound.contains(&Workload::from(*id)),
        };
        ours && made.contains(*id)
    };
    let world = World::after(entries);
    let left = world.objects().filter(is_left);
    left.map(|(id, _)| id.clone()).collect()
}

/// Returns `true` if the garbage collector must still delete one of these, whose owners are deleted: that of a real cluster
/// discovers new kinds every half a minute, and deletions wait for that.
pub fn awaits_garbage_collector(entries: &[Entry], left: &[ObjectId]) -> bool {
    let uid = |object: &Value, pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let deleted: BTreeSet<String> = entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::Revision(it) if it.change == Change::Deleted => uid(&it.object, "/metadata/uid"),
            Event::Revision(_) | Event::Mark(_) => None,
        })
        .collect();
    let world = World::after(entries);
    let awaits = |object: &Arc<Value>| {
        let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        let gone = |owner: &Value| uid(owner, "/uid").is_some_and(|uid| deleted.contains(&uid));
        let is_marked = object.pointer("/metadata/deletionTimestamp").is_some();
        !is_marked && owners.is_some_and(|owners| !owners.is_empty() && owners.iter().all(gone))
    };
    left.iter().filter_map(|id| world.get(id)).any(awaits)
}

/// Returns the objects that a Work creates on its member.
fn carried(work: &Value) -> BTreeSet<Workload> {
    let manifests = work.pointer("/spec/workload/manifests").and_then(Value::as_array);
    manifests.into_iter().flatten().map(Workload::of_manifest).collect()
}

/// The workloads that there ever was a binding of.
fn bound(entries: &[Entry]) -> BTreeSet<Workload> {
    let bindings = entries.iter().filter_map(|entry| match &entry.event {
        Event::Revision(revision) if BINDING_KINDS.contains(&revision.kind.as_str()) => Some(revision),
        Event::Revision(_) | Event::Mark(_) => None,
    });
    bindings.map(|binding| Workload::of_binding(&binding.object)).collect()
}

/// Returns objects that the harness did not create.
fn made(entries: &[Entry]) -> BTreeSet<ObjectId> {
    let mut made = BTreeSet::new();
    for entry in entries {
        if let Event::Revision(revision) = &entry.event
            && revision.change == Change::Added
            && !is_harness(revision)
        {
            made.insert(ObjectId::of(revision));
        }
    }
    made
}

fn is_harness(revision: &Revision) -> bool {
    revision.by.as_deref().is_some_and(|by| HARNESS.contains(&by))
}

/// Returns `true` for a revision by an unknown writer of an object with an owner, such as a Pod: kubelets and controllers
/// write those, and clusters that are watched from outside do not always name the writer.
fn is_by_another_component(revision: &Revision) -> bool {
    revision.by.is_none() && revision.object.pointer("/metadata/ownerReferences").is_some()
}

/// Checks that only the target and the steps of the case create or change bindings. The garbage collector marks a binding
/// whose owner is gone for deletion; that counts as the target's write, because the target set the owner.
pub(super) fn only_the_target(timeline: &Timeline) -> Found {
    let mut found = Found::default();
    let writers = instances::writers(timeline);
    let mut in_step = false;
    for entry in timeline.entries() {
        let revision = match &entry.event {
            Event::Mark(Mark::StepStarted { .. }) => {
                in_step = true;
                continue;
            }
            Event::Mark(Mark::StepEnded { .. }) => {
                in_step = false;
                continue;
            }
            Event::Mark(_) => continue,
            Event::Revision(revision) => revision,
        };
        let written = matches!(revision.change, Change::Added | Change::Modified);
        let (true, true, Some(by)) = (
            written,
            BINDING_KINDS.contains(&revision.kind.as_str()),
            revision.by.as_deref(),
        ) else {
            continue;
        };
        found.judged += 1;
        let may = if writers.is_empty() {
            !HARNESS.contains(&by)
        } else {
            writers.contains(by)
        };
        let collected = by == GARBAGE_COLLECTOR && revision.object.pointer("/metadata/deletionTimestamp").is_some();
        if !(may || collected || in_step && by == HANDS) {
            found.findings.push(finding(
                Invariant::OnlyTheTargetWritesBindings,
                entry,
                Some(ObjectId::of(revision)),
                "a write of the target, or of a step of the case".to_owned(),
                format!("a write of {by:?}"),
            ));
        }
    }
    found
}

/// A write that changes nothing is a sign of a loop that never comes to rest. After a fault such writes are expected:
/// an implementation does again what it cannot know to have been done.
pub(super) fn no_idle_write(timeline: &Timeline, allowances: &Allowances) -> Found {
    let mut found = Found::default();
    if !allowances.is_empty() {
        return found;
    }
    let mut last: BTreeMap<ObjectId, Arc<Value>> = BTreeMap::new();
    for (entry, revision) in timeline.revisions() {
        let id = ObjectId::of(revision);
        let before = match revision.change {
            Change::Deleted => last.remove(&id),
            Change::List | Change::Added | Change::Modified => last.insert(id.clone(), Arc::clone(&revision.object)),
        };
        if revision.change != Change::Modified || is_harness(revision) || is_by_another_component(revision) {
            continue;
        }
        found.judged += 1;
        if before.is_some_and(|before| is_same(&before, &revision.object)) {
            found.findings.push(finding(
                Invariant::NoWriteChangesNothing,
                entry,
                Some(id),
                "a revision that differs from the one before it".to_owned(),
                "the same object but for its resourceVersion".to_owned(),
            ));
        }
    }
    found.findings.extend(unanswered_by_a_revision(timeline));
    found
}

/// Returns `true` if two objects are equal except for fields that change with every write.
fn is_same(one: &Value, other: &Value) -> bool {
    let bare = |object: &Value| {
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("resourceVersion");
            metadata.remove("managedFields");
        }
        object
    };
    bare(one) == bare(other)
}

/// Writes that led to no revision, where the clusters count them.
fn unanswered_by_a_revision(timeline: &Timeline) -> Vec<Finding> {
    let closed = timeline.marks().find_map(|(entry, mark)| match mark {
        Mark::Closed { idle, .. } => Some((entry, idle)),
        _ => None,
    });
    let Some((entry, idle)) = closed else {
        return Vec::new();
    };
    let of_target = idle.iter().filter(|(by, _)| !HARNESS.contains(&by.as_str()));
    let told = of_target.map(|(by, kinds)| {
        let kinds: Vec<String> = kinds.iter().map(|(kind, count)| format!("{count} of {kind}")).collect();
        finding(
            Invariant::NoWriteChangesNothing,
            entry,
            None,
            "no write that leads to no new revision".to_owned(),
            format!("writes of {by}: {}", kinds.join(", ")),
        )
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use serde_json::json;

    use super::*;

    /// Returns the findings about a binding that another writer marks for deletion, or changes.
    fn findings(by: &str, marked: bool) -> usize {
        let mut metadata = json!({"name": "x", "namespace": "default"});
        if marked {
            metadata["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        let revision = Revision {
            cluster: "control".into(),
            kind: "ResourceBinding".to_owned(),
            change: Change::Modified,
            object: Arc::new(json!({"apiVersion": "work.karmada.io/v1alpha2", "metadata": metadata})),
            by: Some(by.to_owned()),
        };
        let entry = Entry {
            at: Duration::ZERO,
            seq: 1,
            event: Event::Revision(revision),
        };
        only_the_target(&Timeline::new(vec![entry]).unwrap()).findings.len()
    }

    #[test]
    fn the_garbage_collector_may_mark_a_binding_and_do_nothing_else_to_it() {
        assert_eq!(findings(GARBAGE_COLLECTOR, true), 0);
        assert_eq!(findings(GARBAGE_COLLECTOR, false), 1);
        assert_eq!(findings("baton-simulator", true), 1);
        assert_eq!(findings("a-controller", false), 0);
    }
}
