//! The work of a real cluster's controller manager and extension server: establishes definitions ([`definitions`]),
//! collects garbage ([`garbage`]), empties deleted namespaces ([`namespaces`]), fills Secrets for tokens ([`tokens`]).
//! All of it follows from commits; nothing polls.
//!
//! A commit puts tasks into the [`backlog`](crate::backlog); the controllers' task carries them out and yields after a
//! few, so that a large namespace does not hold up requests.

mod definitions;
mod garbage;
mod namespaces;
pub(crate) mod tokens;

use std::sync::{Arc, Weak};

use baton_apimachinery::meta;
use tokio::sync::Notify;

use crate::backlog::Task;
use crate::handlers::Core;
use crate::requests::Side;
use crate::store::key_of;

/// Maximum number of tasks before other work gets its turn. The other work may take long: with one task at a time, the
/// garbage of a large cluster would stay for seconds while the server is busy.
const AT_A_TIME: usize = 16;

/// Starts the task that works on the backlog, unless it runs. The first request starts it, because it needs a runtime.
pub(crate) fn ensure_running(core: &Arc<Core>) {
    if core.backlog.start() {
        tokio::spawn(run(Arc::downgrade(core), core.backlog.wake()));
    }
}

impl Core {
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
            Task::TokenSecret(key) => self.keep_token_secret(&key),
            Task::TokenSecrets(namespace) => self.keep_token_secrets(&namespace),
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
