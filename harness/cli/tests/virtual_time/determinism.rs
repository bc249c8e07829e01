//! The same seed gives the same timeline, byte for byte; another seed gives the same verdict.
//!
//! `BATON_SEEDS` is the number of seeds other than 0 with which every case runs; by default it is one.

use std::{
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use baton::{load::Suite, options::RunOptions, output, run};
use baton_cluster::error_chain::error_chain;
use baton_core::{case::model::Case, event::CaseOutcome, plan::Plan};
use rstest::rstest;

use crate::common::roots;

fn suite() -> Suite {
    Suite::load(&roots()).unwrap_or_else(|error| panic!("{error}"))
}

fn with_seed(seed: u64) -> RunOptions {
    RunOptions {
        seed,
        ..RunOptions::new(roots())
    }
}

/// Runs a case and returns its timeline as it is written to a file.
fn timeline(case: &Case, seed: u64) -> String {
    let ran = run::execute(case, &Plan::of(case), &with_seed(seed), Path::new(""), &|_| {});
    let ran = ran.unwrap_or_else(|error| panic!("{}: {}", case.id, error_chain(&error)));
    let mut text = Vec::new();
    ran.timeline.write(&mut text).unwrap_or_else(|error| panic!("{error}"));
    String::from_utf8(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the first line in which two runs of a case with one seed differ.
fn difference(case: &Case, seed: u64) -> Option<String> {
    let (one, other) = (timeline(case, seed), timeline(case, seed));
    if one == other {
        return None;
    }
    let lines = one.lines().zip(other.lines()).enumerate();
    let differs = lines.into_iter().find(|(_, (line, again))| line != again);
    let (number, (line, again)) = differs.unwrap_or((one.lines().count(), ("the end", "another end")));
    Some(format!(
        "line {} of {} with seed {seed}:\n{line}\n{again}",
        number + 1,
        case.id
    ))
}

/// Every case that the reference controller can be asked, run twice.
#[test]
fn the_same_seed_gives_the_same_timeline_in_every_case() {
    let suite = suite();
    let features = with_seed(0).target.features();
    let cases: Vec<&Case> = suite
        .cases
        .iter()
        .filter(|case| case.features.is_subset(&features))
        .collect();
    let next = AtomicUsize::new(0);
    let differ = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let difference = difference(case, 0);
                    let mut differ = differ.lock().unwrap_or_else(PoisonError::into_inner);
                    differ.extend(difference);
                }
            });
        }
    });
    let differ = differ.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert!(differ.is_empty(), "{}", differ.join("\n\n"));
}

/// One of each kind with another seed: a plain failover, one that is blocked and cut off, one with a restart, one with two
/// instances, one with a script that fails.
#[rstest]
fn another_seed_gives_the_same_timeline_twice(
    #[values(
        "deployment-directly",
        "cut-off",
        "restart-keeps-the-clock",
        "queue-another-leader-crash",
        "interpretation-broken-script-error"
    )]
    id: &str,
) {
    let suite = suite();
    let case = suite.cases.iter().find(|case| case.id.as_str() == id);
    let case = case.unwrap_or_else(|| panic!("there is no case {id}"));
    assert_eq!(difference(case, 7), None);
}

#[test]
fn another_seed_gives_other_names() {
    let suite = suite();
    let case = suite
        .cases
        .iter()
        .find(|case| case.id.as_str() == "deployment-directly");
    let case = case.unwrap_or_else(|| panic!("there is no such case"));
    assert_ne!(timeline(case, 0), timeline(case, 1));
}

#[test]
fn every_case_conforms_with_every_seed() {
    let seeds: u64 = std::env::var("BATON_SEEDS").map_or(1, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("BATON_SEEDS is {text:?}; a number is expected"))
    });
    let suite = suite();
    let began = Instant::now();
    let runs = AtomicUsize::new(0);
    // Seed 0 is what every other test runs with.
    for seed in 1..=seeds {
        let settings = with_seed(seed);
        run::run(&suite.cases, &settings, |event| {
            let baton_core::event::Event::CaseEnded(result) = event else {
                return;
            };
            runs.fetch_add(1, Ordering::Relaxed);
            let conforms = matches!(
                result.outcome,
                CaseOutcome::Conforms(_) | CaseOutcome::Unsupported { .. }
            );
            assert!(
                conforms,
                "seed {seed}: {}",
                output::explanation(result, None).unwrap_or_else(|| format!("{:?}", result.outcome))
            );
        });
    }
    println!(
        "{} runs with {seeds} seeds in {:.0?}",
        runs.into_inner(),
        began.elapsed()
    );
}
