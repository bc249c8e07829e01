//! How long the phases of a case may take, as far as that depends on the run.

use std::sync::atomic::Ordering;

use baton_cluster::{fleet::TimeMode, runner::Timeouts};
use baton_core::{
    case::model::Invariant,
    timeline::{Mark, StepEnd, Timeline},
};

use crate::settings::Settings;

/// The timeouts of the next case. Where waiting takes time, clean-up is given less once one has failed.
pub(crate) fn of_next_case(settings: &Settings) -> Timeouts {
    match settings.backend.time_mode() {
        TimeMode::Virtual => settings.timeouts.exact(),
        TimeMode::Real => Timeouts {
            hurried: settings.clean_up_failed.load(Ordering::SeqCst) && !leaves_things_behind(settings),
            ..settings.timeouts
        },
    }
}

/// Takes in what happened to a case.
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
    // Beside others clean-up may take longer; it counts only once the case is alone.
    if timed_out && !settings.beside_others {
        settings.clean_up_failed.store(true, Ordering::SeqCst);
    }
}

/// Whether clean-up is known to fail in every case. Then it is given the whole time, so that each case can be put down to
/// the baseline; a target file that says so may also say that `clear` takes less.
fn leaves_things_behind(settings: &Settings) -> bool {
    let proved = Invariant::NothingLeftAfterCleanUp.proves();
    let baseline = settings.target.baseline();
    let everywhere = baseline.entries.iter().filter(|entry| entry.cases.is_empty());
    everywhere
        .filter_map(|entry| entry.requirement())
        .any(|id| proved.contains(id))
}
