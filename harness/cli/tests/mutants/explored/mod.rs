//! Defects that no case of the suite shows, because none has a fault at the right write: an exploration finds them.
//! `defects`: mutants after faults of clusters and of the controller; `pairs`: after two faults; `reads`: after faults of reads;
//! `users`: after acts of users.

mod defects;
mod pairs;
mod reads;
mod users;

use std::{path::Path, sync::Arc};

use baton::{
    explore::{self, Wanted, folder::Folder},
    files::Roots,
    options::RunOptions,
    output::FollowUp,
};
use baton_cluster::error_chain::error_chain;
use baton_core::{case::model::MoveFault, event::Shard, explore::space::Random};

use crate::{
    mutant::Mutant,
    verdict::{Death, Trial},
};

/// Plans of each exploration with single faults: the first faults of each class of writes are enough.
const MOST_PLANS: usize = 32;

/// Plans of each exploration with pairs of faults, which are drawn by chance.
const MOST_PAIRS: usize = 64;

/// Returns all of them.
pub fn all() -> Vec<Explored> {
    let mut all = defects::all();
    all.extend(pairs::all());
    all.extend(reads::all());
    all.extend(users::all());
    all
}

/// A mutant, with the case and the faults that show it.
pub struct Explored {
    /// The mutant.
    pub mutant: Mutant,
    case: &'static str,
    /// One fault, or the two that a pair needs.
    faults: &'static [MoveFault],
}

/// Mutants that a fault shows in the case in which a workload with state moves.
fn on_stateful(mutants: Vec<Mutant>, faults: &'static [MoveFault]) -> Vec<Explored> {
    let explored = |mutant| Explored {
        mutant,
        case: "statefulset-directly",
        faults,
    };
    mutants.into_iter().map(explored).collect()
}

/// Number of plans that find a mutant.
///
/// # Errors
/// If a case of the suite shows it already, or a single fault where it takes two, or the exploration does not.
pub fn try_out(trial: &Trial, roots: &Roots, it: &Explored) -> Result<usize, String> {
    if let Death::Killed { case, .. } = trial.try_out(&it.mutant) {
        return Err(format!("{case} shows it without an exploration"));
    }
    let singles = Wanted {
        plans: None,
        budget: None,
        depth: 1,
        random: Random::plans(0),
        faults: it.faults.to_vec(),
        shard: Shard { number: 1, of: 1 },
        jobs: std::num::NonZeroUsize::MIN,
        shrink: 0,
        again: FollowUp::default(),
    };
    if let [_] = it.faults {
        let some = Wanted {
            plans: Some(MOST_PLANS),
            ..singles
        };
        return explore(trial, roots, it, &some)?.ok_or_else(|| "the exploration does not find it".to_owned());
    }
    let pairs = Wanted {
        depth: 0,
        random: Random {
            number: MOST_PAIRS,
            moves: 2..=2,
        },
        ..singles.clone()
    };
    if explore(trial, roots, it, &singles)?.is_some() {
        return Err("a single fault shows it".to_owned());
    }
    explore(trial, roots, it, &pairs)?.ok_or_else(|| "no pair of faults shows it".to_owned())
}

/// Number of plans that ran, if one of them shows the mutant.
fn explore(trial: &Trial, roots: &Roots, it: &Explored, wanted: &Wanted) -> Result<Option<usize>, String> {
    let suite = trial.suite();
    let settings = RunOptions {
        target: Arc::new(it.mutant),
        ..RunOptions::new(roots.clone())
    };
    let settings = settings.asking(&suite.catalogue);
    let cases: Vec<_> = suite
        .cases
        .iter()
        .filter(|case| case.id.as_str() == it.case)
        .cloned()
        .collect();
    let out = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut folder = Folder::new(out.path().join("explored"), false);
    let explored =
        explore::explore(suite, &cases, roots, &settings, wanted, &mut folder).map_err(|error| error_chain(&error))?;
    let is_found = explored.deviations > 0 && found(folder.path(), it.mutant.breaks);
    Ok(is_found.then_some(explored.run))
}

/// True if the journal has a finding of this requirement.
fn found(folder: &Path, requirement: &str) -> bool {
    let journal = std::fs::read_to_string(folder.join("journal.jsonl")).unwrap_or_default();
    let deviates = |line: &&str| line.contains("\"deviates\"");
    journal.lines().filter(deviates).any(|line| line.contains(requirement))
}

/// The outcome, for people.
pub fn line(it: &Explored, found: &Result<usize, String>) -> String {
    match found {
        Ok(plans) => format!(
            "found at {} in {plans} plans of {} with {}",
            it.mutant.breaks,
            it.case,
            it.faults
                .iter()
                .map(|fault| fault.name())
                .collect::<Vec<_>>()
                .join(" and ")
        ),
        Err(reason) => format!("NOT FOUND: {reason}"),
    }
}
