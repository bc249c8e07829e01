//! State that the cases of a run share, and the context of one case.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use baton_cluster::runner::Precedents;
use baton_core::{case::model::Case, timeline::Provenance};

use crate::{options::RunOptions, snapshots::Stored};

/// State that the cases of a run share.
#[derive(Debug)]
pub struct RunState {
    /// Options of the run.
    pub options: RunOptions,
    /// Snapshots in files, as they were before any case ran.
    pub stored: Stored,
    /// Origin of timelines, to which each adds its seed and attempt; `None` outside of a run.
    pub provenance: Option<Provenance>,
    /// Waits of the run that are known to be in vain.
    pub precedents: Precedents,
    stopped: AtomicBool,
    clean_up_failed: AtomicBool,
}

impl RunState {
    /// Creates the state at the beginning of a run, and reads the snapshots of its cases.
    pub fn new<'a>(options: RunOptions, cases: impl IntoIterator<Item = &'a Case>) -> Self {
        Self {
            stored: Stored::read(&options.roots, cases),
            options,
            provenance: None,
            precedents: Precedents::default(),
            stopped: AtomicBool::new(false),
            clean_up_failed: AtomicBool::new(false),
        }
    }

    /// Starts no further case.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    /// Returns `true` if no further case starts.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst) || self.options.interrupt.is_asked()
    }

    /// Records that a clean-up timed out: later ones get less time.
    pub fn set_clean_up_failed(&self) {
        self.clean_up_failed.store(true, Ordering::SeqCst);
    }

    /// Returns `true` if a clean-up timed out.
    pub fn clean_up_failed(&self) -> bool {
        self.clean_up_failed.load(Ordering::SeqCst)
    }
}

/// Context of one case.
#[derive(Debug, Clone)]
pub struct CaseContext {
    /// State of the run.
    pub run: Arc<RunState>,
    /// Random seed.
    pub seed: u64,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// Set while other cases run on the same control plane.
    pub beside_others: bool,
    /// Set if a wait ends early once another case of the run waited in vain for the same.
    pub may_end_early: bool,
}

impl CaseContext {
    /// Returns the context of a case that runs alone, with the first seed, and waits in full.
    pub fn new(run: RunState) -> Self {
        Self {
            seed: run.options.seed,
            run: Arc::new(run),
            attempt: 1,
            beside_others: false,
            may_end_early: false,
        }
    }

    /// Returns the options of the run.
    pub fn options(&self) -> &RunOptions {
        &self.run.options
    }

    /// Returns the waits that are known to be in vain; `None` if the case waits for itself.
    pub(crate) fn precedents(&self) -> Option<&Precedents> {
        self.may_end_early.then_some(&self.run.precedents)
    }

    /// Returns the number of retries of a failed case. A case next to others is not retried: it is run again, alone.
    pub(crate) fn retries(&self) -> u32 {
        if self.beside_others { 0 } else { self.options().retries }
    }
}
