//! Readiness and taints of the Cluster objects with one name, along a timeline.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    judge::failovers::Moment,
    timeline::{Change, Entry, Revision},
};

/// Taints, each with the moments at which it came and got its time.
pub(super) type Taints = BTreeMap<Taint, Since>;

/// Moments of a taint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Since {
    /// When it was added.
    pub(super) added: Moment,
    /// When it got its `timeAdded`; `None` if it has none yet.
    pub(super) dated: Option<Moment>,
}

/// The Cluster objects of one name.
#[derive(Default)]
pub(super) struct OfCluster {
    /// The `NoExecute` taints after an entry; an item for each change.
    taints: Vec<(Moment, Taints)>,
    /// Set if it ever had a `PreferNoExecute` taint.
    pub(super) ever_preferred: bool,
    /// The place of the first entry at which it was not ready, or gone.
    pub(super) out_of_reach: Option<usize>,
    /// Entries at which it left, or came back.
    comings: Vec<(u64, bool)>,
}

impl OfCluster {
    /// Takes in the next revision of it.
    pub(super) fn take(&mut self, place: usize, entry: &Entry, revision: &Revision) {
        let listed = |pointer| {
            let list = revision.object.pointer(pointer).and_then(Value::as_array);
            list.map(Vec::as_slice).unwrap_or_default()
        };
        let unready = |it: &Value| it["type"] == "Ready" && it["status"] != "True";
        if revision.change == Change::Deleted || listed("/status/conditions").iter().any(unready) {
            self.out_of_reach.get_or_insert(place);
        }
        let is_there = revision.change != Change::Deleted;
        if self.comings.last().is_none_or(|(_, was_there)| *was_there != is_there) {
            self.comings.push((entry.seq, is_there));
        }
        let taints = listed("/spec/taints");
        self.ever_preferred |= taints.iter().any(|it| it["effect"] == "PreferNoExecute");
        let before = self.taints.last().map(|(_, taints)| taints);
        let now = taints.iter().filter_map(|it| {
            let taint = Taint::no_execute(it)?;
            let since = before.and_then(|before| before.get(&taint));
            let dated = || it.get("timeAdded").map(|_| entry.into());
            let since = Since {
                added: since.map_or_else(|| entry.into(), |since| since.added),
                dated: since.and_then(|since| since.dated).or_else(dated),
            };
            Some((taint, since))
        });
        let now: Taints = now.collect();
        if before.is_none_or(|before| *before != now) {
            self.taints.push((entry.into(), now));
        }
    }

    /// True if the cluster had been removed just before an entry.
    pub(super) fn has_left_before(&self, seq: u64) -> bool {
        let last = self.comings.iter().rfind(|(at, _)| *at < seq);
        last.is_some_and(|(_, is_there)| !is_there)
    }

    /// The `NoExecute` taints that it had just before an entry.
    pub(super) fn taints_before(&self, seq: u64) -> Option<&Taints> {
        let known = self.taints.partition_point(|(since, _)| since.seq < seq);
        let (_, taints) = self.taints.get(known.checked_sub(1)?)?;
        Some(taints)
    }

    /// The `NoExecute` taints that it had at any time before an entry, each with the moment at which it was removed, if it was.
    pub(super) fn all_taints_before(&self, seq: u64) -> Vec<(&Taint, Since, Option<Moment>)> {
        let known = &self.taints[..self.taints.partition_point(|(since, _)| since.seq < seq)];
        let mut all = Vec::new();
        for (place, (_, taints)) in known.iter().enumerate() {
            let next = known.get(place + 1);
            for (taint, since) in taints {
                let stays = |now: &Taints| now.get(taint).is_some_and(|it| it.added == since.added);
                match next {
                    Some((at, now)) if !stays(now) => all.push((taint, *since, Some(*at))),
                    None => all.push((taint, *since, None)),
                    Some(_) => {}
                }
            }
        }
        all
    }
}

/// A `NoExecute` taint.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Taint {
    pub(super) key: String,
    pub(super) value: String,
}

impl Taint {
    fn no_execute(taint: &Value) -> Option<Self> {
        let text = |member| taint.get(member).and_then(Value::as_str).unwrap_or_default();
        (text("effect") == "NoExecute").then(|| Self {
            key: text("key").to_owned(),
            value: text("value").to_owned(),
        })
    }
}
