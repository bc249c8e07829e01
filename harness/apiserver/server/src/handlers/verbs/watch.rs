//! Watches: a cursor in the history of a resource, filtered by selectors.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use baton_apimachinery::meta;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{FutureExt as _, Stream};
use serde_json::{Value, json};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::api_error::ApiError;
use crate::conversion::Conversions;
use crate::fault_injection::FaultInjector;
use crate::handlers::codecs::accept::{self, Form, Format, View};
use crate::handlers::codecs::body::ResponseBody;
use crate::handlers::codecs::reply::Reply;
use crate::handlers::codecs::table;
use crate::handlers::codecs::wish::{Wish, partial};
use crate::handlers::query::Query;
use crate::handlers::shown::Shown;
use crate::handlers::verbs::options;
use crate::handlers::verbs::read::selectors;
use crate::handlers::versioning::{in_version, matches, show};
use crate::handlers::{Call, Core};
use crate::registry::Resource;
use crate::requests::Side;
use crate::selector::Selectors;
use crate::store::Change;
use crate::store::watch::{Cursor, Ended};
use crate::store::{Event, Stored};

/// Default duration of a watch in seconds.
const DEFAULT_TIMEOUT_SECS: i64 = 1800;
/// Interval between bookmarks.
const BOOKMARK_PERIOD: Duration = Duration::from_secs(60);
/// Number of initial objects that are sent at once.
const AT_ONCE: usize = 100;
/// Time between the last bookmark and the end of the watch, so that the client resumes from there; without news there
/// is no such bookmark.
const BEFORE_END: Duration = Duration::from_secs(2);

struct Watch {
    core: Arc<Core>,
    prefix: String,
    selectors: Selectors,
    cursor: Cursor,
    /// The initial objects that have not been sent yet.
    state: std::vec::IntoIter<Arc<Stored>>,
    /// The revision of the bookmark that follows the initial objects.
    state_end: Option<u64>,
    pending: VecDeque<Bytes>,
    deadline: Instant,
    bookmark_at: Option<Instant>,
    /// Set if an object of the kind has changed since the watch began.
    has_news: bool,
    /// Ends when a bookmark is due, or with the watch.
    timer: Pin<Box<Sleep>>,
    viewer: Viewer,
    over: bool,
    breaks: u64,
    side: Side,
    /// Ends when faults end or pause the watch.
    moved: BoxFuture<'static, ()>,
}

impl Core {
    pub(in crate::handlers) fn watch(self: &Arc<Self>, call: &Call) -> Result<Reply, ApiError> {
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
        let current = self.store.revision();
        if let Some(wanted) = after.filter(|wanted| send_initial == Some(true) && *wanted > current) {
            let line = error_line(&options::too_new(wanted, current));
            return Ok(Reply::Watch(ResponseBody::full(line), "application/json"));
        }
        let bookmarks = call.query.is_set("allowWatchBookmarks");
        let prefix = call.prefix();
        let viewer = Viewer {
            core: self.clone(),
            resource: call.resource.clone(),
            query: call.query.clone(),
            form,
            headed: false,
            conversions: Conversions::default(),
        };
        let wants_state = send_initial.unwrap_or(after.is_none());
        let (state, from) = match after.filter(|_| !wants_state) {
            Some(after) => (Vec::new(), after),
            None if wants_state => self.present(call),
            None => (Vec::new(), self.store.revision()),
        };
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
        let now = Instant::now();
        let deadline = now + timeout(call)?;
        let bookmark_at = if bookmarks { next_bookmark(now, deadline) } else { None };
        let side = call.caller.side;
        let breaks = self.faults.breaks(side);
        let watch = Watch {
            core: self.clone(),
            prefix,
            selectors,
            cursor,
            state: state.into_iter(),
            state_end: (wants_state && bookmarks).then_some(from),
            pending: VecDeque::new(),
            deadline,
            bookmark_at,
            has_news: false,
            timer: Box::pin(sleep_until(wake_at(deadline, bookmark_at))),
            viewer,
            over: false,
            breaks,
            side,
            moved: moved(self.faults.clone(), side, breaks),
        };
        Ok(Reply::Watch(ResponseBody::lines(watch.lines()), "application/json"))
    }
}

/// Returns the duration of a watch.
fn timeout(call: &Call) -> Result<Duration, ApiError> {
    let wanted = call.query.number("timeoutSeconds")?.filter(|secs| *secs > 0);
    let secs = u64::try_from(wanted.unwrap_or(DEFAULT_TIMEOUT_SECS));
    Ok(Duration::from_secs(secs.unwrap_or_default()))
}

impl Watch {
    /// Returns the lines. A watch is moved for each of them, so it is boxed.
    fn lines(self) -> impl Stream<Item = io::Result<Bytes>> + Send {
        futures::stream::unfold(Box::new(self), |mut watch| async move {
            watch.next().await.map(|line| (line, watch))
        })
    }

    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            let faults = &self.core.faults;
            if !faults.untouched(self.side, self.breaks)
                && (faults.reachable(self.side).await.is_err() || faults.breaks(self.side) != self.breaks)
            {
                if self.over {
                    return None;
                }
                self.over = true;
                self.pending.clear();
                return Some(Err(io::ErrorKind::ConnectionReset.into()));
            }
            let kind = Some(self.viewer.resource.kind.as_str());
            self.core.faults.released(self.side, kind).await;
            if let Some(line) = self.pending.pop_front() {
                return Some(Ok(line));
            }
            if self.over {
                return None;
            }
            if !self.state.as_slice().is_empty() {
                self.tell_state().await;
            } else if let Some(revision) = self.state_end.take() {
                self.pending.push_back(self.viewer.bookmark(revision, true));
            } else if self.cursor.has_news() {
                self.follow().await;
            } else {
                self.wait().await;
            }
        }
    }

    /// Takes the next events; returns the revision up to which the watch has seen all, or `None` if it is over.
    async fn follow(&mut self) -> Option<u64> {
        match self.cursor.take() {
            Ok(taken) => {
                self.has_news |= !taken.events.is_empty();
                if self.viewer.converts() {
                    let objects = taken.events.iter().map(|event| &event.object);
                    let before = taken.events.iter().filter_map(|event| event.previous.as_ref());
                    let before = before.filter(|_| !self.selectors.is_empty());
                    self.viewer.ask(objects.chain(before));
                    self.viewer.fetch().await;
                }
                for event in &taken.events {
                    let line = self.seen(event);
                    self.pending.extend(line);
                }
                self.check_conversions();
                let last = taken.events.last();
                Some(last.map_or(taken.revision, |event| event.object.revision))
            }
            Err(ended) => {
                self.over = true;
                if ended == Ended::Lagged {
                    let error = ApiError::expired("The resourceVersion for the provided watch is too old.");
                    self.pending.push_back(error_line(&error));
                }
                None
            }
        }
    }

    /// Sends the next initial objects.
    async fn tell_state(&mut self) {
        let mut some: Vec<_> = self.state.by_ref().take(AT_ONCE).collect();
        if self.viewer.converts() {
            self.viewer.ask(some.iter());
            self.viewer.fetch().await;
        }
        some.retain(|stored| self.matches(stored));
        for stored in &some {
            self.pending.push_back(self.viewer.line("ADDED", stored));
        }
        self.check_conversions();
    }

    /// Ends a watch that cannot show an event, with the reason.
    fn check_conversions(&mut self) {
        if let Err(error) = self.viewer.conversions.settled() {
            self.pending.clear();
            self.pending.push_back(error_line(&error));
            self.over = true;
        }
    }

    /// Waits for something to do. The futures are kept from one call to the next: creating them for every event would
    /// take longer than all the rest.
    async fn wait(&mut self) {
        tokio::select! {
            biased;
            () = &mut self.moved => self.moved = moved(self.core.faults.clone(), self.side, self.breaks),
            () = self.cursor.changed() => {}
            () = self.timer.as_mut() => {
                let now = self.timer.deadline();
                if now == self.deadline {
                    self.over = true;
                } else {
                    self.bookmark_at = next_bookmark(now, self.deadline);
                    self.timer.as_mut().reset(wake_at(self.deadline, self.bookmark_at));
                    let seen = self.follow().await;
                    if let Some(revision) = seen.filter(|_| self.has_news || now + BEFORE_END < self.deadline) {
                        let line = self.viewer.bookmark(revision, false);
                        self.pending.push_back(line);
                    }
                }
            }
        }
    }

    fn matches(&self, stored: &Arc<Stored>) -> bool {
        matches(&self.selectors, &self.viewer.resource, &self.viewer.conversions, stored)
    }

    /// Returns the line for an event, if the watch sees it.
    fn seen(&mut self, event: &Event) -> Option<Bytes> {
        if !event.key.starts_with(&self.prefix) {
            return None;
        }
        if self.selectors.is_empty() {
            return Some(self.viewer.line(event.change().watch_type(), &event.object));
        }
        let before = event.previous.as_ref().is_some_and(|previous| self.matches(previous));
        let after = event.change() != Change::Deleted && self.matches(&event.object);
        match (before, after) {
            (true, true) => Some(self.viewer.line("MODIFIED", &event.object)),
            (false, true) => Some(self.viewer.line("ADDED", &event.object)),
            (true, false) if event.change() == Change::Deleted => Some(self.viewer.line("DELETED", &event.object)),
            (true, false) => event
                .previous
                .as_ref()
                .map(|previous| self.viewer.gone(previous, event.object.revision)),
            (false, false) => None,
        }
    }
}

fn moved(faults: FaultInjector, side: Side, breaks: u64) -> BoxFuture<'static, ()> {
    async move { faults.moved(side, breaks).await }.boxed()
}

/// Returns the time of the next bookmark, or `None` if the watch ends before.
fn next_bookmark(now: Instant, deadline: Instant) -> Option<Instant> {
    let last = deadline.checked_sub(BEFORE_END)?;
    (now < last).then(|| last.min(now + BOOKMARK_PERIOD))
}

fn wake_at(deadline: Instant, bookmark_at: Option<Instant>) -> Instant {
    bookmark_at.map_or(deadline, |at| at.min(deadline))
}

/// The form in which a watch shows its objects.
struct Viewer {
    core: Arc<Core>,
    resource: Arc<Resource>,
    query: Query,
    form: Form,
    /// Set once a table with the definitions of its columns has been sent: later tables leave them out.
    headed: bool,
    /// The conversions that the next events need.
    conversions: Conversions,
}

impl Viewer {
    /// Returns `true` if the objects may need conversion by a webhook.
    fn converts(&self) -> bool {
        self.resource.converter().is_some()
    }

    /// Collects the objects that need conversion; forgets earlier ones.
    fn ask<'a>(&self, objects: impl Iterator<Item = &'a Arc<Stored>>) {
        self.conversions.clear();
        for object in objects {
            show(&self.resource, &self.conversions, object);
        }
    }

    async fn fetch(&self) {
        self.conversions.fetch(&self.core.ids).await;
    }

    fn line(&mut self, typed: &str, stored: &Arc<Stored>) -> Bytes {
        let shown = show(&self.resource, &self.conversions, stored);
        if self.form.view != View::Whole {
            return line_of(typed, &self.seen_as(&shown));
        }
        match &shown {
            Shown::Stored(stored) if stored.change.watch_type() == typed => stored.text().line().clone(),
            Shown::Stored(_) | Shown::Value(_) => shown.with_text(|text| text.line_of(typed)),
        }
    }

    /// Returns an object in the view of the watch.
    fn seen_as(&mut self, object: &Shown) -> Value {
        match self.form.view {
            View::Whole => Value::clone(&object.value()),
            View::Partial(version) | View::PartialList(version) => partial(&object.value(), version),
            View::Table(version) => {
                let wish = Wish {
                    form: self.form,
                    query: &self.query,
                    now: (self.core.options.clock)(),
                    pretty: false,
                };
                let metadata = json!({"resourceVersion": meta::resource_version(&object.value()).unwrap_or_default()});
                let table = table::table(&wish, &self.resource, std::slice::from_ref(object), &metadata, version);
                // The options of a table are checked before the watch begins.
                let mut table = table.unwrap_or_else(|_| Value::clone(&object.value()));
                if self.headed
                    && let Some(members) = table.as_object_mut()
                {
                    members.insert("columnDefinitions".to_owned(), Value::Null);
                }
                self.headed = true;
                table
            }
        }
    }

    /// Returns the event for an object that no longer matches: its last matching state, at the revision of the change.
    fn gone(&mut self, previous: &Arc<Stored>, revision: u64) -> Bytes {
        let mut object = in_version(&self.resource, &self.conversions, &previous.value());
        meta::set(&mut object, "resourceVersion", revision.to_string());
        line_of("DELETED", &self.seen_as(&Shown::Value(Arc::new(object))))
    }

    fn bookmark(&mut self, revision: u64, initial_end: bool) -> Bytes {
        let mut object = json!({
            "kind": self.resource.kind,
            "apiVersion": self.resource.api_version,
            "metadata": {"resourceVersion": revision.to_string()},
        });
        if initial_end {
            meta::set(&mut object, "annotations", json!({"k8s.io/initial-events-end": "true"}));
        }
        // The table of a bookmark would have a row without an object.
        match self.form.view {
            View::Whole | View::Table(_) => line_of("BOOKMARK", &object),
            View::Partial(_) | View::PartialList(_) => {
                line_of("BOOKMARK", &self.seen_as(&Shown::Value(Arc::new(object))))
            }
        }
    }
}

fn line_of(typed: &str, object: &Value) -> Bytes {
    Bytes::from(format!("{}\n", json!({"type": typed, "object": object})))
}

fn error_line(error: &ApiError) -> Bytes {
    line_of("ERROR", &error.to_status())
}
