//! Shrinking: plans with less than one that found something, in the order in which they are worth a run.

use std::{ops::Range, time::Duration};

use serde::{Deserialize, Serialize};

use super::variant::Base;
use crate::case::model::{Move, MoveFault};

/// A plan with less than another one.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The case.
    pub base: Base,
    /// The moves, each before a step of the file.
    pub moves: Vec<(usize, Move)>,
    /// Set if the case has fewer steps. A finding then counts only if the case conforms without moves.
    pub has_fewer_steps: bool,
}

/// The result of shrinking a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Shrunk {
    /// Number of runs.
    pub runs: usize,
    /// Number of moves that are left.
    pub moves: usize,
    /// Number of steps that are left.
    pub steps: usize,
    /// Number of steps before.
    pub of_steps: usize,
}

/// Plans with less: first those with one move fewer, then those with a weaker move, then those with fewer steps, many at
/// once before few.
pub fn candidates(base: &Base, moves: &[(usize, Move)]) -> Vec<Candidate> {
    let with = |moves| Candidate {
        base: base.clone(),
        moves,
        has_fewer_steps: false,
    };
    let mut candidates: Vec<Candidate> = fewer_moves(moves).into_iter().map(with).collect();
    for (index, (_, it)) in moves.iter().enumerate() {
        if let Some(weaker) = weaker(it) {
            let mut moves = moves.to_vec();
            moves[index].1 = weaker;
            candidates.push(with(moves));
        }
    }
    let steps = base.removable_steps();
    let mut size = steps.div_ceil(2);
    while size > 0 {
        for start in (0..steps).step_by(size) {
            let range = start..(start + size).min(steps);
            candidates.push(Candidate {
                base: base.without_steps(range.clone()),
                moves: moves
                    .iter()
                    .map(|(step, it)| (shifted(*step, &range), it.clone()))
                    .collect(),
                has_fewer_steps: true,
            });
        }
        size /= 2;
    }
    candidates
}

/// Moves without one of them; none if there is only one.
pub fn fewer_moves(moves: &[(usize, Move)]) -> Vec<Vec<(usize, Move)>> {
    if moves.len() < 2 {
        return Vec::new();
    }
    let without = |left_out: usize| {
        let kept = moves.iter().enumerate().filter(|(index, _)| *index != left_out);
        kept.map(|(_, it)| it.clone()).collect()
    };
    (0..moves.len()).map(without).collect()
}

/// Duration of a weaker fault.
const SHORT: Duration = Duration::from_secs(10);

/// The next weaker move at the same write: one that takes less time, or loses a message where the other also ended the
/// controller.
fn weaker(it: &Move) -> Option<Move> {
    let (fault, lasts) = match it.fault {
        MoveFault::CrashBefore | MoveFault::CrashAfter if !it.lasts.is_zero() => (it.fault, Duration::ZERO),
        MoveFault::CrashBefore => (MoveFault::LoseRequest, Duration::ZERO),
        MoveFault::CrashAfter => (MoveFault::LoseAnswer, Duration::ZERO),
        MoveFault::StaleRestart => (MoveFault::CrashAfter, Duration::ZERO),
        MoveFault::HoldWatches | MoveFault::HoldKind | MoveFault::CutOff if it.lasts > SHORT => (it.fault, SHORT),
        MoveFault::FlapTaints if it.lasts > it.fault.default_duration() => (it.fault, it.fault.default_duration()),
        MoveFault::HoldWatches
        | MoveFault::HoldKind
        | MoveFault::ExpireWatches
        | MoveFault::RefuseReads
        | MoveFault::FlapTaints
        | MoveFault::TaintCluster
        | MoveFault::EditPolicies
        | MoveFault::CutOff
        | MoveFault::LoseRequest
        | MoveFault::LoseAnswer
        | MoveFault::Rival
        | MoveFault::BreakConnections => return None,
    };
    Some(Move {
        at: it.at.clone(),
        fault,
        lasts,
    })
}

/// The number of a step once the steps in a range are left out.
fn shifted(step: usize, left_out: &Range<usize>) -> usize {
    if step >= left_out.end {
        step - left_out.len()
    } else {
        step.min(left_out.start)
    }
}
