//! Kinds of events, and the words for them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::Walk;
use crate::{
    cause,
    report::difference,
    select::{BINDING_KINDS, EXECUTION_NAMESPACE},
    timeline::{Change, ObjectId, Revision},
    workload::Workload,
};

/// Kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum What {
    /// A step of the case.
    Step,
    /// A step that failed.
    Failed,
    /// A cluster is tainted.
    Taint,
    /// A taint is gone.
    Untaint,
    /// A cluster becomes ready or unready.
    Ready,
    /// A scheduling result.
    Schedule,
    /// An eviction task.
    Task,
    /// An eviction task is gone.
    Cleared,
    /// A Work.
    Work,
    /// A template or a copy appears.
    Create,
    /// Labels of a template or a copy change.
    Labels,
    /// A copy is marked for deletion.
    Purge,
    /// An object is gone.
    Gone,
    /// Health or status.
    Health,
    /// An unhealthy state.
    Unhealthy,
    /// An Event.
    Event,
    /// An Event that warns.
    Warning,
    /// Any other change.
    Change,
}

type Drawn = Option<(What, String)>;

/// Returns the workload of a binding.
pub(super) fn workload_of(binding: &Value) -> Option<Workload> {
    Some(Workload::of_binding(binding)).filter(|workload| !workload.kind.is_empty())
}

/// Describes a revision that is shown only because of a finding.
pub(super) fn plainly(id: &ObjectId, revision: &Revision) -> (What, String) {
    let (what, verb) = match revision.change {
        Change::List => (What::Change, "was there"),
        Change::Added => (What::Create, "created"),
        Change::Modified => (What::Change, "changed"),
        Change::Deleted => (What::Gone, "gone"),
    };
    (what, format!("{} {} {verb}", id.kind, id.name))
}

impl Walk<'_> {
    /// Describes a revision; returns nothing to draw if it is not part of a failover.
    pub(super) fn say(&self, id: &ObjectId, revision: &Revision, before: Option<&Value>) -> Drawn {
        let kind = id.kind.as_str();
        if kind == "Cluster" {
            return cluster(id, revision, before);
        }
        if BINDING_KINDS.contains(&kind) {
            return binding(id, revision, before);
        }
        if kind == "Work" {
            return work(id, revision, before);
        }
        if kind == "Event" {
            return event(id, revision);
        }
        if !self.workloads.contains(&id.into()) {
            return None;
        }
        if id.cluster.is_control() {
            template(id, revision, before)
        } else {
            self.copy(id, revision, before)
        }
    }

    fn copy(&self, id: &ObjectId, revision: &Revision, before: Option<&Value>) -> Drawn {
        let named = format!("{} {}", id.kind, id.name);
        let object = &*revision.object;
        match revision.change {
            Change::Deleted => return Some((What::Gone, format!("{named} gone"))),
            Change::List | Change::Added => {
                let labels = labels(object);
                let injected: Vec<_> = labels
                    .iter()
                    .filter(|(key, _)| self.preserved.contains(key.as_str()))
                    .map(|(key, value)| format!("{}={value}", last_part(key)))
                    .collect();
                let with = if injected.is_empty() {
                    String::new()
                } else {
                    format!(" with {}", injected.join(", "))
                };
                let verb = if revision.change == Change::List {
                    "is there"
                } else {
                    "created"
                };
                return Some((What::Create, format!("{named} {verb}{with}")));
            }
            Change::Modified => {}
        }
        let before = before?;
        if !is_marked(before) && is_marked(object) {
            let held = object
                .pointer("/metadata/finalizers")
                .and_then(Value::as_array)
                .is_some_and(|all| !all.is_empty());
            let held = if held { ", held by a finalizer" } else { "" };
            return Some((What::Purge, format!("{named} marked for deletion{held}")));
        }
        if labels(before) != labels(object) {
            return Some((What::Labels, format!("{named}: labels changed")));
        }
        if before.get("spec") != object.get("spec") {
            return Some((What::Change, format!("{named}: spec changed")));
        }
        if before.get("status") != object.get("status") {
            return Some((What::Health, status_words(before.get("status"), object.get("status"))));
        }
        None
    }
}

/// Describes an Event of the control plane. Events of members are about pods.
fn event(id: &ObjectId, revision: &Revision) -> Drawn {
    if !id.cluster.is_control() || matches!(revision.change, Change::List | Change::Deleted) {
        return None;
    }
    let message = cause::event_message(&id.kind, &revision.object)?;
    let what = if revision.object.get("type").and_then(Value::as_str) == Some("Warning") {
        What::Warning
    } else {
        What::Event
    };
    Some((what, message))
}

fn template(id: &ObjectId, revision: &Revision, before: Option<&Value>) -> Drawn {
    let named = format!("template {} {}", id.kind, id.name);
    match (revision.change, before) {
        (Change::Deleted, _) => Some((What::Gone, format!("{named} gone"))),
        (Change::List, _) => Some((What::Create, format!("{named} is there"))),
        (Change::Added, _) | (Change::Modified, None) => Some((What::Create, format!("{named} created"))),
        (Change::Modified, Some(before)) => {
            if labels(before) != labels(&revision.object) {
                Some((What::Labels, format!("{named}: labels changed")))
            } else if before.get("spec") != revision.object.get("spec") {
                Some((What::Change, format!("{named}: spec changed")))
            } else {
                None
            }
        }
    }
}

fn cluster(id: &ObjectId, revision: &Revision, before: Option<&Value>) -> Drawn {
    if revision.change == Change::Deleted {
        return Some((What::Gone, format!("Cluster {} gone", id.name)));
    }
    let taints = |object: Option<&Value>| -> BTreeSet<String> {
        let list = object
            .and_then(|it| it.pointer("/spec/taints"))
            .and_then(Value::as_array);
        let text =
            |taint: &Value, member: &str| taint.get(member).and_then(Value::as_str).unwrap_or_default().to_owned();
        let words = |taint: &Value| format!("{}:{}", text(taint, "key"), text(taint, "effect"));
        list.into_iter().flatten().map(words).collect()
    };
    let (old, new) = (taints(before), taints(Some(&revision.object)));
    let added: Vec<_> = new.difference(&old).cloned().collect();
    let removed: Vec<_> = old.difference(&new).cloned().collect();
    if !added.is_empty() {
        return Some((What::Taint, format!("{} tainted {}", id.name, added.join(", "))));
    }
    if !removed.is_empty() {
        return Some((
            What::Untaint,
            format!("{} no longer tainted {}", id.name, removed.join(", ")),
        ));
    }
    let (was, is) = (ready(before), ready(Some(&revision.object)));
    match is {
        Some(is) if was != Some(is) => Some((What::Ready, format!("{} Ready: {is}", id.name))),
        Some(_) | None => None,
    }
}

fn ready(cluster: Option<&Value>) -> Option<&str> {
    let conditions = cluster?.pointer("/status/conditions")?.as_array()?;
    let ready = conditions
        .iter()
        .find(|it| it.get("type").and_then(Value::as_str) == Some("Ready"))?;
    ready.get("status")?.as_str()
}

fn binding(id: &ObjectId, revision: &Revision, before: Option<&Value>) -> Drawn {
    if revision.change == Change::Deleted {
        return Some((What::Gone, format!("binding {} gone", id.name)));
    }
    let object = &*revision.object;
    let (old, new) = (tasks(before), tasks(Some(object)));
    let written = new.iter().filter(|(from, _)| !old.contains_key(*from));
    let mut said: Vec<(What, String)> = written
        .map(|(from, task)| (What::Task, task_words(from, task)))
        .collect();
    for from in old.keys().filter(|from| !new.contains_key(*from)) {
        said.push((What::Cleared, format!("task for {from} cleared")));
    }
    let clusters = |binding: Option<&Value>| binding.and_then(|it| it.pointer("/spec/clusters")).cloned();
    if clusters(before) != clusters(Some(object)) {
        said.push((What::Schedule, schedule_words(object)));
    }
    said.extend(health_changes(before, object));
    if said.is_empty() && before.is_none() {
        said.push((What::Schedule, format!("binding {} created", id.name)));
    }
    let what = said.first()?.0;
    let texts: Vec<String> = said.into_iter().map(|(_, text)| text).collect();
    Some((what, texts.join("; ")))
}

fn tasks(binding: Option<&Value>) -> BTreeMap<&str, &Value> {
    let list = binding
        .and_then(|it| it.pointer("/spec/gracefulEvictionTasks"))
        .and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(|task| Some((task.get("fromCluster")?.as_str()?, task)))
        .collect()
}

fn task_words(from: &str, task: &Value) -> String {
    let mode = task.get("purgeMode").and_then(Value::as_str).unwrap_or_default();
    let state = task.get("preservedLabelState").and_then(Value::as_object);
    let state: Vec<String> = state
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{}={}", last_part(key), value.as_str().unwrap_or_default()))
        .collect();
    let mode = if mode.is_empty() {
        String::new()
    } else {
        format!(", {mode}")
    };
    let state = if state.is_empty() {
        String::new()
    } else {
        format!(", preserving {}", state.join(", "))
    };
    format!("eviction task: leave {from}{mode}{state}")
}

fn schedule_words(binding: &Value) -> String {
    let list = binding.pointer("/spec/clusters").and_then(Value::as_array);
    let names: Vec<&str> = list
        .into_iter()
        .flatten()
        .filter_map(|it| it.get("name").and_then(Value::as_str))
        .collect();
    if names.is_empty() {
        "scheduled nowhere".to_owned()
    } else {
        format!("scheduled to {}", names.join(", "))
    }
}

/// Returns the changes of health and collected status, by cluster.
fn health_changes(before: Option<&Value>, after: &Value) -> Vec<(What, String)> {
    let (old, new) = (items(before), items(Some(after)));
    let mut said = Vec::new();
    for (cluster, item) in &new {
        let was = old.get(cluster).copied();
        let health = |it: Option<&Value>| {
            it.and_then(|it| it.get("health"))
                .and_then(Value::as_str)
                .map(ToOwned::to_owned)
        };
        let status = |it: Option<&Value>| it.and_then(|it| it.get("status")).cloned();
        let is = health(Some(item));
        if let Some(is) = is.filter(|is| Some(is) != health(was).as_ref()) {
            let what = if is == "Healthy" { What::Health } else { What::Unhealthy };
            said.push((what, format!("{cluster} {is}")));
        } else if status(Some(item)) != status(was) {
            said.push((What::Health, format!("status of {cluster} collected")));
        }
    }
    said
}

fn items(binding: Option<&Value>) -> BTreeMap<&str, &Value> {
    let list = binding
        .and_then(|it| it.pointer("/status/aggregatedStatus"))
        .and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(|item| Some((item.get("clusterName")?.as_str()?, item)))
        .collect()
}

fn work(id: &ObjectId, revision: &Revision, before: Option<&Value>) -> Drawn {
    let member = id.namespace.strip_prefix(EXECUTION_NAMESPACE).unwrap_or(&id.namespace);
    let named = format!("Work for {member}");
    match (revision.change, before) {
        (Change::Deleted, _) => Some((What::Work, format!("{named} gone"))),
        (Change::List, _) => Some((What::Work, format!("{named} is there"))),
        (Change::Added, _) => Some((What::Work, format!("{named} written"))),
        (Change::Modified, Some(before)) if !is_marked(before) && is_marked(&revision.object) => {
            Some((What::Work, format!("{named} marked for deletion")))
        }
        (Change::Modified, _) => None,
    }
}

fn is_marked(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}

fn labels(object: &Value) -> BTreeMap<String, String> {
    let map = object.pointer("/metadata/labels").and_then(Value::as_object);
    map.into_iter()
        .flatten()
        .map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()))
        .collect()
}

/// Returns some changes of a status, enough to see its subject.
fn status_words(before: Option<&Value>, after: Option<&Value>) -> String {
    const ENOUGH: usize = 3;
    let changes = difference::between(before, after);
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    let dull = ["observedGeneration", "message", "reason", "type", ""];
    let mut words: Vec<String> = changes
        .iter()
        .filter(|it| !it.0.ends_with("Time") && !dull.contains(&last(&it.0).as_str()))
        .map(|it| format!("{} {}", it.0, it.2.as_deref().unwrap_or("gone")))
        .collect();
    words.truncate(ENOUGH);
    if words.is_empty() {
        "status changed".to_owned()
    } else {
        format!("status: {}", words.join(", "))
    }
}

/// Returns the distinctive last part of a label's key.
fn last_part(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}
