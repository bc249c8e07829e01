//! Plans per hour of an exploration, for one and for two plans at once. `cargo bench -p baton --bench explored`.
//!
//! Figures of the machine at hand, to be quoted with it; nothing is asserted. A number after `--` is another number of plans.

use std::{error::Error, num::NonZeroUsize, path::Path, time::Instant};

use baton::{
    explore::{self, Wanted, folder::Folder},
    files::Roots,
    load::Suite,
    options::RunOptions,
    output::FollowUp,
};
use baton_core::{case::model::MoveFault, event::Shard, explore::space::Random};

/// Case that is explored.
const CASE: &str = "deployment-directly";

/// Number of plans if none is given.
const PLANS: usize = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let number = std::env::args().find_map(|word| word.parse().ok());
    let plans = number.unwrap_or(PLANS);
    let roots = Roots::of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    let suite = Suite::load(&roots)?;
    let chosen = suite.chosen(&roots, &[CASE.to_owned()])?;
    let settings = RunOptions::new(roots.clone()).asking(&suite.catalogue);
    for jobs in [1, 2] {
        // Without the baseline, which takes three runs.
        let run = |plans| -> Result<(usize, f64), Box<dyn Error>> {
            let wanted = Wanted {
                plans: Some(plans),
                budget: None,
                depth: 2,
                random: Random::plans(0),
                faults: MoveFault::ALL.to_vec(),
                shard: Shard { number: 1, of: 1 },
                jobs: NonZeroUsize::new(jobs).unwrap_or(NonZeroUsize::MIN),
                shrink: 0,
                again: FollowUp::default(),
            };
            let out = tempfile::tempdir()?;
            let mut folder = Folder::new(out.path().join("explored"), false);
            let began = Instant::now();
            let explored = explore::explore(&suite, &chosen.cases, &roots, &settings, &wanted, &mut folder)?;
            Ok((explored.run, began.elapsed().as_secs_f64()))
        };
        let (_, baseline) = run(0)?;
        let (ran, whole) = run(plans)?;
        let seconds = (whole - baseline).max(f64::MIN_POSITIVE);
        println!(
            "{jobs} at once: {ran} plans in {seconds:.1} s, {:.0} an hour",
            f64::from(u32::try_from(ran)?) / seconds * 3600.0
        );
    }
    Ok(())
}
