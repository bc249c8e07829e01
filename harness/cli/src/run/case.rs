//! Runs one case on a separate fleet.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use super::{
    error::CaseError,
    side_by_side::{self, Weight},
};
use crate::{
    evidence::{self, Log},
    pause,
    settings::Settings,
    snapshots,
    terminal::errln,
    timeouts,
    watchdog::{self, Limits, Pulse},
};
use baton_cluster::{
    actions::BATON,
    error_chain::error_chain,
    fleet::{Fleet, Request, TimeMode},
    runner::{self, RunOptions, Traffic},
};
use baton_core::{
    case::model::{Case, ControllerSetup},
    digest::Digest,
    event::{CaseOutcome, CaseResult, Event, SnapshotDifference},
    judge::{self, Verdict},
    measure,
    names::ClusterName,
    plan::{Plan, time_factor::faster_setup},
    timeline::{HARNESS, Provenance, Timeline},
};

/// Runs one case to its result. A failed case is retried as often as the settings allow; if its events
/// came too close to each other to tell their order, it is retried up to twice even if the settings allow no retry.
pub fn run_case(case: &Case, settings: &Settings, emit: &(dyn Fn(Event) + Sync)) -> CaseResult {
    let plan = planned(case, settings);
    let mut tries = Tries::of(settings.retries);
    let mut failed = Vec::new();
    let mut attempt = 1;
    loop {
        let result = try_case(case, &plan, settings, attempt, emit);
        let stopped = settings.stop.load(Ordering::SeqCst) || settings.interrupt.is_asked();
        if stopped || !tries.again(&result.outcome) {
            return CaseResult {
                failed_tries: failed,
                ..result
            };
        }
        failed.push(result.outcome.headline());
        attempt += 1;
    }
}

/// Number of retries that are left.
#[derive(Debug)]
struct Tries {
    /// For failures.
    failed: u32,
    /// For events that came too close to each other.
    too_close: u32,
}

impl Tries {
    fn of(retries: u32) -> Self {
        Self {
            failed: retries,
            too_close: retries.max(2),
        }
    }

    /// Returns `true` if a case with this outcome is retried, and counts the retry.
    fn again(&mut self, outcome: &CaseOutcome) -> bool {
        let left = match outcome {
            CaseOutcome::Conforms(_) | CaseOutcome::Unsupported { .. } => return false,
            CaseOutcome::Inconclusive { verdict, .. } if verdict.too_close => &mut self.too_close,
            CaseOutcome::Inconclusive { .. } | CaseOutcome::Deviates { .. } | CaseOutcome::Broken { .. } => {
                &mut self.failed
            }
        };
        let again = *left > 0;
        *left = left.saturating_sub(1);
        again
    }
}

/// Returns the set-up without rates that the target has anyway, unless the case is about them.
fn asked(case: &Case, setup: &ControllerSetup) -> ControllerSetup {
    let about_rates = case.features.iter().any(|feature| feature.as_str() == "EvictionRate");
    let mut setup = setup.clone();
    setup
        .options
        .retain(|name, _| about_rates || !name.ends_with("-rate") || case.controller.options.contains_key(name));
    setup
}

/// Returns the plan of a case, with its periods shortened as far as the settings ask for and the case allows.
pub(crate) fn planned(case: &Case, settings: &Settings) -> Plan {
    let plan = Plan::of(case).asking(settings.asked.clone());
    let setup = settings.target.setup_of(case);
    let factor = plan.bearable(&asked(case, &setup), settings.time_factor);
    if settings.target.takes(&faster_setup(&setup, factor)) {
        plan.faster(factor).into_owned()
    } else {
        plan
    }
}

fn try_case(case: &Case, plan: &Plan, settings: &Settings, attempt: u32, emit: &(dyn Fn(Event) + Sync)) -> CaseResult {
    let began = Instant::now();
    emit(Event::CaseStarted {
        case: case.id.clone(),
        seed: settings.seed,
        attempt,
        steps: plan.steps.len(),
    });
    let reasons = unsupported(case, plan, settings);
    let mut result = CaseResult {
        case: case.id.clone(),
        area: case.area.clone(),
        digest: Digest::of_case(case),
        seed: settings.seed,
        title: case.title.clone(),
        requirements: case.requirements.iter().cloned().collect(),
        outcome: CaseOutcome::Unsupported {
            reasons: reasons.clone(),
        },
        wall: Duration::ZERO,
        virtual_time: Duration::ZERO,
        migration: None,
        kubernetes: BTreeMap::new(),
        timeline: None,
        evidence: None,
        log: None,
        known: false,
        accepted: Vec::new(),
        failed_tries: Vec::new(),
    };
    if reasons.is_empty() {
        let log = Log::new(case);
        match execute(case, plan, settings, &log.file, emit) {
            Ok(ran) => report(case, settings, attempt, ran, &mut result),
            Err(error) => {
                result.outcome = CaseOutcome::Broken {
                    reason: error_chain(&error),
                };
            }
        }
        log.keep(settings, &mut result);
    }
    result.wall = began.elapsed();
    result
}

/// Returns the reasons why a case cannot run against this target on these clusters; empty if it can.
pub fn unsupported(case: &Case, plan: &Plan, settings: &Settings) -> Vec<String> {
    let declared = settings.target.features();
    let features = case.lacking(&declared);
    let target = settings.target.cannot_take(case);
    let backend = settings.backend.cannot_carry(case, settings.target.location());
    [features, target, backend, too_long(plan, settings)]
        .into_iter()
        .flatten()
        .collect()
}

/// Returns a reason if a case takes too long to run; `None` if waiting takes no real time.
fn too_long(plan: &Plan, settings: &Settings) -> Option<String> {
    let max = settings.max_case_time?;
    if settings.backend.time_mode() == TimeMode::Virtual {
        return None;
    }
    let waits = plan.waits();
    (waits > max).then(|| {
        let (waits, max) = (waits.as_secs(), max.as_secs());
        format!("lets {waits} s pass in real time; --max-case-time allows {max} s")
    })
}

/// Result of carrying out a plan.
#[derive(Debug)]
pub struct Ran {
    /// The closed timeline.
    pub timeline: Timeline,
    /// The judge's verdict.
    pub verdict: Verdict,
    /// Snapshots that differ from their files.
    pub snapshots: Vec<SnapshotDifference>,
    /// Snapshots that were written.
    pub accepted: Vec<PathBuf>,
    /// Versions of Kubernetes that the clusters report.
    pub kubernetes: BTreeMap<ClusterName, String>,
}

impl Ran {
    fn conforms(&self) -> bool {
        self.verdict.conforms() && self.snapshots.is_empty()
    }
}

/// Output of a run, without its timeline.
struct Files<'a> {
    /// Output of a target that is a program.
    log: &'a Path,
    /// Writes of the target.
    traffic: Option<Traffic>,
}

/// Carries out the plan of a case on a separate fleet and judges the timeline. It runs in a new thread, which is given
/// up if it does not yield for too long. The error describes a broken environment.
pub fn execute(
    case: &Case,
    plan: &Plan,
    settings: &Settings,
    log: &Path,
    emit: &(dyn Fn(Event) + Sync),
) -> Result<Ran, CaseError> {
    execute_with(case, plan, settings, log, None, emit)
}

/// The same as [`execute`], and records the writes of the target.
pub(crate) fn execute_with(
    case: &Case,
    plan: &Plan,
    settings: &Settings,
    log: &Path,
    traffic: Option<Traffic>,
    emit: &(dyn Fn(Event) + Sync),
) -> Result<Ran, CaseError> {
    let settings = Settings {
        stored: Some(settings.stored([case])),
        ..settings.clone()
    };
    let (stop, at_once) = (Arc::clone(&settings.stop), settings.backend.at_once(case.members));
    let waits = match settings.backend.time_mode() {
        TimeMode::Virtual => Duration::ZERO,
        // A fault may delay each wait.
        TimeMode::Real => plan.waits().saturating_mul(2),
    };
    let limits = Limits {
        silence: settings.silence,
        total: settings.limit.map(|limit| limit + waits),
    };
    let (plan, log) = (plan.clone(), log.to_owned());
    let own = case.clone();
    let ended = watchdog::watch(case.id.as_str(), limits, emit, move |pulse, emit| {
        let files = Files { log: &log, traffic };
        carry_out(&own, &plan, &settings, files, emit, pulse)
    });
    ended.unwrap_or_else(|given_up| {
        // On clusters that exist only once, the thread that was given up still runs and would disturb other cases.
        if at_once.is_some() {
            stop.store(true, Ordering::SeqCst);
        }
        Err(given_up.into())
    })
}

fn carry_out(
    case: &Case,
    plan: &Plan,
    settings: &Settings,
    files: Files<'_>,
    emit: &(dyn Fn(Event) + Sync),
    pulse: &Arc<Pulse>,
) -> Result<Ran, CaseError> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder
        .enable_all()
        .start_paused(settings.backend.time_mode() == TimeMode::Virtual)
        .build();
    let runtime = runtime.map_err(CaseError::Runtime)?;
    runtime.block_on(async {
        tokio::spawn(Arc::clone(pulse).answer());
        let request = Request {
            case: case.clone(),
            members: case.members,
            beside_others: settings.beside_others,
            location: settings.target.location(),
            definitions: settings.target.definitions(),
            rules: settings.rules.clone(),
            seed: settings.seed,
        };
        let fleet = settings.backend.fleet(&request).await?;
        let ran = tokio::select! {
            biased;
            ran = on_fleet(&*fleet, case, plan, settings, files, emit) => ran,
            () = pulse.limit_reached() => Err(CaseError::Interrupted),
        };
        let stopped = settings.stop.load(Ordering::SeqCst) || settings.interrupt.is_asked();
        let conforms = ran.as_ref().is_ok_and(Ran::conforms);
        if settings.pause_on_failure && !stopped && !conforms {
            pause::pause(case, &*fleet, settings, emit).await;
        }
        let failures = fleet.simulator_failures();
        let lost = fleet.lost().await;
        let stray = fleet.stray();
        let shut_down = fleet.shut_down().await;
        if !lost.is_empty() {
            return Err(CaseError::Lost(lost));
        }
        shut_down?;
        if !failures.is_empty() {
            return Err(CaseError::Simulator(failures));
        }
        match stray {
            Some(stray) => Err(CaseError::MixedUp(stray)),
            None => ran,
        }
    })
}

/// Carries out the plan on a fleet and judges the timeline. The error describes a broken environment.
async fn on_fleet(
    fleet: &dyn Fleet,
    case: &Case,
    plan: &Plan,
    settings: &Settings,
    files: Files<'_>,
    emit: &(dyn Fn(Event) + Sync),
) -> Result<Ran, CaseError> {
    let kubernetes = versions(fleet).await;
    let on_step = |step: usize, text: &str| {
        emit(Event::StepStarted {
            case: case.id.clone(),
            step,
            text: text.to_owned(),
        });
    };
    let plan = plan.in_namespace(fleet.namespace());
    let setup = if plan.time_factor < 1.0 {
        faster_setup(&settings.target.setup_of(case), plan.time_factor)
    } else {
        case.controller.clone()
    };
    let options = RunOptions {
        timeouts: timeouts::of_next_case(settings),
        log: files.log,
        on_step: &on_step,
        traffic: files.traffic,
        precedents: settings.precedents.as_deref(),
    };
    let run = runner::run(&plan, &setup, fleet, &*settings.target, &options);
    let timeline = tokio::select! {
        biased;
        timeline = run => timeline?,
        () = settings.interrupt.asked() => return Err(CaseError::Interrupted),
    };
    timeouts::learn(settings, &timeline);
    let verdict = judge::judge(&plan, &timeline);
    let mut snapshots = snapshots::differences(&settings.roots, &settings.stored([case]), case, &verdict.snapshots);
    let mut accepted = Vec::new();
    if settings.accept_snapshots && verdict.conforms() {
        let differing = std::mem::take(&mut snapshots);
        accepted = snapshots::accept(differing, &verdict.snapshots).map_err(CaseError::Snapshot)?;
    }
    Ok(Ran {
        timeline,
        verdict,
        snapshots,
        accepted,
        kubernetes,
    })
}

async fn versions(fleet: &dyn Fleet) -> BTreeMap<ClusterName, String> {
    let mut versions = BTreeMap::new();
    for cluster in std::iter::once(fleet.control()).chain(fleet.members()) {
        // An error is ignored: if the cluster is broken, the run will show it.
        if let Ok(info) = cluster.inside(BATON).apiserver_version().await {
            versions.insert(cluster.name().clone(), info.git_version);
        }
    }
    versions
}

/// Adds the result of a plan to the result of its case, and keeps the timeline if it must be kept.
fn report(case: &Case, settings: &Settings, attempt: u32, ran: Ran, result: &mut CaseResult) {
    let conforms = ran.conforms();
    let Ran {
        mut timeline,
        verdict,
        snapshots,
        accepted,
        kubernetes,
    } = ran;
    if let Some(provenance) = &settings.provenance {
        timeline = timeline.with_provenance(Provenance {
            seed: settings.seed,
            attempt,
            kubernetes_versions: kubernetes.values().cloned().collect(),
            ..Provenance::clone(provenance)
        });
    }
    result.kubernetes = kubernetes;
    result.accepted = accepted;
    result.migration = measure::first_migration(&timeline, &HARNESS);
    result.virtual_time = timeline.entries().last().map(|entry| entry.at).unwrap_or_default();
    result.outcome = CaseOutcome::judged(verdict, snapshots, &timeline);
    result.known = result
        .outcome
        .is_known(&case.id, &settings.target.baseline(), &settings.asked);
    let may_count = side_by_side::weight(result, settings) != Weight::Nothing;
    if may_count && (settings.timelines.is_some() || !conforms) {
        keep(&timeline, case, settings, attempt, result);
    }
    result.timeline = Some(Arc::new(timeline));
}

/// Keeps the timeline of a case in the folder that the user named, or in the default folder for failed cases.
fn keep(timeline: &Timeline, case: &Case, settings: &Settings, attempt: u32, result: &mut CaseResult) {
    let folder = settings.timelines.clone().unwrap_or_else(evidence::folder_of_run);
    let error = match evidence::keep(timeline, &folder, &evidence::name(case, settings, attempt)) {
        Ok(evidence) => {
            result.evidence = Some(evidence);
            return;
        }
        Err(error) => format!("cannot write the timeline to {}: {error}", folder.display()),
    };
    if settings.timelines.is_none() {
        // The user did not ask for the timeline: keep the result.
        errln!("error: {}: {error}", case.id);
        return;
    }
    let headline = result.outcome.headline();
    let reason = format!("{error}; the case itself: {headline}");
    result.outcome = CaseOutcome::Broken { reason };
    result.known = false;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn inconclusive(too_close: bool) -> CaseOutcome {
        CaseOutcome::Inconclusive {
            verdict: Verdict {
                case: "a-case".into(),
                findings: Vec::new(),
                elsewhere: Vec::new(),
                remarks: Vec::new(),
                proposed: Vec::new(),
                inconclusive: Vec::new(),
                too_close,
                shown: BTreeSet::new(),
                not_judged: BTreeMap::new(),
                warnings: Vec::new(),
                unsupported: None,
                snapshots: Vec::new(),
            },
            excerpt: Vec::new(),
            likely_cause: None,
        }
    }

    fn times(retries: u32, outcome: &CaseOutcome) -> usize {
        let mut tries = Tries::of(retries);
        std::iter::from_fn(|| tries.again(outcome).then_some(())).count()
    }

    #[test]
    fn what_came_too_close_is_tried_twice_more_without_being_asked() {
        assert_eq!(times(0, &inconclusive(true)), 2);
        assert_eq!(times(5, &inconclusive(true)), 5);
        assert_eq!(times(0, &inconclusive(false)), 0);
        let broken = CaseOutcome::Broken {
            reason: "not now".to_owned(),
        };
        assert_eq!(times(0, &broken), 0);
        assert_eq!(times(3, &broken), 3);
    }

    #[test]
    fn what_came_too_close_does_not_use_up_what_was_asked_for() {
        let mut tries = Tries::of(1);
        let broken = CaseOutcome::Broken {
            reason: "not now".to_owned(),
        };
        assert!(tries.again(&inconclusive(true)));
        assert!(tries.again(&broken));
        assert!(!tries.again(&broken));
    }
}
