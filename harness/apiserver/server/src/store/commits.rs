//! The tap: every revision, in the order of commits.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use baton_apimachinery::meta;
use futures::Stream;
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::mpsc;

use super::{Change, Stored};

/// One stored revision of one object.
#[derive(Debug, Clone)]
pub struct Commit {
    /// The number of the revision: the object's `resourceVersion`, also for a deletion.
    pub revision: u64,
    /// The time of the commit by the server's clock; for [`Change::Existing`], the time at which the tap was opened.
    pub at: Timestamp,
    /// The kind of change.
    pub change: Change,
    /// `apiVersion` of the stored object.
    pub api_version: String,
    /// `kind` of the stored object.
    pub kind: String,
    /// The whole object.
    pub object: Arc<Value>,
    /// The user agent of the request; empty for [`Change::Existing`].
    pub by: Arc<str>,
}

impl Commit {
    pub(super) fn new(change: Change, stored: &Stored, at: Timestamp, by: Arc<str>) -> Self {
        let object = stored.value();
        let text = |key: &str| meta::text(&object, key).to_owned();
        Self {
            revision: stored.revision,
            at,
            change,
            api_version: text("apiVersion"),
            kind: text("kind"),
            object,
            by,
        }
    }
}

/// A stream of [`Commit`]s. It buffers unread commits without bound and ends with the server.
#[derive(Debug)]
pub struct Commits(mpsc::UnboundedReceiver<Commit>);

impl Commits {
    pub(super) fn new(receiver: mpsc::UnboundedReceiver<Commit>) -> Self {
        Self(receiver)
    }

    /// Returns the next commit, or `None` when the server is gone.
    pub async fn recv(&mut self) -> Option<Commit> {
        self.0.recv().await
    }

    /// Returns a commit that has already happened, without waiting.
    pub fn try_recv(&mut self) -> Option<Commit> {
        self.0.try_recv().ok()
    }
}

impl Stream for Commits {
    type Item = Commit;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Commit>> {
        self.0.poll_recv(cx)
    }
}
