//! `baton run`.

use std::sync::Arc;

use baton_cluster::{
    fleet::{Pace, embedded::InProcess},
    runner::chain,
};

use super::{Exit, bad_input};
use crate::{
    args,
    load::{Roots, Suite},
    output::Output,
    report::Reports,
    run::{self, Settings},
};

/// Runs the cases of a suite as the arguments say.
pub(super) fn run(suite: &Suite, roots: &Roots, arguments: &args::Run) -> Exit {
    let settings = settings(roots, arguments);
    let mut reports = match Reports::open(&arguments.reports, &suite.catalogue) {
        Ok(reports) => reports,
        Err(error) => return bad_input(&error, error.help()),
    };
    let mut output = Output::new();
    let summary = run::run(&suite.cases, &settings, |event| {
        reports.tell(event);
        output.tell(event);
    });
    match reports.finish() {
        Ok(written) => written
            .iter()
            .for_each(|report| println!("report: {}", report.display())),
        Err(error) => {
            eprintln!("error: {}", chain(&error));
            return Exit::Broken;
        }
    }
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
