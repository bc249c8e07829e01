//! Runs of a case that is explored: without faults, and with the moves of a plan.

use std::{collections::BTreeSet, path::Path, time::Instant};

use baton_cluster::{
    fleet::{TimeMode, embedded::EMBEDDED},
    runner::Traffic,
};
use baton_core::{
    case::model::{Case, Move},
    explore::{
        TargetWrite,
        oracle::{self, Shown, Signature},
        points::{self, Point},
        states::{self, Transition},
        variant::{self, Base},
    },
    plan::Plan,
    timeline::Timeline,
};

use super::{Wanted, error::ExploreError};
use crate::{context::CaseContext, evidence::Log, files::Roots, load::Suite, options::RunOptions, run};

/// Everything that a run needs, without its case.
#[derive(Clone, Copy)]
pub(super) struct Runs<'a> {
    pub(super) suite: &'a Suite,
    pub(super) roots: &'a Roots,
    pub(super) context: &'a CaseContext,
}

/// A search through the plans of cases.
pub(super) struct Search<'a> {
    pub(super) runs: Runs<'a>,
    pub(super) wanted: &'a Wanted,
    pub(super) deadline: Option<Instant>,
}

/// Moves of a plan, each before a step of the file.
pub(super) type Moves = Vec<(usize, Move)>;

/// A case that can be explored.
pub(super) struct Explorable<'a> {
    pub(super) case: &'a Case,
    pub(super) base: Base,
    /// Moments of the run without faults.
    pub(super) points: Vec<Point>,
    /// Number of writes of the implementation in the run without faults.
    pub(super) writes: usize,
    /// Findings of the run without faults.
    pub(super) known: BTreeSet<Signature>,
    /// Transitions of workloads in the run without faults.
    pub(super) transitions: BTreeSet<Transition>,
}

/// A run of a variant.
pub(super) struct VariantRun {
    pub(super) timeline: Timeline,
    pub(super) writes: Vec<TargetWrite>,
    pub(super) shown: Shown,
    /// Set if the verdict leaves something open.
    pub(super) inconclusive: bool,
}

impl VariantRun {
    fn signatures(&self) -> impl Iterator<Item = Signature> {
        let all = self.shown.deviations.iter().chain(&self.shown.leads);
        all.map(Signature::of)
    }
}

impl<'a> Runs<'a> {
    pub(super) fn options(self) -> &'a RunOptions {
        self.context.options()
    }

    pub(super) fn is_virtual(self) -> bool {
        self.options().backend.time_mode() == TimeMode::Virtual
    }

    pub(super) fn is_embedded(self) -> bool {
        self.options().backend.name() == EMBEDDED
    }

    /// Runs the case as it is, then twice without its assertions and without moves.
    ///
    /// # Errors
    /// The reason why the case cannot be explored.
    pub(super) fn prepare(self, case: &'a Case) -> Result<Explorable<'a>, ExploreError> {
        let obstacles: Vec<&'static str> = variant::obstacles(case).into_iter().collect();
        if !obstacles.is_empty() {
            return Err(ExploreError::Obstacles(obstacles));
        }
        let plan = Plan::of(case).asking(self.options().asked.clone());
        let log = Log::new(case);
        let reasons = run::planned::unsupported(case, &plan, self.options());
        if !reasons.is_empty() {
            return Err(ExploreError::Unsupported(reasons.join("; ")));
        }
        let ran = run::execute_with(case, &plan, self.context, &log.file, None, &|_| {})?;
        if let Some(reason) = &ran.verdict.unsupported {
            return Err(ExploreError::Unsupported(reason.clone()));
        }
        if self.is_virtual() && !ran.verdict.conforms() {
            return Err(ExploreError::NotConforming);
        }
        let root = self.suite.expanded(self.roots, case)?.ok_or(ExploreError::Gone)?;
        let base = Base::new(case, &root, &ran.timeline, self.is_virtual());
        let first = self.run(case, &base, &[], "without-faults")?;
        let again = self.run(case, &base, &[], "without-faults")?;
        if self.is_virtual() && text(&first.timeline) != text(&again.timeline) {
            return Err(ExploreError::NotRepeatable);
        }
        if self.is_virtual()
            && let Some(finding) = first.shown.deviations.first()
        {
            return Err(ExploreError::Deviates(finding.to_string()));
        }
        Ok(Explorable {
            case,
            points: points::points(&base, &first.writes, &first.timeline),
            writes: first.writes.len(),
            transitions: states::transitions(&first.timeline),
            known: first.signatures().chain(again.signatures()).collect(),
            base,
        })
    }

    /// Runs a variant.
    pub(super) fn run(
        self,
        case: &Case,
        base: &Base,
        moves: &[(usize, Move)],
        name: &str,
    ) -> Result<VariantRun, ExploreError> {
        let text = base.with(name, moves, None);
        let read = self.suite.read_text(self.roots, Path::new("explored.yaml"), &text);
        let variants =
            read.map_err(|found| ExploreError::Unreadable(found.iter().map(ToString::to_string).collect()))?;
        let variant = variants.first().ok_or(ExploreError::Empty)?;
        let plan = Plan::of(variant).asking(self.options().asked.clone());
        let (log, traffic) = (Log::new(case), Traffic::default());
        let ran = run::execute_with(variant, &plan, self.context, &log.file, Some(traffic.clone()), &|_| {})?;
        let faults: Vec<&Move> = moves.iter().map(|(_, it)| it).collect();
        Ok(VariantRun {
            shown: oracle::shown(&ran.verdict, &faults),
            inconclusive: !ran.verdict.inconclusive.is_empty(),
            timeline: ran.timeline,
            writes: traffic.take(),
        })
    }
}

/// A timeline as it is written.
fn text(timeline: &Timeline) -> Vec<u8> {
    let mut text = Vec::new();
    // Writing into memory cannot fail.
    let _ = timeline.write(&mut text);
    text
}
