//! Every case conforms with other seeds than 0, with which `tests/cases.rs` runs them, and the same seed gives the same
//! timeline, byte for byte.
//!
//! `BATON_SEEDS` is the number of these seeds; by default it is one.

use std::{
    path::Path,
    sync::{Mutex, PoisonError},
};

use baton::{load::Suite, options::RunOptions, run};
use baton_cluster::error_chain::error_chain;
use baton_core::{case::model::Case, plan::Plan, timeline::Timeline};

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

fn ran(case: &Case, options: &RunOptions) -> run::Ran {
    let ran = run::execute(case, &Plan::of(case), options, Path::new(""), &|_| {});
    ran.unwrap_or_else(|error| panic!("{}: {}", case.id, error_chain(&error)))
}

/// Returns a timeline as it is written to a file.
fn text(timeline: &Timeline) -> String {
    let mut text = Vec::new();
    timeline.write(&mut text).unwrap_or_else(|error| panic!("{error}"));
    String::from_utf8(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a case twice with one seed, and returns what is wrong: what the judge finds, or the first line in which the two
/// timelines differ.
fn fault(case: &Case, options: &RunOptions) -> Option<String> {
    let seed = options.seed;
    let [first, second] = [(); 2].map(|()| ran(case, options));
    if !first.verdict.conforms() || !first.snapshots.is_empty() {
        return Some(format!(
            "{} with seed {seed}: {:#?}\n{:#?}",
            case.id, first.verdict, first.snapshots
        ));
    }
    let (one, other) = (text(&first.timeline), text(&second.timeline));
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

/// Every case whose features the reference controller has.
#[test]
fn every_case_conforms_with_every_seed_and_gives_the_same_timeline_twice() {
    let seeds: u64 = std::env::var("BATON_SEEDS").map_or(1, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("BATON_SEEDS is {text:?}; a number is expected"))
    });
    let suite = suite();
    for seed in 1..=seeds {
        let options = with_seed(seed);
        let features = options.target.features();
        let cases = suite.cases.iter().filter(|case| case.features.is_subset(&features));
        let cases = Mutex::new(cases);
        let faults = Mutex::new(Vec::new());
        let next = || cases.lock().unwrap_or_else(PoisonError::into_inner).next();
        std::thread::scope(|scope| {
            for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(|| {
                    while let Some(case) = next() {
                        let fault = fault(case, &options);
                        faults.lock().unwrap_or_else(PoisonError::into_inner).extend(fault);
                    }
                });
            }
        });
        let faults = faults.into_inner().unwrap_or_else(PoisonError::into_inner);
        assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    }
}

#[test]
fn another_seed_gives_other_names() {
    let suite = suite();
    let case = suite
        .cases
        .iter()
        .find(|case| case.id.as_str() == "deployment-directly");
    let case = case.unwrap_or_else(|| panic!("there is no such case"));
    let [one, other] = [0, 1].map(|seed| text(&ran(case, &with_seed(seed)).timeline));
    assert_ne!(one, other);
}
