//! Options of a run: clusters, implementation, repetitions and time limits.

use std::{path::PathBuf, sync::Arc, time::Duration};

use baton_cluster::{
    fleet::{
        Backend, TimeMode,
        embedded::{EMBEDDED, InProcess},
    },
    runner::{Target, Timeouts},
    simulator::Rules,
};
use baton_core::{
    catalogue::{Asked, Catalogue},
    event::Suite,
    implementation::Launch,
};

use crate::{
    backend, descriptors,
    files::Roots,
    implementation::{Described, Reference, TargetFileError},
    interrupt::Interrupt,
};

/// Longest time that a case may run without yielding, with a wide margin for busy machines.
const SILENCE: Duration = Duration::from_secs(60);

/// Options of a run, most of them from the command line. They do not change during the run: what does is in
/// [`RunState`](crate::context::RunState).
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate option")]
pub struct RunOptions {
    /// Folders of the suite.
    pub roots: Roots,
    /// Creates fleets.
    pub backend: Arc<dyn Backend>,
    /// Rules of the workload simulator; `None` for the built-in rules.
    pub rules: Option<Arc<Rules>>,
    /// The implementation under test.
    pub target: Arc<dyn Target>,
    /// Consequence of each requirement for the implementation.
    pub asked: Asked,
    /// Number of cases that run at once, if the backend has enough fleets.
    pub jobs: usize,
    /// Random seed of the first repetition.
    pub seed: u64,
    /// Timeouts of the phases of a migration.
    pub timeouts: Timeouts,
    /// Factor for the periods of cases, applied as far as each period allows.
    pub time_factor: f64,
    /// Longest time that a case may wait in real time; cases that wait longer are unsupported.
    pub max_case_time: Option<Duration>,
    /// Cancellation: breaks off running cases and starts no new ones.
    pub interrupt: Interrupt,
    /// Folder for the timelines of all cases; without it, only those of failed cases are kept.
    pub timelines: Option<PathBuf>,
    /// Set if snapshots of cases that otherwise conform are written instead of compared.
    pub accept_snapshots: bool,
    /// Number of times that each case runs, each with the next seed.
    pub repeat: u64,
    /// Number of retries of a failed case.
    pub retries: u32,
    /// Set if no further case starts after the first failure.
    pub fail_fast: bool,
    /// Set if every wait takes its whole time, even if another case of the run waited in vain for the same.
    pub full_waits: bool,
    /// Set if the clusters of a failed case are kept until the user continues.
    pub pause_on_failure: bool,
    /// Suite that the cases are a part of; `None` if they are all of it.
    pub part_of: Option<Suite>,
    /// Longest time that a case may run without yielding before it is given up.
    pub silence: Duration,
    /// Longest real time of a case, not counting its own waits in real time. A case that takes longer is ended and has no
    /// verdict. `None` for no limit.
    pub limit: Option<Duration>,
}

impl RunOptions {
    /// Returns options for the reference controller on embedded fleets, in virtual time, with seed 0 and one job per
    /// processor.
    pub fn new(roots: Roots) -> Self {
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            roots,
            backend: Arc::new(InProcess {
                time_mode: TimeMode::Virtual,
                doors: false,
            }),
            rules: None,
            target: Arc::new(Reference),
            asked: Asked::default(),
            jobs,
            seed: 0,
            timeouts: Timeouts::default(),
            time_factor: 1.0,
            max_case_time: None,
            interrupt: Interrupt::default(),
            timelines: None,
            accept_snapshots: false,
            repeat: 1,
            retries: 0,
            fail_fast: false,
            full_waits: false,
            pause_on_failure: false,
            part_of: None,
            silence: SILENCE,
            limit: None,
        }
    }

    /// Sets the target that a file describes. If it is a program, embedded clusters listen on ports and run in real
    /// time.
    ///
    /// If the target cannot run on these clusters.
    pub fn with_target(mut self, target: Described) -> Result<Self, TargetFileError> {
        let embedded = self.backend.name() == EMBEDDED;
        match &target.spec().run {
            Launch::Installed if embedded => return Err(TargetFileError::NothingInstalled),
            Launch::Exec(_) if embedded => {
                self.backend = Arc::new(InProcess {
                    time_mode: TimeMode::Real,
                    doors: true,
                });
                self.max_case_time = self.max_case_time.or(Some(backend::MAX_CASE_TIME));
            }
            Launch::Reference | Launch::Installed | Launch::Exec(_) => {}
        }
        self.timeouts = self.timeouts.of_target(&target.spec().timeouts);
        self.target = Arc::new(target);
        Ok(self)
    }

    /// Gives each requirement of a catalogue the consequence that it has for the target.
    #[must_use]
    pub fn asking(self, catalogue: &Catalogue) -> Self {
        let asked = Asked::of(catalogue, &self.target.features(), &self.target.documents());
        Self { asked, ..self }
    }

    /// Returns `true` if cases may end early. In virtual time waiting costs nothing.
    pub(crate) fn may_end_early(&self) -> bool {
        let is_real = self.backend.time_mode() == TimeMode::Real;
        is_real && !self.full_waits && !self.pause_on_failure
    }

    /// Returns the number of cases that can run at once, out of `cases` with this many members each.
    pub(crate) fn jobs(&self, cases: usize, members: usize) -> usize {
        let limit = self.backend.at_once(members).unwrap_or(usize::MAX).min(cases);
        let descriptors = descriptors::enough_for(self.backend.time_mode());
        let limit = descriptors.map_or(limit, |enough| limit.min(enough));
        self.jobs.clamp(1, limit.max(1))
    }
}
