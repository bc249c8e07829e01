//! Stands for kubelets, controllers and operators on clusters that have none.
//!
//! A client of one cluster. What it does there is said by rules in YAML (`fixtures/simulator`, and files of one's own beside
//! one's cases), in the manner of KWOK's stages; no kind is known to the code. To read in this order:
//!
//! - [`rules`]: what rules say; [`shapes`]: what a file of them may hold; `read`: reads them and finds what is wrong;
//! - [`template`] and `functions`: the templates in rules;
//! - `store`: what is known of the cluster; `plain`: objects as they are read from there;
//! - `engine`: watches, and carries out the rules that hold; `act` writes what they say;
//! - `ensure` and `merge`: which children to make, patch and delete, and how patches work. Pure.
//!
//! # Rules
//!
//! ```yaml
//! apiVersion: baton.dev/v1alpha1
//! kind: SimulatorRules
//! metadata: {name: pod}
//! spec:
//!   resource: {apiVersion: v1, kind: Pod}
//!   rules:
//!     - name: starts
//!       when: object.status.phase == "Pending"    # an expression; always, if absent
//!       after: 20ms                               # how long it must hold; a duration, or an expression that gives one
//!       status: |                                 # a template that gives YAML, merged into the status; null removes
//!         phase: Running
//!         startTime: {{ now() }}
//! ```
//!
//! Every rule is looked at whenever its object, one of its children, or a setting changes, and is carried out once
//! it has held for its time. A rule that would change nothing writes nothing. Instead of `status` a rule can have
//!
//! - `ensure`: the children that must be there (`objects`, a template that gives a list; kind, namespace and owner
//!   are added), when one counts as `ready` (an expression on `child`), how many may be unready `atOnce`, what
//!   becomes of those that are `changed` (`ignore`, `patch`, `replace`) and when `surplus` ones go (`now`, `whenReady`);
//! - `finalizers`: a template that gives the list;
//! - `delete: {}`.
//!
//! A rule with `status` can have `files` too: a template that gives what files in the folder that all members share
//! are to hold, by path. They are written first, so that the status can tell of them.
//!
//! Rules with `deleting: true` are for objects that are being deleted, all others are not.
//! Templates see `object`, `children` (those that it controls, by name), `settings`, and the functions of `functions`.
//!
//! # Settings
//!
//! Annotations on an object or on what controls it, directly or not; the nearest counts:
//!
//! | annotation | effect |
//! |---|---|
//! | `simulator.baton.dev/paused: "true"` | no rule is carried out for it |
//! | `simulator.baton.dev/ready: never` | never becomes ready; what is ready is so no more |
//! | `simulator.baton.dev/ready: 30s` | becomes ready after that time |
//! | `simulator.baton.dev/completes: 5s` or `never` | when the pods of a job are done |
//! | `simulator.baton.dev/checkpoint-every: 10s` | a Flink job writes a checkpoint at that interval |
//! | `simulator.baton.dev/records-per-second: "100"` | a Flink job counts the records of a source, and restores what it counted |

mod act;
mod engine;
mod ensure;
mod functions;
pub(crate) mod merge;
mod plain;
mod read;
pub mod rules;
pub mod shapes;
mod store;
pub mod template;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use jiff::SignedDuration;
use kube::Client;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{clock::Clock, storage::Storage};

pub use rules::Rules;

/// What a simulator needs beside its cluster and its rules.
#[derive(Clone)]
pub struct Options {
    /// The name of the cluster; ids and addresses differ from cluster to cluster.
    pub cluster: String,
    /// The time that it writes into objects. How long it waits is tokio's time.
    pub clock: Clock,
    /// Where its ids come from.
    pub seed: u64,
    /// The folder that all members of the fleet share.
    pub storage: Storage,
}

/// A simulator at work. It ends when it is stopped or dropped.
#[derive(Debug)]
pub struct Simulator {
    stop: DropGuard,
    task: JoinHandle<()>,
    failures: Failures,
}

impl Simulator {
    /// Begins to carry out rules on a cluster, now and until stopped. Needs a tokio runtime.
    pub fn start(client: Client, rules: Arc<Rules>, options: &Options) -> Self {
        let token = CancellationToken::new();
        let failures = Failures::default();
        let engine = engine::Engine::new(client, rules, options, failures.clone());
        let cancelled = token.clone();
        let task = tokio::spawn(async move {
            cancelled.run_until_cancelled(engine.run()).await;
        });
        Self {
            stop: token.drop_guard(),
            task,
            failures,
        }
    }

    /// Stops it. Nothing of it is left when this returns.
    pub async fn stop(self) {
        drop(self.stop);
        // A task that panicked has ended as well; its panic has been printed.
        let _ended = self.task.await;
    }

    /// Rules that could not be carried out because something is wrong with them, in words; the first hundred.
    pub fn failures(&self) -> Vec<String> {
        self.failures.all()
    }
}

/// What is wrong with rules and was found when they were carried out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Failures(Arc<Mutex<Vec<String>>>);

impl Failures {
    const MOST: usize = 100;

    pub(crate) fn add(&self, failure: String) {
        tracing::warn!("{failure}");
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < Self::MOST && !all.contains(&failure) {
            all.push(failure);
        }
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Reads a duration such as `50ms` or `1m30s`; not a negative one.
fn duration(text: &str) -> Option<Duration> {
    let duration: SignedDuration = text.parse().ok()?;
    Duration::try_from(duration).ok()
}
