//! Known state of the cluster: the objects of the watched kinds, and their owners.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::OnceLock,
};

use serde_json::{Map, Value};

use super::{functions, rules::KindRef};

/// Prefix of annotations that configure the simulator.
pub(super) const SETTINGS_PREFIX: &str = "simulator.baton.dev/";

/// Largest number of owners that are followed from an object; longer chains do not occur, and cycles end there.
const LONGEST_CHAIN: usize = 8;

/// Identity of an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    /// Kind of the object.
    pub kind: KindRef,
    /// Namespace; empty for cluster-scoped objects.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
}

impl Key {
    /// The key of an object of a kind.
    pub(super) fn of(kind: &KindRef, object: &Value) -> Self {
        Self {
            kind: kind.clone(),
            namespace: text(object, "namespace").to_owned(),
            name: text(object, "name").to_owned(),
        }
    }
}

/// A field of an object's metadata.
pub(super) fn meta<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    object.get("metadata")?.get(name)
}

/// A string in an object's metadata; empty if it is missing.
pub(super) fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    meta(object, name).and_then(Value::as_str).unwrap_or_default()
}

/// Checks whether an object is being deleted.
pub(super) fn deleting(object: &Value) -> bool {
    meta(object, "deletionTimestamp").is_some()
}

fn revision(object: &Value) -> u64 {
    text(object, "resourceVersion").parse().unwrap_or_default()
}

fn owner(object: &Value) -> Option<&str> {
    let owners = meta(object, "ownerReferences")?.as_array()?;
    let controller = owners.iter().find(|owner| owner["controller"] == Value::Bool(true))?;
    controller["uid"].as_str()
}

fn own_settings(object: &Value) -> BTreeMap<&str, &Value> {
    let annotations = meta(object, "annotations").and_then(Value::as_object);
    let settings = annotations.into_iter().flatten();
    settings
        .filter_map(|(name, value)| Some((name.strip_prefix(SETTINGS_PREFIX)?, value)))
        .collect()
}

/// An object, with its representation for templates.
#[derive(Debug)]
pub(super) struct Known {
    /// The object.
    pub object: Value,
    data: OnceLock<minijinja::Value>,
}

impl Known {
    /// The representation for templates, built once: several rules and those of the owner evaluate each revision.
    pub(super) fn data(&self) -> minijinja::Value {
        self.data.get_or_init(|| functions::data(&self.object)).clone()
    }
}

/// The known objects.
#[derive(Debug, Default)]
pub(super) struct Store {
    objects: BTreeMap<Key, Known>,
    by_uid: BTreeMap<String, Key>,
    children: BTreeMap<String, BTreeSet<Key>>,
}

impl Store {
    /// Returns an object.
    pub(super) fn get(&self, key: &Key) -> Option<&Known> {
        self.objects.get(key)
    }

    /// Keys of all objects of a kind.
    pub(super) fn of_kind(&self, kind: &KindRef) -> BTreeSet<Key> {
        let keys = self.objects.keys().filter(|key| key.kind == *kind);
        keys.cloned().collect()
    }

    /// Children of an object that have the given kind, by name.
    pub(super) fn children<'a>(&'a self, object: &Value, kind: &'a KindRef) -> impl Iterator<Item = &'a Known> {
        let keys = self.children.get(text(object, "uid"));
        let keys = keys.into_iter().flatten().filter(move |key| key.kind == *kind);
        keys.filter_map(|key| self.objects.get(key))
    }

    /// Stores an object, unless a later revision is known. Returns the objects that the change affects.
    pub(super) fn put(&mut self, kind: &KindRef, object: Value) -> BTreeSet<Key> {
        let key = Key::of(kind, &object);
        if let Some(known) = self.objects.get(&key)
            && text(&known.object, "uid") == text(&object, "uid")
            && revision(&known.object) >= revision(&object)
        {
            return BTreeSet::new();
        }
        let mut touched = self.take(&key);
        let settings_changed = touched
            .as_ref()
            .is_some_and(|(before, _)| own_settings(before) != own_settings(&object));
        let mut keys = touched.take().map(|(_, keys)| keys).unwrap_or_default();
        self.by_uid.insert(text(&object, "uid").to_owned(), key.clone());
        if let Some(owner) = owner(&object) {
            self.children.entry(owner.to_owned()).or_default().insert(key.clone());
            keys.extend(self.by_uid.get(owner).cloned());
        }
        if settings_changed {
            self.add_descendants(&object, LONGEST_CHAIN, &mut keys);
        }
        keys.insert(key.clone());
        let data = OnceLock::new();
        self.objects.insert(key, Known { object, data });
        keys
    }

    /// Removes an object. Returns the other objects that the change affects.
    pub(super) fn remove(&mut self, key: &Key) -> BTreeSet<Key> {
        self.take(key).map(|(_, keys)| keys).unwrap_or_default()
    }

    fn take(&mut self, key: &Key) -> Option<(Value, BTreeSet<Key>)> {
        let object = self.objects.remove(key)?.object;
        self.by_uid.remove(text(&object, "uid"));
        let mut touched = BTreeSet::new();
        if let Some(owner) = owner(&object) {
            if let Some(siblings) = self.children.get_mut(owner) {
                siblings.remove(key);
                if siblings.is_empty() {
                    self.children.remove(owner);
                }
            }
            touched.extend(self.by_uid.get(owner).cloned());
        }
        Some((object, touched))
    }

    fn add_descendants(&self, object: &Value, depth: usize, keys: &mut BTreeSet<Key>) {
        let children = self.children.get(text(object, "uid"));
        for key in children.into_iter().flatten() {
            keys.insert(key.clone());
            if let Some(child) = self.objects.get(key)
                && depth > 0
            {
                self.add_descendants(&child.object, depth - 1, keys);
            }
        }
    }

    /// Effective settings of an object: its annotations, and those of its owners that it does not override.
    pub(super) fn settings(&self, object: &Value) -> Map<String, Value> {
        let mut settings = Map::new();
        let mut next = Some(object);
        for _ in 0..LONGEST_CHAIN {
            let Some(object) = next else { break };
            for (name, value) in own_settings(object) {
                settings.entry(name).or_insert_with(|| value.clone());
            }
            let owner = owner(object).and_then(|uid| self.by_uid.get(uid));
            next = owner.and_then(|key| self.objects.get(key)).map(|known| &known.object);
        }
        settings
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kind() -> KindRef {
        KindRef {
            api_version: "v1".to_owned(),
            kind: "Pod".to_owned(),
        }
    }

    fn object(name: &str, revision: u64, owner: Option<&str>, annotations: &Value) -> Value {
        let mut object = json!({"metadata": {
            "name": name, "namespace": "n", "uid": name, "resourceVersion": revision.to_string(),
            "annotations": annotations,
        }});
        if let Some(owner) = owner {
            object["metadata"]["ownerReferences"] = json!([{"uid": owner, "controller": true}]);
        }
        object
    }

    fn names(keys: &BTreeSet<Key>) -> Vec<&str> {
        keys.iter().map(|key| key.name.as_str()).collect()
    }

    #[test]
    fn an_older_revision_changes_nothing() {
        let mut store = Store::default();
        store.put(&kind(), object("a", 5, None, &json!({})));
        assert!(store.put(&kind(), object("a", 4, None, &json!({}))).is_empty());
    }

    #[test]
    fn a_child_matters_to_its_owner() {
        let mut store = Store::default();
        store.put(&kind(), object("a", 1, None, &json!({})));
        let child = object("b", 2, Some("a"), &json!({}));
        assert_eq!(names(&store.put(&kind(), child.clone())), ["a", "b"]);
        assert_eq!(names(&store.remove(&Key::of(&kind(), &child))), ["a"]);
        let owner = object("a", 1, None, &json!({}));
        assert_eq!(store.children(&owner, &kind()).count(), 0);
    }

    #[test]
    fn settings_come_from_owners_and_changes_reach_descendants() {
        let mut store = Store::default();
        let pod = object("c", 3, Some("b"), &json!({}));
        store.put(
            &kind(),
            object("a", 1, None, &json!({"simulator.baton.dev/ready": "never"})),
        );
        store.put(
            &kind(),
            object("b", 2, Some("a"), &json!({"simulator.baton.dev/x": "1"})),
        );
        store.put(&kind(), pod.clone());
        assert_eq!(Value::Object(store.settings(&pod)), json!({"ready": "never", "x": "1"}));
        let changed = object("a", 4, None, &json!({"simulator.baton.dev/ready": "1s"}));
        assert_eq!(names(&store.put(&kind(), changed)), ["a", "b", "c"]);
        assert_eq!(Value::Object(store.settings(&pod)), json!({"ready": "1s", "x": "1"}));
    }
}
