//! Work that follows from commits: requests add tasks, the controllers carry them out.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::store::BucketId;

/// A task of the controllers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Task {
    /// An object with owners, or a deleted object with dependents.
    Object(BucketId, String),
    /// The objects that name this uid as an owner, which no longer exists.
    DependentsOf(String),
    /// The object with this uid, which has lost a dependent.
    Owner(String),
    /// A namespace that is being deleted.
    Namespace(String),
    /// A definition that is being deleted.
    Definition(String),
    /// A Secret for the token of a service account.
    TokenSecret(String),
    /// The token Secrets in a namespace that has lost a service account.
    TokenSecrets(String),
}

/// The open tasks, and the definitions that wait for their last object.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    tasks: Mutex<VecDeque<Task>>,
    /// Buckets in which the deletion of the last object releases a definition.
    leaving: Mutex<BTreeMap<BucketId, String>>,
    wake: Arc<Notify>,
    started: AtomicBool,
}

impl Backlog {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Task>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, task: Task) {
        let mut tasks = self.lock();
        if tasks.back() != Some(&task) {
            tasks.push_back(task);
        }
        drop(tasks);
        self.wake.notify_one();
    }

    /// Queues a definition again whenever an object of its bucket is deleted.
    pub(crate) fn wait_for(&self, bucket: BucketId, definition: &str) {
        let mut leaving = self.leaving.lock().unwrap_or_else(PoisonError::into_inner);
        leaving.insert(bucket, definition.to_owned());
    }

    /// Returns the definition that waits for the objects of a bucket to be deleted.
    pub(crate) fn definition_waiting_for(&self, bucket: BucketId) -> Option<String> {
        self.leaving
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&bucket)
            .cloned()
    }

    pub(crate) fn pop(&self) -> Option<Task> {
        self.lock().pop_front()
    }

    /// Returns `true` on the first call, when no task works on the backlog yet.
    pub(crate) fn start(&self) -> bool {
        !self.started.swap(true, Ordering::SeqCst)
    }

    /// Returns the notification for new tasks.
    pub(crate) fn wake(&self) -> Arc<Notify> {
        Arc::clone(&self.wake)
    }
}

impl Drop for Backlog {
    fn drop(&mut self) {
        // The task then finds the server gone, and ends.
        self.wake.notify_one();
    }
}
