//! Workload simulator: replaces kubelets, controllers and operators on clusters that have none.
//!
//! A client of one cluster. YAML rules define its actions (`fixtures/simulator`, and additional files next to cases),
//! similar to the stages of KWOK; the code knows no kinds. In reading order:
//!
//! - [`rules`]: checked rules; [`shapes`]: the format of rule files; `read`: parses and checks rules;
//! - [`template`] and `functions`: the templates in rules;
//! - `store`: the known objects of the cluster; `plain`: their representation;
//! - `engine`: watches, and carries out the rules that hold; `act` writes their results; `backoff` delays failed watches;
//! - `ensure` and `merge`: children to create, patch and delete, and JSON merge patches, without I/O.
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
//! Every rule is evaluated whenever its object, one of its children, or a setting changes, and is carried out once it
//! has held for its time. A rule that would change nothing writes nothing. Instead of `status` a rule can have
//!
//! - `ensure`: the required children (`objects`, a template that returns a list; kind, namespace and owner are added),
//!   when one counts as `ready` (an expression on `child`), how many may be unready `atOnce`, what happens to those
//!   that are `changed` (`ignore`, `patch`, `replace`) and when `surplus` ones are deleted (`now`, `whenReady`);
//! - `finalizers`: a template that returns the list;
//! - `delete: {}`.
//!
//! A rule with `status` can also have `files`: a template that returns contents of files in the folder that all members
//! share, by path. They are written before the status, so that the status can refer to them.
//!
//! Rules with `deleting: true` apply only to objects that are being deleted, all others only to objects that are not.
//! Templates see `object`, `children` (the objects that it controls, by name), `settings`, and the functions of
//! `functions`.
//!
//! # Settings
//!
//! Annotations on an object or on its controllers, direct or indirect; the nearest one counts:
//!
//! | annotation | effect |
//! |---|---|
//! | `simulator.baton.dev/paused: "true"` | no rule is carried out for the object |
//! | `simulator.baton.dev/ready: never` | never becomes ready; an object that is ready becomes unready |
//! | `simulator.baton.dev/ready: 30s` | becomes ready after that time |
//! | `simulator.baton.dev/completes: 5s` or `never` | when the pods of a job are done |
//! | `simulator.baton.dev/checkpoint-every: 10s` | a Flink job writes a checkpoint at that interval |
//! | `simulator.baton.dev/records-per-second: "100"` | a Flink job counts the records of a source, and restores what it counted |

mod act;
mod backoff;
mod engine;
mod ensure;
pub(crate) mod functions;
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

/// Options of a simulator.
#[derive(Clone)]
pub struct Options {
    /// Name of the cluster; ids and addresses differ between clusters.
    pub cluster: String,
    /// Time that is written into objects. Delays use tokio's time.
    pub clock: Clock,
    /// Random seed for ids.
    pub seed: u64,
    /// Folder that all members of the fleet share.
    pub storage: Storage,
}

/// A running simulator. It ends when it is stopped or dropped.
#[derive(Debug)]
pub struct Simulator {
    stop: DropGuard,
    task: JoinHandle<()>,
    failures: Failures,
}

impl Simulator {
    /// Starts to carry out rules on a cluster, until it is stopped. Needs a tokio runtime.
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

    /// Stops it, and waits until it has ended.
    pub async fn stop(self) {
        drop(self.stop);
        // A task that panicked has ended as well; its panic has been printed.
        let _ended = self.task.await;
    }

    /// Messages about rules that could not be carried out because they have errors; the first hundred.
    pub fn failures(&self) -> Vec<String> {
        self.failures.all()
    }
}

/// Errors in rules that were found while they were carried out.
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

/// Parses a duration such as `50ms` or `1m30s`; `None` if it is negative.
fn duration(text: &str) -> Option<Duration> {
    let duration: SignedDuration = text.parse().ok()?;
    Duration::try_from(duration).ok()
}
