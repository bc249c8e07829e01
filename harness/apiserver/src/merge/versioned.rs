//! Owners of fields in other versions of a kind: what a write changes is looked at in the version of each of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::apply::Write;
use super::managers::{ManagerKey, Managers, Owned};
use super::set::Set;
use super::typed::{Comparison, compare, fields_of, remove, with_named_fields};
use super::types::TypeModel;

/// How objects of a kind look in its other versions.
pub trait Versions: fmt::Debug {
    /// The object in that version and the types of the version; `None` if the kind is not served in it.
    fn convert(&self, object: &Value, api_version: &str) -> Option<(Arc<TypeModel>, Value)>;
}

/// A kind that there is in one version only.
#[derive(Debug, Clone, Copy)]
pub struct OneVersion;

impl Versions for OneVersion {
    fn convert(&self, _: &Value, _: &str) -> Option<(Arc<TypeModel>, Value)> {
        None
    }
}

/// What a write changes in one version.
#[derive(Debug)]
pub(super) struct Change {
    /// What was added or has another value.
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

/// What a write changes: in its own version, and in each other one that somebody owns fields in.
#[derive(Debug)]
pub(super) struct Changes<'a> {
    own: &'a str,
    pub(super) change: Change,
    others: BTreeMap<Box<str>, Change>,
}

impl<'a> Changes<'a> {
    /// What makes the new object of the live one; `None` is what there is before anything was set.
    pub(super) fn between(
        model: &TypeModel,
        live: Option<&Value>,
        new: &Value,
        managers: &Managers,
        write: &Write<'a>,
    ) -> Self {
        let compared = |model: &TypeModel, live: Option<&Value>, new: &Value| {
            let ignored = model.ignored(write.subresource);
            Change::from(compare(model, live.unwrap_or_else(|| model.skeleton()), new).without(&ignored))
        };
        let versions: BTreeSet<&str> = managers.entries.values().map(|owned| &*owned.api_version).collect();
        let others = versions.into_iter().filter(|version| *version != write.api_version);
        let in_version = |version: &str| {
            let (model, new) = write.versions.convert(new, version)?;
            let live = match live {
                Some(live) => Some(write.versions.convert(live, version)?.1),
                None => None,
            };
            Some((Box::from(version), compared(&model, live.as_ref(), &new)))
        };
        Self {
            own: write.api_version,
            change: compared(model, live, new),
            others: others.filter_map(in_version).collect(),
        }
    }

    /// What it changes in a version; `None` if the kind is not served in that.
    pub(super) fn of(&self, api_version: &str) -> Option<&Change> {
        if api_version == self.own {
            Some(&self.change)
        } else {
            self.others.get(api_version)
        }
    }

    /// Takes what it changes from all owners but one; those of versions that are not served go.
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

/// An object in a version.
struct View {
    model: Arc<TypeModel>,
    object: Value,
}

/// Removes from the merged object what a manager applied last and nobody applies now, unless it never was there by them.
pub(super) fn prune(
    model: &TypeModel,
    merged: Value,
    last: &Owned,
    owned: &BTreeMap<Box<str>, Set>,
    write: &Write<'_>,
) -> Value {
    if owned.keys().all(|version| **version == *write.api_version) && *last.api_version == *write.api_version {
        let wanted = owned.get(write.api_version).cloned().unwrap_or_default();
        return prune_alone(model, &merged, &last.set, &wanted);
    }
    prune_between(&merged, last, owned, write).unwrap_or(merged)
}

/// [`prune`] where there is one version.
fn prune_alone(model: &TypeModel, merged: &Value, last: &Set, wanted: &Set) -> Value {
    let without_last = remove(model, merged, &with_named_fields(model, last));
    let owned_back = add_back(model, merged, &without_last, wanted);
    add_back_dangling(model, merged, &owned_back, last)
}

/// [`prune`] where owners know different versions; `None` if the version that was applied last is not served.
fn prune_between(merged: &Value, last: &Owned, owned: &BTreeMap<Box<str>, Set>, write: &Write<'_>) -> Option<Value> {
    let in_version = |object: &Value, version: &str| {
        let (model, object) = write.versions.convert(object, version)?;
        Some(View { model, object })
    };
    let whole = in_version(merged, &last.api_version)?;
    let mut pruned = remove(&whole.model, &whole.object, &with_named_fields(&whole.model, &last.set));
    let first = owned.get_key_value(&last.api_version);
    let rest = owned.iter().filter(|(version, _)| **version != last.api_version);
    for (version, wanted) in first.into_iter().chain(rest) {
        if let (Some(whole), Some(left)) = (in_version(merged, version), in_version(&pruned, version)) {
            pruned = add_back(&whole.model, &whole.object, &left.object, wanted);
        }
    }
    let left = in_version(&pruned, &last.api_version)?;
    let pruned = add_back_dangling(&whole.model, &whole.object, &left.object, &last.set);
    Some(in_version(&pruned, write.api_version)?.object)
}

/// Puts back what is owned.
fn add_back(model: &TypeModel, merged: &Value, pruned: &Value, wanted: &Set) -> Value {
    let named = |set: &Set| with_named_fields(model, set);
    let mut keep = named(&fields_of(model, pruned));
    keep.unite(named(wanted));
    remove(model, merged, &named(&fields_of(model, merged)).difference(&keep))
}

/// Puts back what was not the manager's to remove.
fn add_back_dangling(model: &TypeModel, merged: &Value, pruned: &Value, last: &Set) -> Value {
    let named = |set: &Set| with_named_fields(model, set);
    let gone = named(&fields_of(model, merged)).difference(&named(&fields_of(model, pruned)));
    remove(model, merged, &gone.intersection(&named(last)))
}
