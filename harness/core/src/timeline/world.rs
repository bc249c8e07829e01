//! The state of all clusters at one moment of a timeline.

use std::{collections::BTreeMap, fmt, sync::Arc};

use serde_json::Value;

use super::{Change, Entry, Event, Revision};
use crate::names::ClusterName;

/// Identity of an object on a cluster. The namespace is empty for cluster-scoped objects.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectId {
    /// The cluster it is on.
    pub cluster: ClusterName,
    /// Its kind.
    pub kind: String,
    /// Its namespace, or nothing.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl ObjectId {
    /// The id of the object that a revision is of.
    pub fn of(revision: &Revision) -> Self {
        let text = |member: &str| {
            let value = revision.object.pointer(&format!("/metadata/{member}"));
            value.and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        Self {
            cluster: revision.cluster.clone(),
            kind: revision.kind.clone(),
            namespace: text("namespace"),
            name: text("name"),
        }
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            cluster,
            kind,
            namespace,
            name,
        } = self;
        match namespace.as_str() {
            "" => write!(f, "{kind} {name} on {cluster}"),
            _ => write!(f, "{kind} {namespace}/{name} on {cluster}"),
        }
    }
}

/// The objects that exist at one moment: the latest revision of each.
#[derive(Debug, Clone, Default)]
pub struct World {
    objects: BTreeMap<ObjectId, Arc<Value>>,
}

impl World {
    /// The state after the given entries.
    pub fn after<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut world = Self::default();
        for entry in entries {
            world.step(entry);
        }
        world
    }

    /// Moves on by one entry.
    pub fn step(&mut self, entry: &Entry) {
        let Event::Revision(revision) = &entry.event else {
            return;
        };
        let id = ObjectId::of(revision);
        match revision.change {
            Change::List | Change::Added | Change::Modified => {
                self.objects.insert(id, Arc::clone(&revision.object));
            }
            Change::Deleted => {
                self.objects.remove(&id);
            }
        }
    }

    /// Forgets an object; whether it was there.
    pub fn remove(&mut self, id: &ObjectId) -> bool {
        self.objects.remove(id).is_some()
    }

    /// One object, if it is there.
    pub fn get(&self, id: &ObjectId) -> Option<&Arc<Value>> {
        self.objects.get(id)
    }

    /// All objects that are there, by cluster, kind, namespace and name.
    pub fn objects(&self) -> impl Iterator<Item = (&ObjectId, &Arc<Value>)> {
        self.objects.iter()
    }

    /// All objects of a kind on a cluster.
    pub fn of_kind<'a, 'k>(
        &'a self,
        cluster: &'k ClusterName,
        kind: &'k str,
    ) -> impl Iterator<Item = (&'a ObjectId, &'a Arc<Value>)> {
        let first = ObjectId {
            cluster: cluster.clone(),
            kind: kind.to_owned(),
            namespace: String::new(),
            name: String::new(),
        };
        let from_there = self.objects.range(first..);
        from_there.take_while(move |(id, _)| id.cluster == *cluster && id.kind == kind)
    }
}
