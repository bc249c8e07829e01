//! Defects that no case of the suite shows, because none has a fault at the right write: an exploration finds them.
//! `defects`: mutants after faults of clusters and of the controller; `reads`: after faults of reads; `users`: after acts of
//! users.

mod defects;
mod reads;
mod users;

use std::{path::Path, sync::Arc};

use baton::{
    explore::{self, Wanted, folder::Folder},
    files::Roots,
    options::RunOptions,
};
use baton_cluster::error_chain::error_chain;
use baton_core::{case::model::MoveFault, event::Shard, explore::space::Random};

use crate::{
    mutant::Mutant,
    verdict::{Death, Trial},
};

/// Plans of each exploration: the first faults of each class of writes are enough.
const MOST_PLANS: usize = 32;

/// Returns all of them.
pub fn all() -> Vec<Explored> {
    let mut all = defects::all();
    all.extend(reads::all());
    all.extend(users::all());
    all
}

/// A mutant, with the case and the fault that show it.
pub struct Explored {
    /// The mutant.
    pub mutant: Mutant,
    case: &'static str,
    fault: MoveFault,
}

/// Mutants that a fault shows in the case in which a workload with state moves.
fn on_stateful(mutants: Vec<Mutant>, fault: MoveFault) -> Vec<Explored> {
    let explored = |mutant| Explored {
        mutant,
        case: "statefulset-directly",
        fault,
    };
    mutants.into_iter().map(explored).collect()
}

/// Number of plans that find a mutant.
///
/// # Errors
/// If a case of the suite shows it already, or the exploration does not.
pub fn try_out(trial: &Trial, roots: &Roots, it: &Explored) -> Result<usize, String> {
    let Explored { mutant, case, fault } = it;
    if let Death::Killed { case, .. } = trial.try_out(mutant) {
        return Err(format!("{case} shows it without an exploration"));
    }
    let suite = trial.suite();
    let settings = RunOptions {
        target: Arc::new(*mutant),
        ..RunOptions::new(roots.clone())
    };
    let settings = settings.asking(&suite.catalogue);
    let cases: Vec<_> = suite
        .cases
        .iter()
        .filter(|it| it.id.as_str() == *case)
        .cloned()
        .collect();
    let wanted = Wanted {
        plans: Some(MOST_PLANS),
        budget: None,
        depth: 1,
        random: Random::plans(0),
        faults: vec![*fault],
        shard: Shard { number: 1, of: 1 },
        jobs: std::num::NonZeroUsize::MIN,
        shrink: 0,
    };
    let out = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut folder = Folder::new(out.path().join("explored"), false);
    let explored =
        explore::explore(suite, &cases, roots, &settings, &wanted, &mut folder).map_err(|error| error_chain(&error))?;
    if explored.deviations == 0 || !found(folder.path(), mutant.breaks) {
        return Err(format!("the exploration does not find it: {:?}", explored.plans));
    }
    Ok(explored.run)
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
            it.fault.name()
        ),
        Err(reason) => format!("NOT FOUND: {reason}"),
    }
}
