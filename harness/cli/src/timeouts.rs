//! Timeouts of cases that depend on the course of the run.

use baton_cluster::{fleet::TimeMode, runner::Timeouts};
use baton_core::{
    case::model::Invariant,
    timeline::{Mark, StepEnd, Timeline},
};

use crate::{
    context::{CaseContext, RunState},
    options::RunOptions,
};

/// Returns the timeouts of the next case. In real time, clean-up gets less time once one has failed.
pub(crate) fn of_next_case(run: &RunState) -> Timeouts {
    let options = &run.options;
    match options.backend.time_mode() {
        TimeMode::Virtual => options.timeouts.exact(),
        TimeMode::Real => Timeouts {
            hurried: run.clean_up_failed() && !leaves_things_behind(options),
            ..options.timeouts
        },
    }
}

/// Records whether the clean-up of a case timed out.
pub(crate) fn learn(context: &CaseContext, timeline: &Timeline) {
    let timed_out = timeline.marks().any(|(_, mark)| {
        matches!(
            mark,
            Mark::CleanedUp {
                end: StepEnd::TimedOut { .. },
                ..
            }
        )
    });
    // Next to other cases clean-up may take longer; a timeout counts only in a case that runs alone.
    if timed_out && !context.beside_others {
        context.run.set_clean_up_failed();
    }
}

/// Returns `true` if the baseline says that clean-up fails in every case. Then it gets the whole time, so that each
/// failure matches the baseline; the target file can shorten the timeout `clear` instead.
fn leaves_things_behind(options: &RunOptions) -> bool {
    let proved = Invariant::NothingLeftAfterCleanUp.proves();
    let baseline = options.target.baseline();
    let everywhere = baseline.entries.iter().filter(|entry| entry.cases.is_empty());
    everywhere
        .filter_map(|entry| entry.requirement())
        .any(|id| proved.contains(id))
}
