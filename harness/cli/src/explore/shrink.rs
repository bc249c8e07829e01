//! Confirms a finding, and makes its plan smaller.

use std::collections::BTreeSet;

use baton_core::explore::{
    oracle::Signature,
    shrink::{self, Candidate, Shrunk},
    variant::Base,
};

use super::{
    folder::FOUND,
    runs::{Explorable, Moves, Search, VariantRun},
};

/// The smallest plan that shows a finding.
pub(super) struct Smallest {
    /// The case, perhaps with fewer steps.
    pub(super) base: Base,
    pub(super) moves: Moves,
    /// A run of the plan.
    pub(super) run: VariantRun,
    pub(super) shrunk: Shrunk,
}

impl Search<'_> {
    /// Runs a plan again, then plans with less, until none shows the finding. Returns `None` if the finding does not come
    /// again. One run is enough where runs can be repeated exactly; otherwise three of five must show it, and only plans
    /// with fewer moves are tried.
    pub(super) fn smallest(
        &self,
        of: &Explorable<'_>,
        moves: &Moves,
        id: &str,
        signature: &Signature,
    ) -> Option<Smallest> {
        let name = format!("{FOUND}{id}");
        let of_steps = of.base.removable_steps();
        let mut smallest = Smallest {
            run: self.again(of, &of.base, moves, &name, signature)?,
            base: of.base.clone(),
            moves: moves.clone(),
            shrunk: Shrunk {
                runs: 0,
                moves: moves.len(),
                steps: of_steps,
                of_steps,
            },
        };
        let mut tried = BTreeSet::new();
        while let Some((base, moves, run)) = self.smaller(of, &mut smallest, &name, signature, &mut tried) {
            smallest = Smallest {
                shrunk: Shrunk {
                    moves: moves.len(),
                    steps: base.removable_steps(),
                    ..smallest.shrunk
                },
                base,
                moves,
                run,
            };
        }
        Some(smallest)
    }

    /// The first plan with less that shows the finding, too, and was not tried before.
    fn smaller(
        &self,
        of: &Explorable<'_>,
        from: &mut Smallest,
        name: &str,
        signature: &Signature,
        tried: &mut BTreeSet<String>,
    ) -> Option<(Base, Moves, VariantRun)> {
        let is_virtual = self.runs.is_virtual();
        for candidate in shrink::candidates(&from.base, &from.moves) {
            let Candidate {
                base,
                moves,
                has_fewer_steps,
            } = candidate;
            let is_for_real_time = moves.len() < from.moves.len();
            if !is_virtual && !is_for_real_time || !tried.insert(base.plan_id(0, &moves)) {
                continue;
            }
            if from.shrunk.runs >= self.wanted.shrink || self.runs.options().interrupt.is_asked() {
                return None;
            }
            from.shrunk.runs += 1;
            let Some(run) = self.again(of, &base, &moves, name, signature) else {
                continue;
            };
            if has_fewer_steps {
                from.shrunk.runs += 1;
                if !self.conforms_without_moves(of, &base) {
                    continue;
                }
            }
            return Some((base, moves, run));
        }
        None
    }

    /// A run of a plan that shows the finding again.
    fn again(
        &self,
        of: &Explorable<'_>,
        base: &Base,
        moves: &Moves,
        name: &str,
        signature: &Signature,
    ) -> Option<VariantRun> {
        let (repeats, needed) = if self.runs.is_virtual() { (1, 1) } else { (5, 3) };
        let shows = |run: &VariantRun| {
            let mut deviations = run.shown.deviations.iter();
            !run.shown.incomplete && deviations.any(|it| Signature::of(it) == *signature)
        };
        let runs = (0..repeats).filter_map(|_| self.runs.run(of.case, base, moves, name).ok());
        let mut showing: Vec<VariantRun> = runs.filter(shows).collect();
        if showing.len() >= needed { showing.pop() } else { None }
    }

    /// Returns true if a smaller case conforms without moves: all steps are carried out, and no invariant is broken.
    fn conforms_without_moves(&self, of: &Explorable<'_>, base: &Base) -> bool {
        let run = self.runs.run(of.case, base, &[], "without-faults");
        run.is_ok_and(|run| {
            let is_of_a_step = |finding| Signature::of(finding).invariant().is_none();
            run.shown.deviations.is_empty() && !run.inconclusive && !run.shown.leads.iter().any(is_of_a_step)
        })
    }
}
