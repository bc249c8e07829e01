//! Reading and writing `metadata.managedFields`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::set::Set;
use crate::meta;

/// Maximum number of update managers with separate entries; the oldest entries above it are merged into one.
const MAX_UPDATE_MANAGERS: usize = 10;

/// The manager name of the merged oldest updates.
const ANCIENT: &str = "ancient-changes";

/// The key of an entry. All applies by one manager share one entry, whatever their version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ManagerKey {
    pub(super) manager: Box<str>,
    pub(super) operation: Operation,
    /// Empty for applies.
    pub(super) api_version: Box<str>,
    pub(super) subresource: Box<str>,
}

/// The operation by which a manager owns fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    /// Server-side apply.
    Apply,
    /// Every other write.
    Update,
}

impl Operation {
    fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// The fields of one manager.
#[derive(Debug, Clone)]
pub(super) struct Owned {
    pub(super) api_version: Box<str>,
    pub(super) set: Set,
    pub(super) time: Option<Box<str>>,
}

/// All entries of an object.
#[derive(Debug, Clone, Default)]
pub(super) struct Managers {
    pub(super) entries: BTreeMap<ManagerKey, Owned>,
}

impl Managers {
    /// Returns the managers of an object; empty if there are none or they cannot be read.
    pub(super) fn of(object: Option<&Value>) -> Self {
        object
            .and_then(list)
            .and_then(|list| Self::read(list))
            .unwrap_or_default()
    }

    /// Reads a list of entries, `None` if one of them is not valid.
    pub(super) fn read(list: &[Value]) -> Option<Self> {
        let mut entries = BTreeMap::new();
        for entry in list {
            let text = |name: &str| meta::text(entry, name);
            let operation = match text("operation") {
                "Apply" => Operation::Apply,
                "Update" => Operation::Update,
                _ => return None,
            };
            let api_version = text("apiVersion");
            if api_version.is_empty() || text("fieldsType") != "FieldsV1" {
                return None;
            }
            let set = match entry.get("fieldsV1") {
                None | Some(Value::Null) => Set::default(),
                Some(fields) => Set::from_fields_v1(fields)?,
            };
            let key = ManagerKey::new(text("manager"), operation, api_version, text("subresource"));
            let time = entry.get("time").and_then(Value::as_str).map(Into::into);
            let api_version = api_version.into();
            entries.insert(key, Owned { api_version, set, time });
        }
        Some(Self { entries })
    }

    /// Writes the entries into the object, or removes the member if there are none.
    pub(super) fn write(self, object: &mut Value) {
        let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
            return;
        };
        if self.entries.is_empty() {
            metadata.remove("managedFields");
            return;
        }
        let mut entries: Vec<(ManagerKey, Owned)> = self.entries.into_iter().collect();
        entries.sort_by(|(left, a), (right, b)| {
            let rank = |key: &ManagerKey| (key.operation, key.manager.clone());
            (left.operation, &a.time)
                .cmp(&(right.operation, &b.time))
                .then_with(|| rank(left).cmp(&rank(right)))
                .then_with(|| (&a.api_version, &left.subresource).cmp(&(&b.api_version, &right.subresource)))
        });
        let list = entries.into_iter().map(|(key, owned)| entry(&key, &owned)).collect();
        metadata.insert("managedFields".to_owned(), Value::Array(list));
    }

    /// Drops entries that own nothing.
    pub(super) fn drop_empty(&mut self) {
        self.entries.retain(|_, owned| !owned.set.is_empty());
    }

    /// Merges the oldest updates into one entry if there are too many.
    pub(super) fn cap(&mut self) {
        let updates = self
            .entries
            .iter()
            .filter(|(key, _)| key.operation == Operation::Update);
        let mut updates: Vec<(Option<Box<str>>, ManagerKey)> =
            updates.map(|(key, owned)| (owned.time.clone(), key.clone())).collect();
        let mut count = updates.len();
        if count <= MAX_UPDATE_MANAGERS {
            return;
        }
        updates.sort();
        let mut first_of_version: BTreeMap<Box<str>, ManagerKey> = BTreeMap::new();
        for (_, key) in updates {
            if count <= MAX_UPDATE_MANAGERS {
                return;
            }
            let Some(owned) = self.entries.get(&key).cloned() else {
                continue;
            };
            let Some(first) = first_of_version.get(&owned.api_version) else {
                first_of_version.insert(owned.api_version, key);
                continue;
            };
            let bucket = ManagerKey::new(ANCIENT, Operation::Update, &owned.api_version, "");
            if !self.entries.contains_key(&bucket)
                && let Some(oldest) = self.entries.remove(first)
            {
                self.entries.insert(bucket.clone(), oldest);
            }
            self.entries.remove(&key);
            count -= 1;
            let together = self.entries.entry(bucket).or_insert_with(|| Owned {
                set: Set::default(),
                ..owned.clone()
            });
            together.set.unite(owned.set);
            together.time = owned.time;
        }
    }
}

impl ManagerKey {
    pub(super) fn new(manager: &str, operation: Operation, api_version: &str, subresource: &str) -> Self {
        Self {
            manager: manager.into(),
            operation,
            api_version: if operation == Operation::Apply { "" } else { api_version }.into(),
            subresource: subresource.into(),
        }
    }

    /// Formats the key as conflicts name it: `"m" with subresource "scale" using apps/v1`.
    pub(super) fn written(&self) -> String {
        let mut text = format!("{:?}", self.manager);
        if !self.subresource.is_empty() {
            let _ = write!(text, " with subresource {:?}", self.subresource);
        }
        if self.operation == Operation::Update {
            let _ = write!(text, " using {}", self.api_version);
        }
        text
    }
}

/// `metadata.managedFields` of an object.
pub(super) fn list(object: &Value) -> Option<&Vec<Value>> {
    object.get("metadata")?.get("managedFields")?.as_array()
}

fn entry(key: &ManagerKey, owned: &Owned) -> Value {
    let mut entry = Map::new();
    let mut put = |name: &str, value: Value| entry.insert(name.to_owned(), value);
    if !key.manager.is_empty() {
        put("manager", Value::from(&*key.manager));
    }
    put("operation", Value::from(key.operation.as_str()));
    put("apiVersion", Value::from(&*owned.api_version));
    if let Some(time) = &owned.time {
        put("time", Value::from(&**time));
    }
    put("fieldsType", Value::from("FieldsV1"));
    put("fieldsV1", owned.set.to_fields_v1());
    if !key.subresource.is_empty() {
        put("subresource", Value::from(&*key.subresource));
    }
    Value::Object(entry)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_oldest_updates_are_put_together() {
        let entries: Vec<Value> = (0..13)
            .map(|n| {
                json!({"manager": format!("m{n:02}"), "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
                       "time": format!("2026-01-01T00:00:{n:02}Z"), "fieldsV1": {format!("f:{n}"): {}}})
            })
            .collect();
        let mut managers = Managers::read(&entries).expect("managers");
        managers.cap();
        assert_eq!(managers.entries.len(), MAX_UPDATE_MANAGERS);
        let ancient = managers
            .entries
            .iter()
            .find(|(key, _)| &*key.manager == ANCIENT)
            .map(|(_, owned)| owned);
        assert_eq!(
            ancient.map(|owned| (owned.set.paths().len(), owned.time.as_deref())),
            Some((4, Some("2026-01-01T00:00:03Z")))
        );
    }

    #[test]
    fn invalid_entries_make_the_list_unreadable() {
        let good = json!({"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {}});
        assert!(Managers::read(std::slice::from_ref(&good)).is_some());
        for (name, value) in [("operation", "Nope"), ("apiVersion", ""), ("fieldsType", "Other")] {
            let mut wrong = good.clone();
            wrong[name] = json!(value);
            assert!(Managers::read(&[wrong]).is_none(), "{name}");
        }
    }
}
