//! How cases are run: on which clusters, against which implementation, how often, for how long.

use std::{
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use baton_cluster::{
    fleet::{
        Backend, TimeMode,
        embedded::{EMBEDDED, InProcess},
    },
    runner::{Target, Timeouts},
    simulator::Rules,
};
use baton_core::{
    case::model::Case,
    catalogue::{Asked, Catalogue},
    event::Suite,
    implementation::Launch,
    timeline::Provenance,
};

use crate::{
    backend, descriptors,
    files::Roots,
    implementation::{Described, Reference, TargetFileError},
    interrupt::Interrupt,
    snapshots::Stored,
};

/// Much longer than anything in a case takes that does not wait, even on a machine that has other things to do.
const SILENCE: Duration = Duration::from_secs(60);

/// How cases are run.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct Settings {
    /// The repository's folders.
    pub roots: Roots,
    /// Where fleets come from.
    pub backend: Arc<dyn Backend>,
    /// What the workload simulator does; if not given, what it does by itself.
    pub rules: Option<Arc<Rules>>,
    /// The implementation under test.
    pub target: Arc<dyn Target>,
    /// The consequence of each requirement for it.
    pub asked: Asked,
    /// How many run at once, if the backend has as many fleets.
    pub jobs: usize,
    /// What decides where chance is allowed.
    pub seed: u64,
    /// How long each phase of a migration may take.
    pub timeouts: Timeouts,
    /// What the periods of cases are multiplied by, as far as each can bear it.
    pub time_factor: f64,
    /// The longest time that a case may only wait for where waiting takes time; longer ones are unsupported.
    pub max_case_time: Option<Duration>,
    /// Whether somebody wants an end: what runs is broken off then, and nothing else begins.
    pub interrupt: Interrupt,
    /// Where the timelines of all cases are written; those that fail are written anyway.
    pub timelines: Option<PathBuf>,
    /// Whether snapshots of cases that conform otherwise are written instead of compared.
    pub accept_snapshots: bool,
    /// How often each case is run, with one seed after the other.
    pub repeat: u64,
    /// How often a case that failed is tried again.
    pub retries: u32,
    /// Whether no other case is begun once one has failed.
    pub fail_fast: bool,
    /// Whether the clusters of a case that failed are kept until somebody says that it goes on.
    pub pause_on_failure: bool,
    /// Whether other cases are on the same control plane meanwhile.
    pub beside_others: bool,
    /// Once true, no other case is begun.
    pub stop: Arc<AtomicBool>,
    /// Once true, a clean-up has failed, and later ones are given less time.
    pub clean_up_failed: Arc<AtomicBool>,
    /// The suite that the cases are a part of; none if they are all of it.
    pub part_of: Option<Suite>,
    /// What the files of snapshots say, read before anything ran; none if nobody has read them.
    pub stored: Option<Arc<Stored>>,
    /// For so long a case may keep its thread without a pause; then it is given up.
    pub silence: Duration,
    /// What timelines say of the run that they come from; none outside of one.
    pub provenance: Option<Arc<Provenance>>,
}

impl Settings {
    /// The reference controller on embedded fleets, virtual time, seed 0, one job a processor.
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
            pause_on_failure: false,
            beside_others: false,
            stop: Arc::new(AtomicBool::new(false)),
            clean_up_failed: Arc::new(AtomicBool::new(false)),
            part_of: None,
            stored: None,
            silence: SILENCE,
            provenance: None,
        }
    }

    /// With a target that a file describes. Embedded clusters get doors and real time if it is a program.
    ///
    /// # Errors
    /// If it cannot be on these clusters.
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

    /// What the files of snapshots say; those of these cases are read if nobody has read any before.
    pub(crate) fn stored<'a>(&self, cases: impl IntoIterator<Item = &'a Case>) -> Arc<Stored> {
        let read = || Arc::new(Stored::read(&self.roots, cases));
        self.stored.clone().unwrap_or_else(read)
    }

    /// How many of so many cases run at once, each with so many members.
    pub(crate) fn jobs(&self, cases: usize, members: usize) -> usize {
        let limit = self.backend.at_once(members).unwrap_or(usize::MAX).min(cases);
        let descriptors = descriptors::enough_for(self.backend.time_mode());
        let limit = descriptors.map_or(limit, |enough| limit.min(enough));
        self.jobs.clamp(1, limit.max(1))
    }
}
