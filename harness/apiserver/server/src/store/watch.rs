//! Watches on the store: a cursor into the history of a resource. A watcher has no queue, so that one that does not
//! read costs nothing; if events that it has not read are dropped from the history, the watch ends with an error.

use std::sync::Arc;

use super::{BucketId, Compacted, Event, Store};
use crate::ordered_notify::OrderedNotify;

/// Maximum number of events taken from the history at a time.
const BATCH: usize = 64;

/// Reason for which a watch ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The watcher has fallen behind the history.
    Lagged,
    /// The resource is no longer served.
    Retired,
}

/// The next events of a cursor.
pub(crate) struct Taken {
    pub(crate) events: Vec<Arc<Event>>,
    /// The last revision of the store: without events, the cursor has seen all revisions up to it.
    pub(crate) revision: u64,
}

/// A place in the history of one resource.
pub(crate) struct Cursor {
    store: Arc<Store>,
    bucket: BucketId,
    position: u64,
    retired: u64,
    signal: Arc<OrderedNotify<u64>>,
    /// The number of changes when no events were left; `None` if there may be some.
    heard: Option<u64>,
}

impl Store {
    /// Returns a cursor at the first event after a revision.
    pub(crate) fn follow(self: &Arc<Self>, bucket: BucketId, after: u64) -> Result<Cursor, Compacted> {
        let inner = self.lock();
        let bucket_ref = &inner.buckets[bucket.0];
        let signal = bucket_ref.subscribe();
        Ok(Cursor {
            store: self.clone(),
            bucket,
            position: bucket_ref.position_after(after)?,
            retired: bucket_ref.retired,
            heard: None,
            signal,
        })
    }
}

impl Cursor {
    /// Returns `true` if there may be events to take. Does not lock the store, because a thousand other watches do the
    /// same.
    pub(crate) fn has_news(&self) -> bool {
        self.heard != Some(self.signal.get())
    }

    /// Returns the next events; none if there are no new ones.
    pub(crate) fn take(&mut self) -> Result<Taken, Ended> {
        let changes = self.signal.get();
        let inner = self.store.lock();
        let bucket = &inner.buckets[self.bucket.0];
        let events = bucket.events_from(self.position, BATCH).ok_or(Ended::Lagged)?;
        let retired = bucket.retired != self.retired;
        let revision = inner.revision;
        drop(inner);
        if events.is_empty() && retired {
            return Err(Ended::Retired);
        }
        self.heard = (events.len() < BATCH && !retired).then_some(changes);
        self.position += u64::try_from(events.len()).unwrap_or_default();
        Ok(Taken { events, revision })
    }

    /// Waits until there are events.
    pub(crate) async fn changed(&self) {
        self.signal.wait_for(|changes| self.heard != Some(*changes)).await;
    }
}
