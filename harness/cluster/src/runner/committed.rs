//! Commits that are not yet on the timeline, for observers that learn of them late.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::{
    case::model::{Condition, Subject},
    select,
    timeline::{Change, Entry, Event, ObjectId},
    watch::Known,
};
use futures::future::try_join_all;
use kube::{
    Api, ResourceExt,
    api::{DynamicObject, ListParams},
};
use serde_json::Value;

use crate::{
    actions::{self, ActionError, BATON},
    fleet::Cluster,
};

/// API versions of bindings, Works and Clusters.
const BINDINGS: &str = "work.karmada.io/v1alpha2";
const WORKS: &str = "work.karmada.io/v1alpha1";
const CLUSTERS: &str = "cluster.karmada.io/v1alpha1";

/// Commits that are not on the timeline yet.
#[derive(Debug, Default)]
pub(super) struct Committed {
    /// Objects whose revision is missing: this one or a later one.
    to_come: BTreeMap<ObjectId, u64>,
    /// Objects whose deletion is missing.
    to_go: BTreeSet<ObjectId>,
}

impl Committed {
    /// Lists the objects of a condition on the clusters, and compares them with the timeline so far.
    ///
    /// # Errors
    /// If a cluster does not answer.
    pub(super) async fn now(
        condition: &Condition,
        known: &Known,
        clusters: &[Cluster],
        seen: &[Entry],
    ) -> Result<Self, ActionError> {
        let place = select::place_of(&condition.of, &condition.on);
        let places = select::clusters(place, &known.bindings, &known.members);
        let kinds = kinds(&condition.of);
        let asked = clusters.iter().filter(|cluster| places.contains(cluster.name()));
        let asked = asked.flat_map(|cluster| kinds.iter().map(move |(version, kind)| (cluster, version, kind)));
        let lists = try_join_all(asked.map(|(cluster, version, kind)| list(cluster, version, kind))).await?;
        let there = lists.into_iter().flatten().collect();
        let asked = |id: &ObjectId| places.contains(&id.cluster) && kinds.iter().any(|(_, kind)| *kind == id.kind);
        Ok(Self::of(there, seen, asked))
    }

    /// Compares the listed objects with the entries of the timeline before the list.
    fn of(there: BTreeMap<ObjectId, u64>, seen: &[Entry], asked: impl Fn(&ObjectId) -> bool) -> Self {
        let mut shown = BTreeMap::new();
        for (id, revision, gone) in seen.iter().filter_map(revision) {
            if gone {
                shown.remove(&id);
            } else {
                shown.insert(id, revision);
            }
        }
        let to_go = shown.keys().filter(|id| asked(id) && !there.contains_key(*id));
        let to_go = to_go.cloned().collect();
        let is_new = |id: &ObjectId, revision: u64| shown.get(id).is_none_or(|shown| *shown < revision);
        let to_come = there.into_iter().filter(|(id, revision)| is_new(id, *revision));
        let to_come = to_come.collect();
        Self { to_come, to_go }
    }

    /// Handles new entries.
    pub(super) fn see(&mut self, news: &[Entry]) {
        for (id, revision, gone) in news.iter().filter_map(revision) {
            if gone {
                self.to_go.remove(&id);
            }
            if self.to_come.get(&id).is_some_and(|to_come| revision >= *to_come) {
                self.to_come.remove(&id);
            }
        }
    }

    /// Checks whether the timeline has caught up.
    pub(super) fn is_shown(&self) -> bool {
        self.to_come.is_empty() && self.to_go.is_empty()
    }
}

/// Kinds of the objects that a subject may denote, with their API versions.
fn kinds(subject: &Subject) -> Vec<(String, String)> {
    let of = |version: &str, kinds: &[&str]| {
        let kinds = kinds.iter();
        kinds.map(|kind| (version.to_owned(), (*kind).to_owned())).collect()
    };
    match subject {
        Subject::Object(object) => of(&object.api_version, &[&object.kind]),
        Subject::BindingOf(_) | Subject::BindingsOf(_) => of(BINDINGS, &select::BINDING_KINDS),
        Subject::WorkOf { .. } => of(WORKS, &["Work"]),
        Subject::Cluster(_) => of(CLUSTERS, &["Cluster"]),
        Subject::EventOf(_) | Subject::NewsOf(_) => of("v1", &["Event"]),
        Subject::NoticeOf(_) => [of("v1", &["Event"]), of(BINDINGS, &select::BINDING_KINDS)].concat(),
    }
}

/// Lists all objects of a kind on a cluster, with their revisions.
async fn list(cluster: &Cluster, api_version: &str, kind: &str) -> Result<BTreeMap<ObjectId, u64>, ActionError> {
    let client = cluster.inside(BATON);
    let (resource, _) = actions::served(&client, api_version, kind).await?;
    let api: Api<DynamicObject> = Api::all_with(client, &resource);
    let listed = api.list_metadata(&ListParams::default()).await;
    let listed = listed.map_err(|source| ActionError::Refused {
        what: format!("listing {kind} on {}", cluster.name()),
        source: Box::new(source),
    })?;
    let items = listed.items.into_iter().filter_map(|object| {
        let revision = object.resource_version()?.parse().ok()?;
        let id = ObjectId {
            cluster: cluster.name().clone(),
            kind: kind.to_owned(),
            namespace: object.namespace().unwrap_or_default(),
            name: object.name_any(),
        };
        Some((id, revision))
    });
    Ok(items.collect())
}

/// The object of an entry, its revision, and whether the entry is a deletion.
fn revision(entry: &Entry) -> Option<(ObjectId, u64, bool)> {
    let Event::Revision(revision) = &entry.event else {
        return None;
    };
    let number = revision
        .object
        .pointer("/metadata/resourceVersion")
        .and_then(Value::as_str);
    let number = number.and_then(|it| it.parse().ok()).unwrap_or_default();
    Some((ObjectId::of(revision), number, revision.change == Change::Deleted))
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use baton_core::{names::ClusterName, timeline::Revision};
    use serde_json::json;

    use super::*;

    fn entry(change: Change, name: &str, revision: u64) -> Entry {
        let object = json!({"metadata": {"name": name, "resourceVersion": revision.to_string()}});
        Entry {
            at: Duration::ZERO,
            seq: revision,
            event: Event::Revision(Revision {
                cluster: ClusterName::control(),
                kind: "Cluster".to_owned(),
                change,
                object: Arc::new(object),
                by: None,
            }),
        }
    }

    fn there(objects: &[(&str, u64)]) -> BTreeMap<ObjectId, u64> {
        let id = |name: &str| ObjectId {
            cluster: ClusterName::control(),
            kind: "Cluster".to_owned(),
            namespace: String::new(),
            name: name.to_owned(),
        };
        objects.iter().map(|(name, revision)| (id(name), *revision)).collect()
    }

    #[test]
    fn a_timeline_shows_what_is_committed_once_it_has_caught_up() {
        let seen = [
            entry(Change::Added, "changed", 1),
            entry(Change::Added, "gone", 2),
            entry(Change::Added, "same", 3),
            entry(Change::Added, "of-others", 4),
        ];
        let listed = there(&[("changed", 7), ("same", 3), ("new", 6)]);
        let mut committed = Committed::of(listed, &seen, |id| id.name != "of-others");
        let news = [
            entry(Change::Modified, "changed", 5),
            entry(Change::Added, "new", 6),
            entry(Change::Modified, "changed", 7),
            entry(Change::Deleted, "gone", 8),
        ];
        for entry in news {
            assert!(!committed.is_shown(), "{committed:?}");
            committed.see(&[entry]);
        }
        assert!(committed.is_shown(), "{committed:?}");
    }

    #[test]
    fn what_has_come_and_gone_meanwhile_is_not_waited_for() {
        let listed = there(&[("short-lived", 1)]);
        let mut committed = Committed::of(listed, &[], |_| true);
        committed.see(&[entry(Change::Deleted, "short-lived", 2)]);
        assert!(committed.is_shown(), "{committed:?}");
    }
}
