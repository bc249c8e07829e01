//! Objects of a subject, along a timeline: entries about other objects cost next to nothing, however many there are.

use super::{is_subject, kinds};
use crate::{
    case::model::Subject,
    pattern::Bindings,
    timeline::{Change, Entry, Event, ObjectId, Revision, World},
};

/// A world of what a subject speaks of, and of nothing else. [`find`](super::find) finds in it what it would find in
/// the whole one, as long as roles and captures stay what they are.
#[derive(Debug)]
pub struct Followed<'a> {
    subject: &'a Subject,
    world: World,
}

impl<'a> Followed<'a> {
    /// Follows a subject from the beginning of a timeline on.
    pub fn new(subject: &'a Subject) -> Self {
        Self {
            subject,
            world: World::default(),
        }
    }

    /// Moves on by one entry. Whether [`find`](super::find) may find something else since then.
    pub fn step(&mut self, entry: &Entry, bindings: &Bindings) -> bool {
        let Event::Revision(revision) = &entry.event else {
            return false;
        };
        if !self.is_of_its_kinds(&revision.kind) {
            return false;
        }
        let id = ObjectId::of(revision);
        let is_there = revision.change != Change::Deleted && self.is_needed(&id, revision, bindings);
        if is_there {
            self.world.step(entry);
        }
        is_there || self.world.remove(&id)
    }

    /// Its objects that exist.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Returns `true` if objects of a kind can belong to the subject.
    pub fn is_of_its_kinds(&self, kind: &str) -> bool {
        let by_label = match self.subject {
            Subject::BindingsOf(workloads) => workloads.kind == kind,
            _ => false,
        };
        by_label || kinds(self.subject).contains(&kind)
    }

    fn is_needed(&self, id: &ObjectId, revision: &Revision, bindings: &Bindings) -> bool {
        // The templates say which bindings are meant.
        let is_template = match self.subject {
            Subject::BindingsOf(workloads) => id.cluster.is_control() && workloads.kind == id.kind,
            _ => false,
        };
        is_template || is_subject(self.subject, id, &revision.object, bindings)
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use serde_json::{Value, json};

    use super::{super::find, *};
    use crate::{
        case::model::{ObjectRef, Workloads},
        names::ClusterName,
    };

    fn entry(seq: u64, change: Change, kind: &str, object: Value) -> Entry {
        Entry {
            at: Duration::ZERO,
            seq,
            event: Event::Revision(Revision {
                cluster: ClusterName::control(),
                kind: kind.to_owned(),
                change,
                object: Arc::new(object),
                by: None,
            }),
        }
    }

    fn binding(name: &str, of: &str) -> Value {
        json!({"metadata": {"name": name, "namespace": "default"},
               "spec": {"resource": {"kind": "Deployment", "namespace": "default", "name": of}}})
    }

    fn template(name: &str, set: &str) -> Value {
        json!({"metadata": {"name": name, "namespace": "default", "labels": {"set": set}}})
    }

    /// Bindings that come to refer to a workload and stop doing so, and templates that get a label and lose it.
    fn entries() -> Vec<Entry> {
        let (added, modified) = (Change::Added, Change::Modified);
        let events = [
            (added, "ResourceBinding", binding("a", "x")),
            (added, "ResourceBinding", binding("b", "y")),
            (added, "Deployment", template("x", "many")),
            (modified, "ResourceBinding", binding("b", "x")),
            (
                added,
                "Work",
                json!({"metadata": {"name": "w", "namespace": "karmada-es-member1"}}),
            ),
            (modified, "ResourceBinding", binding("a", "y")),
            (added, "Deployment", template("y", "many")),
            (modified, "Deployment", template("x", "few")),
            (Change::Deleted, "ResourceBinding", binding("b", "x")),
            (Change::Deleted, "Deployment", template("y", "many")),
            (added, "ResourceBinding", binding("b", "x")),
        ];
        let entries = (1..).zip(events);
        entries
            .map(|(seq, (change, kind, object))| entry(seq, change, kind, object))
            .collect()
    }

    #[test]
    fn what_is_found_is_what_the_whole_world_has_and_every_change_is_noticed() {
        let workload = ObjectRef {
            api_version: "apps/v1".to_owned(),
            kind: "Deployment".to_owned(),
            namespace: Some("default".to_owned()),
            name: "x".to_owned(),
        };
        let many = Workloads {
            api_version: "apps/v1".to_owned(),
            kind: "Deployment".to_owned(),
            namespace: Some("default".to_owned()),
            labels: [("set".to_owned(), "many".to_owned())].into(),
        };
        let subjects = [
            Subject::Object(workload.clone()),
            Subject::BindingOf(workload),
            Subject::BindingsOf(many),
        ];
        let (control, bindings) = (ClusterName::control(), Bindings::default());
        for subject in subjects {
            let (mut whole, mut followed) = (World::default(), Followed::new(&subject));
            let mut before: Vec<(ObjectId, Arc<Value>)> = Vec::new();
            for entry in entries() {
                whole.step(&entry);
                let noticed = followed.step(&entry, &bindings);
                let found = |world| {
                    let found = find(&subject, &control, world, &bindings);
                    found
                        .map(|(id, object)| (id.clone(), Arc::clone(object)))
                        .collect::<Vec<_>>()
                };
                let now = found(&whole);
                assert_eq!(found(followed.world()), now, "{subject} at {}", entry.seq);
                assert!(noticed || now == before, "{subject} at {}", entry.seq);
                before = now;
            }
        }
    }
}
