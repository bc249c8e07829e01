//! Likely causes of failures: messages of Events, changed conditions, frequent mistakes in cases, and the first stage of a
//! failover that is missing.
//!
//! - [`of_failure`]: the cause of any failure; [`of_timeout`]: of a step that timed out;
//! - `absent`: what is missing before a workload is scheduled; `stages`: what is missing after that;
//! - `warnings`: the last warning about the workload;
//! - `last`: the last write of the implementation, where nothing else is known.

mod absent;
mod last;
mod stages;
#[cfg(test)]
mod tests;
mod warnings;

use std::time::Duration;

use serde_json::Value;

use crate::{
    case::model::{ObjectRef, Phase},
    judge::{DifferenceKind, Finding},
    select::BINDING_KINDS,
    timeline::{Entry, Event, HANDS, Mark, ObjectId, StepEnd, Timeline, World},
    workload::Workload,
};

pub use crate::timeline::Cause;

/// Returns the message of an Event, such as `Warning EvictionBlocked: …`; `None` for other kinds.
pub fn event_message(kind: &str, event: &Value) -> Option<String> {
    if kind != "Event" {
        return None;
    }
    // core/v1 and events.k8s.io/v1 name the text differently.
    let message = text(event, "/message").or_else(|| text(event, "/note"))?;
    let words = [text(event, "/type"), text(event, "/reason")];
    let head = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
    Some(format!("{head}: {message}"))
}

/// Returns the conditions that are new or whose status changed, such as `Ready=False (NodeNotReady): …`.
pub fn condition_changes(before: Option<&Value>, after: &Value) -> Vec<String> {
    let status_before = |kind: &str| {
        let condition = conditions(before?).find(|it| it["type"].as_str() == Some(kind))?;
        condition["status"].as_str()
    };
    let changed = conditions(after).filter_map(|condition| {
        let (kind, status) = (condition["type"].as_str()?, condition["status"].as_str()?);
        (status_before(kind) != Some(status)).then(|| in_words(kind, status, condition))
    });
    changed.collect()
}

/// Returns the likely cause of a failure: that of the step that timed out, otherwise the write that the first finding is
/// about.
pub fn of_failure(timeline: &Timeline, findings: &[Finding]) -> Option<Cause> {
    let Some(finding) = findings.first() else {
        return of_timeout(timeline);
    };
    let entries = timeline.entries();
    let waited = timed_out(entries, |step| finding.step == Some(step));
    let Some((at, wait)) = waited.filter(|_| !is_wrong_task(finding)) else {
        return Some(last::of_finding(timeline, finding));
    };
    of_timed_out(entries, at, wait, Some(finding)).or_else(|| Some(last::of_timeout(&entries[..at])))
}

/// Prefix of the fields of a task.
const OF_TASK: &str = "spec.gracefulEvictionTasks[].";

/// Returns `true` if a task has a wrong value. It was written all the same, so that nothing that kept the implementation
/// waiting explains it.
fn is_wrong_task(finding: &Finding) -> bool {
    let is_of_task = finding.field.as_deref().is_some_and(|it| it.starts_with(OF_TASK));
    is_of_task && finding.kind == DifferenceKind::Different
}

/// Returns the likely cause of a step that timed out; `None` if no step did, or if nothing points to a cause.
pub fn of_timeout(timeline: &Timeline) -> Option<Cause> {
    let entries = timeline.entries();
    let (at, wait) = timed_out(entries, |_| true)?;
    of_timed_out(entries, at, wait, None)
}

/// Returns the likely cause for which a step with this finding, if it is known, timed out at an entry.
fn of_timed_out(
    entries: &[Entry],
    index: usize,
    (phase, waited): (&str, Duration),
    finding: Option<&Finding>,
) -> Option<Cause> {
    let now = entries[index].at;
    let began = now.saturating_sub(waited);
    let entries = &entries[..index];
    let world = World::after(entries);
    several_clusters(&world)
        .or_else(|| tolerated(&world, entries, now))
        .or_else(|| without_status(&world).filter(|_| phase == Phase::Collect.name()))
        .or_else(|| not_applied(&world))
        .or_else(|| warnings::last(&entries[since(entries, began)..], &world, finding))
        .or_else(|| absent::of_another_version(&world))
        .or_else(|| absent::unbound(&world))
        .or_else(|| false_condition(&world))
        .or_else(|| absent::unscheduled(&world, phase))
        .or_else(|| stages::first_missing(&world))
}

/// Returns what certainly keeps a workload from being propagated as a step waits for: no binding refers to it, its binding
/// has neither a cluster nor the placement of its policy, it is on fewer clusters than its placement names, or it stays on
/// a tainted cluster without the failover behavior of its policy. `None` if there may be another cause.
pub fn certain(world: &World, workload: &ObjectRef) -> Option<Cause> {
    let workload = Workload::from(workload);
    absent::unbound_workload(world, |id| workload.includes(id)).or_else(|| stages::certain(world, &workload))
}

/// Returns the cause for which the run of a timeline ended early, if it did.
pub fn of_early_end(timeline: &Timeline) -> Option<&Cause> {
    timeline.marks().find_map(|(_, mark)| match mark {
        Mark::StepEnded {
            end: StepEnd::GivenUp { cause, .. },
            ..
        } => Some(cause),
        _ => None,
    })
}

/// Returns the index of the first timeout of such a step, with its phase and the time that it waited.
fn timed_out(entries: &[Entry], is_step: impl Fn(usize) -> bool) -> Option<(usize, (&str, Duration))> {
    let mut entries = entries.iter().enumerate();
    entries.find_map(|(index, entry)| match &entry.event {
        Event::Mark(Mark::StepEnded {
            step,
            end: StepEnd::TimedOut { phase, waited_secs },
        }) if is_step(*step) => {
            let waited = Duration::try_from_secs_f64(*waited_secs).unwrap_or_default();
            Some((index, (phase.as_str(), waited)))
        }
        Event::Mark(_) | Event::Revision(_) => None,
    })
}

/// Warnings that are older than this when a step begins are unrelated to it.
const RECENT: Duration = Duration::from_secs(10);

/// Returns the index of the first entry that may be related to a step that began at that time: warnings from before the
/// last write of the case, such as a taint, are about something else.
fn since(entries: &[Entry], began: Duration) -> usize {
    let is_write = |entry: &Entry| match &entry.event {
        Event::Revision(revision) => entry.at <= began && revision.by.as_deref() == Some(HANDS),
        Event::Mark(_) => false,
    };
    let recent = entries.partition_point(|entry| entry.at + RECENT < began);
    recent.max(entries.iter().rposition(is_write).unwrap_or_default())
}

/// Returns the members that are not ready or have taints, each with the condition `Ready` or the taint. Taints that the
/// harness set are left out.
pub fn unfit_members(world: &World) -> Vec<String> {
    let clusters = world.objects().filter(|(id, _)| id.kind == "Cluster");
    let unfit = clusters.flat_map(|(id, cluster)| {
        let not_ready = match conditions(cluster).find(|it| it["type"] == "Ready") {
            None => Some("no condition Ready".to_owned()),
            Some(ready) if ready["status"] == "True" => None,
            Some(ready) => Some(in_words("Ready", ready["status"].as_str().unwrap_or_default(), ready)),
        };
        let taints = list(cluster, "/spec/taints").iter().filter_map(|taint| {
            let (key, effect) = (taint["key"].as_str()?, taint["effect"].as_str()?);
            (!key.starts_with("baton.dev/")).then(|| format!("tainted with {key}:{effect}"))
        });
        let told = not_ready.into_iter().chain(taints);
        told.map(|what| format!("{}: {what}", id.name)).collect::<Vec<_>>()
    });
    unfit.collect()
}

/// Finds a workload on several clusters. A role is bound to one cluster, so such a workload binds no role.
fn several_clusters(world: &World) -> Option<Cause> {
    let (id, binding) = bindings(world).find(|(_, binding)| {
        list(binding, "/spec/clusters").len() > 1 && list(binding, "/spec/placement/spreadConstraints").is_empty()
    })?;
    let names = list(binding, "/spec/clusters").iter();
    let names: Vec<&str> = names.filter_map(|cluster| cluster["name"].as_str()).collect();
    let text = format!(
        "{} {} is scheduled to {}: if one cluster is intended, set `spreadConstraints` in the policy",
        id.kind,
        id.name,
        names.join(" and ")
    );
    Some(Cause::new("a workload is scheduled to several clusters", text))
}

/// Finds a taint that a workload tolerates for a time that had not ended by then.
fn tolerated(world: &World, entries: &[Entry], by: Duration) -> Option<Cause> {
    let taints: Vec<(&str, &str)> = world
        .objects()
        .filter(|(id, _)| id.kind == "Cluster")
        .flat_map(|(id, cluster)| {
            let taints = list(cluster, "/spec/taints").iter();
            let no_execute = taints.filter(|taint| taint["effect"] == "NoExecute");
            no_execute.filter_map(|taint| Some((id.name.as_str(), taint["key"].as_str()?)))
        })
        .collect();
    bindings(world).find_map(|(_, binding)| {
        let here = list(binding, "/spec/clusters");
        let is_here = |name: &str| here.iter().any(|cluster| cluster["name"] == name);
        list(binding, "/spec/placement/clusterTolerations")
            .iter()
            .find_map(|toleration| {
                let seconds = toleration["tolerationSeconds"]
                    .as_u64()
                    .filter(|seconds| *seconds > 0)?;
                let (cluster, key) = taints.iter().find(|(cluster, key)| {
                    let tainted_for = by.saturating_sub(tainted_at(entries, cluster, key));
                    is_here(cluster)
                        && toleration["key"].as_str().is_none_or(|it| it == *key)
                        && tainted_for < Duration::from_secs(seconds)
                })?;
                let text = format!(
                    "the taint {key} on {cluster} is tolerated for {seconds} s: let that time pass with `elapse`"
                );
                Some(Cause::new("the taint is still tolerated", text))
            })
    })
}

/// Returns the time when a present taint was first seen.
fn tainted_at(entries: &[Entry], cluster: &str, key: &str) -> Duration {
    let (mut since, mut was_there) = (Duration::ZERO, false);
    for entry in entries {
        let Event::Revision(revision) = &entry.event else {
            continue;
        };
        if revision.kind == "Cluster" && revision.object["metadata"]["name"] == cluster {
            let taints = list(&revision.object, "/spec/taints").iter();
            let mut of_key = taints.filter(|taint| taint["key"] == key && taint["effect"] == "NoExecute");
            let is_there = of_key.next().is_some();
            if is_there && !was_there {
                since = entry.at;
            }
            was_there = is_there;
        }
    }
    since
}

/// Finds a copy without a status, such as one of a kind that the workload simulator has no rules for.
fn without_status(world: &World) -> Option<Cause> {
    let workloads: Vec<Workload> = bindings(world)
        .map(|(_, binding)| Workload::of_binding(binding))
        .collect();
    let is_copy = |id: &ObjectId| !id.cluster.is_control() && workloads.iter().any(|it| it.includes(id));
    let mut objects = world.objects();
    let (id, _) = objects.find(|(id, object)| is_copy(id) && has_no_members(&object["status"]))?;
    let text = format!(
        "the status of {} {} on {} is empty: neither `setStatus` nor a rule of the workload simulator has written it",
        id.kind, id.name, id.cluster
    );
    Some(Cause::new(format!("the status of a {} is empty", id.kind), text))
}

/// Finds a copy that a member refused.
fn not_applied(world: &World) -> Option<Cause> {
    bindings(world).find_map(|(id, binding)| {
        let mut items = list(binding, "/status/aggregatedStatus").iter();
        let item = items.find(|item| item["applied"] == false && text(item, "/appliedMessage").is_some())?;
        let (cluster, message) = (text(item, "/clusterName")?, text(item, "/appliedMessage")?);
        let text = format!("{} {}: not applied on {cluster}: {message}", id.kind, id.name);
        Some(Cause::new("a copy is not applied", text))
    })
}

/// Finds a false condition of a binding or a Work.
fn false_condition(world: &World) -> Option<Cause> {
    let watched = |id: &ObjectId| BINDING_KINDS.contains(&id.kind.as_str()) || id.kind == "Work";
    world.objects().filter(|(id, _)| watched(id)).find_map(|(id, object)| {
        let condition = conditions(object).find(|it| it["status"] == "False")?;
        let kind = condition["type"].as_str()?;
        let reason = text(condition, "/reason").unwrap_or("no reason");
        let text = format!("{} {}: {}", id.kind, id.name, in_words(kind, "False", condition));
        Some(Cause::new(format!("{}: {kind}=False ({reason})", id.kind), text))
    })
}

fn bindings(world: &World) -> impl Iterator<Item = (&ObjectId, &Value)> {
    let objects = world.objects().map(|(id, object)| (id, &**object));
    objects.filter(|(id, _)| BINDING_KINDS.contains(&id.kind.as_str()))
}

fn conditions(object: &Value) -> impl Iterator<Item = &Value> {
    list(object, "/status/conditions").iter()
}

fn in_words(kind: &str, status: &str, condition: &Value) -> String {
    let reason = text(condition, "/reason").map(|reason| format!(" ({reason})"));
    let message = text(condition, "/message").map(|message| format!(": {message}"));
    format!(
        "{kind}={status}{}{}",
        reason.unwrap_or_default(),
        message.unwrap_or_default()
    )
}

/// Returns `true` for an empty map, and for anything that is not a map.
fn has_no_members(value: &Value) -> bool {
    value.as_object().is_none_or(serde_json::Map::is_empty)
}

fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    let list = object.pointer(pointer).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

fn text<'a>(object: &'a Value, pointer: &str) -> Option<&'a str> {
    let text = object.pointer(pointer).and_then(Value::as_str);
    text.filter(|text| !text.is_empty())
}
