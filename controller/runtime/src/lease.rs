//! Leader election by a Lease: one of several instances works, and another takes over when it is gone (EVQ-07).
//!
//! The leader renews the Lease every [`RETRY_PERIOD`]. An instance that sees no renewal for [`LEASE_DURATION`], by its
//! local clock, takes it over. The leader writes through a [`Fence`], which is open for [`RENEW_DEADLINE`] from the
//! moment at which the last renewal was sent: it closes before another instance can lead.

use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, ResourceExt as _};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::fence::Fence;

/// Namespace of the Lease.
const NAMESPACE: &str = "karmada-system";
/// Name of the Lease.
const NAME: &str = "baton-controller";
/// Time after which a Lease that is not renewed expires.
const LEASE_DURATION: Duration = Duration::from_secs(15);
/// Time that a leader may continue without renewing.
const RENEW_DEADLINE: Duration = Duration::from_secs(10);
/// Time between two renewals, and between two attempts after a failure.
const RETRY_PERIOD: Duration = Duration::from_secs(2);

/// An instance that takes part in the election.
pub struct Candidate {
    api: Api<Lease>,
    control: Client,
    clock: Clock,
    identity: String,
    fence: Fence,
    /// Tells the loop whether this instance leads.
    leads: watch::Sender<bool>,
    /// The Lease as last observed, and the time since which it has not changed.
    seen: Option<(Lease, Instant)>,
    /// Time of the next attempt, if the Lease does not change before.
    next_try: Instant,
}

type Sightings = BoxStream<'static, watcher::Result<Option<Lease>>>;

impl Candidate {
    /// Creates a candidate with this identity; `control` is a client outside the fence.
    pub fn new(control: Client, clock: Clock, identity: String, fence: Fence, leads: watch::Sender<bool>) -> Self {
        Self {
            api: Api::namespaced(control.clone(), NAMESPACE),
            control,
            clock,
            identity,
            fence,
            leads,
            seen: None,
            next_try: Instant::now(),
        }
    }

    /// Takes part in the election until it is stopped.
    pub async fn run(mut self, stop: CancellationToken) -> Self {
        let mut sightings: Sightings = watcher::watch_object(self.api.clone(), NAME).default_backoff().boxed();
        let mut is_synced = false;
        loop {
            let leads_until = self.fence.until().filter(|_| *self.leads.borrow());
            tokio::select! {
                biased;
                () = stop.cancelled() => return self,
                Some(sighting) = sightings.next() => {
                    if let Ok(lease) = sighting {
                        is_synced = true;
                        self.see(lease);
                    }
                }
                () = sleep_until(self.next_try), if is_synced => self.try_to_lead(leads_until).await,
            }
        }
    }

    /// Releases the Lease, so that the next leader need not wait for its expiry. This instance has finished all writes
    /// by then.
    pub async fn give_back(mut self) {
        self.fence.close();
        let held = self
            .seen
            .take()
            .filter(|(lease, _)| holder(lease) == Some(self.identity.as_str()));
        if let Some((mut lease, _)) = held {
            if let Some(spec) = &mut lease.spec {
                spec.holder_identity = Some(String::new());
            }
            let params = PostParams::default();
            let write = self.api.replace(NAME, &params, &lease);
            if let Ok(Err(error)) = timeout_at(Instant::now() + RETRY_PERIOD, write).await {
                tracing::debug!(%error, "the lease is not given back");
            }
        }
    }

    fn see(&mut self, lease: Option<Lease>) {
        let known = self.seen.as_ref().map(|(lease, _)| revision(lease));
        if lease.as_ref().map(revision) != known {
            self.seen = lease.map(|lease| (lease, Instant::now()));
        }
        if !*self.leads.borrow() {
            self.next_try = free_at(self.seen.as_ref(), &self.identity);
        }
    }

    async fn try_to_lead(&mut self, leads_until: Option<Instant>) {
        let now = Instant::now();
        let led = *self.leads.borrow();
        if !led && free_at(self.seen.as_ref(), &self.identity) > now {
            self.next_try = free_at(self.seen.as_ref(), &self.identity);
            return;
        }
        let deadline = leads_until.unwrap_or(now + RENEW_DEADLINE);
        match timeout_at(deadline, self.write()).await {
            Ok(Ok(lease)) => {
                self.fence.open_until(now + RENEW_DEADLINE);
                self.seen = Some((lease, Instant::now()));
                self.lead(true);
            }
            Ok(Err(error)) => {
                tracing::debug!(%error, "the lease is not written");
                if matches!(&error, kube::Error::Api(status) if status.code == 409) {
                    self.look_again(deadline).await;
                }
            }
            Err(_) => tracing::debug!("no answer to the renewal of the lease"),
        }
        if self.fence.until().is_none() {
            self.lead(false);
        }
        self.next_try = Instant::now() + RETRY_PERIOD;
    }

    /// Reads the Lease after another instance changed it: its current content decides who leads.
    async fn look_again(&mut self, deadline: Instant) {
        let Ok(Ok(lease)) = timeout_at(deadline, self.api.get_opt(NAME)).await else {
            return;
        };
        let is_mine = lease.as_ref().and_then(holder) == Some(self.identity.as_str());
        self.see(lease);
        if !is_mine {
            self.lead(false);
        }
    }

    fn lead(&self, leads: bool) {
        if !leads {
            self.fence.close();
        }
        let changed = self
            .leads
            .send_if_modified(|now| std::mem::replace(now, leads) != leads);
        if changed {
            let what = if leads { "leads" } else { "no longer leads" };
            tracing::info!(identity = self.identity, "this instance {what}");
        }
    }

    /// Acquires or renews the Lease.
    async fn write(&self) -> Result<Lease, kube::Error> {
        let present = self.seen.as_ref().map(|(lease, _)| lease);
        let lease = next(present, &self.identity, MicroTime((self.clock)()));
        let params = PostParams::default();
        if present.is_some() {
            return self.api.replace(NAME, &params, &lease).await;
        }
        match self.api.create(&params, &lease).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {
                let namespace = Namespace {
                    metadata: ObjectMeta {
                        name: Some(NAMESPACE.to_owned()),
                        ..ObjectMeta::default()
                    },
                    ..Namespace::default()
                };
                let made = Api::all(self.control.clone()).create(&params, &namespace).await;
                tracing::debug!(made = made.is_ok(), "the namespace of the lease was not there");
                self.api.create(&params, &lease).await
            }
            answer => answer,
        }
    }
}

fn holder(lease: &Lease) -> Option<&str> {
    let holder = lease.spec.as_ref()?.holder_identity.as_deref();
    holder.filter(|holder| !holder.is_empty())
}

fn revision(lease: &Lease) -> Option<String> {
    lease.resource_version()
}

/// Returns when an instance may take an unchanged Lease: at once if no other instance holds it.
fn free_at(seen: Option<&(Lease, Instant)>, identity: &str) -> Instant {
    let now = Instant::now();
    let Some((lease, since)) = seen else { return now };
    match holder(lease) {
        Some(other) if other != identity => {
            let secs = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds);
            let lasts = secs.and_then(|secs| u64::try_from(secs).ok());
            *since + lasts.map_or(LEASE_DURATION, Duration::from_secs)
        }
        Some(_) | None => now,
    }
}

/// Returns the Lease as this instance writes it.
fn next(present: Option<&Lease>, identity: &str, now: MicroTime) -> Lease {
    let mut lease = present.cloned().unwrap_or_default();
    lease.metadata.name = Some(NAME.to_owned());
    lease.metadata.namespace = Some(NAMESPACE.to_owned());
    let before = lease.spec.take().unwrap_or_default();
    let is_renewal = before.holder_identity.as_deref() == Some(identity);
    let transitions = before.lease_transitions.unwrap_or_default();
    lease.spec = Some(LeaseSpec {
        holder_identity: Some(identity.to_owned()),
        lease_duration_seconds: i32::try_from(LEASE_DURATION.as_secs()).ok(),
        acquire_time: before.acquire_time.filter(|_| is_renewal).or_else(|| Some(now.clone())),
        renew_time: Some(now),
        lease_transitions: Some(transitions + i32::from(present.is_some() && !is_renewal)),
        ..before
    });
    lease
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> MicroTime {
        MicroTime(jiff::Timestamp::from_second(second).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_is_free_when_nobody_has_renewed_it_for_its_time() {
        let now = Instant::now();
        let lease = next(None, "a", at(0));
        assert_eq!(free_at(None, "b"), now);
        assert_eq!(free_at(Some(&(lease.clone(), now)), "a"), now, "its own");
        assert_eq!(free_at(Some(&(lease.clone(), now)), "b"), now + LEASE_DURATION);
        let mut given_back = lease;
        given_back.spec.as_mut().unwrap().holder_identity = Some(String::new());
        assert_eq!(free_at(Some(&(given_back, now)), "b"), now);
    }

    #[test]
    fn a_renewal_keeps_when_it_was_acquired_and_a_take_over_counts() {
        let first = next(None, "a", at(0));
        let renewed = next(Some(&first), "a", at(2)).spec.unwrap();
        assert_eq!(
            (renewed.acquire_time, renewed.lease_transitions),
            (Some(at(0)), Some(0))
        );
        let taken = next(Some(&first), "b", at(20)).spec.unwrap();
        assert_eq!((taken.acquire_time, taken.lease_transitions), (Some(at(20)), Some(1)));
        assert_eq!(taken.holder_identity.as_deref(), Some("b"));
    }

    #[test]
    fn the_fence_closes_before_anybody_else_can_lead() {
        assert!(RENEW_DEADLINE + RETRY_PERIOD < LEASE_DURATION);
    }
}
