//! Evicts workloads from a failed cluster: queues them, and moves each with its state at its turn (STP, TNT, EVQ, RAT).

use baton_decide::aggregate;
use baton_decide::api::{Cluster, GracefulEvictionTask};
use baton_decide::conditions::ConditionUpdate;
use baton_decide::dependencies;
use baton_decide::drain::{self, is_drained};
use baton_decide::evict::{self, is_faulty};
use baton_decide::keys::{ObjectKey, TemplateKey};
use baton_decide::queue::{self, Entry, Outcome, Turn};
use baton_decide::schedule::{self, Snapshot};
use baton_decide::taints::EvictionTime;

use super::notes::Notes;
use super::status;
use super::view::{View, gather};
use crate::context::{Context, Failure};
use crate::object_api::Part;
use crate::queue::Key;
use crate::source::Source;

/// Reason of the event that a binding waits for its eviction.
const QUEUED: &str = "EvictionQueued";
/// Reason of the event that a binding no longer waits, because its cluster recovered.
const DROPPED: &str = "EvictionDropped";
/// Reason of the event that a binding was evicted.
pub const EVICTED: &str = "EvictWorkloadFromClusterSucceed";

/// Next step for the copy on one cluster.
enum Step {
    /// The copy stays.
    Stay,
    /// The copy leaves at this time, if the taint is still there.
    Wait(jiff::Timestamp),
    /// The copy cannot leave, with the reason.
    Blocked(Outcome, ConditionUpdate),
    /// The copy leaves at its turn in the queue.
    Evict(Box<GracefulEvictionTask>),
    /// The copy leaves now, because the cluster is drained.
    Drain(Box<GracefulEvictionTask>),
}

/// Evicts the binding from failed clusters, as far as it is its turn.
pub async fn run(context: &Context, key: &ObjectKey, notes: &mut Notes) -> Result<(), Failure> {
    let Some(view) = gather(context, key) else {
        return Ok(());
    };
    if dependencies::follows(&view.binding.spec) {
        leave_queue(context, key);
        return Ok(());
    }
    let names: Vec<String> = view
        .binding
        .spec
        .clusters
        .iter()
        .map(|target| target.name.clone())
        .collect();
    let current: Vec<&str> = names.iter().map(String::as_str).collect();
    keep_only(context, key, &current);
    for name in &names {
        let entry = Entry {
            binding: key.clone(),
            cluster: name.clone(),
        };
        let leaves = |view: &View| leaves(context, view, &entry);
        let Some(view) = status::gather_collected(context, key, name, leaves).await? else {
            return Ok(());
        };
        match decide(context, &view, &entry) {
            Step::Stay => recovered(context, &view, &entry, notes),
            Step::Wait(until) => {
                recovered(context, &view, &entry, notes);
                notes.look_at(Some(until));
            }
            Step::Blocked(outcome, condition) => {
                finish(context, &view, &entry, outcome);
                notes.wait(condition.clone());
                notes.block(condition);
            }
            Step::Evict(task) => take_turn(context, key, &view, &entry, *task, notes).await?,
            Step::Drain(task) => {
                carry_out(context, key, &view, *task).await?;
                finish(context, &view, &entry, Outcome::Evicted);
                notes.tell(EVICTED, format!("evicted from {}, which is drained", entry.cluster));
            }
        }
    }
    Ok(())
}

fn decide(context: &Context, view: &View, entry: &Entry) -> Step {
    let spec = &view.binding.spec;
    let Some(cluster) = view.clusters.get(&entry.cluster) else {
        return Step::Stay;
    };
    if is_drained(cluster) {
        return decide_drain(context, view, entry, cluster);
    }
    let settings = context.settings();
    // A queued binding stays queued while taints affect it, even if its policy grants it more time (EVQ-05).
    let is_queued = context.evictions().has(entry);
    let eviction = context.eviction(&entry.binding, spec, cluster);
    match eviction.time {
        EvictionTime::OnceStamped | EvictionTime::Never => return Step::Stay,
        _ if is_queued => {}
        EvictionTime::Now => {}
        EvictionTime::At(at) if at <= context.now() => {}
        EvictionTime::At(at) => return Step::Wait(at),
    }
    let spec = &eviction.spec(spec);
    if let Some(why) = evict::infeasible(spec, &entry.cluster, &view.clusters) {
        let message = format!("eviction from {} is given up: {why}", entry.cluster);
        return Step::Blocked(Outcome::Infeasible, ConditionUpdate::yes("NoClusterMatches", message));
    }
    let collected = aggregate::collected(&view.binding.status, &entry.cluster);
    match evict::task(spec, &entry.cluster, collected, settings, context.now()) {
        Ok(task) => Step::Evict(Box::new(task)),
        Err(obstacle) => {
            let message = format!("eviction from {} waits: {obstacle}", entry.cluster);
            Step::Blocked(Outcome::Blocked, ConditionUpdate::yes(obstacle.reason(), message))
        }
    }
}

/// Decides the step on a drained cluster. Gates, rates and tolerations do not apply, but a workload leaves only if
/// another cluster can run it (DRN-01).
fn decide_drain(context: &Context, view: &View, entry: &Entry, cluster: &Cluster) -> Step {
    let (spec, name) = (&view.binding.spec, &entry.cluster);
    let occupied = view.occupied();
    let snapshot = Snapshot {
        binding: &view.binding,
        clusters: &view.clusters,
        occupied: &occupied,
        now: context.now(),
    };
    let nowhere = evict::infeasible(spec, name, &view.clusters)
        .or_else(|| (!schedule::can_leave(snapshot, name)).then(|| "no other cluster fits at present".to_owned()));
    if let Some(why) = nowhere {
        let message = format!("it stays on {name}, which is drained: {why}");
        return Step::Blocked(Outcome::Infeasible, ConditionUpdate::yes("NoClusterFits", message));
    }
    let collected = aggregate::collected(&view.binding.status, name);
    match drain::task(spec, cluster, collected, context.settings(), context.now()) {
        Ok(task) => Step::Drain(Box::new(task)),
        Err(obstacle) => {
            let message = format!("it stays on {name}, which is drained: {obstacle}");
            Step::Blocked(Outcome::Blocked, ConditionUpdate::yes(obstacle.reason(), message))
        }
    }
}

/// Returns true if the binding must leave the cluster, now or later.
fn leaves(context: &Context, view: &View, entry: &Entry) -> bool {
    let by_taint = |cluster| context.eviction(&entry.binding, &view.binding.spec, cluster).time;
    let cluster = view.clusters.get(&entry.cluster);
    cluster.is_some_and(|cluster| is_drained(cluster) || by_taint(cluster) != EvictionTime::Never)
}

async fn take_turn(
    context: &Context,
    key: &ObjectKey,
    view: &View,
    entry: &Entry,
    task: GracefulEvictionTask,
    notes: &mut Notes,
) -> Result<(), Failure> {
    let rate = rate(context, view);
    let (is_new, turn) = {
        let mut evictions = context.evictions();
        let is_new = !evictions.has(entry);
        let kind = TemplateKey::of(&view.binding.spec.resource).gvk;
        evictions.join(entry, &kind, context.now());
        (is_new, evictions.turn(entry, rate, context.now()))
    };
    if is_new && turn != Turn::Now {
        notes.tell(QUEUED, format!("waits for its eviction from {}", entry.cluster));
    }
    let wait = |reason: &str, why: &str| {
        let message = format!("eviction from {} waits: {why}", entry.cluster);
        ConditionUpdate::yes(reason, message)
    };
    match turn {
        Turn::Later => {
            notes.wait(wait("Queued", "other bindings precede it in the queue"));
            return Ok(());
        }
        Turn::At(at) => {
            notes.wait(wait("RateLimited", "it is next, as soon as the eviction rate allows"));
            notes.look_at(Some(at));
            return Ok(());
        }
        Turn::Stopped => {
            let (faulty, all) = faulty(view);
            let why = queue::stopped_because(faulty, all, context.settings());
            let condition = wait("EvictionsStopped", &why);
            notes.wait(condition.clone());
            notes.block(condition);
            return Ok(());
        }
        Turn::Now => {}
    }
    carry_out(context, key, view, task).await?;
    finish(context, view, entry, Outcome::Evicted);
    notes.tell(
        EVICTED,
        format!("evicted from {}, whose taints are not tolerated", entry.cluster),
    );
    Ok(())
}

async fn carry_out(context: &Context, key: &ObjectKey, view: &View, task: GracefulEvictionTask) -> Result<(), Failure> {
    let mut evicted = view.binding.as_ref().clone();
    evicted.spec = evict::carry_out(&view.binding.spec, task, &view.occupied());
    let source = Source::bindings(key.namespace.as_deref());
    context
        .change(&source, key, &view.binding, &evicted, Part::Main)
        .await?;
    Ok(())
}

fn rate(context: &Context, view: &View) -> f64 {
    let (faulty, all) = faulty(view);
    queue::rate(faulty, all, context.settings())
}

/// Returns the number of faulty clusters, and of all clusters.
fn faulty(view: &View) -> (usize, usize) {
    let faulty = view.clusters.values().filter(|cluster| is_faulty(cluster)).count();
    (faulty, view.clusters.len())
}

/// Removes a deleted binding from the queue.
pub fn leave_queue(context: &Context, key: &ObjectKey) {
    keep_only(context, key, &[]);
}

fn keep_only(context: &Context, key: &ObjectKey, clusters: &[&str]) {
    let before = context.evictions().head().cloned();
    context.evictions().keep_only(key, clusters);
    context.forget_taints(key, clusters);
    wake_next_unless(context, before.as_ref());
}

/// Drops the queued eviction of a workload whose cluster recovered or is tolerated: the workload stays (EVQ-02).
fn recovered(context: &Context, view: &View, entry: &Entry, notes: &mut Notes) {
    if context.evictions().has(entry) {
        notes.tell(DROPPED, format!("no longer has to leave {}", entry.cluster));
        finish(context, view, entry, Outcome::Dropped);
    }
}

/// Records that the entry was processed, and wakes the next one.
fn finish(context: &Context, view: &View, entry: &Entry, outcome: Outcome) {
    let rate = rate(context, view);
    let before = context.evictions().head().cloned();
    context.finish_eviction(entry, outcome, rate);
    if outcome == Outcome::Evicted {
        wake_next(context);
    } else {
        wake_next_unless(context, before.as_ref());
    }
}

fn wake_next_unless(context: &Context, before: Option<&Entry>) {
    if context.evictions().head() != before {
        wake_next(context);
    }
}

/// Wakes the binding at the head of the queue.
fn wake_next(context: &Context) {
    let head = context.evictions().head().cloned();
    if let Some(head) = head {
        context.wake(Key::Binding(head.binding));
    }
}
