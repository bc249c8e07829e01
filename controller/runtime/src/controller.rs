//! The loop: news come in, keys are reconciled, and each says when to look again.

use std::collections::BTreeMap;
use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use baton_decide::keys::Gvk;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use jiff::Timestamp;
use kube::Client;
use tokio::sync::broadcast;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::context::{Context, Failure, Outcome};
use crate::members::Members;
use crate::options::Options;
use crate::queue::{Key, Queue, Urgency};
use crate::reconcile;
use crate::source::Source;
use crate::watch::{self, News};
use crate::write::WriteError;

/// Tells the time. Nothing here reads a clock of its own.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The furthest that a timer is set; what is due later is looked at again then.
const FURTHEST: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// The reference controller.
pub struct Controller;

/// A controller that runs. It stops when this is dropped.
pub struct Running {
    stop: CancellationToken,
    task: Option<JoinHandle<()>>,
}

impl Controller {
    /// Starts the controller on the current runtime.
    ///
    /// `control` is a client of the control plane, `members` knows how to reach members. Stopping is like a crash, and as
    /// harmless: what is under way is left where it is, and the next controller finds its way from there.
    pub fn start(control: Client, members: Arc<dyn Members>, clock: Clock, options: Options) -> Running {
        for warning in &options.warnings {
            tracing::warn!("{warning}");
        }
        let stop = CancellationToken::new();
        let (sender, news) = unbounded_channel();
        let context = Context::new(control, members, clock, options, sender);
        let task = tokio::spawn(Loop::new(context).run(news, stop.clone()));
        Running { stop, task: Some(task) }
    }
}

impl Running {
    /// Stops the controller and waits until it has stopped.
    pub async fn stop(mut self) {
        self.stop.cancel();
        if let Some(task) = self.task.take()
            && let Err(error) = task.await
        {
            tracing::error!(%error, "the controller did not stop well");
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

type Reconciliation = Pin<Box<dyn Future<Output = (Key, Outcome)> + Send>>;

struct Loop {
    context: Context,
    queue: Queue,
    running: FuturesUnordered<Reconciliation>,
    watches: JoinSet<()>,
    templates: BTreeMap<Gvk, tokio::task::AbortHandle>,
    definitions: broadcast::Sender<()>,
}

impl Loop {
    fn new(context: Context) -> Self {
        let (definitions, _) = broadcast::channel(1);
        Self {
            context,
            queue: Queue::default(),
            running: FuturesUnordered::new(),
            watches: JoinSet::new(),
            templates: BTreeMap::new(),
            definitions,
        }
    }

    async fn run(mut self, mut news: UnboundedReceiver<News>, stop: CancellationToken) {
        self.watch_own_api();
        loop {
            self.start_ready();
            let due = self.queue.next_due();
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(item) = news.recv() => self.learn_all(item, &mut news),
                Some((key, outcome)) = self.running.next() => self.finish(key, outcome),
                () = sleep_until(due) => self.queue.wake(Instant::now()),
            }
        }
    }

    fn watch_own_api(&mut self) {
        let fixed = Source::FIXED.into_iter().chain([Source::Definitions(None)]);
        for source in fixed {
            if let Some(resource) = source.resource() {
                let client = self.context.control().client().clone();
                self.watches
                    .spawn(watch::run(client, resource, source, self.context.news()));
            }
        }
    }

    fn start_ready(&mut self) {
        if !self.context.world().is_synced() {
            return;
        }
        while let Some(key) = self.queue.next() {
            let context = self.context.clone();
            self.running.push(Box::pin(async move {
                let outcome = reconcile::run(&context, &key).await;
                (key, outcome)
            }));
        }
    }

    fn learn_all(&mut self, first: News, news: &mut UnboundedReceiver<News>) {
        self.learn(first);
        while let Ok(item) = news.try_recv() {
            self.learn(item);
        }
        self.watch_new_kinds();
        // Those that have found out are let go.
        while self.watches.try_join_next().is_some() {}
        let doubtful = self.context.world().take_doubtful();
        for doubt in doubtful {
            self.watches.spawn(self.context.clone().settle(doubt));
        }
    }

    fn learn(&mut self, item: News) {
        let mut urgency = Urgency::Wanted;
        let concerned = match item {
            News::Wake(key, how) => {
                urgency = how;
                vec![key]
            }
            News::Began(source) => {
                self.context.world().begin(&source);
                Vec::new()
            }
            News::Seen(source, object) => {
                self.definitions_changed(&source);
                let (how, concerned) = self.context.world().see(&source, object);
                urgency = how;
                concerned
            }
            News::Gone(source, object) => self.context.world().lose(&source, &object),
            News::Complete(source) => {
                let mut keys = self.context.world().complete(&source);
                keys.extend(self.of_member(&source));
                keys
            }
            News::Broke(source, error) => {
                tracing::debug!(?source, error, "a watch broke and is tried again");
                member_of(&source)
                    .map(|cluster| Key::Probe(cluster.to_owned()))
                    .into_iter()
                    .collect()
            }
            News::Works(source) => self.of_member(&source),
        };
        for key in concerned {
            self.queue.add(key, urgency);
        }
    }

    /// A member answers: what is to be done there is tried again, and its health is looked at.
    fn of_member(&self, source: &Source) -> Vec<Key> {
        let Some(cluster) = member_of(source) else {
            return Vec::new();
        };
        let mut keys = self.context.world().works_on(cluster);
        keys.push(Key::Probe(cluster.to_owned()));
        keys
    }

    /// Kinds come and go with their definitions: those who look for one look again.
    fn definitions_changed(&self, source: &Source) {
        match source {
            // An error means that nobody looks for a kind.
            Source::Definitions(None) => {
                let _ = self.definitions.send(());
            }
            Source::Definitions(Some(cluster)) => {
                let works = self.context.world().works_on(cluster);
                for key in works {
                    self.context.wake(key);
                }
            }
            Source::Policies(_)
            | Source::Bindings(_)
            | Source::Works
            | Source::Clusters
            | Source::TaintPolicies
            | Source::Templates(_)
            | Source::Objects { .. } => {}
        }
    }

    fn watch_new_kinds(&mut self) {
        let wanted = self.context.world().take_new_kinds();
        for gvk in wanted {
            if !self.templates.contains_key(&gvk) {
                let run = watch::run_once_known(
                    self.context.control().clone(),
                    Source::Templates(gvk.clone()),
                    gvk.clone(),
                    self.definitions.subscribe(),
                    self.context.news(),
                );
                self.templates.insert(gvk, self.watches.spawn(run));
            }
        }
    }

    fn finish(&mut self, key: Key, outcome: Outcome) {
        match outcome {
            Ok(next) => self.queue.done(key, next.map(|at| self.instant(at))),
            // What is really there has been read again: nothing to wait for.
            Err(Failure::Write(WriteError::Conflict { what })) => {
                tracing::debug!(?key, what, "somebody else wrote first; deciding again");
                self.queue.done(key.clone(), None);
                self.queue.add(key, Urgency::Wanted);
            }
            Err(error) => {
                tracing::warn!(?key, error = report(&error), "tried again after a pause");
                self.queue.failed(key, Instant::now());
            }
        }
    }

    fn instant(&self, at: Timestamp) -> Instant {
        let ahead = at.duration_since(self.context.now());
        let ahead = Duration::try_from(ahead).unwrap_or(Duration::ZERO).min(FURTHEST);
        Instant::now() + ahead
    }
}

async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => pending().await,
    }
}

fn member_of(source: &Source) -> Option<&str> {
    match source {
        Source::Objects { cluster, .. } | Source::Definitions(Some(cluster)) => Some(cluster),
        Source::Definitions(None)
        | Source::Policies(_)
        | Source::Bindings(_)
        | Source::Works
        | Source::Clusters
        | Source::TaintPolicies
        | Source::Templates(_) => None,
    }
}

/// An error with its causes, in one line.
pub fn report(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}
