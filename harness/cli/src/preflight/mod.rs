//! The preflight: one failover before the cases, so that a suite does not run in vain against a target that is not set
//! up for it.
//!
//! - [`Preflight`]: the canary case and its run; [`signs`]: features that its timeline shows;
//! - [`PreflightError`]: a feature is switched off, with the flag that switches it on, or it is broken.

pub mod signs;

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use baton_cluster::{error_chain::error_chain, program::last_lines, runner::Timeouts, scratch::Scratch};
use baton_core::{
    case::{
        model::Case,
        read,
        refs::{FixtureError, Objects, ReadContext},
    },
    catalogue::Catalogue,
    implementation::{Exec, Launch, TargetSpec, switch::Switch},
    names::{Feature, RequirementId},
    plan::Plan,
    timeline::Timeline,
    yaml::Diagnostic,
};
use thiserror::Error;

use crate::{evidence, options::RunOptions, run, show};
use signs::{Sign, Stage};

const CANARY: &str = include_str!("canary.yaml");

/// Time within which a working target takes the next step of the canary's failover, unless its target file gives it
/// more.
const SILENCE: Duration = Duration::from_secs(15);

/// Number of lines of a target's log that are reported.
const LAST_LINES: usize = 12;

/// Error when a suite would run in vain.
#[derive(Debug, Error)]
pub enum PreflightError {
    /// A declared feature has no effect, and may be switched off.
    #[error("{} seems to be disabled in this installation: {seen}", features.join(" or "))]
    Off {
        /// Features without effect.
        features: Vec<String>,
        /// Behavior in place of the expected one.
        seen: String,
        /// Flags to set.
        flags: String,
    },
    /// The failover did not work, and no flag is known that would switch it on.
    #[error("the test failover did not work: {seen}")]
    Broken {
        /// Observed behavior.
        seen: String,
        /// Related flags that the target was started with, which may be none; `None` if a flag cannot be the cause.
        set: Option<String>,
    },
    /// The failover could not be run.
    #[error("the test failover could not be run: {0}")]
    NotRun(String),
    /// The canary is not a valid case: an error in Baton.
    #[error("the built-in test case is invalid: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Canary(Vec<Diagnostic>),
}

impl PreflightError {
    /// Returns a remedy for the user; empty if none is known.
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

/// Result of a preflight that found no problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreflightOutcome {
    /// The workload failed over.
    Passed {
        /// Real time that the failover took.
        wall: Duration,
        /// Deviations that the failover shows and that the baseline does not cover. Cases judge them again.
        findings: Vec<String>,
    },
    /// The target does not declare a failover, or the clusters cannot carry it; the reasons.
    Skipped(Vec<String>),
}

/// A canary failover for a target.
#[derive(Debug)]
pub struct Preflight {
    case: Case,
    features: Vec<Feature>,
    switches: Vec<Switch>,
    programs: Vec<Exec>,
    /// Time after which an idle target counts as stuck.
    silence: Duration,
    /// Requirements that the baseline says are broken in every case.
    known: Vec<RequirementId>,
}

impl Preflight {
    /// Creates the preflight of a target outside of this process; `None` for the built-in controller.
    ///
    /// [`PreflightError::Canary`], which a test rules out.
    pub fn of(spec: &TargetSpec, catalogue: &Catalogue) -> Result<Option<Self>, PreflightError> {
        let programs = match &spec.run {
            Launch::Reference => return Ok(None),
            Launch::Installed => Vec::new(),
            Launch::Exec(programs) => programs.clone(),
        };
        let mut case = canary(catalogue)?;
        // Switches on every feature that can be switched on for a case.
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

    /// Lets a workload fail over on a fleet of these options, and checks its timeline.
    ///
    /// [`PreflightError`] if the suite would run in vain.
    pub fn run(&self, options: &RunOptions) -> Result<PreflightOutcome, PreflightError> {
        let began = Instant::now();
        let options = &self.options(options);
        let plan = Plan::of(&self.case).asking(options.asked.clone());
        let reasons = run::planned::unsupported(&self.case, &plan, options);
        if !reasons.is_empty() {
            return Ok(PreflightOutcome::Skipped(reasons));
        }
        let folder = Scratch::new("log").map_err(|error| PreflightError::NotRun(error.to_string()))?;
        let log = folder.path().join("preflight.target.log");
        let ran = run::execute(&self.case, &plan, options, &log, &|_| {});
        let ran = ran.map_err(|error| PreflightError::NotRun(error_chain(&error)))?;
        let findings = self.findings(&ran, options);
        match self.look(&plan, options, &ran.timeline) {
            None => Ok(PreflightOutcome::Passed {
                wall: began.elapsed(),
                findings,
            }),
            Some(error) => Err(with_evidence(error, options, &ran.timeline, &findings, &log)),
        }
    }

    /// Returns the options with shorter timeouts: the result does not depend on the clean-up, since the clusters
    /// remove the rest anyway, nor on waiting for an idle target.
    fn options(&self, options: &RunOptions) -> RunOptions {
        let silence = self.silence.mul_f64(options.timeouts.factor);
        RunOptions {
            timeouts: Timeouts {
                silence: Some(silence),
                clear: options.timeouts.clear.min(silence),
                ..options.timeouts
            },
            ..options.clone()
        }
    }

    /// Returns what the invariants find in the failover, without what the baseline covers, and a label that comes late.
    fn findings(&self, ran: &run::Ran, options: &RunOptions) -> Vec<String> {
        let baseline = options.target.baseline();
        let verdict = &ran.verdict;
        // Steps of the canary show in its signs.
        let deviations = verdict.findings.iter().chain(&verdict.elsewhere);
        let new = deviations
            .filter(|it| it.step.is_none() && !baseline.covers(&self.case.id, it, &options.asked))
            .map(ToString::to_string);
        let late = signs::late_label(&ran.timeline).filter(|_| self.expects(Stage::Injection));
        late.into_iter().chain(new).collect()
    }

    fn look(&self, plan: &Plan, options: &RunOptions, timeline: &Timeline) -> Option<PreflightError> {
        let sign = signs::look(plan, timeline, &|stage| self.expects(stage));
        let (stage, seen) = match sign {
            Sign::Fine => return None,
            Sign::Wrong(seen) => {
                return Some(PreflightError::Broken { seen, set: None });
            }
            Sign::Absent(stage, seen) => (stage, seen),
        };
        let setup = options.target.setup_of(&self.case);
        let about: Vec<_> = self
            .switches
            .iter()
            .filter(|switch| stage.features().contains(&switch.feature.as_str()))
            .collect();
        // A flag of a command is certainly set; a flag of an installation may not be.
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

    /// Returns `true` if a stage should be visible: the target declares it, and the baseline does not say that it is
    /// broken.
    fn expects(&self, stage: Stage) -> bool {
        let feature = stage.features().first().map(|name| Feature::new(*name));
        feature.is_some_and(|it| self.features.contains(&it)) && !self.known.contains(&stage.requirement())
    }
}

/// Reads the canary as a case.
fn canary(catalogue: &Catalogue) -> Result<Case, PreflightError> {
    let context = ReadContext {
        catalogue,
        fixture: &|_| Err(FixtureError::Missing),
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

/// Describes the flags to set, with their programs.
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

/// Returns findings as lines below a heading; empty without findings.
fn listed(findings: &[String]) -> String {
    if findings.is_empty() {
        return String::new();
    }
    let lines = findings.iter().map(|finding| finding.replace('\n', "\n  "));
    format!("\nits timeline shows:\n  {}", lines.collect::<Vec<_>>().join("\n  "))
}

/// Adds the findings, the last lines of the target and the path of the timeline to an error.
fn with_evidence(
    error: PreflightError,
    options: &RunOptions,
    timeline: &Timeline,
    findings: &[String],
    log: &Path,
) -> PreflightError {
    let folder: PathBuf = options.timelines.clone().unwrap_or_else(evidence::folder_of_run);
    let kept = evidence::keep(timeline, &folder, "preflight.jsonl");
    let mut more = listed(findings);
    let lines = last_lines(log, LAST_LINES);
    if !lines.is_empty() {
        more = format!("{more}\nlast lines of the target:\n  {}", lines.join("\n  "));
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

/// Describes a preflight that found no problem.
pub fn message(outcome: &PreflightOutcome) -> String {
    match outcome {
        PreflightOutcome::Passed { wall, findings } => format!(
            "preflight: a workload failed over in {}{}",
            show::seconds(*wall),
            listed(findings)
        ),
        PreflightOutcome::Skipped(reasons) => format!("preflight: skipped: {}", reasons.join("; ")),
    }
}
