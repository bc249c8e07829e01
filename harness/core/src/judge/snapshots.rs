//! Snapshots: the state of a run as text, with everything normalised that differs between runs.
//!
//! Members stand under their roles, captured values under their names, the run's namespace as `default`, so that the
//! text is the same whichever member the scheduler chose. This is the only place where values are replaced.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::{
    case::model::{ObjectRef, Snapshot, SnapshotPart, Subject},
    names::ClusterName,
    select,
    timeline::{Change, DEFAULT_NAMESPACE, Event, ObjectId, Timeline, World},
    watch::Known,
    yaml::plain,
};

/// A snapshot as it is compared with its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotText {
    /// Its name, unique in the case.
    pub name: String,
    /// The text, in YAML.
    pub text: String,
}

/// Takes a snapshot at a step whose entries end at `end`.
pub fn take(snapshot: &Snapshot, timeline: &Timeline, end: usize) -> SnapshotText {
    let known = Known::after(&timeline.entries()[..end]);
    let moment = snapshot
        .when_first_seen_on
        .as_ref()
        .and_then(|role| known.bindings.get(role.as_str()))
        .and_then(|member| first_seen(&snapshot.workload, &ClusterName::new(member), timeline, end))
        .map_or(end, |index| index + 1);
    let world = World::after(&timeline.entries()[..moment]);
    let parts: Map<String, Value> = snapshot
        .of
        .iter()
        .map(|part| {
            let value = match part {
                SnapshotPart::Taints => taints(&world, &known),
                SnapshotPart::Binding => binding(&snapshot.workload, &world, &known),
                SnapshotPart::Labels => labels(&snapshot.workload, &world, &known),
            };
            (part.name().to_owned(), value)
        })
        .collect();
    let mut replacements = replacements(&known);
    if let Some(begin) = timeline.begin() {
        replacements.insert(begin.namespace.clone(), DEFAULT_NAMESPACE.to_owned());
    }
    let value = normalise(Value::Object(parts), &replacements);
    // A map of plain JSON values always has a YAML form.
    let text = plain::write(&value).unwrap_or_default();
    SnapshotText {
        name: snapshot.name.clone(),
        text,
    }
}

/// The entry that created the incarnation of an object that is there last, before `end`.
fn first_seen(workload: &ObjectRef, cluster: &ClusterName, timeline: &Timeline, end: usize) -> Option<usize> {
    let is_it = |id: &ObjectId| {
        id.cluster == *cluster
            && id.kind == workload.kind
            && id.name == workload.name
            && id.namespace == workload.namespace.as_deref().unwrap_or_default()
    };
    timeline.entries()[..end].iter().rposition(|entry| match &entry.event {
        Event::Revision(revision) => {
            matches!(revision.change, Change::Added | Change::List) && is_it(&ObjectId::of(revision))
        }
        Event::Mark(_) => false,
    })
}

/// Members by role first; those without a role have no place in what must be the same in every run.
fn by_role(known: &Known) -> BTreeMap<&str, ClusterName> {
    let members = known
        .bindings
        .iter()
        .filter(|(_, name)| known.members.iter().any(|it| it.as_str() == name.as_str()));
    members
        .map(|(role, name)| (role.as_str(), ClusterName::new(name)))
        .collect()
}

fn taints(world: &World, known: &Known) -> Value {
    let control = ClusterName::control();
    let of = |name: &ClusterName| {
        let (_, cluster) = world
            .of_kind(&control, "Cluster")
            .find(|(id, _)| id.name == name.as_str())?;
        cluster.pointer("/spec/taints").cloned()
    };
    by_role(known)
        .into_iter()
        .map(|(role, name)| (role.to_owned(), of(&name).unwrap_or(json!([]))))
        .collect()
}

fn binding(workload: &ObjectRef, world: &World, known: &Known) -> Value {
    let control = ClusterName::control();
    let subject = Subject::BindingOf(workload.clone());
    let Some((_, binding)) = select::find(&subject, &control, world, &known.bindings).next() else {
        return Value::Null;
    };
    let part = |pointer: &str| binding.pointer(pointer).cloned().unwrap_or(json!([]));
    json!({"clusters": part("/spec/clusters"), "gracefulEvictionTasks": part("/spec/gracefulEvictionTasks")})
}

fn labels(workload: &ObjectRef, world: &World, known: &Known) -> Value {
    let subject = Subject::Object(workload.clone());
    let of = |cluster: &ClusterName| match select::find(&subject, cluster, world, &known.bindings).next() {
        Some((_, object)) => object.pointer("/metadata/labels").cloned().unwrap_or(json!({})),
        None => json!("no such object"),
    };
    let mut all: Map<String, Value> = by_role(known)
        .into_iter()
        .map(|(role, name)| (role.to_owned(), of(&name)))
        .collect();
    all.insert("template".to_owned(), of(&ClusterName::control()));
    Value::Object(all)
}

/// Replacements in texts, of the whole text only.
fn replacements(known: &Known) -> BTreeMap<String, String> {
    let is_member = |name: &str| known.members.iter().any(|it| it.as_str() == name);
    known
        .bindings
        .iter()
        .map(|(name, value)| {
            (
                value.clone(),
                if is_member(value) {
                    name.clone()
                } else {
                    format!("<{name}>")
                },
            )
        })
        .collect()
}

/// Labels that the implementation puts on what it manages: not the specification's business.
const MANAGED_LABELS: [&str; 2] = ["karmada.io/managed", "karmada.io/permanent-id"];

fn normalise(value: Value, replacements: &BTreeMap<String, String>) -> Value {
    match value {
        Value::String(text) if text.parse::<jiff::Timestamp>().is_ok() => json!("<time>"),
        Value::String(text) => Value::String(replacements.get(&text).cloned().unwrap_or(text)),
        Value::Array(items) => items.into_iter().map(|item| normalise(item, replacements)).collect(),
        Value::Object(map) => Value::Object(
            map.into_iter()
                .filter(|(key, _)| !MANAGED_LABELS.iter().any(|managed| key.ends_with(managed)))
                // Which second of a task's life this is says nothing about what it holds.
                .filter(|(key, _)| key != "creationTimestamp")
                .map(|(key, value)| (key, normalise(value, replacements)))
                .collect(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}
