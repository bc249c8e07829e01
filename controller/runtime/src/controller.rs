//! The controller's loop: receives watch events, reconciles keys, and sets timers for the next look.

use std::collections::BTreeMap;
use std::future::pending;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use baton_decide::keys::Gvk;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use jiff::Timestamp;
use kube::Client;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::{broadcast, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;
use tokio_util::net::Listener;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::context::{Context, Failure, Outcome};
use crate::error_chain::error_chain;
use crate::fence::{Fence, FencedMembers};
use crate::lease::Candidate;
use crate::members::Members;
use crate::metrics;
use crate::object_api::WriteError;
use crate::options::Options;
use crate::queue::{Key, Queue, Urgency};
use crate::reconcile;
use crate::source::Source;
use crate::watch::{self as watches, WatchEvent};
use crate::webhook::{Registration, Webhook, WebhookError};

/// Longest timer; a key that is due later is checked again then.
const FURTHEST: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// The reference controller.
pub struct Controller;

/// A running controller. It stops when this is dropped.
pub struct Running {
    stop: CancellationToken,
    task: Option<JoinHandle<()>>,
    election: Option<JoinHandle<Candidate>>,
    context: Context,
    is_leader: watch::Receiver<bool>,
}

impl Controller {
    /// Starts the controller on the current runtime.
    ///
    /// `control` is a client of the control plane; `members` connects to members. Stopping is as harmless as a crash:
    /// work in progress is abandoned, and the next controller continues from the stored objects.
    pub fn start(control: Client, members: Arc<dyn Members>, clock: Clock, options: Options) -> Running {
        for warning in &options.warnings {
            tracing::warn!("{warning}");
        }
        let stop = CancellationToken::new();
        let (sender, events) = unbounded_channel();
        let (leads, is_leader) = watch::channel(!options.leader_elect);
        let mut election = None;
        let (mut control, mut members) = (control, members);
        if options.leader_elect {
            let (identity, fence) = (options.identity.clone().unwrap_or_else(made_up), Fence::default());
            let candidate = Candidate::new(control.clone(), Arc::clone(&clock), identity, fence.clone(), leads);
            election = Some(tokio::spawn(candidate.run(stop.clone())));
            control = fence.around(control);
            members = FencedMembers::new(members, fence);
        }
        let context = Context::new(control, members, clock, options, sender);
        let task = tokio::spawn(Loop::new(context.clone(), is_leader.clone()).run(events, stop.clone()));
        Running {
            stop,
            task: Some(task),
            election,
            context,
            is_leader,
        }
    }
}

impl Running {
    /// Returns the metrics in the text format of Prometheus (OBS-01).
    pub fn metrics(&self) -> String {
        self.context.metrics()
    }

    /// Serves the metrics at `/metrics` of an address while the controller runs.
    ///
    /// # Errors
    /// Fails if it cannot listen on the address.
    pub async fn serve_metrics(&self, address: SocketAddr) -> std::io::Result<()> {
        let context = self.context.clone();
        let serving = metrics::serve(address, move || context.metrics()).await?;
        self.until_stopped(serving);
        Ok(())
    }

    /// Serves the admission webhook on a listener while the controller runs, and registers it with the control plane
    /// under `url`, or under the address of the listener. Of several instances only the leader is registered.
    ///
    /// # Errors
    /// [`WebhookError`] if it cannot be served, or the control plane rejects the registration.
    pub async fn serve_webhook<L>(&self, listener: L, url: Option<&str>) -> Result<(), WebhookError>
    where
        L: Listener<Addr = SocketAddr, Io: Send + Unpin + 'static> + Send + 'static,
    {
        let webhook = Webhook::new(listener, url)?;
        let registration = webhook.registration();
        if self.context.options().leader_elect {
            let leading = put_while_leading(registration.clone(), self.context.clone(), self.is_leader.clone());
            self.until_stopped(leading);
        } else {
            registration.put(self.context.control().client()).await?;
        }
        self.until_stopped(webhook.serve());
        Ok(())
    }

    fn until_stopped(&self, work: impl Future<Output = ()> + Send + 'static) {
        let stopped = self.stop.clone().cancelled_owned();
        tokio::spawn(async move {
            tokio::select! {
                biased;
                () = stopped => {}
                () = work => {}
            }
        });
    }

    /// Stops the controller and waits until it has stopped. If it leads, it releases the lease, so that the next
    /// instance need not wait for its end.
    pub async fn stop(mut self) {
        self.end().await;
        if let Some(election) = self.election.take()
            && let Ok(candidate) = election.await
        {
            candidate.give_back().await;
        }
    }

    /// Stops the controller as a crash would, and waits until it writes nothing more.
    pub async fn crash(mut self) {
        self.end().await;
    }

    async fn end(&mut self) {
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

/// Registers a webhook each time this instance becomes the leader.
async fn put_while_leading(webhook: Registration, context: Context, mut is_leader: watch::Receiver<bool>) {
    while is_leader.wait_for(|leads| *leads).await.is_ok() {
        if let Err(error) = webhook.put(context.control().client()).await {
            tracing::warn!(
                error = error_chain(&error),
                "policies are not checked when they are written"
            );
        }
        if is_leader.wait_for(|leads| !*leads).await.is_err() {
            return;
        }
    }
}

/// Returns an identity for an instance without a configured one: the host name, which is the pod in a cluster, and the
/// process.
fn made_up() -> String {
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "baton-controller".to_owned());
    format!("{host}_{}", std::process::id())
}

type Reconciliation = Pin<Box<dyn Future<Output = (Key, Outcome)> + Send>>;

struct Loop {
    context: Context,
    queue: Queue,
    running: FuturesUnordered<Reconciliation>,
    watches: JoinSet<()>,
    templates: BTreeMap<Gvk, tokio::task::AbortHandle>,
    definitions: broadcast::Sender<()>,
    /// True if this instance leads. Other instances keep their queue for the time when they do.
    is_leader: watch::Receiver<bool>,
}

impl Loop {
    fn new(context: Context, is_leader: watch::Receiver<bool>) -> Self {
        let (definitions, _) = broadcast::channel(1);
        Self {
            context,
            queue: Queue::default(),
            running: FuturesUnordered::new(),
            watches: JoinSet::new(),
            templates: BTreeMap::new(),
            definitions,
            is_leader,
        }
    }

    async fn run(mut self, mut events: UnboundedReceiver<WatchEvent>, stop: CancellationToken) {
        self.watch_own_api();
        loop {
            self.start_ready();
            let due = self.queue.next_due();
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Ok(()) = self.is_leader.changed() => self.leadership_changed(),
                Some(item) = events.recv() => self.learn_all(item, &mut events),
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
                    .spawn(watches::run(client, resource, source, self.context.events()));
            }
        }
    }

    /// Another instance may have led before: reconcile everything.
    fn leadership_changed(&mut self) {
        if *self.is_leader.borrow_and_update() {
            self.context.forget_decisions();
            let keys = self.context.cache().all_keys();
            for key in keys {
                self.queue.add(key, Urgency::Wanted);
            }
        }
    }

    fn start_ready(&mut self) {
        if !*self.is_leader.borrow() || !self.context.cache().is_synced() {
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

    fn learn_all(&mut self, first: WatchEvent, events: &mut UnboundedReceiver<WatchEvent>) {
        self.learn(first);
        while let Ok(item) = events.try_recv() {
            self.learn(item);
        }
        self.watch_new_kinds();
        // Collect the watches that have ended.
        while self.watches.try_join_next().is_some() {}
        let unconfirmed = self.context.cache().take_unconfirmed();
        for object in unconfirmed {
            self.watches.spawn(self.context.clone().confirm(object));
        }
    }

    fn learn(&mut self, item: WatchEvent) {
        let mut urgency = Urgency::Wanted;
        let concerned = match item {
            WatchEvent::Enqueue(key, how) => {
                urgency = how;
                vec![key]
            }
            WatchEvent::ListStarted(source) => {
                self.context.cache().begin(&source);
                Vec::new()
            }
            WatchEvent::Applied(source, object) => {
                self.definitions_changed(&source);
                let (how, concerned) = self.context.cache().see(&source, object);
                urgency = how;
                concerned
            }
            WatchEvent::Deleted(source, object) => self.context.cache().lose(&source, &object),
            WatchEvent::ListComplete(source) => {
                let mut keys = self.context.cache().complete(&source);
                keys.extend(self.of_member(&source));
                keys
            }
            WatchEvent::Failed(source, error) => {
                tracing::debug!(?source, error, "a watch broke and is tried again");
                member_of(&source)
                    .map(|cluster| Key::Probe(cluster.to_owned()))
                    .into_iter()
                    .collect()
            }
            WatchEvent::Recovered(source) => self.of_member(&source),
        };
        for key in concerned {
            self.queue.add(key, urgency);
        }
    }

    /// Returns the keys to reconcile when a member answers: its Works and its health probe.
    fn of_member(&self, source: &Source) -> Vec<Key> {
        let Some(cluster) = member_of(source) else {
            return Vec::new();
        };
        let mut keys = self.context.cache().works_on(cluster);
        keys.push(Key::Probe(cluster.to_owned()));
        keys
    }

    /// Notifies those who wait for a kind when definitions change.
    fn definitions_changed(&self, source: &Source) {
        match source {
            // Sending fails only without receivers.
            Source::Definitions(None) => {
                let _ = self.definitions.send(());
            }
            Source::Definitions(Some(cluster)) => {
                let works = self.context.cache().works_on(cluster);
                for key in works {
                    self.context.wake(key);
                }
            }
            Source::Policies(_)
            | Source::Bindings(_)
            | Source::Works
            | Source::Clusters
            | Source::TaintPolicies
            | Source::Customizations
            | Source::Templates(_)
            | Source::Objects { .. } => {}
        }
    }

    fn watch_new_kinds(&mut self) {
        let wanted = self.context.cache().take_new_kinds();
        for gvk in wanted {
            if !self.templates.contains_key(&gvk) {
                let run = watches::run_once_known(
                    self.context.control().clone(),
                    Source::Templates(gvk.clone()),
                    gvk.clone(),
                    self.definitions.subscribe(),
                    self.context.events(),
                );
                self.templates.insert(gvk, self.watches.spawn(run));
            }
        }
    }

    fn finish(&mut self, key: Key, outcome: Outcome) {
        match outcome {
            Ok(next) => self.queue.done(key, next.map(|at| self.instant(at))),
            // The current object has been read again: reconcile without a pause.
            Err(Failure::Write(WriteError::Conflict { what })) => {
                tracing::debug!(?key, what, "conflict; deciding again");
                self.queue.done(key.clone(), None);
                self.queue.add(key, Urgency::Wanted);
            }
            Err(error) => {
                tracing::warn!(?key, error = error_chain(&error), "retrying after a pause");
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
        | Source::Customizations
        | Source::Templates(_) => None,
    }
}
