//! Defects that no case of the suite shows, because none has a fault at the right write: an exploration finds them.

use std::{path::Path, sync::Arc};

use baton::{
    explore::{self, Wanted, folder::Folder},
    files::Roots,
    settings::Settings,
};
use baton_cluster::error_chain::error_chain;
use baton_core::{case::model::MoveFault, event::Shard};
use http::Method;

use crate::{
    fault::{Fault, Of},
    mutant::Mutant,
    pieces::{Memory, Uids, deleted_uid, list, map, on, uid},
    verdict::{Death, Trial},
};

/// A mutant, with the case and the fault that show it.
pub struct Explored {
    /// The mutant.
    pub mutant: Mutant,
    case: &'static str,
    fault: MoveFault,
}

/// Returns all of them.
pub fn all() -> Vec<Explored> {
    vec![
        Explored {
            mutant: Mutant {
                name: "lost-deletion-is-done",
                breaks: "PRG-03",
                defect: "a copy counts as gone once its deletion got no answer",
                fault: |_| lost_deletion_is_done(),
            },
            case: "held-by-finalizer",
            fault: MoveFault::LoseAnswer,
        },
        Explored {
            mutant: Mutant {
                name: "labels-lost-with-an-answer",
                breaks: "REC-01",
                defect: "copies are created without labels once the answer to a write of a binding got lost",
                fault: |_| labels_lost_with_an_answer(),
            },
            case: "statefulset-directly",
            fault: MoveFault::LoseAnswer,
        },
    ]
}

fn lost_deletion_is_done() -> Fault {
    let unanswered: Uids = Memory::new();
    let (asks, answered) = (unanswered.clone(), unanswered.clone());
    Fault::none()
        .before(Of::Copies, move |call, _| {
            if call.method == Method::DELETE {
                asks.get().insert(deleted_uid(call));
            }
            on()
        })
        .after(Of::Copies, move |call, _, _| {
            answered.get().remove(&deleted_uid(call));
            Box::pin(std::future::ready(()))
        })
        .hidden(Of::Copies, move |_, copy| unanswered.get().contains(&uid(copy)))
}

fn labels_lost_with_an_answer() -> Fault {
    let unanswered: Memory<u32> = Memory::new();
    let (asks, answered) = (unanswered.clone(), unanswered.clone());
    Fault::none()
        .before(Of::Bindings, move |call, _| {
            if call.is_write() && call.at.subresource.is_empty() {
                *asks.get() += 1;
            }
            on()
        })
        .after(Of::Bindings, move |call, _, _| {
            if call.is_write() && call.at.subresource.is_empty() {
                *answered.get() -= 1;
            }
            Box::pin(std::future::ready(()))
        })
        .written_at(Of::Works, move |_, body| {
            if *unanswered.get() > 0 {
                for manifest in list(body, "/spec/workload/manifests") {
                    if let Some(labels) = map(manifest, "/metadata/labels") {
                        labels.retain(|key, _| !key.starts_with("failover.karmada.io/"));
                    }
                }
            }
        })
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
    let settings = Settings {
        target: Arc::new(*mutant),
        ..Settings::new(roots.clone())
    };
    let settings = settings.asking(&suite.catalogue);
    let cases: Vec<_> = suite
        .cases
        .iter()
        .filter(|it| it.id.as_str() == *case)
        .cloned()
        .collect();
    let wanted = Wanted {
        plans: None,
        budget: None,
        depth: 1,
        random: 0,
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
