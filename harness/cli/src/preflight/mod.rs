//! The preflight: one failover, before a suite is run in vain against a target that was not set up for it.
//!
//! - [`Preflight`]: the canary case, and the run of it; [`signs`]: what its timeline shows;
//! - [`PreflightError`]: that a feature is switched off, with the flag that switches it on, or that it is broken.

pub mod signs;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use baton_cluster::{program::last_lines, runner::Timeouts, scratch::Scratch};
use baton_core::{
    case::{
        model::Case,
        read,
        refs::{Objects, ReadContext},
    },
    catalogue::Catalogue,
    implementation::{Exec, Launch, TargetSpec, switch::Switch},
    names::{Feature, RequirementId},
    plan::Plan,
    timeline::Timeline,
    yaml::Diagnostic,
};
use thiserror::Error;

use crate::{evidence, run, settings::Settings, show};
use signs::{Sign, Stage};

const CANARY: &str = include_str!("canary.yaml");

/// An implementation in which something of the canary's failover works does the next thing within this time, unless its
/// target file gives it more.
const SILENCE: Duration = Duration::from_secs(15);

/// Of what a target wrote, this many lines are told.
const LAST_LINES: usize = 12;

/// Why a suite would be run in vain.
#[derive(Debug, Error)]
pub enum PreflightError {
    /// A feature is declared, nothing of it happens, and something may not be switched on.
    #[error("{} seems to be disabled in this installation: {seen}", features.join(" or "))]
    Off {
        /// The features that would have shown.
        features: Vec<String>,
        /// What was seen instead.
        seen: String,
        /// What must be set.
        flags: String,
    },
    /// It does not work, and nothing is known that would have to be switched on.
    #[error("the test failover did not work: {seen}")]
    Broken {
        /// What was seen.
        seen: String,
        /// What the target was started with that has to do with it, which may be nothing; none where a switch cannot be the
        /// cause.
        set: Option<String>,
    },
    /// It could not be tried.
    #[error("the test failover could not be run: {0}")]
    NotRun(String),
    /// The canary is no case; that is Baton's own fault.
    #[error("the built-in test case is invalid: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Canary(Vec<Diagnostic>),
}

impl PreflightError {
    /// What to do about it; empty if nothing is known to help.
    pub fn help(&self) -> String {
        match self {
            Self::Off { flags, .. } => flags.clone(),
            Self::Broken { set: Some(set), .. } if set.is_empty() => {
                "if the target needs a flag for it, add the flag to `switches` in the target file".to_owned()
            }
            Self::Broken { set: Some(set), .. } => {
                format!("the target was started with {set}, so the feature is enabled")
            }
            Self::Broken { set: None, .. } | Self::NotRun(_) | Self::Canary(_) => String::new(),
        }
    }
}

/// How a preflight went that found nothing wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreflightOutcome {
    /// A workload moved as it should.
    Passed {
        /// How long that took, on the wall.
        wall: Duration,
    },
    /// A failover is more than the target declares or the clusters can carry; the reasons.
    Skipped(Vec<String>),
}

/// A canary failover for a target.
#[derive(Debug)]
pub struct Preflight {
    case: Case,
    features: Vec<Feature>,
    switches: Vec<Switch>,
    programs: Vec<Exec>,
    /// For so long a target may do nothing at all.
    silence: Duration,
    /// Requirements that are known not to be shown in any case.
    known: Vec<RequirementId>,
}

impl Preflight {
    /// The preflight of a target that runs outside of this process; the built-in one needs none.
    ///
    /// # Errors
    /// [`PreflightError::Canary`], which a test rules out.
    pub fn of(spec: &TargetSpec, catalogue: &Catalogue) -> Result<Option<Self>, PreflightError> {
        let programs = match &spec.run {
            Launch::Reference => return Ok(None),
            Launch::Installed => Vec::new(),
            Launch::Exec(programs) => programs.clone(),
        };
        let mut case = canary(catalogue)?;
        // Whatever can be switched on for a case is.
        for switch in spec.switches.iter().filter(|switch| can_be_set(spec, switch)) {
            switch.turn_on(&mut case.controller);
        }
        let all_cases = spec.baseline.entries.iter().filter(|entry| entry.cases.is_empty());
        Ok(Some(Self {
            case,
            features: spec.features.iter().cloned().collect(),
            switches: spec.switches.clone(),
            programs,
            silence: spec.timeouts.longest().map_or(SILENCE, |time| time.max(SILENCE)),
            known: all_cases.filter_map(|entry| entry.requirement().cloned()).collect(),
        }))
    }

    /// Lets a workload fail over on a fleet of these settings, and looks at what happens.
    ///
    /// # Errors
    /// [`PreflightError`] if the suite would be run in vain.
    pub fn run(&self, settings: &Settings) -> Result<PreflightOutcome, PreflightError> {
        let began = Instant::now();
        let settings = &self.settings(settings);
        let plan = Plan::of(&self.case);
        let reasons = run::unsupported(&self.case, &plan, settings);
        if !reasons.is_empty() {
            return Ok(PreflightOutcome::Skipped(reasons));
        }
        let folder = Scratch::new("log").map_err(|error| PreflightError::NotRun(error.to_string()))?;
        let log = folder.path().join("preflight.target.log");
        let ran = run::execute(&self.case, &plan, settings, &log, &|_| {}).map_err(PreflightError::NotRun)?;
        match self.look(&plan, settings, &ran.timeline) {
            None => Ok(PreflightOutcome::Passed { wall: began.elapsed() }),
            Some(error) => Err(with_evidence(error, settings, &ran.timeline, &log)),
        }
    }

    /// With less patience: what the canary shows does not depend on what is left at its end, which the clusters remove
    /// anyway, nor on waiting for somebody who does nothing.
    fn settings(&self, settings: &Settings) -> Settings {
        let silence = self.silence.mul_f64(settings.timeouts.factor);
        Settings {
            timeouts: Timeouts {
                silence: Some(silence),
                clear: settings.timeouts.clear.min(silence),
                ..settings.timeouts
            },
            // That it had little time is not held against the cases.
            clean_up_failed: Arc::default(),
            ..settings.clone()
        }
    }

    fn look(&self, plan: &Plan, settings: &Settings, timeline: &Timeline) -> Option<PreflightError> {
        let sign = signs::look(plan, timeline, &|stage| self.expects(stage));
        let (stage, seen) = match sign {
            Sign::Fine => return None,
            Sign::Wrong(seen) => {
                return Some(PreflightError::Broken { seen, set: None });
            }
            Sign::Absent(stage, seen) => (stage, seen),
        };
        let setup = settings.target.setup_of(&self.case);
        let about: Vec<_> = self
            .switches
            .iter()
            .filter(|switch| stage.features().contains(&switch.feature.as_str()))
            .collect();
        // What a command is started with is set; what an installation is said to run with may not be.
        let is_set = |switch: &&&Switch| !self.programs.is_empty() && switch.is_on(&setup) == Some(true);
        let (set, open): (Vec<&Switch>, Vec<&Switch>) = about.into_iter().partition(|switch| is_set(&switch));
        if open.is_empty() {
            let set: Vec<_> = set.iter().map(|switch| switch.argument(&self.programs)).collect();
            let set = Some(set.join(" "));
            return Some(PreflightError::Broken { seen, set });
        }
        Some(PreflightError::Off {
            features: open.iter().map(|switch| switch.feature.to_string()).collect(),
            seen,
            flags: flags(&open, &self.programs),
        })
    }

    /// Whether something is to be seen of a stage: it is declared, and not known to be broken.
    fn expects(&self, stage: Stage) -> bool {
        let feature = stage.features().first().map(|name| Feature::new(*name));
        feature.is_some_and(|it| self.features.contains(&it)) && !self.known.contains(&stage.requirement())
    }
}

/// The canary as a case.
fn canary(catalogue: &Catalogue) -> Result<Case, PreflightError> {
    let context = ReadContext {
        catalogue,
        fixture: &|_| Err("the test case has no files".to_owned()),
        fixtures: &[],
        check_path: &|_| Ok(()),
        check_admission: &|_, _| Ok(()),
        objects: Objects::default(),
    };
    let file = Path::new("the preflight's canary");
    let cases = read::read(file, "preflight", CANARY.as_bytes(), &context).map_err(PreflightError::Canary)?;
    cases
        .into_iter()
        .next()
        .ok_or_else(|| PreflightError::Canary(Vec::new()))
}

fn can_be_set(spec: &TargetSpec, switch: &Switch) -> bool {
    use baton_core::implementation::switch::Setting;
    match &switch.setting {
        Setting::Gate(gate) => spec.settable.feature_gates.contains(gate),
        Setting::Option { name, .. } => spec.settable.options.contains(name),
    }
}

/// What to set, and where.
fn flags(switches: &[&Switch], programs: &[Exec]) -> String {
    let told = switches.iter().map(|switch| {
        let argument = switch.argument(programs);
        match &switch.of {
            Some(program) => format!("{program} {argument}"),
            None => argument,
        }
    });
    format!("check that this is set: {}", told.collect::<Vec<_>>().join(", "))
}

/// With what the target wrote, and with the place of the timeline.
fn with_evidence(error: PreflightError, settings: &Settings, timeline: &Timeline, log: &Path) -> PreflightError {
    let folder: PathBuf = settings.timelines.clone().unwrap_or_else(evidence::folder_of_run);
    let kept = evidence::keep(timeline, &folder, "preflight.jsonl");
    let mut more = String::new();
    let lines = last_lines(log, LAST_LINES);
    if !lines.is_empty() {
        more = format!("\nlast lines of the target:\n  {}", lines.join("\n  "));
    }
    if let Ok(kept) = kept {
        more = format!("{more}\nfull timeline: {}", kept.file.display());
    }
    match error {
        PreflightError::Off { features, seen, flags } => PreflightError::Off {
            features,
            seen: seen + &more,
            flags,
        },
        PreflightError::Broken { seen, set } => PreflightError::Broken {
            seen: seen + &more,
            set,
        },
        other @ (PreflightError::NotRun(_) | PreflightError::Canary(_)) => other,
    }
}

/// What there is to say of a preflight that found nothing wrong.
pub fn message(outcome: &PreflightOutcome) -> String {
    match outcome {
        PreflightOutcome::Passed { wall } => format!("preflight: a workload failed over in {}", show::seconds(*wall)),
        PreflightOutcome::Skipped(reasons) => format!("preflight: skipped: {}", reasons.join("; ")),
    }
}
