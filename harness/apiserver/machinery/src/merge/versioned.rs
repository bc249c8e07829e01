//! Owners of fields in other versions of a kind: a write is compared in the version of each owner.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::managed_fields::{ManagerKey, Managers, Owned};
use super::set::Set;
use super::typed::{Comparison, check, compare, fields_of, remove, with_named_fields};
use super::types::TypeModel;
use super::write::{VersionError, View, Write};

/// Returns the object in a version, or `None` if the kind is not served in it. Fails if the object does not fit the
/// types of the version.
fn view_of(write: &Write<'_>, object: &Value, api_version: &str) -> Result<Option<View>, VersionError> {
    let Some(view) = write.versions.convert(object, api_version)? else {
        return Ok(None);
    };
    if !view.model.is_builtin() {
        check(&view.model, &view.object, true)?;
    }
    Ok(Some(view))
}

/// Checks that the live object can be converted to the version of every manager.
pub(super) fn check_live(live: &Value, managers: &Managers, write: &Write<'_>) -> Result<(), VersionError> {
    let versions: BTreeSet<&str> = managers.entries.values().map(|owned| &*owned.api_version).collect();
    let mut others = versions.into_iter().filter(|version| *version != write.api_version);
    others.try_for_each(|version| view_of(write, live, version).map(drop))
}

/// The changes that a write makes in one version.
#[derive(Debug)]
pub(super) struct Change {
    /// Fields that were added or have another value.
    pub(super) set: Set,
    pub(super) removed: Set,
}

impl From<Comparison> for Change {
    fn from(comparison: Comparison) -> Self {
        let mut set = comparison.modified;
        set.unite(comparison.added);
        let removed = comparison.removed;
        Self { set, removed }
    }
}

/// The changes that a write makes: in its own version, and in every other version in which a manager owns fields.
#[derive(Debug)]
pub(super) struct Changes<'a> {
    own: &'a str,
    pub(super) change: Change,
    others: BTreeMap<Box<str>, Change>,
}

impl<'a> Changes<'a> {
    /// Returns the changes from the live object to the new one. A live object of `None` stands for an object before any
    /// field is set.
    pub(super) fn between(
        model: &TypeModel,
        live: Option<&Value>,
        new: &Value,
        managers: &Managers,
        write: &Write<'a>,
    ) -> Result<Self, VersionError> {
        let compared = |model: &TypeModel, live: Option<&Value>, new: &Value| {
            let ignored = model.ignored(write.subresource);
            Change::from(compare(model, live.unwrap_or_else(|| model.skeleton()), new).without(&ignored))
        };
        let versions: BTreeSet<&str> = managers.entries.values().map(|owned| &*owned.api_version).collect();
        let mut others = BTreeMap::new();
        for version in versions.into_iter().filter(|version| *version != write.api_version) {
            let live = live.map(|live| view_of(write, live, version)).transpose()?.flatten();
            let new = view_of(write, new, version);
            let new = new.map_err(|error| error.during("failed to convert new object"))?;
            let Some(new) = new else { continue };
            let live = live.map(|view| view.object);
            others.insert(Box::from(version), compared(&new.model, live.as_ref(), &new.object));
        }
        Ok(Self {
            own: write.api_version,
            change: compared(model, live, new),
            others,
        })
    }

    /// Returns the changes in a version, or `None` if the kind is not served in that version.
    pub(super) fn of(&self, api_version: &str) -> Option<&Change> {
        if api_version == self.own {
            Some(&self.change)
        } else {
            self.others.get(api_version)
        }
    }

    /// Removes the changed fields from all owners except `keep`; owners in versions that are not served are dropped.
    pub(super) fn take_from_others(&self, managers: &mut Managers, keep: Option<&ManagerKey>) {
        managers.entries.retain(|key, owned| {
            if Some(key) == keep {
                return true;
            }
            let Some(change) = self.of(&owned.api_version) else {
                return false;
            };
            for set in [&change.set, &change.removed] {
                owned.set.subtract(set);
            }
            true
        });
    }
}

/// Removes from the merged object the fields that the manager applied last and that no manager applies now, unless the
/// manager never added them.
pub(super) fn prune(
    model: &TypeModel,
    merged: Value,
    last: &Owned,
    owned: &BTreeMap<Box<str>, Set>,
    write: &Write<'_>,
) -> Result<Value, VersionError> {
    if owned.keys().all(|version| **version == *write.api_version) && *last.api_version == *write.api_version {
        let wanted = owned.get(write.api_version).cloned().unwrap_or_default();
        return Ok(prune_alone(model, &merged, &last.set, &wanted));
    }
    let pruned = prune_between(&merged, last, owned, write);
    let pruned = pruned.map_err(|error| error.during("failed to prune fields"))?;
    Ok(pruned.unwrap_or(merged))
}

/// [`prune`] with a single version.
fn prune_alone(model: &TypeModel, merged: &Value, last: &Set, wanted: &Set) -> Value {
    let without_last = remove(model, merged, &with_named_fields(model, last));
    let owned_back = add_back(model, merged, &without_last, wanted);
    add_back_dangling(model, merged, &owned_back, last)
}

/// [`prune`] with owners in different versions; `None` if the version that was applied last is not served.
fn prune_between(
    merged: &Value,
    last: &Owned,
    owned: &BTreeMap<Box<str>, Set>,
    write: &Write<'_>,
) -> Result<Option<Value>, VersionError> {
    let to_last = |object: &Value, which: &str| {
        let view = view_of(write, object, &last.api_version);
        view.map_err(|error| error.during(format!("failed to convert {which} object to last applied version")))
    };
    let Some(whole) = to_last(merged, "merged")? else {
        return Ok(None);
    };
    let mut pruned = remove(&whole.model, &whole.object, &with_named_fields(&whole.model, &last.set));
    let first = owned.get_key_value(&last.api_version);
    let rest = owned.iter().filter(|(version, _)| **version != last.api_version);
    for (version, wanted) in first.into_iter().chain(rest) {
        let in_version = |object: &Value, which: &str| {
            let view = view_of(write, object, version);
            view.map_err(|error| {
                let step = format!("failed to convert {which} object at version {version}");
                error.during(step).during("failed add back owned items")
            })
        };
        if let (Some(whole), Some(left)) = (in_version(merged, "merged")?, in_version(&pruned, "pruned")?) {
            pruned = add_back(&whole.model, &whole.object, &left.object, wanted);
        }
    }
    let Some(left) = to_last(&pruned, "pruned")? else {
        return Ok(None);
    };
    let pruned = add_back_dangling(&whole.model, &whole.object, &left.object, &last.set);
    let pruned = view_of(write, &pruned, write.api_version)?;
    Ok(pruned.map(|view| view.object))
}

/// Restores the owned fields.
fn add_back(model: &TypeModel, merged: &Value, pruned: &Value, wanted: &Set) -> Value {
    let named = |set: &Set| with_named_fields(model, set);
    let mut keep = named(&fields_of(model, pruned));
    keep.unite(named(wanted));
    remove(model, merged, &named(&fields_of(model, merged)).difference(&keep))
}

/// Restores the fields that the manager must not remove.
fn add_back_dangling(model: &TypeModel, merged: &Value, pruned: &Value, last: &Set) -> Value {
    let named = |set: &Set| with_named_fields(model, set);
    let gone = named(&fields_of(model, merged)).difference(&named(&fields_of(model, pruned)));
    remove(model, merged, &gone.intersection(&named(last)))
}
