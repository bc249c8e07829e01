//! `baton run`.

use std::sync::Arc;

use baton_cluster::fleet::{Pace, embedded::InProcess};

use super::Exit;
use crate::{
    args,
    load::{Roots, Suite},
    output::Output,
    run::{self, Settings},
};

/// Runs the cases of a suite as the arguments say.
pub(super) fn run(suite: &Suite, roots: &Roots, arguments: &args::Run) -> Exit {
    let settings = settings(roots, arguments);
    let mut output = Output::new();
    let summary = run::run(&suite.cases, &settings, |event| output.tell(event));
    match (summary.broken, summary.deviating) {
        (0, 0) => Exit::Conforms,
        (0, _) => Exit::Deviates,
        (_, _) => Exit::Broken,
    }
}

fn settings(roots: &Roots, arguments: &args::Run) -> Settings {
    let default = Settings::new(roots.clone());
    let pace = if arguments.real_time { Pace::Real } else { Pace::Virtual };
    Settings {
        backend: Arc::new(InProcess { pace }),
        jobs: arguments.jobs.unwrap_or(default.jobs),
        seed: arguments.seed,
        timelines: arguments.timelines.clone(),
        ..default
    }
}
