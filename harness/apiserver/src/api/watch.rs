//! Watches: a cursor in the history of a resource, seen through selectors.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::accept::{self, Format, View};
use super::body::ResponseBody;
use super::negotiate::partial;
use super::options;
use super::read::{selectors, show};
use super::reply::{Reply, write_object};
use super::{Call, Core};
use crate::levers::Side;
use crate::meta;
use crate::registry::Resource;
use crate::selector::Selectors;
use crate::status::ApiError;
use crate::store::commits::Change;
use crate::store::watch::{Cursor, Ended};
use crate::store::{Event, Stored};

/// How long a watch lasts that says nothing about it.
const DEFAULT_TIMEOUT_SECS: i64 = 1800;
/// How often a watch that allows bookmarks gets one.
const BOOKMARK_PERIOD: Duration = Duration::from_secs(60);

struct Watch {
    core: Arc<Core>,
    resource: Arc<Resource>,
    prefix: String,
    selectors: Selectors,
    cursor: Cursor,
    pending: VecDeque<Bytes>,
    deadline: Instant,
    bookmark_at: Option<Instant>,
    view: View,
    over: bool,
    breaks: u64,
    side: Side,
}

impl Core {
    pub(super) fn watch(self: &Arc<Self>, call: &Call) -> Result<Reply, ApiError> {
        options::check_watch(call)?;
        let form = accept::of_call(call)?;
        if form.format == Format::Yaml {
            return Err(accept::not_acceptable(
                "only the following media types are accepted: application/json;stream=watch, \
                 application/vnd.kubernetes.protobuf;stream=watch"
                    .to_owned(),
            ));
        }
        let mut selectors = selectors(call)?;
        if let Some(name) = &call.name {
            selectors.fields = crate::selector::fields::FieldSelector::name(name);
        }
        let send_initial = call.query.flag("sendInitialEvents");
        let after = options::version(call.query.get("resourceVersion")).map_err(ApiError::plain_500)?;
        let bookmarks = call.query.is_set("allowWatchBookmarks");
        let prefix = call.prefix();
        let mut pending = VecDeque::new();
        let wants_state = send_initial.unwrap_or(after.is_none());
        let (state, start) = self.store.list(call.resource.bucket, &prefix);
        if wants_state {
            for stored in state.iter().filter(|stored| selectors.matches(&stored.value)) {
                pending.push_back(line(form.view, &call.resource, "ADDED", stored));
            }
            if send_initial == Some(true) && bookmarks {
                pending.push_back(bookmark(form.view, &call.resource, start, true));
            }
        }
        let from = if wants_state { start } else { after.unwrap_or(start) };
        let cursor = match self.store.follow(call.resource.bucket, from) {
            Ok(cursor) => cursor,
            Err(compacted) => {
                let message = format!("too old resource version: {from} ({})", compacted.oldest);
                return Ok(Reply::Watch(
                    ResponseBody::full(error_line(&ApiError::expired(message))),
                    "application/json",
                ));
            }
        };
        let timeout = call
            .query
            .number("timeoutSeconds")?
            .filter(|secs| *secs > 0)
            .unwrap_or(DEFAULT_TIMEOUT_SECS);
        let now = Instant::now();
        let watch = Watch {
            core: self.clone(),
            resource: call.resource.clone(),
            prefix,
            selectors,
            cursor,
            pending,
            deadline: now + Duration::from_secs(u64::try_from(timeout).unwrap_or_default()),
            bookmark_at: bookmarks.then(|| now + BOOKMARK_PERIOD),
            view: form.view,
            over: false,
            breaks: self.levers.breaks(),
            side: call.caller.side,
        };
        Ok(Reply::Watch(ResponseBody::lines(watch.lines()), "application/json"))
    }
}

impl Watch {
    fn lines(self) -> impl Stream<Item = io::Result<Bytes>> + Send {
        futures::stream::unfold(
            self,
            |mut watch| async move { watch.next().await.map(|line| (line, watch)) },
        )
    }

    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            let reached = self.core.levers.reachable(self.side).await;
            if reached.is_err() || self.core.levers.breaks() != self.breaks {
                if self.over {
                    return None;
                }
                self.over = true;
                self.pending.clear();
                return Some(Err(io::ErrorKind::ConnectionReset.into()));
            }
            if let Some(line) = self.pending.pop_front() {
                return Some(Ok(line));
            }
            if self.over {
                return None;
            }
            let revision = self.cursor.revision();
            match self.cursor.take() {
                Ok(events) if events.is_empty() => self.wait(revision).await,
                Ok(events) => {
                    for event in events {
                        self.pending.extend(self.seen(&event));
                    }
                }
                Err(Ended::Retired) => self.over = true,
                Err(Ended::Lagged) => {
                    self.over = true;
                    let error = ApiError::expired("The resourceVersion for the provided watch is too old.");
                    self.pending.push_back(error_line(&error));
                }
            }
        }
    }

    async fn wait(&mut self, revision: u64) {
        let wake = self.bookmark_at.map_or(self.deadline, |at| at.min(self.deadline));
        let levers = self.core.levers.clone();
        tokio::select! {
            biased;
            () = levers.moved(self.side, self.breaks) => {}
            () = self.cursor.changed() => {}
            () = tokio::time::sleep_until(wake) => {
                if wake == self.deadline {
                    self.over = true;
                } else {
                    self.bookmark_at = Some(wake + BOOKMARK_PERIOD);
                    self.pending.push_back(bookmark(self.view, &self.resource, revision, false));
                }
            }
        }
    }

    /// The line for an event, if the watch sees it.
    fn seen(&self, event: &Event) -> Option<Bytes> {
        if !self.prefix.is_empty() && !in_namespace(&event.object.value, &self.prefix) {
            return None;
        }
        if self.selectors.is_empty() {
            let typed = event.change.watch_type();
            if self.view == View::Whole && self.resource.api_version == self.resource.storage_api_version {
                return Some(event.line(|| line(self.view, &self.resource, typed, &event.object)));
            }
            return Some(line(self.view, &self.resource, typed, &event.object));
        }
        let before = event
            .previous
            .as_ref()
            .is_some_and(|previous| self.selectors.matches(&previous.value));
        let after = event.change != Change::Deleted && self.selectors.matches(&event.object.value);
        match (before, after) {
            (true, true) => Some(line(self.view, &self.resource, "MODIFIED", &event.object)),
            (false, true) => Some(line(self.view, &self.resource, "ADDED", &event.object)),
            (true, false) if event.change == Change::Deleted => {
                Some(line(self.view, &self.resource, "DELETED", &event.object))
            }
            (true, false) => event
                .previous
                .as_ref()
                .map(|previous| gone(self.view, &self.resource, previous, event.object.revision)),
            (false, false) => None,
        }
    }
}

fn in_namespace(object: &Value, prefix: &str) -> bool {
    meta::namespace(object).is_some_and(|namespace| prefix.strip_suffix('/') == Some(namespace))
}

fn line(view: View, resource: &Resource, typed: &str, stored: &Arc<Stored>) -> Bytes {
    let shown = show(resource, stored);
    if view != View::Whole {
        return line_of(typed, &seen_as(view, shown.value()));
    }
    let members = shown.members();
    let mut out = Vec::with_capacity(members.len() + 120);
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(typed.as_bytes());
    out.extend_from_slice(b"\",\"object\":");
    write_object(&mut out, &resource.api_version, &resource.kind, &members);
    out.extend_from_slice(b"}\n");
    Bytes::from(out)
}

/// An object in the view of the watch. Tables are sent as whole objects, which clients of tables understand as well.
fn seen_as(view: View, object: &Value) -> Value {
    match view {
        View::Whole | View::Table(_) => object.clone(),
        View::Partial(version) | View::PartialList(version) => partial(object, version),
    }
}

/// An object that no longer matches: its last matching state, at the revision at which it ceased to.
fn gone(view: View, resource: &Resource, previous: &Arc<Stored>, revision: u64) -> Bytes {
    let mut object = super::read::convert(&previous.value, resource);
    meta::set(&mut object, "resourceVersion", revision.to_string());
    line_of("DELETED", &seen_as(view, &object))
}

fn line_of(typed: &str, object: &Value) -> Bytes {
    Bytes::from(format!("{}\n", json!({"type": typed, "object": object})))
}

fn bookmark(view: View, resource: &Resource, revision: u64, initial_end: bool) -> Bytes {
    let mut object = json!({
        "kind": resource.kind,
        "apiVersion": resource.api_version,
        "metadata": {"resourceVersion": revision.to_string()},
    });
    if initial_end {
        meta::set(&mut object, "annotations", json!({"k8s.io/initial-events-end": "true"}));
    }
    line_of("BOOKMARK", &seen_as(view, &object))
}

fn error_line(error: &ApiError) -> Bytes {
    line_of("ERROR", &error.to_status())
}
