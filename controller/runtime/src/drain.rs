//! The command that drains a cluster: marks the Cluster and reports the progress (DRN-01).

use std::collections::BTreeMap;
use std::time::Duration;

use baton_decide::api::{Binding, Cluster, PurgeMode, Work};
use baton_decide::drain::{self, Progress, Request};
use baton_decide::keys::ObjectKey;
use baton_decide::names::execution_space;
use clap::Parser;
use futures::stream::{BoxStream, SelectAll, select_all};
use futures::{StreamExt as _, TryStreamExt as _};
use jiff::SignedDuration;
use kube::Client;
use kube::api::{Api, DynamicObject};
use kube::runtime::watcher::{self, Event};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::clock::Clock;
use crate::object_api::{ObjectApi, Part, WriteError};
use crate::source::{Scope, Source};

/// Arguments of a drain.
#[derive(Clone, Debug)]
pub struct Drain {
    /// Name of the cluster.
    pub cluster: String,
    /// Options for workloads that leave the cluster.
    pub request: Request,
    /// Maximum time that the command waits.
    pub timeout: Duration,
}

/// Arguments of the command, for the program and for library users.
#[derive(Clone, Debug, Parser)]
#[command(name = "drain")]
pub struct DrainArgs {
    /// Name of the cluster.
    cluster: String,
    /// Maximum time to wait.
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = duration)]
    timeout: Duration,
    /// Purge mode for workloads whose policy has no failover.cluster; overrides the controller's option.
    #[arg(long, value_name = "MODE", value_parser = ["Directly", "Gracefully"])]
    purge_mode: Option<String>,
    /// Grace period under Gracefully for workloads whose policy has none.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(i32).range(1..))]
    grace_period: Option<i32>,
}

impl DrainArgs {
    /// Converts the arguments into a drain.
    pub fn into_drain(self) -> Drain {
        let mode = self.purge_mode.map(|mode| match mode.as_str() {
            "Directly" => PurgeMode::Directly,
            _ => PurgeMode::Gracefully,
        });
        Drain {
            cluster: self.cluster,
            request: Request {
                purge_mode: mode,
                grace_period_seconds: self.grace_period,
            },
            timeout: self.timeout,
        }
    }
}

/// An invalid duration.
#[derive(Debug, thiserror::Error)]
enum DurationError {
    /// The text is not a duration.
    #[error(transparent)]
    Format(#[from] jiff::Error),
    /// The duration is negative.
    #[error("a time cannot be negative")]
    Negative,
}

fn duration(text: &str) -> Result<Duration, DurationError> {
    let duration = text.parse::<SignedDuration>()?;
    Duration::try_from(duration).map_err(|_| DurationError::Negative)
}

/// Result of a drain.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Drained {
    /// The cluster holds no workloads any more.
    Empty,
    /// The time is up and workloads are left. The controller continues.
    TimedOut,
    /// The cluster does not exist.
    NoCluster,
}

impl Drained {
    /// Returns the exit code of the program.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Empty => 0,
            Self::TimedOut => 1,
            Self::NoCluster => 2,
        }
    }
}

/// Drains a cluster; calls `tell` with a line whenever the progress changes.
///
/// # Errors
/// Fails if the cluster cannot be read or marked.
pub async fn run(
    control: Client,
    clock: Clock,
    drain: &Drain,
    tell: &mut (dyn FnMut(String) + Send),
) -> Result<Drained, WriteError> {
    let deadline = Instant::now() + drain.timeout;
    let name = &drain.cluster;
    if get(&control, name).await?.is_none() {
        tell(format!("there is no cluster {name}"));
        return Ok(Drained::NoCluster);
    }
    let (mut seen, mut watches) = (Seen::default(), watches(&control, name));
    let (mut progress, mut told, mut is_marked) = (Progress::default(), String::new(), false);
    loop {
        let Ok(Some(event)) = tokio::time::timeout_at(deadline, watches.next()).await else {
            let text = progress.describe(name);
            tell(format!("not drained within {} s: {text}", drain.timeout.as_secs()));
            return Ok(Drained::TimedOut);
        };
        seen.learn(event);
        if !seen.is_complete() {
            continue;
        }
        progress.look(seen.works.values(), &seen.bindings);
        let text = progress.describe(name);
        if text != told {
            tell(text.clone());
            told = text;
        }
        // Count the workloads before the first of them leaves.
        if !is_marked && !mark(&control, &clock, drain).await? {
            tell(format!("there is no cluster {name}"));
            return Ok(Drained::NoCluster);
        }
        is_marked = true;
        if progress.is_done() {
            return Ok(Drained::Empty);
        }
    }
}

async fn get(control: &Client, name: &str) -> Result<Option<Cluster>, WriteError> {
    let Some(kind) = Source::Clusters.resource() else {
        return Ok(None);
    };
    let object = ObjectApi::new(control, &kind, &ObjectKey::new(None, name))
        .get()
        .await?;
    Ok(object.map(serde_json::from_value).transpose()?)
}

/// Marks the cluster; returns false if it does not exist.
async fn mark(control: &Client, clock: &Clock, drain: &Drain) -> Result<bool, WriteError> {
    let Some(kind) = Source::Clusters.resource() else {
        return Ok(false);
    };
    let key = ObjectKey::new(None, &drain.cluster);
    let api = ObjectApi::new(control, &kind, &key);
    loop {
        let Some(cluster) = get(control, &drain.cluster).await? else {
            return Ok(false);
        };
        let marked = drain::mark(&cluster, drain.request, clock());
        match api.change(&cluster, &marked, Part::Main).await {
            Ok(_) => return Ok(true),
            // The controller writes to the cluster too: read it again.
            Err(WriteError::Conflict { .. }) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Objects reported by the watches.
#[derive(Default)]
struct Seen {
    works: BTreeMap<ObjectKey, Work>,
    bindings: BTreeMap<ObjectKey, Binding>,
    /// True for each watch that has listed everything.
    listed: [bool; SOURCES.len()],
}

const SOURCES: [Source; 3] = [
    Source::Works,
    Source::Bindings(Scope::Namespaced),
    Source::Bindings(Scope::Cluster),
];

impl Seen {
    fn is_complete(&self) -> bool {
        self.listed.iter().all(|listed| *listed)
    }

    fn learn(&mut self, (index, event): (usize, Event<DynamicObject>)) {
        let is_work = SOURCES[index] == Source::Works;
        let is_namespaced = SOURCES[index] == Source::Bindings(Scope::Namespaced);
        match event {
            Event::Init if is_work => self.works.clear(),
            Event::Init => self.bindings.retain(|key, _| key.namespace.is_some() != is_namespaced),
            Event::InitDone => self.listed[index] = true,
            Event::InitApply(object) | Event::Apply(object) => {
                let key = key_of(&object);
                if is_work {
                    self.works.extend(typed(object).map(|work| (key, work)));
                } else {
                    self.bindings.extend(typed(object).map(|binding| (key, binding)));
                }
            }
            Event::Delete(object) => {
                let key = key_of(&object);
                if is_work {
                    self.works.remove(&key);
                } else {
                    self.bindings.remove(&key);
                }
            }
        }
    }
}

type Watched = BoxStream<'static, (usize, Event<DynamicObject>)>;

/// Watches the cluster's Works and all bindings. A watch that breaks is retried.
fn watches(control: &Client, cluster: &str) -> SelectAll<Watched> {
    let of = |(index, source): (usize, Source)| {
        let resource = source.resource()?;
        let api: Api<DynamicObject> = match source {
            Source::Works => Api::namespaced_with(control.clone(), &execution_space(cluster), &resource),
            _ => Api::all_with(control.clone(), &resource),
        };
        let stream = watcher::watcher(api, watcher::Config::default());
        let stream = kube::runtime::WatchStreamExt::default_backoff(stream).into_stream();
        let stream = stream.filter_map(move |event| std::future::ready(event.ok().map(|event| (index, event))));
        Some(stream.boxed())
    };
    select_all(SOURCES.into_iter().enumerate().filter_map(of))
}

fn key_of(object: &DynamicObject) -> ObjectKey {
    let name = object.metadata.name.as_deref().unwrap_or_default();
    ObjectKey::new(object.metadata.namespace.as_deref(), name)
}

fn typed<T: DeserializeOwned>(object: DynamicObject) -> Option<T> {
    serde_json::from_value(serde_json::to_value(object).ok()?).ok()
}
