//! Timeouts of cases that depend on the course of the run.

use std::sync::atomic::Ordering;

use baton_cluster::{fleet::TimeMode, runner::Timeouts};
use baton_core::{
    case::model::Invariant,
    timeline::{Mark, StepEnd, Timeline},
};

use crate::settings::Settings;

/// Returns the timeouts of the next case. In real time, clean-up gets less time once one has failed.
pub(crate) fn of_next_case(settings: &Settings) -> Timeouts {
    match settings.backend.time_mode() {
        TimeMode::Virtual => settings.timeouts.exact(),
        TimeMode::Real => Timeouts {
            hurried: settings.clean_up_failed.load(Ordering::SeqCst) && !leaves_things_behind(settings),
            ..settings.timeouts
        },
    }
}

/// Records whether the clean-up of a case timed out.
pub(crate) fn learn(settings: &Settings, timeline: &Timeline) {
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
    if timed_out && !settings.beside_others {
        settings.clean_up_failed.store(true, Ordering::SeqCst);
    }
}

/// Returns `true` if the baseline says that clean-up fails in every case. Then it gets the whole time, so that each
/// failure matches the baseline; the target file can shorten the timeout `clear` instead.
fn leaves_things_behind(settings: &Settings) -> bool {
    let proved = Invariant::NothingLeftAfterCleanUp.proves();
    let baseline = settings.target.baseline();
    let everywhere = baseline.entries.iter().filter(|entry| entry.cases.is_empty());
    everywhere
        .filter_map(|entry| entry.requirement())
        .any(|id| proved.contains(id))
}
