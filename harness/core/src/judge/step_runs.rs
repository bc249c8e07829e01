//! The steps of a run as its timeline has them, and what their checks find.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    time::Duration,
};

use super::{Finding, SnapshotText};
use crate::{
    case::model::{Action, Expect, Fault},
    names::RequirementId,
    plan::Plan,
    timeline::{Entry, Event, Mark, StepEnd, Timeline, World},
    watch::is_left_to_garbage_collector,
};

/// Result of the steps.
#[derive(Debug, Default)]
pub struct Judged {
    pub findings: Vec<Finding>,
    /// Deviations that may not be the implementation's fault.
    pub inconclusive: Vec<Finding>,
    pub proved: BTreeSet<RequirementId>,
    /// Requirements that steps neither prove nor refute, each with the reason.
    pub left_open: BTreeMap<RequirementId, String>,
    /// Reasons for which the run as a whole shows nothing: a situation did not last, or the case did not reach its end.
    pub incomplete: Option<String>,
    /// The wait with which the run ended early, if one did.
    pub given_up: Option<Finding>,
    /// The feature that the implementation lacks, if the run ended for that and nothing was found before.
    pub unsupported: Option<String>,
    /// Set if the run ended early for another reason than a deviation.
    pub ended_early: bool,
    pub snapshots: Vec<SnapshotText>,
}

impl Judged {
    /// Adds the finding that a condition did not hold, unless the cluster itself is the cause.
    pub fn tell(&mut self, mut finding: Finding, expect: &Expect, run: &Ran<'_>, timeline: &Timeline) {
        let world = World::after(&timeline.entries()[..run.entries.end]);
        let object = finding.object.as_ref().and_then(|id| world.get(id));
        if matches!(expect, Expect::Absent) && object.is_some_and(|it| is_left_to_garbage_collector(it)) {
            finding.seen += "; it is marked for deletion, but the cluster's garbage collector has not removed it yet";
            self.inconclusive.push(finding);
        } else {
            self.findings.push(finding);
        }
    }

    /// Notes that these are not judged, and why.
    pub fn leave_open(&mut self, ids: impl IntoIterator<Item = RequirementId>, reason: &str) {
        for id in ids {
            self.left_open.entry(id).or_insert_with(|| reason.to_owned());
        }
    }
}

/// Entries of a step on the timeline, and its end as the runner reports it.
pub struct Ran<'a> {
    /// Entries from its start mark (inclusive) to its end mark (exclusive).
    pub entries: Range<usize>,
    pub began: Duration,
    /// When the steps that act before it had begun to have an effect; when it began, if there are none.
    pub acted: Acted,
    pub end: Option<(&'a StepEnd, &'a Entry)>,
}

impl Ran<'_> {
    /// Returns its duration; [`Duration::MAX`] if the run ended first.
    pub fn took(&self) -> Duration {
        self.end
            .map_or(Duration::MAX, |(_, entry)| entry.at.saturating_sub(self.began))
    }
}

/// Returns the steps of a plan that ran, by number.
pub fn ran<'a>(plan: &Plan, timeline: &'a Timeline) -> BTreeMap<usize, Ran<'a>> {
    let mut ran: BTreeMap<usize, Ran<'_>> = BTreeMap::new();
    for (index, entry) in timeline.entries().iter().enumerate() {
        match &entry.event {
            Event::Mark(Mark::StepStarted { step, .. }) => {
                ran.insert(
                    *step,
                    Ran {
                        entries: index..timeline.entries().len(),
                        began: entry.at,
                        acted: Acted::before(plan, *step, &ran, entry.at),
                        end: None,
                    },
                );
            }
            Event::Mark(Mark::StepEnded { step, end }) => {
                if let Some(run) = ran.get_mut(step) {
                    run.entries.end = index;
                    run.end = Some((end, entry));
                }
            }
            Event::Mark(_) | Event::Revision(_) => {}
        }
    }
    ran
}

/// When the steps that act before a step had begun to have an effect.
#[derive(Debug, Clone, Copy)]
pub struct Acted {
    /// End of the first of the steps that act directly before it.
    directly: Duration,
    /// The same, if steps that wait for the target may come between.
    at_all: Duration,
    /// When the step began.
    began: Duration,
    /// Time that the target took to start in the steps directly before, as far as these start it, stop it or let time pass.
    starting: Duration,
}

impl Acted {
    /// Longest time by which steps that wait for the target shorten a period. If they take longer, the period follows them.
    const WAITS: Duration = Duration::from_secs(3);

    fn before(plan: &Plan, step: usize, ran: &BTreeMap<usize, Ran<'_>>, began: Duration) -> Self {
        let ended = |step: usize| ran.get(&step)?.end.map(|(_, entry)| entry.at);
        let acts = |step: &usize| plan.steps.get(*step).is_some_and(|it| it.action.facts().acts);
        let waits = (0..step).rev().take_while(|it| !acts(it)).count();
        let first_before = |step: usize| (0..step).rev().take_while(acts).last().and_then(ended);
        let at_all = first_before(step - waits).unwrap_or(began);
        Self {
            directly: if waits == 0 { at_all } else { began },
            at_all,
            began,
            starting: starting(plan, step, ran),
        }
    }

    /// Returns the start of a period that a step judges. The steps before it may have begun the period, and on a slow machine
    /// much time can pass between them and the step. A case does not count the time that a target takes to start.
    pub fn period_from(&self, period: Duration) -> Duration {
        if self.began > self.directly + period {
            // The steps are not meant to be a part of the period.
            return self.began.saturating_sub(self.starting);
        }
        let most = Self::WAITS.min(period / 4);
        let from = self.at_all.max(self.directly.saturating_sub(most)).min(self.directly);
        from.min(self.began.saturating_sub(self.starting))
    }
}

/// Returns the time that the target took to start in the steps directly before this one. A step that does anything else than
/// start it, stop it or let time pass ends the search.
fn starting(plan: &Plan, step: usize, ran: &BTreeMap<usize, Ran<'_>>) -> Duration {
    let action = |step: usize| plan.steps.get(step).map(|it| &it.action);
    let starts = |step: usize| {
        matches!(
            action(step),
            Some(Action::Inject(Fault::StartController) | Action::Start(_))
        )
    };
    let passes = |step: usize| {
        let stops = matches!(action(step), Some(Action::Inject(Fault::StopController)));
        stops || starts(step) || matches!(action(step), Some(Action::Elapse(_)))
    };
    let before = (0..step).rev().take_while(|it| passes(*it)).filter(|it| starts(*it));
    let took = before.filter_map(|it| ran.get(&it)).map(Ran::took);
    took.fold(Duration::ZERO, Duration::saturating_add)
}

/// The part of a timeline that is judged, without the clean-up.
pub fn before_clean_up(timeline: &Timeline) -> &[Entry] {
    let clean_up = timeline
        .entries()
        .iter()
        .position(|entry| entry.event == Event::Mark(Mark::CleanUp));
    &timeline.entries()[..clean_up.unwrap_or(timeline.entries().len())]
}
