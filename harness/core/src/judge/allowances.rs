//! Times for which an implementation is not answerable: the case had stopped it, or something that it needs did not answer.
//!
//! They are read off the plan and the marks of its steps. A recording has no plan, and so no allowances.

use std::time::Duration;

use crate::{
    case::model::{Action, Fault, MoveFault, Place},
    names::ClusterName,
    plan::Plan,
    select,
    timeline::{Entry, Event, Mark},
    watch::Known,
};

/// Time after a crash within which another instance takes over: as long as a lease lasts, twice.
const TAKE_OVER: Duration = Duration::from_secs(30);

/// Time after a move within which the implementation connects again, or another instance takes over.
const RECOVERY: Duration = TAKE_OVER;

/// One disturbance.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Disturbance {
    /// The step that began it.
    step: usize,
    /// The member that it affects; none if it affects the whole implementation.
    member: Option<ClusterName>,
    from: Duration,
    /// End; none if it lasted until clean-up.
    until: Option<Duration>,
    /// Set if the implementation hears of changes later while it lasts.
    delays_news: bool,
}

/// All disturbances of a run, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Allowances(Vec<Disturbance>);

impl Allowances {
    /// Reads them off a timeline.
    pub(super) fn of(plan: Option<&Plan>, entries: &[Entry]) -> Self {
        let mut allowances = Self::default();
        let Some(plan) = plan else { return allowances };
        let mut known = Known::default();
        for entry in entries {
            known.learn(entry);
            let action = |step: usize| plan.steps.get(step).map(|step| &step.action);
            match &entry.event {
                Event::Mark(Mark::StepStarted { step, .. }) => {
                    if let Some(action) = action(*step) {
                        allowances.begin(*step, action, entry.at, &known);
                    }
                }
                Event::Mark(Mark::StepEnded { step, .. }) => {
                    if let Some(action) = action(*step) {
                        allowances.end(plan, action, entry.at, &known);
                    }
                }
                Event::Mark(Mark::Moved {
                    step,
                    member,
                    lasts_secs,
                    ..
                }) => {
                    let fault = match action(*step) {
                        Some(Action::Inject(Fault::Move(it))) => Some(it.fault),
                        _ => None,
                    };
                    if fault.is_some_and(MoveFault::is_of_users) {
                        continue;
                    }
                    allowances.0.push(Disturbance {
                        step: *step,
                        member: member.clone(),
                        from: entry.at,
                        until: Some(entry.at + Duration::from_secs_f64(*lasts_secs) + RECOVERY),
                        delays_news: fault.is_none_or(MoveFault::delays_news),
                    });
                }
                Event::Mark(_) | Event::Revision(_) => {}
            }
        }
        allowances
    }

    fn begin(&mut self, step: usize, action: &Action, from: Duration, known: &Known) {
        let until = match action {
            Action::Inject(Fault::CrashController(_)) => Some(from + TAKE_OVER),
            _ => None,
        };
        for member in disturbed(action, known) {
            self.0.push(Disturbance {
                step,
                member,
                from,
                until,
                delays_news: true,
            });
        }
    }

    fn end(&mut self, plan: &Plan, action: &Action, at: Duration, known: &Known) {
        let members = members(action, known);
        for disturbance in self.0.iter_mut().filter(|it| it.until.is_none()) {
            let Some(begun) = plan.steps.get(disturbance.step).map(|step| &step.action) else {
                continue;
            };
            if is_ended(begun, action) && members.contains(&disturbance.member) {
                disturbance.until = Some(at);
            }
        }
    }

    /// Disturbances of the implementation as a whole, or of one of its members; of all members if none is given.
    fn concerning<'a>(&'a self, member: Option<&'a ClusterName>) -> impl Iterator<Item = &'a Disturbance> {
        let concerns = move |it: &&Disturbance| match (&it.member, member) {
            (Some(there), Some(here)) => there == here,
            (None, _) | (_, None) => true,
        };
        self.0.iter().filter(concerns)
    }

    /// The moment until which something that began at `from` may take if it takes `needs` without disturbances; none if the
    /// last disturbance did not end.
    pub(super) fn deadline(&self, from: Duration, needs: Duration, member: Option<&ClusterName>) -> Option<Duration> {
        let mut begin = from;
        for disturbance in self.concerning(member) {
            let overlaps = disturbance.from < begin + needs && disturbance.until.is_none_or(|until| until > begin);
            if overlaps {
                begin = disturbance.until?;
            }
        }
        Some(begin + needs)
    }

    /// The moment since which nothing was disturbed, of a time that ends at `until`: at the earliest `from`.
    pub(super) fn undisturbed(&self, from: Duration, until: Duration, member: Option<&ClusterName>) -> Duration {
        let before = self.concerning(member).filter(|it| it.from < until);
        let ends = before.map(|it| it.until.map_or(until, |end| end.min(until)));
        ends.fold(from, Duration::max)
    }

    /// The moment until which all changes are known at `by`: at most `by`, less the time that news may take, and not after the
    /// begin of a disturbance that delays news and has not ended by then.
    pub(super) fn known_before(&self, by: Duration, takes: Duration) -> Duration {
        let delaying = self.0.iter().filter(|it| it.delays_news && it.from < by);
        let open = delaying.filter(|it| it.until.is_none_or(|until| until + takes > by));
        let earliest = open.map(|it| it.from).min();
        earliest.unwrap_or(by).min(by).saturating_sub(takes)
    }

    /// True if nothing was disturbed.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The members that an action disturbs from its begin on; none stands for the implementation as a whole.
fn disturbed(action: &Action, known: &Known) -> Vec<Option<ClusterName>> {
    let disturbs = match action {
        Action::Start(_) => true,
        Action::Inject(fault) => match fault {
            Fault::CutOff(_)
            | Fault::Unready(_)
            | Fault::Unjoin(_)
            | Fault::StopController
            | Fault::StopControllerAfter(_)
            | Fault::StartController
            | Fault::AddController(_)
            | Fault::CrashController(_) => true,
            Fault::Condition { kind, status, .. } => kind == "Ready" && status != "True",
            Fault::Fail(_, failing) => failing.times > 0,
            Fault::Delay(_, time) => !time.is_zero(),
            // A move disturbs when it happens, not when its step runs.
            Fault::Move(_) | Fault::Heal(_) | Fault::Ready(_) | Fault::Join(_) => false,
        },
        _ => false,
    };
    if disturbs { members(action, known) } else { Vec::new() }
}

/// The members that an action is about; none stands for the implementation as a whole.
fn members(action: &Action, known: &Known) -> Vec<Option<ClusterName>> {
    let place = match action {
        Action::Inject(fault) => match fault {
            Fault::CutOff(role)
            | Fault::Heal(role)
            | Fault::Unready(role)
            | Fault::Ready(role)
            | Fault::Unjoin(role)
            | Fault::Join(role)
            | Fault::Condition { cluster: role, .. } => Place::Role(role.clone()),
            Fault::Delay(place, _) | Fault::Fail(place, _) => place.clone(),
            Fault::StopController
            | Fault::StopControllerAfter(_)
            | Fault::StartController
            | Fault::AddController(_)
            | Fault::CrashController(_)
            | Fault::Move(_) => Place::Control,
        },
        _ => Place::Control,
    };
    let clusters = select::clusters(&place, &known.bindings, &known.members);
    let member = |cluster: ClusterName| (!cluster.is_control()).then_some(cluster);
    clusters.into_iter().map(member).collect()
}

/// True if a step ends the disturbance of another one. A start of the implementation ends its own.
fn is_ended(begun: &Action, by: &Action) -> bool {
    match (begun, by) {
        (Action::Start(_) | Action::Inject(Fault::StartController | Fault::AddController(_)), _) if begun == by => true,
        (
            Action::Inject(Fault::StopController | Fault::StopControllerAfter(_)),
            Action::Inject(Fault::StartController) | Action::Start(_),
        )
        | (Action::Inject(Fault::CutOff(_)), Action::Inject(Fault::Heal(_)))
        | (Action::Inject(Fault::Unready(_)), Action::Inject(Fault::Ready(_)))
        | (Action::Inject(Fault::Unjoin(_)), Action::Inject(Fault::Join(_))) => true,
        (
            Action::Inject(Fault::Condition { kind, .. }),
            Action::Inject(Fault::Condition {
                kind: other, status, ..
            }),
        ) => kind == other && status == "True",
        (Action::Inject(Fault::Delay(..)), Action::Inject(Fault::Delay(_, time))) => time.is_zero(),
        (Action::Inject(Fault::Fail(..)), Action::Inject(Fault::Fail(_, failing))) => failing.times == 0,
        _ => false,
    }
}
