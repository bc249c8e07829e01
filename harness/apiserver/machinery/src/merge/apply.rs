//! Field ownership: records every write in `metadata.managedFields`, and implements server-side apply.
//!
//! [`update`] is for creates, updates and patches: it makes the writer the owner of the fields that it changed.
//! [`apply`] merges the document of a manager into the live object. Call both with the object after defaulting and
//! before admission, as the real server does; then call [`settle`], so that a write that changes only times does not
//! count as a write.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::conflict::{Conflict, Conflicts};
use super::last_applied::{self, Refused};
use super::managed_fields::{self, ManagerKey, Managers, Operation, Owned};
use super::set::Set;
use super::typed::{TypeErrors, check, combine, fields_of};
use super::types::TypeModel;
use super::versioned::{self, Changes};
use crate::meta::{self, same_but};

pub use super::write::{OneVersion, VersionError, Versions, View, Write};

/// The manager that owns the fields of objects that were never applied before.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// The result of an apply.
#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    /// The whole new object, with its `managedFields`. Not yet defaulted.
    pub object: Value,
}

/// Reason for which an apply was refused.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Others own fields with different values: 409 with reason `Conflict`.
    #[error(transparent)]
    Conflicts(#[from] Conflicts),
    /// The document cannot be applied: 400.
    #[error("{0}")]
    BadRequest(String),
    /// The document does not fit its type: 500 without a reason.
    #[error("failed to create typed patch object ({about}): {source}")]
    Document {
        /// The namespace, name and type in the document.
        about: String,
        /// The errors.
        source: TypeErrors,
    },
    /// The object does not fit the version of another manager: 500 without a reason.
    #[error(transparent)]
    Version(#[from] VersionError),
}

impl Write<'_> {
    fn key(&self, operation: Operation) -> ManagerKey {
        ManagerKey::new(self.manager, operation, self.api_version, self.subresource)
    }

    fn time(&self) -> Box<str> {
        self.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into()
    }
}

/// Returns the manager of a request: the `fieldManager` parameter, or the user agent up to the first slash.
pub fn manager_or_user_agent(field_manager: Option<&str>, user_agent: &str) -> String {
    if let Some(manager) = field_manager.filter(|manager| !manager.is_empty()) {
        return manager.to_owned();
    }
    let mut manager = String::new();
    for character in user_agent.split('/').next().unwrap_or_default().chars() {
        if character.is_control() {
            continue;
        }
        if manager.len() + character.len_utf8() > 128 {
            break;
        }
        manager.push(character);
    }
    if manager.is_empty() {
        manager.push_str("unknown");
    }
    manager
}

/// Records in `metadata.managedFields` of `new` who changed `live` (`None` for a create) into `new`. Clients may set or
/// clear the managed fields with a write to the object itself.
pub fn update(model: &TypeModel, live: Option<&Value>, new: &mut Value, write: &Write<'_>) {
    let mut managers = live_or_new(live, new, write.subresource);
    take_managed_fields(new);
    if !model.is_builtin() && check(model, new, true).is_err() {
        // If the object does not fit its types, in a part that the request cannot change, its managed fields are
        // dropped.
        return;
    }
    let untracked = managers.entries.is_empty() && live.is_some();
    if !untracked {
        if record(model, live, new, &mut managers, write).is_err() {
            // The same if the object cannot be converted to the version of another manager.
            return;
        }
        managers.cap();
    }
    managers.write(new);
}

/// Merges the document of a manager into the live object; `None` if there is no live object yet.
pub fn apply(
    model: &TypeModel,
    live: Option<&Value>,
    applied: &Value,
    write: &Write<'_>,
    force: bool,
) -> Result<Applied, ApplyError> {
    acceptable(model, applied, write)?;
    let mut managers = Managers::of(live);
    let mut base = live.cloned().unwrap_or_else(|| model.skeleton().clone());
    take_managed_fields(&mut base);
    if managers.entries.is_empty() && live.is_some() {
        let before = Write {
            manager: BEFORE_FIRST_APPLY,
            ..*write
        };
        record(model, None, &base, &mut managers, &before)?;
    }
    let object = match merge(model, &base, applied, &mut managers, write, force) {
        Err(Unmerged::Refused(refused)) if write.manager == last_applied::MANAGER => {
            let others = last_applied::without_allowed(model, &base, refused);
            if !others.is_empty() {
                return Err(conflicts(&others).into());
            }
            merge(model, &base, applied, &mut managers, write, true)?
        }
        outcome => outcome?,
    };
    let changed = object != base;
    if let Some(mine) = managers.entries.get_mut(&write.key(Operation::Apply))
        && changed
        && write.subresource != "scale"
    {
        mine.time = Some(write.time());
    }
    let mut object = object;
    if write.manager == last_applied::MANAGER {
        last_applied::renew(&mut object, applied);
    }
    managers.write(&mut object);
    Ok(Applied { object })
}

/// Keeps the old managed fields if only their times have changed, so that such a write changes nothing.
pub fn settle(old: &Value, new: &mut Value) {
    let (Some(before), Some(after)) = (managed_fields::list(old), managed_fields::list(new)) else {
        return;
    };
    let same_but_times = || {
        let listed = |entry: &Value| after.iter().any(|other| same_but(Some(entry), Some(other), "time"));
        before.len() == after.len() && before.iter().all(listed)
    };
    let same = same_but(Some(old), Some(new), "metadata")
        && same_but(old.get("metadata"), new.get("metadata"), "managedFields")
        && same_but_times();
    if same && let Some(metadata) = new.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("managedFields".to_owned(), Value::Array(before.clone()));
    }
}

/// Removes a field from all its owners.
pub fn disown(object: &mut Value, path: &[&str]) {
    let mut managers = Managers::of(Some(object));
    let mut field = Set::default();
    field.insert_path(path);
    for owned in managers.entries.values_mut() {
        owned.set.subtract(&field);
    }
    managers.drop_empty();
    managers.write(object);
}

fn take_managed_fields(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
}

/// Returns the managers to start from: those that the client sent, if any, or those of the live object.
fn live_or_new(live: Option<&Value>, new: &Value, subresource: &str) -> Managers {
    if subresource.is_empty()
        && let Some(sent) = managed_fields::list(new)
    {
        let reset = match sent.as_slice() {
            [] => true,
            [single] => single.as_object().is_some_and(Map::is_empty),
            _ => false,
        };
        if reset {
            return Managers::default();
        }
        if let Some(sent) = Managers::read(sent)
            && !sent.entries.is_empty()
        {
            return sent;
        }
    }
    Managers::of(live)
}

/// Makes the writer the owner of the fields that it changed, and removes these and the removed fields from the other
/// managers.
fn record(
    model: &TypeModel,
    live: Option<&Value>,
    new: &Value,
    managers: &mut Managers,
    write: &Write<'_>,
) -> Result<(), VersionError> {
    let changes = Changes::between(model, live, new, managers, write)?;
    let mut mine = changes.change.set.clone();
    let owned_by_somebody = || {
        let mut owned = managers.entries.values();
        owned.any(|owned| owned.set.meets(&mine))
    };
    // For the scale subresource, only owners of the replicas count: without an owner, the write is not tracked.
    let tracked = write.subresource != "scale" || owned_by_somebody();
    changes.take_from_others(managers, None);
    strip(&mut mine);
    if tracked && !mine.is_empty() {
        let key = write.key(Operation::Update);
        let owned = managers.entries.entry(key).or_insert_with(|| Owned {
            api_version: write.api_version.into(),
            set: Set::default(),
            time: None,
        });
        owned.set.unite(mine);
        // Writes to the scale subresource are recorded without times.
        if write.subresource != "scale" {
            owned.time = Some(write.time());
        }
    }
    managers.drop_empty();
    Ok(())
}

/// Removes the fields without owners: those that identify an object and those that the server writes.
fn strip(set: &mut Set) {
    use std::sync::LazyLock;
    static NOBODYS: LazyLock<Set> = LazyLock::new(|| {
        let mut set = Set::default();
        for name in ["apiVersion", "kind", "metadata"] {
            set.insert_path(&[name]);
        }
        for name in [
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        ] {
            set.insert_path(&["metadata", name]);
        }
        set
    });
    set.subtract(&NOBODYS);
}

fn acceptable(model: &TypeModel, applied: &Value, write: &Write<'_>) -> Result<(), ApplyError> {
    let text = |name: &str| meta::text(applied, name);
    if text("apiVersion") != write.api_version {
        return Err(ApplyError::BadRequest(format!(
            "Incorrect version specified in apply patch. Specified patch version: {}, expected: {}",
            text("apiVersion"),
            write.api_version
        )));
    }
    let metadata = |name: &str| applied.get("metadata").and_then(|metadata| metadata.get(name));
    if metadata("managedFields").is_some_and(|list| !list.is_null()) {
        return Err(ApplyError::BadRequest("metadata.managedFields must be nil".to_owned()));
    }
    let Err(source) = check(model, applied, false) else {
        return Ok(());
    };
    let named = |name: &str| metadata(name).and_then(Value::as_str).unwrap_or_default();
    let group_version = if write.api_version.contains('/') {
        write.api_version.to_owned()
    } else {
        format!("/{}", write.api_version)
    };
    let (namespace, name, kind) = (named("namespace"), named("name"), text("kind"));
    let about = format!("{namespace}/{name}; {group_version}, Kind={kind}");
    Err(ApplyError::Document { about, source })
}

/// Reason for which nothing was merged.
enum Unmerged {
    Refused(Refused),
    Failed(VersionError),
}

impl From<VersionError> for Unmerged {
    fn from(error: VersionError) -> Self {
        Self::Failed(error)
    }
}

impl From<Unmerged> for ApplyError {
    fn from(unmerged: Unmerged) -> Self {
        match unmerged {
            Unmerged::Refused(refused) => conflicts(&refused).into(),
            Unmerged::Failed(error) => error.into(),
        }
    }
}

fn conflicts(refused: &Refused) -> Conflicts {
    let of = |(key, set): &(ManagerKey, Set)| {
        let manager = key.written();
        let paths = set.paths().into_iter();
        paths
            .map(|field| Conflict {
                manager: manager.clone(),
                field,
            })
            .collect::<Vec<_>>()
    };
    Conflicts(refused.iter().flat_map(of).collect())
}

/// Merges the applied object into the live one and removes fields that are no longer applied. Managers stay as they
/// were if there are conflicts.
fn merge(
    model: &TypeModel,
    live: &Value,
    applied: &Value,
    managers: &mut Managers,
    write: &Write<'_>,
    force: bool,
) -> Result<Value, Unmerged> {
    versioned::check_live(live, managers, write)?;
    let key = write.key(Operation::Apply);
    let ignored = model.ignored(write.subresource);
    let set = fields_of(model, applied).recursive_difference(&ignored);
    let last = managers.entries.get(&key).cloned();
    let merged = combine(model, live, applied);
    let object = match &last {
        Some(last) if !last.set.is_empty() => {
            let mut wanted = BTreeMap::from([(Box::from(write.api_version), set.clone())]);
            for (_, owned) in managers.entries.iter().filter(|(other, _)| **other != key) {
                wanted
                    .entry(owned.api_version.clone())
                    .or_default()
                    .unite(owned.set.clone());
            }
            versioned::prune(model, merged, last, &wanted, write)?
        }
        _ => merged,
    };
    let changes = Changes::between(model, Some(live), &object, managers, write)?;
    let contested: Refused = managers
        .entries
        .iter()
        .filter(|(other, _)| **other != key)
        .filter_map(|(other, owned)| {
            let common = owned.set.intersection(&changes.of(&owned.api_version)?.set);
            Some((other.clone(), common)).filter(|(_, common)| !common.is_empty())
        })
        .collect();
    if !force && !contested.is_empty() {
        return Err(Unmerged::Refused(contested));
    }
    changes.take_from_others(managers, Some(&key));
    let mut mine = set;
    strip(&mut mine);
    let owned = Owned {
        api_version: write.api_version.into(),
        set: mine,
        time: last.and_then(|last| last.time),
    };
    managers.entries.insert(key, owned);
    managers.drop_empty();
    Ok(object)
}
