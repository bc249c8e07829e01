//! Moves as the run sees them: the part of each that ends or starts the target, or acts on a cluster, and the end of what lasts.

use std::time::Duration;

use baton_core::{
    case::model::{Action, Fault, MoveFault, Taint},
    names::ClusterName,
    plan::Plan,
};
use tokio::time::Instant;

use super::{
    Run,
    director::{Director, Due, End, taint_of_moves},
    step_error::StepError,
};
use crate::{
    actions::{self, ActionError},
    error_chain::error_chain,
    fleet::{self, Fleet},
};

/// The outcome of a change to a cluster, which the case may have removed from the federation in the meantime.
fn unless_gone(changed: Result<(), ActionError>) -> Result<(), ActionError> {
    match changed {
        Err(ActionError::Refused { source, .. }) if matches!(&*source, kube::Error::Api(status) if status.code == 404) => {
            Ok(())
        }
        changed => changed,
    }
}

/// The next part of a move that needs the run; never completes without a director.
pub(super) async fn next_due(director: &mut Option<Director>) -> Part {
    let Some(director) = director else {
        return std::future::pending().await;
    };
    let Director { due, ends, .. } = director;
    let first = ends.iter().enumerate().min_by_key(|(_, (at, _))| *at);
    let first = first.map(|(index, (at, _))| (index, *at));
    let end = async {
        match first {
            Some((index, at)) => {
                tokio::time::sleep_until(at).await;
                index
            }
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        Some(due) = due.recv() => Part::Begin(due),
        index = end => Part::End(ends.remove(index).1),
    }
}

/// Has all clusters remember their state before a step, for moves that serve stale lists.
pub(super) async fn remember(plan: &Plan, number: usize, fleet: &dyn Fleet) {
    let fault_of = |action: &Action| match action {
        Action::Inject(Fault::Move(it)) => Some(it.fault),
        _ => None,
    };
    let mut faults = plan.steps.iter().map(|step| fault_of(&step.action));
    let is_needed = faults.clone().any(|fault| fault == Some(MoveFault::StaleRestart));
    if !is_needed || faults.nth(number).flatten().is_some() {
        return;
    }
    for cluster in std::iter::once(fleet.control()).chain(fleet.members()) {
        if let Err(error) = fleet.inject(cluster.name(), fleet::Fault::Remember).await {
            tracing::debug!(error = error_chain(&error), "{} remembers nothing", cluster.name());
        }
    }
}

/// A part of a move that needs the run.
pub(super) enum Part {
    /// It begins.
    Begin(Due),
    /// It ends.
    End(End),
}

impl Run<'_> {
    /// Carries out the part of a move that needs the run.
    pub(super) async fn carry_out_part(&mut self, part: Part) {
        let outcome = match part {
            Part::Begin(due) => self.disturb(due).await,
            Part::End(end) => self.end_move(end).await,
        };
        if let Err(error) = outcome {
            self.note_end(super::Ended {
                status: format!("a move could not be carried out: {}", error_chain(&error)),
                last_lines: Vec::new(),
                environment: true,
            });
        }
    }

    async fn disturb(&mut self, due: Due) -> Result<(), StepError> {
        let Due {
            it,
            cluster,
            taken,
            done,
        } = due;
        match it.fault {
            MoveFault::StaleRestart => {
                self.crash_target().await;
                drop(done);
                self.disturb_reads(cluster, fleet::Fault::ServeStale, it.lasts).await?;
                return self.end_move(End::Restart).await;
            }
            MoveFault::CrashBefore | MoveFault::CrashAfter => {
                self.crash_target().await;
                drop(done);
                if it.lasts.is_zero() {
                    return self.end_move(End::Restart).await;
                }
                self.end_later(it.lasts, End::Restart);
            }
            MoveFault::BreakConnections => {
                self.fleet.inject(&cluster, fleet::Fault::BreakConnections).await?;
            }
            MoveFault::HoldWatches | MoveFault::HoldKind => {
                let kind = (it.fault == MoveFault::HoldKind).then_some(it.at.kind);
                let hold = |time| fleet::Fault::HoldWatches(kind.clone(), time);
                self.disturb_reads(cluster, hold, it.lasts).await?;
            }
            MoveFault::RefuseReads => {
                self.disturb_reads(cluster, fleet::Fault::RefuseReads, it.lasts).await?;
            }
            MoveFault::ExpireWatches => {
                self.fleet.inject(&cluster, fleet::Fault::ExpireWatches).await?;
            }
            MoveFault::FlapTaints => {
                let put_back = self.director.as_ref().map(|it| it.removed.to_put_back(taken));
                for (cluster, taints) in put_back.unwrap_or_default() {
                    self.end_later(it.lasts, End::Taint(cluster, taints));
                }
            }
            MoveFault::CutOff => {
                self.fleet.inject(&cluster, fleet::Fault::CutOff).await?;
                self.end_later(it.lasts, End::Heal(cluster));
            }
            MoveFault::TaintCluster => self.end_later(it.lasts, End::Untaint(cluster)),
            MoveFault::LoseRequest | MoveFault::LoseAnswer | MoveFault::Rival | MoveFault::EditPolicies => {}
        }
        Ok(())
    }

    async fn crash_target(&mut self) {
        if let Some(running) = self.running.take() {
            running.crash().await;
        }
    }

    /// Disturbs for some time what a cluster shows to the target.
    async fn disturb_reads(
        &mut self,
        cluster: ClusterName,
        fault: impl Fn(Duration) -> fleet::Fault,
        lasts: Duration,
    ) -> Result<(), StepError> {
        self.fleet.inject(&cluster, fault(lasts)).await?;
        if let Some(director) = &mut self.director {
            director.releases.push((cluster, fault(Duration::ZERO)));
        }
        Ok(())
    }

    fn end_later(&mut self, after: Duration, end: End) {
        if let Some(director) = &mut self.director {
            director.ends.push((Instant::now() + after, end));
        }
    }

    async fn end_move(&mut self, end: End) -> Result<(), StepError> {
        match end {
            // A step of the case may have started it.
            End::Restart if self.running.is_some() => Ok(()),
            End::Restart => Ok(self.start_target().await?),
            End::Taint(cluster, taints) => {
                let control = self.fleet.control().inside(actions::BATON);
                for taint in &taints {
                    unless_gone(actions::taint(&control, cluster.as_str(), taint).await)?;
                }
                Ok(())
            }
            End::Untaint(cluster) => {
                let control = self.fleet.control().inside(actions::BATON);
                let Taint { key, effect, .. } = taint_of_moves();
                Ok(unless_gone(
                    actions::untaint(&control, cluster.as_str(), &key, &effect).await,
                )?)
            }
            End::Heal(cluster) => Ok(self.fleet.inject(&cluster, fleet::Fault::Heal).await?),
        }
    }

    /// Ends all moves: no write of the target is disturbed any more, and what lasts ends now.
    pub(super) async fn end_moves(&mut self) {
        let Some(director) = self.director.take() else { return };
        let (ends, releases) = (director.ends.clone(), director.releases.clone());
        // Opens the gate: a target that starts may need to write.
        drop(director);
        for (_, end) in ends {
            if let Err(error) = self.end_move(end).await {
                tracing::debug!(error = error_chain(&error), "a move is not undone");
            }
        }
        for (cluster, release) in releases {
            if let Err(error) = self.fleet.inject(&cluster, release).await {
                tracing::debug!(error = error_chain(&error), "reads stay disturbed");
            }
        }
    }
}
