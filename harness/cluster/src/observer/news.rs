//! Events of observers on their way to the timeline.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use baton_core::{
    names::ClusterName,
    timeline::{Change, Event, Mark, Revision},
};
use jiff::Timestamp;
use serde_json::json;
use tokio::sync::{mpsc, watch};

use super::recorder::Seen;
use crate::clock::Clock;

/// An event of an observer.
#[derive(Debug)]
pub(super) enum News {
    Seen(Seen),
    Fence {
        cluster: ClusterName,
        revision: u64,
        asked: Timestamp,
    },
}

/// Channel through which observers report events.
#[derive(Clone)]
pub(super) struct Reporter {
    pub(super) clock: Clock,
    pub(super) news: mpsc::UnboundedSender<News>,
    /// Bells of all members with a fence.
    pub(super) bells: Arc<BTreeMap<ClusterName, watch::Sender<u64>>>,
    pub(super) listed: Listed,
}

/// The kinds that have been listed, by cluster: all later changes of them are seen.
pub(super) type Listed = Arc<Mutex<BTreeSet<(ClusterName, String)>>>;

impl Reporter {
    pub(super) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Records that a kind has been listed. The note wakes steps that wait for a newly defined kind.
    pub(super) fn has_listed(&self, cluster: &ClusterName, kind: &str) {
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        listed.insert((cluster.clone(), kind.to_owned()));
        drop(listed);
        let note = Mark::Note {
            about: "observed from now on".to_owned(),
            details: json!({"cluster": cluster, "kind": kind}),
        };
        self.tell(News::Seen(Seen {
            at: self.now(),
            event: Event::Mark(note),
        }));
    }

    pub(super) fn tell(&self, news: News) {
        if let News::Seen(seen) = &news
            && let Event::Revision(revision) = &seen.event
            && comes_or_goes(revision)
        {
            for (_, bell) in self.bells.iter().filter(|(name, _)| **name != revision.cluster) {
                bell.send_modify(|rung| *rung += 1);
            }
        }
        // The receiver is gone once the timeline is closed.
        let _ = self.news.send(news);
    }
}

/// Detects that a copy on a member was created or deleted. Objects with an owner are ignored, because they follow their
/// owner.
fn comes_or_goes(revision: &Revision) -> bool {
    let comes_or_goes = matches!(revision.change, Change::Added | Change::Deleted);
    let owned = revision.object.pointer("/metadata/ownerReferences").is_some();
    comes_or_goes && !owned && !revision.cluster.is_control() && revision.kind != "Event"
}
