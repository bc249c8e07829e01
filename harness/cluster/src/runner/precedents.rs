//! Waits of a run whose end is known. If a cause has kept a case waiting in vain for the whole time, other cases of the run
//! that have it need not wait as long: their waits end early, without a verdict.
//!
//! A slow implementation is not condemned by that. A wait ends early only if nothing has happened for a tenth of its
//! time, if the workload that it is about has a cause that another case had until its time was up, and if that case
//! deviates. A case that ended early shows nothing: it is inconclusive, and names the other case.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use baton_core::{
    case::model::{Action, ObjectRef, Subject},
    cause::{self, Cause},
    names::CaseId,
    timeline::{StepEnd, World},
};

use super::{
    Run,
    deadline::{Silence, Wait},
};

/// Part of a wait after which it may end early.
const PART: u32 = 10;

/// Causes that cases of the run had, each with the case that waits for the whole time.
#[derive(Debug, Default)]
pub struct Precedents(Mutex<BTreeMap<String, Precedent>>);

#[derive(Debug)]
struct Precedent {
    case: CaseId,
    standing: Standing,
}

/// State of a wait that decides about others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The case has not ended.
    Open,
    /// The case waited in vain for the whole time, and has not ended.
    InVain,
    /// The case waited in vain for the whole time, and deviates.
    Confirmed,
    /// The cause went away while the case waited.
    Refuted,
}

impl Precedents {
    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Precedent>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the other case whose wait decides about this one; `None` if this case has to wait for the whole time.
    fn deciding(&self, id: &CaseId, cause: &Cause) -> Option<CaseId> {
        let mut all = self.all();
        let precedent = all.entry(cause.group.clone()).or_insert_with(|| Precedent {
            case: id.clone(),
            standing: Standing::Open,
        });
        (precedent.case != *id && precedent.standing != Standing::Refuted).then(|| precedent.case.clone())
    }

    /// Notes how the whole wait of a case ended.
    fn waited(&self, id: &CaseId, cause: Option<&Cause>) {
        for (group, precedent) in self.all().iter_mut().filter(|(_, it)| it.case == *id) {
            if precedent.standing == Standing::Open && cause.is_some_and(|cause| cause.group == *group) {
                precedent.standing = Standing::InVain;
            }
        }
    }

    /// Notes that a case has ended. Its waits are precedents if it deviates in a way that is not known before the run.
    pub fn ended(&self, case: &CaseId, deviates: bool) {
        self.all().retain(|_, precedent| {
            if precedent.case != *case {
                return true;
            }
            precedent.standing = match precedent.standing {
                Standing::Open | Standing::Refuted => Standing::Refuted,
                Standing::InVain | Standing::Confirmed => Standing::Confirmed,
            };
            // The next case with this cause waits for the whole time.
            deviates || precedent.standing == Standing::Refuted
        });
    }

    /// Returns the state of the wait that decides about waits with this cause; `None` if no case waits for it.
    pub fn standing(&self, cause: &Cause) -> Option<Standing> {
        self.all().get(&cause.group).map(|it| it.standing)
    }
}

/// Returns the workload that a step waits for, if the step is about the propagation of one.
pub(super) fn workload_of(action: &Action) -> Option<&ObjectRef> {
    let of = match action {
        Action::BindRole { from, .. } => return Some(from),
        Action::Wait { until, .. } => &until.of,
        Action::Assert(assertion) => &assertion.condition.of,
        Action::Capture { of, .. } => of,
        _ => return None,
    };
    match of {
        Subject::Object(workload) | Subject::BindingOf(workload) | Subject::WorkOf { workload, .. } => Some(workload),
        Subject::BindingsOf(_)
        | Subject::Cluster(_)
        | Subject::EventOf(_)
        | Subject::NoticeOf(_)
        | Subject::NewsOf(_) => None,
    }
}

impl Run<'_> {
    /// Returns the time after which a wait of this length ends if nothing happens.
    pub(super) fn silence(&self, limit: Duration) -> Option<Silence> {
        let may_end_early = self.precedents.is_some() && self.waits_for.is_some();
        let by_timeouts = self.timeouts.silence.map(Silence::FromBeginning);
        by_timeouts.or_else(|| may_end_early.then(|| Silence::SinceLastEvent(limit / PART)))
    }

    /// Decides about a wait whose time is up, or in which nothing happened for some time; returns `true` if it goes on.
    pub(super) fn waits_in_full(&mut self, wait: &mut Wait) -> bool {
        let (Some(precedents), Some(workload)) = (self.precedents, &self.waits_for) else {
            return false;
        };
        if self.ended {
            return false;
        }
        let cause = cause::certain(&World::after(&self.seen), workload);
        if !wait.is_silent() {
            precedents.waited(&self.case, cause.as_ref());
            return false;
        }
        let Some(cause) = cause else {
            wait.in_full();
            return true;
        };
        match precedents.deciding(&self.case, &cause) {
            None => {
                wait.in_full();
                true
            }
            Some(as_in) => {
                self.given_up = Some((as_in, cause));
                false
            }
        }
    }

    /// Returns the end of a step, as an early one if its wait was given up.
    pub(super) fn or_given_up(&mut self, end: StepEnd) -> StepEnd {
        match (end, self.given_up.take()) {
            (StepEnd::TimedOut { phase, waited_secs }, Some((as_in, cause))) => StepEnd::GivenUp {
                phase,
                waited_secs,
                as_in,
                cause,
            },
            (end, _) => end,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unbound_job() -> Cause {
        Cause {
            group: "no binding refers to a Job".to_owned(),
            text: "no binding refers to Job job".to_owned(),
        }
    }

    #[test]
    fn a_case_that_waited_in_vain_decides_about_others_once_it_deviates() {
        let precedents = Precedents::default();
        let cause = unbound_job();
        let [first, second, third] = ["first", "second", "third"].map(CaseId::new);
        assert_eq!(precedents.standing(&cause), None);
        assert_eq!(
            precedents.deciding(&first, &cause),
            None,
            "the first one waits for the whole time"
        );
        assert_eq!(precedents.deciding(&second, &cause), Some(first.clone()));
        precedents.waited(&first, Some(&cause));
        assert_eq!(precedents.standing(&cause), Some(Standing::InVain));
        precedents.ended(&second, true);
        precedents.ended(&first, true);
        assert_eq!(precedents.standing(&cause), Some(Standing::Confirmed));
        assert_eq!(precedents.deciding(&third, &cause), Some(first));
    }

    #[test]
    fn a_cause_that_went_away_decides_nothing() {
        let precedents = Precedents::default();
        let cause = unbound_job();
        let [first, second] = ["first", "second"].map(CaseId::new);
        assert_eq!(precedents.deciding(&first, &cause), None);
        precedents.ended(&first, true);
        assert_eq!(precedents.standing(&cause), Some(Standing::Refuted));
        assert_eq!(precedents.deciding(&second, &cause), None);
    }

    #[test]
    fn a_case_whose_deviation_was_known_leaves_the_wait_to_the_next() {
        let precedents = Precedents::default();
        let cause = unbound_job();
        let [first, second] = ["first", "second"].map(CaseId::new);
        assert_eq!(precedents.deciding(&first, &cause), None);
        precedents.waited(&first, Some(&cause));
        precedents.ended(&first, false);
        assert_eq!(precedents.standing(&cause), None);
        assert_eq!(precedents.deciding(&second, &cause), None);
    }
}
