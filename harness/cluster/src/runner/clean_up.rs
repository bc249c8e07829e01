//! Clean-up at the end of a run: removes the case's objects, and waits until the target has removed its own.

use std::time::Duration;

use baton_core::{
    case::model::{Action, Fault, ObjectRef, Phase, Place},
    judge::invariants::{awaits_garbage_collector, left_over},
    names::ClusterName,
    plan::{Plan, PlannedStep},
    timeline::{Mark, StepEnd},
    watch::Known,
};

use tokio::time::{Instant, timeout_at};

use super::{
    Run, fault_injection,
    references::{named, with_references},
    step_error::StepError,
    wait::GARBAGE,
};
use crate::{actions, error_chain::error_chain, fleet};

/// Kinds that other cases may still need; the fleet removes them.
const KEPT: [&str; 4] = ["CustomResourceDefinition", "Namespace", "Cluster", "Node"];

/// Factor of the clean-up time after a member was away: the target retries failed requests at growing intervals.
pub(super) const AWAY: u32 = 6;

/// A hurried clean-up gets this fraction of the time…
const HURRIED: u32 = 6;

/// … but at least this long.
const AT_LEAST: Duration = Duration::from_secs(1);

impl Run<'_> {
    /// Reverts the case's changes to clusters, deletes its objects from the control plane, policies first, and waits
    /// until none of the target's objects for them is left. Notes the result on the timeline, for the judge.
    pub(super) async fn clean_up(&mut self, plan: &Plan) -> StepEnd {
        let known = self.known();
        match self.undo(plan, &known).await {
            Ok(()) => self.until_nothing_is_left(plan).await,
            Err(error) => StepEnd::Refused {
                message: error_chain(&error),
            },
        }
    }

    async fn undo(&mut self, plan: &Plan, known: &Known) -> Result<(), StepError> {
        // A target that is about to stop may block at the gate.
        if self.stopping.is_some() {
            self.stop_target().await;
        }
        if self.running.is_none() && self.others.is_empty() {
            self.start_target().await?;
        }
        for step in &plan.steps {
            match &step.action {
                Action::Inject(Fault::CutOff(role)) => {
                    self.inject_on(&Place::Role(role.clone()), fleet::Fault::Heal).await?;
                }
                Action::Inject(Fault::Unready(role)) => self.say_ready(role, true).await?,
                Action::Inject(Fault::Unjoin(role)) => self.join(role).await?,
                Action::Inject(Fault::Fail(place, failing)) if failing.path.is_some() => {
                    self.inject_on(place, fault_injection::ended(failing)).await?;
                }
                Action::Inject(Fault::Delay(place, _)) => {
                    self.inject_on(place, fleet::Fault::Delay(Duration::ZERO)).await?;
                }
                // The object that was held may be gone, or may never have existed.
                hold @ Action::Hold { on, of } => {
                    let release = Action::Release {
                        on: on.clone(),
                        of: of.clone(),
                    };
                    if let Err(error) = self.act(&release).await {
                        tracing::debug!(error = error_chain(&error), "{hold} is not undone");
                    }
                }
                _ => {}
            }
        }
        // The target does not remove objects from a member that it takes to be gone.
        if some_member_was_away(plan)
            && let Err(error) = self.wait_until_ready().await
        {
            tracing::debug!(error = error_chain(&error), "members are not ready again");
        }
        let control = self.client(&ClusterName::control())?;
        for object in applied(plan, known, self.fleet.namespace()) {
            actions::delete(&control, &object).await?;
        }
        Ok(())
    }

    /// Notes how clean-up ended, and whether its time was shortened.
    pub(super) fn note_clean_up(&self, plan: &Plan, end: StepEnd) {
        let timed_out = matches!(end, StepEnd::TimedOut { .. });
        let hurried = timed_out && self.time_to_clean_up(plan) < self.time_due(plan);
        self.recorder.mark(Mark::CleanedUp { end, hurried });
    }

    fn time_due(&self, plan: &Plan) -> Duration {
        if some_member_was_away(plan) {
            self.timeouts.clear.saturating_mul(AWAY)
        } else {
            self.timeouts.clear
        }
    }

    fn time_to_clean_up(&self, plan: &Plan) -> Duration {
        let due = self.time_due(plan);
        if self.timeouts.hurried {
            due.min(AT_LEAST.max(due / HURRIED))
        } else {
            due
        }
    }

    async fn until_nothing_is_left(&mut self, plan: &Plan) -> StepEnd {
        let began = Instant::now();
        let mut deadline = Deadline::of(began, self.time_to_clean_up(plan));
        self.read_on();
        loop {
            let left = left_over(&self.seen);
            if left.is_empty() {
                return StepEnd::Done;
            }
            let awaits_collector = !self.timeouts.hurried && awaits_garbage_collector(&self.seen, &left);
            let until = deadline.at(awaits_collector);
            let Ok(Some(news)) = timeout_at(until, self.follower.next()).await else {
                return StepEnd::timed_out(Phase::Clear.name(), until - began);
            };
            deadline.put_off(awaits_collector);
            self.seen.extend(news);
        }
    }
}

/// Deadline for the target to remove its objects. While a cluster's garbage collector is awaited, the target's time
/// stands still: it starts anew once the collector has marked an object.
struct Deadline {
    time: Duration,
    /// Deadline of the target.
    end: Instant,
    /// Deadline of the garbage collector.
    latest: Instant,
}

impl Deadline {
    fn of(began: Instant, time: Duration) -> Self {
        let end = began + time;
        let latest = end + GARBAGE;
        Self { time, end, latest }
    }

    fn at(&self, awaits_collector: bool) -> Instant {
        if awaits_collector { self.latest } else { self.end }
    }

    /// Extends the deadline after an event; `awaited_collector` says whether the garbage collector was awaited until
    /// then.
    fn put_off(&mut self, awaited_collector: bool) {
        if awaited_collector {
            self.end = Instant::now() + self.time;
        }
    }
}

/// Checks whether the case made a member unreachable or `NotReady`.
fn some_member_was_away(plan: &Plan) -> bool {
    let away = |step: &PlannedStep| {
        matches!(
            step.action,
            Action::Inject(Fault::CutOff(_) | Fault::Unready(_) | Fault::Unjoin(_))
        )
    };
    plan.steps.iter().any(away)
}

/// Objects that the case applied to the control plane and that it must delete, policies first. Objects without a
/// namespace are in that of the fleet, if it has one.
fn applied(plan: &Plan, known: &Known, namespace: &str) -> Vec<ObjectRef> {
    let objects = plan.steps.iter().flat_map(|step| match &step.action {
        Action::Apply { on, objects, .. } if on.contains(&Place::Control) => objects.as_slice(),
        _ => &[],
    });
    let named = objects.filter_map(|object| named(&with_references(object, &known.bindings), namespace));
    let mut objects: Vec<ObjectRef> = named.filter(|object| !KEPT.contains(&object.kind.as_str())).collect();
    objects.sort_by_key(|object| !object.kind.ends_with("PropagationPolicy"));
    objects
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_target_has_its_time_however_late_the_garbage_collector_comes() {
        let (began, time) = (Instant::now(), Duration::from_secs(20));
        let mut deadline = Deadline::of(began, time);
        assert_eq!(deadline.at(false), began + time);
        assert_eq!(deadline.at(true), began + time + GARBAGE);
        tokio::time::advance(Duration::from_secs(19)).await;
        deadline.put_off(true);
        assert_eq!(deadline.at(false), began + Duration::from_secs(39), "marked at 19 s");
        tokio::time::advance(Duration::from_secs(10)).await;
        deadline.put_off(false);
        assert_eq!(
            deadline.at(false),
            began + Duration::from_secs(39),
            "the target must remove it"
        );
        assert_eq!(deadline.at(true), began + time + GARBAGE, "never later");
    }
}
