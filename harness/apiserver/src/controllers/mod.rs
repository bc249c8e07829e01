//! What a real cluster's controller manager and extension server do: definitions are established ([`definitions`]),
//! garbage is collected ([`garbage`]), deleted namespaces are emptied ([`namespaces`]). All of it follows from
//! commits; nothing polls.
//!
//! A commit puts what there is to look at into the [`Backlog`]; a task works it off and gives way after a few, so that a
//! large namespace does not hold up requests.

mod definitions;
mod garbage;
mod namespaces;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use serde_json::Value;
use tokio::sync::Notify;

use crate::admission;
use crate::fault_injection::Side;
use crate::handlers::{Caller, Core};
use crate::meta;
use crate::store::commits::Change;
use crate::store::{BucketId, Committed, key_of};

/// How many things are looked at before others have their turn. Theirs may be long: with one at a time the garbage of a
/// large cluster would stay for seconds while everybody is busy.
const AT_A_TIME: usize = 16;

/// One thing to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Task {
    /// An object with owners, or one that is being deleted with regard to its dependents.
    Object(BucketId, String),
    /// The objects that name this uid as an owner, which is gone.
    DependentsOf(String),
    /// The object with this uid, which has lost a dependent.
    Owner(String),
    /// A namespace that is being deleted.
    Namespace(String),
    /// A definition that is being deleted.
    Definition(String),
}

/// What is to be looked at, and who waits for it.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    tasks: Mutex<VecDeque<Task>>,
    /// Buckets whose last object lets a definition go.
    leaving: Mutex<BTreeMap<BucketId, String>>,
    wake: Arc<Notify>,
    started: std::sync::atomic::AtomicBool,
}

impl Backlog {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Task>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, task: Task) {
        let mut tasks = self.lock();
        if tasks.back() != Some(&task) {
            tasks.push_back(task);
        }
        drop(tasks);
        self.wake.notify_one();
    }

    /// Looks at a definition again whenever an object of its bucket goes.
    fn wait_for(&self, bucket: BucketId, definition: &str) {
        let mut leaving = self.leaving.lock().unwrap_or_else(PoisonError::into_inner);
        leaving.insert(bucket, definition.to_owned());
    }

    fn definition_waiting_for(&self, bucket: BucketId) -> Option<String> {
        self.leaving
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&bucket)
            .cloned()
    }

    fn pop(&self) -> Option<Task> {
        self.lock().pop_front()
    }
}

impl Drop for Backlog {
    fn drop(&mut self) {
        // The task sees that the server is gone, and ends.
        self.wake.notify_one();
    }
}

impl Core {
    /// The caller that the server itself is.
    pub(crate) fn own(name: &str) -> Caller {
        Caller {
            user: Arc::from(format!("system:{name}")),
            groups: Arc::from(["system:masters".to_owned()]),
            user_agent: Arc::from(name),
            side: Side::Inside,
        }
    }

    /// Does at once what must be seen at once, and notes the rest.
    pub(crate) fn after_commit(self: &Arc<Self>, committed: &Committed) {
        let Committed {
            bucket,
            change,
            stored,
            previous,
        } = committed;
        let object = &*stored.value();
        let deleted = *change == Change::Deleted;
        let leaving = !deleted && meta::deletion_timestamp(object).is_some();
        let api_version = object.get("apiVersion").and_then(Value::as_str);
        if api_version.is_some_and(|version| version.starts_with(admission::GROUP)) {
            self.refresh_admission();
        }
        if *bucket == self.definitions() {
            self.settle_definitions();
            if leaving {
                self.backlog
                    .push(Task::Definition(meta::name(object).unwrap_or_default().to_owned()));
            }
        }
        if deleted && let Some(definition) = self.backlog.definition_waiting_for(*bucket) {
            self.backlog.push(Task::Definition(definition));
        }
        if !self.options.collect_garbage {
            return;
        }
        if leaving || (!deleted && meta::owners(object).next().is_some()) {
            self.backlog.push(Task::Object(*bucket, key_of(object)));
        }
        if deleted
            && let Some(uid) = meta::uid(object)
            && self.store.has_dependents(uid)
        {
            self.backlog.push(Task::DependentsOf(uid.to_owned()));
        }
        let before = previous.as_ref().map(|previous| previous.value());
        for owner in before.iter().flat_map(|before| meta::owners(before)) {
            if deleted || meta::owners(object).all(|each| each.uid != owner.uid) {
                self.backlog.push(Task::Owner(owner.uid.to_owned()));
            }
        }
        if leaving && *bucket == self.buckets.namespaces {
            self.backlog
                .push(Task::Namespace(meta::name(object).unwrap_or_default().to_owned()));
        }
        if deleted && let Some(namespace) = meta::namespace(object) {
            let found = self.namespace(namespace);
            if found.is_some_and(|found| meta::deletion_timestamp(&found.value()).is_some()) {
                self.backlog.push(Task::Namespace(namespace.to_owned()));
            }
        }
    }

    /// Starts the task that works the backlog off; the first request does it, because a runtime is needed.
    pub(crate) fn ensure_running(self: &Arc<Self>) {
        if self.backlog.started.swap(true, std::sync::atomic::Ordering::SeqCst) {
            return;
        }
        tokio::spawn(run(Arc::downgrade(self), self.backlog.wake.clone()));
    }

    fn perform(self: &Arc<Self>, task: Task) {
        match task {
            Task::Object(bucket, key) => self.look_at(bucket, &key),
            Task::DependentsOf(uid) => {
                for (bucket, key) in self.store.dependents(&uid) {
                    self.look_at(bucket, &key);
                }
            }
            Task::Owner(uid) => {
                if let Some((bucket, owner)) = self.store.by_uid(&uid)
                    && meta::deletion_timestamp(&owner.value()).is_some()
                {
                    self.look_at(bucket, &key_of(&owner.value()));
                }
            }
            Task::Namespace(name) => self.empty_namespace(&name),
            Task::Definition(name) => self.empty_definition(&name),
        }
    }
}

async fn run(core: Weak<Core>, wake: Arc<Notify>) {
    loop {
        loop {
            let Some(core) = core.upgrade() else { return };
            if core.faults.reachable(Side::Inside).await.is_err() {
                core.faults.listening().await;
            }
            let mut done = 0;
            while done < AT_A_TIME
                && let Some(task) = core.backlog.pop()
            {
                core.perform(task);
                done += 1;
            }
            if done < AT_A_TIME {
                break;
            }
            drop(core);
            tokio::task::yield_now().await;
        }
        wake.notified().await;
    }
}
