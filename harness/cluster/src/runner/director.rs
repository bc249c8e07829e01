//! Disturbs the target at its writes: every write waits at a gate until the director lets it in, which also records it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use baton_core::{
    case::model::{Move, MoveFault, ObjectRef, Taint},
    explore::TargetWrite,
    names::ClusterName,
    timeline::Mark,
};
use kube::Client;
use serde_json::json;
use thiserror::Error;
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinHandle,
    time::Instant,
};

use super::{
    policies,
    taken::{Removed, RemovedTaints, Taken},
};
use crate::{
    actions::{self, ActionError},
    error_chain::error_chain,
    fleet::{Asking, Cluster, Fault, Fleet, GatedWrite, Gatekeeper},
    observer::Recorder,
};

/// Kinds whose writes keep a program alive or tell people something, and move no workload.
const ASIDE: [&str; 2] = ["Lease", "Event"];

/// Annotation of an object that was written by another client first.
const RIVAL: &str = "baton.dev/rival";

/// Writes of the target during a run, in order. Clones are the same list.
#[derive(Debug, Clone, Default)]
pub struct Traffic(Arc<Mutex<Vec<TargetWrite>>>);

impl Traffic {
    /// The writes so far, and leaves none.
    pub fn take(&self) -> Vec<TargetWrite> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn record(&self, step: usize, write: &GatedWrite) {
        let write = TargetWrite {
            step,
            cluster: ClusterName::new(&*write.server),
            verb: write.verb.to_owned(),
            api_version: write.api_version.clone(),
            kind: write.kind.clone(),
            subresource: write.subresource.clone(),
            name: write.name.clone(),
            client: write.client.clone(),
        };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(write);
    }
}

/// A move whose write has not come yet.
struct Armed {
    step: usize,
    it: Move,
    clusters: BTreeSet<ClusterName>,
    /// Number of such writes so far.
    seen: u64,
}

impl Armed {
    /// Counts a write; returns true if it is the one of the move.
    fn counts(&mut self, write: &GatedWrite) -> bool {
        let at = &self.it.at;
        let same = at.kind == write.kind
            && at.verb == write.verb
            && at.subresource == write.subresource
            && self.clusters.iter().any(|it| it.as_str() == &*write.server);
        self.seen += u64::from(same);
        same && self.seen == at.nth
    }
}

/// A part of a move that needs the run: the target or a cluster. The write waits until `done` is dropped, or the target
/// starts.
pub(super) struct Due {
    pub(super) it: Move,
    pub(super) cluster: ClusterName,
    pub(super) taken: Taken,
    pub(super) done: oneshot::Sender<()>,
}

/// Keeper of the gate during a run. The gate is open once this is dropped.
pub(super) struct Director {
    armed: Arc<Mutex<Vec<Armed>>>,
    step: Arc<AtomicUsize>,
    pub(super) due: mpsc::UnboundedReceiver<Due>,
    /// Set while the target starts.
    is_starting: Arc<watch::Sender<bool>>,
    /// Taints that the case has removed, in order.
    pub(super) removed: RemovedTaints,
    /// Dropped at the end.
    _end: oneshot::Sender<()>,
    _task: JoinHandle<()>,
    /// Ends of moves that last for some time.
    pub(super) ends: Vec<(Instant, End)>,
    /// Faults that end, at the end of the run, what moves did to reads of clusters.
    pub(super) releases: Vec<(ClusterName, Fault)>,
}

/// End of a move that lasted for some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// The crashed target starts again.
    Restart,
    /// The cluster can be reached again.
    Heal(ClusterName),
    /// The cluster gets its taints back.
    Taint(ClusterName, Vec<Taint>),
    /// The cluster loses the taint of the move.
    Untaint(ClusterName),
}

/// The part of the director that runs concurrently with the case.
struct Directing {
    keeper: Gatekeeper,
    recorder: Recorder,
    clusters: BTreeMap<String, Cluster>,
    namespace: String,
    traffic: Option<Traffic>,
    armed: Arc<Mutex<Vec<Armed>>>,
    step: Arc<AtomicUsize>,
    due: mpsc::UnboundedSender<Due>,
    is_starting: watch::Receiver<bool>,
    removed: RemovedTaints,
}

/// The time in which the target starts; it ends when this is dropped.
pub(super) struct Starting(Arc<watch::Sender<bool>>);

impl Drop for Starting {
    fn drop(&mut self) {
        self.0.send_replace(false);
    }
}

impl Director {
    /// Puts a gate before all writes of the target; `None` if the clusters do not support it.
    pub(super) fn start(fleet: &dyn Fleet, recorder: &Recorder, traffic: Option<Traffic>) -> Option<Self> {
        let keeper = fleet.gate()?;
        let clusters = std::iter::once(fleet.control()).chain(fleet.members());
        let (send_due, due) = mpsc::unbounded_channel();
        let (end, ended) = oneshot::channel();
        let (armed, step) = (Arc::default(), Arc::default());
        let removed = RemovedTaints::default();
        let (starting, is_starting) = watch::channel(false);
        let mut directing = Directing {
            keeper,
            recorder: recorder.clone(),
            clusters: clusters.map(|it| (it.name().to_string(), it.clone())).collect(),
            namespace: fleet.namespace().to_owned(),
            traffic,
            armed: Arc::clone(&armed),
            step: Arc::clone(&step),
            due: send_due,
            is_starting,
            removed: removed.clone(),
        };
        let task = tokio::spawn(async move {
            tokio::select! {
                biased;
                // The sender sends nothing: it is dropped.
                _ = ended => {}
                () = directing.direct() => {}
            }
            directing.keeper.open();
        });
        Some(Self {
            armed,
            step,
            due,
            is_starting: Arc::new(starting),
            removed,
            _end: end,
            _task: task,
            ends: Vec::new(),
            releases: Vec::new(),
        })
    }

    /// Notes that the target starts. Until it has started, no write waits for the run, which waits for the target.
    pub(super) fn starting(&self) -> Starting {
        self.is_starting.send_replace(true);
        Starting(Arc::clone(&self.is_starting))
    }

    /// Notes that a step begins.
    pub(super) fn step_begins(&self, step: usize) {
        self.step.store(step, Ordering::SeqCst);
    }

    /// Notes that the case removes a taint: a move that has removed it does not put it back.
    pub(super) fn untainted(&mut self, cluster: &str, key: &str, effect: &str) {
        let removed = Removed {
            cluster: cluster.to_owned(),
            key: key.to_owned(),
            effect: effect.to_owned(),
        };
        for (_, end) in &mut self.ends {
            if let End::Taint(name, taints) = end {
                taints.retain(|it| !removed.is(name, it));
            }
        }
        self.removed.push(removed);
    }

    /// From now on, waits for the write of a move on one of these clusters.
    pub(super) fn arm(&self, it: &Move, clusters: BTreeSet<ClusterName>) {
        let armed = Armed {
            step: self.step.load(Ordering::SeqCst),
            it: it.clone(),
            clusters,
            seen: 0,
        };
        self.armed.lock().unwrap_or_else(PoisonError::into_inner).push(armed);
    }
}

impl Directing {
    /// Lets writes in, one at a time, until the target is gone.
    async fn direct(&mut self) {
        while let Some(asking) = self.keeper.next().await {
            let write = asking.write().clone();
            if !ASIDE.contains(&write.kind.as_str())
                && let Some(traffic) = &self.traffic
            {
                traffic.record(self.step.load(Ordering::SeqCst), &write);
            }
            match self.take_move(&write) {
                Some((step, it)) => self.disturb(asking, &write, step, &it).await,
                None => drop(asking.let_in()),
            }
        }
    }

    /// The armed move that a write is the moment of.
    fn take_move(&self, write: &GatedWrite) -> Option<(usize, Move)> {
        let mut armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        // All count the write, also those that come second.
        let due: Vec<bool> = armed.iter_mut().map(|it| it.counts(write)).collect();
        let first = due.into_iter().position(|is_due| is_due)?;
        let armed = armed.remove(first);
        Some((armed.step, armed.it))
    }

    async fn disturb(&self, asking: Asking, write: &GatedWrite, step: usize, it: &Move) {
        match it.fault {
            MoveFault::LoseRequest => {
                self.note(step, it, write);
                drop(asking);
            }
            MoveFault::LoseAnswer => {
                self.note(step, it, write);
                asking.let_in_and_lose_answer().wait().await;
            }
            MoveFault::Rival => {
                if let Err(error) = self.write_first(write).await {
                    tracing::debug!(error = error_chain(&error), "no rival of {write:?}");
                } else {
                    self.note(step, it, write);
                }
                asking.let_in();
            }
            MoveFault::CrashBefore => {
                self.note(step, it, write);
                self.have_done(write, it).await;
                drop(asking);
            }
            MoveFault::CrashAfter | MoveFault::StaleRestart => {
                self.note(step, it, write);
                asking.let_in_and_lose_answer().wait().await;
                self.have_done(write, it).await;
            }
            MoveFault::BreakConnections | MoveFault::ExpireWatches | MoveFault::RefuseReads => {
                asking.let_in().wait().await;
                self.note(step, it, write);
                self.have_done(write, it).await;
            }
            MoveFault::HoldWatches | MoveFault::HoldKind | MoveFault::CutOff => {
                self.note(step, it, write);
                self.have_done(write, it).await;
                asking.let_in();
            }
            MoveFault::FlapTaints => {
                asking.let_in().wait().await;
                let taken = self.take_taints().await;
                if !taken.taints.is_empty() {
                    self.note(step, it, write);
                    self.have_done_with(write, it, taken).await;
                }
            }
            MoveFault::TaintCluster => {
                asking.let_in().wait().await;
                if self.taint(&write.server).await {
                    self.note(step, it, write);
                    self.have_done(write, it).await;
                }
            }
            MoveFault::EditPolicies => {
                asking.let_in().wait().await;
                if self.edit_policies().await {
                    self.note(step, it, write);
                }
            }
        }
    }

    /// Removes the taints of users from all members.
    async fn take_taints(&self) -> Taken {
        let mut taken = self.removed.begin();
        let Some(client) = self.control() else { return taken };
        for member in self.clusters.values().map(Cluster::name).filter(|it| !it.is_control()) {
            match actions::take_taints(&client, member.as_str()).await {
                Ok(taints) if taints.is_empty() => {}
                Ok(taints) => taken.taints.push((member.clone(), taints)),
                Err(error) => tracing::debug!(error = error_chain(&error), "the taints of {member} stay"),
            }
        }
        taken
    }

    /// Client of the control plane for what users do.
    fn control(&self) -> Option<Client> {
        let control = self.clusters.get(ClusterName::control().as_str())?;
        Some(control.inside(actions::BATON))
    }

    /// Taints a member; returns false if it was not tainted.
    async fn taint(&self, member: &str) -> bool {
        let Some(control) = self.control() else { return false };
        let tainted = actions::taint(&control, member, &taint_of_moves()).await;
        if let Err(error) = &tainted {
            tracing::debug!(error = error_chain(error), "{member} is not tainted");
        }
        tainted.is_ok()
    }

    /// Edits the policies of the case; returns false if nothing was edited.
    async fn edit_policies(&self) -> bool {
        let Some(control) = self.control() else { return false };
        match policies::edit(&control, &self.namespace).await {
            Ok(edited) => edited > 0,
            Err(error) => {
                tracing::debug!(error = error_chain(&error), "the policies stay");
                false
            }
        }
    }

    /// Has the run do its part, and waits for that.
    async fn have_done(&self, write: &GatedWrite, it: &Move) {
        self.have_done_with(write, it, Taken::default()).await;
    }

    async fn have_done_with(&self, write: &GatedWrite, it: &Move, taken: Taken) {
        let (done, is_done) = oneshot::channel();
        let due = Due {
            it: it.clone(),
            cluster: ClusterName::new(&*write.server),
            taken,
            done,
        };
        // Without a run the director ends too.
        if self.due.send(due).is_err() {
            return;
        }
        let mut is_starting = self.is_starting.clone();
        let starts = async {
            let _ = is_starting.wait_for(|it| *it).await;
        };
        tokio::select! {
            biased;
            _ = is_done => {}
            () = starts => {}
        }
    }

    fn note(&self, step: usize, it: &Move, write: &GatedWrite) {
        let cluster = ClusterName::new(&*write.server);
        self.recorder.mark(Mark::Moved {
            step,
            text: it.to_string(),
            member: (!cluster.is_control() && !it.fault.crashes()).then_some(cluster),
            lasts_secs: it.lasts.as_secs_f64(),
        });
    }

    /// Annotates the object of a write, so that a write that has a resource version conflicts.
    async fn write_first(&self, write: &GatedWrite) -> Result<(), RivalError> {
        let cluster = self.clusters.get(&*write.server).ok_or(RivalError::UnknownCluster)?;
        let of = ObjectRef {
            api_version: write.api_version.clone(),
            kind: write.kind.clone(),
            namespace: write.namespace.clone(),
            name: write.name.clone().ok_or(RivalError::Creation)?,
        };
        let merge = json!({"metadata": {"annotations": {RIVAL: self.namespace}}});
        actions::patch(&cluster.inside(actions::BATON), &of, &merge).await?;
        Ok(())
    }
}

/// The taint that a move sets.
pub(super) fn taint_of_moves() -> Taint {
    Taint {
        key: "baton.dev/moved".to_owned(),
        value: None,
        effect: "NoExecute".to_owned(),
    }
}

/// A write that no other client could precede.
#[derive(Debug, Error)]
enum RivalError {
    #[error("the cluster is unknown")]
    UnknownCluster,
    #[error("a creation has no rival")]
    Creation,
    #[error(transparent)]
    Action(#[from] ActionError),
}
