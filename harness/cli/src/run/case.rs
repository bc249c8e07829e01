//! Runs one case on a separate fleet.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    error::CaseError,
    planned::PlannedCase,
    side_by_side::{self, Weight},
};
use crate::{
    context::{CaseContext, RunState},
    evidence::{self, Log},
    options::RunOptions,
    pause, snapshots,
    terminal::errln,
    timeouts,
    watchdog::{self, Limits, Pulse},
};
use baton_cluster::{
    actions::BATON,
    fleet::{Fleet, Request, TimeMode},
    runner::{self, Traffic},
};
use baton_core::{
    case::model::Case,
    digest::Digest,
    event::{CaseOutcome, CaseResult, Event, SnapshotDifference},
    judge::{self, Verdict},
    measure,
    names::ClusterName,
    plan::{Plan, time_factor::faster_setup},
    timeline::{HARNESS, Provenance, Timeline},
};

/// Runs one case once.
pub(super) fn try_case(planned: &PlannedCase<'_>, context: &CaseContext, emit: &(dyn Fn(Event) + Sync)) -> CaseResult {
    let began = Instant::now();
    let PlannedCase {
        case,
        plan,
        unsupported,
    } = planned;
    emit(Event::CaseStarted {
        case: case.id.clone(),
        seed: context.seed,
        attempt: context.attempt,
        steps: plan.steps.len(),
    });
    let mut result = CaseResult {
        case: case.id.clone(),
        area: case.area.clone(),
        digest: Digest::of_case(case),
        seed: context.seed,
        title: case.title.clone(),
        requirements: case.requirements.iter().cloned().collect(),
        outcome: CaseOutcome::Unsupported {
            reasons: unsupported.clone(),
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
    if unsupported.is_empty() {
        let log = Log::new(case);
        match execute_unstopped(case, plan, context, &log.file, emit) {
            Ok(ran) => report(case, context, ran, &mut result),
            Err(error) => {
                result.outcome = CaseOutcome::Broken {
                    reason: error.reason(case, &context.options().roots),
                };
            }
        }
        log.keep(context.options(), &mut result);
    }
    result.wall = began.elapsed();
    result
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

    /// Returns `true` if it conforms, and nothing else was found either.
    fn is_spotless(&self) -> bool {
        let Verdict {
            elsewhere,
            remarks,
            proposed,
            ..
        } = &self.verdict;
        self.conforms() && elsewhere.is_empty() && remarks.is_empty() && proposed.is_empty()
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
    options: &RunOptions,
    log: &Path,
    emit: &(dyn Fn(Event) + Sync),
) -> Result<Ran, CaseError> {
    let context = CaseContext::new(RunState::new(options.clone(), [case]));
    execute_with(case, plan, &context, log, None, emit)
}

/// Number of attempts if the process is stopped in each.
const ATTEMPTS_IF_STOPPED: usize = 3;

/// Carries out a plan in the context of a run, and runs it again if the process was stopped in that time.
///
/// Real time goes on for a stopped process, so that its waits end although the target had no time: the clusters that it
/// serves were stopped, too. A case in which nothing was found is not repeated.
fn execute_unstopped(
    case: &Case,
    plan: &Plan,
    context: &CaseContext,
    log: &Path,
    emit: &(dyn Fn(Event) + Sync),
) -> Result<Ran, CaseError> {
    let options = context.options();
    let mut attempts = 1;
    loop {
        let before = options.interrupt.resumed();
        let ran = execute_with(case, plan, context, log, None, emit);
        let stopped = options.backend.time_mode() == TimeMode::Real && options.interrupt.resumed() != before;
        if !stopped || context.run.is_stopped() || ran.as_ref().is_ok_and(Ran::is_spotless) {
            return ran;
        }
        if attempts == ATTEMPTS_IF_STOPPED {
            return Err(CaseError::Stopped { attempts });
        }
        attempts += 1;
        errln!(
            "note: {}: this program was stopped while the case ran, so the case is run again",
            case.id
        );
    }
}

/// The same as [`execute`] in the context of a run, and records the writes of the target.
pub(crate) fn execute_with(
    case: &Case,
    plan: &Plan,
    context: &CaseContext,
    log: &Path,
    traffic: Option<Traffic>,
    emit: &(dyn Fn(Event) + Sync),
) -> Result<Ran, CaseError> {
    let options = context.options();
    let at_once = options.backend.at_once(case.members);
    let waits = match options.backend.time_mode() {
        TimeMode::Virtual => Duration::ZERO,
        // A fault may delay each wait.
        TimeMode::Real => plan.waits().saturating_mul(2),
    };
    let limits = Limits {
        silence: options.silence,
        total: options.limit.map(|limit| limit + waits),
    };
    let own_context = context.clone();
    let (plan, log) = (plan.clone(), log.to_owned());
    let own = case.clone();
    let ended = watchdog::watch(case.id.as_str(), limits, emit, move |pulse, emit| {
        let files = Files { log: &log, traffic };
        carry_out(&own, &plan, &own_context, files, emit, pulse)
    });
    ended.unwrap_or_else(|given_up| {
        // On clusters that exist only once, the thread that was given up still runs and would disturb other cases.
        if at_once.is_some() {
            context.run.stop();
        }
        Err(given_up.into())
    })
}

fn carry_out(
    case: &Case,
    plan: &Plan,
    context: &CaseContext,
    files: Files<'_>,
    emit: &(dyn Fn(Event) + Sync),
    pulse: &Arc<Pulse>,
) -> Result<Ran, CaseError> {
    let options = context.options();
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder
        .enable_all()
        .start_paused(options.backend.time_mode() == TimeMode::Virtual)
        .build();
    let runtime = runtime.map_err(CaseError::Runtime)?;
    runtime.block_on(async {
        tokio::spawn(Arc::clone(pulse).answer());
        let request = Request {
            case: case.clone(),
            members: case.members,
            beside_others: context.beside_others,
            location: options.target.location(),
            definitions: options.target.definitions(),
            rules: options.rules.clone(),
            seed: context.seed,
        };
        let fleet = options.backend.fleet(&request).await?;
        let ran = tokio::select! {
            biased;
            ran = on_fleet(&*fleet, case, plan, context, files, emit) => ran,
            () = pulse.limit_reached() => Err(CaseError::Interrupted),
        };
        let stopped = context.run.is_stopped();
        let conforms = ran.as_ref().is_ok_and(Ran::conforms);
        if options.pause_on_failure && !stopped && !conforms {
            pause::pause(case, &*fleet, &context.run, emit).await;
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
    context: &CaseContext,
    files: Files<'_>,
    emit: &(dyn Fn(Event) + Sync),
) -> Result<Ran, CaseError> {
    let options = context.options();
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
        faster_setup(&options.target.setup_of(case), plan.time_factor)
    } else {
        case.controller.clone()
    };
    let one_run = runner::RunOptions {
        timeouts: timeouts::of_next_case(&context.run),
        log: files.log,
        on_step: &on_step,
        traffic: files.traffic,
        precedents: context.precedents(),
    };
    let run = runner::run(&plan, &setup, fleet, &*options.target, &one_run);
    let timeline = tokio::select! {
        biased;
        timeline = run => timeline?,
        () = options.interrupt.asked() => return Err(CaseError::Interrupted),
    };
    timeouts::learn(context, &timeline);
    let verdict = judge::judge(&plan, &timeline);
    let mut snapshots = snapshots::differences(&options.roots, &context.run.stored, case, &verdict.snapshots);
    let mut accepted = Vec::new();
    if options.accept_snapshots && verdict.conforms() {
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
fn report(case: &Case, context: &CaseContext, ran: Ran, result: &mut CaseResult) {
    let options = context.options();
    let conforms = ran.conforms();
    let Ran {
        mut timeline,
        verdict,
        snapshots,
        accepted,
        kubernetes,
    } = ran;
    if let Some(provenance) = &context.run.provenance {
        timeline = timeline.with_provenance(Provenance {
            seed: context.seed,
            attempt: context.attempt,
            kubernetes_versions: kubernetes.values().cloned().collect(),
            ..provenance.clone()
        });
    }
    result.kubernetes = kubernetes;
    result.accepted = accepted;
    result.migration = measure::first_migration(&timeline, &HARNESS);
    result.virtual_time = timeline.entries().last().map(|entry| entry.at).unwrap_or_default();
    result.outcome = CaseOutcome::judged(verdict, snapshots, &timeline);
    result.known = result
        .outcome
        .is_known(&case.id, &options.target.baseline(), &options.asked);
    let may_count = side_by_side::weight(result, context) != Weight::Nothing;
    if may_count && (options.timelines.is_some() || !conforms) {
        keep(&timeline, case, context, result);
    }
    result.timeline = Some(Arc::new(timeline));
}

/// Keeps the timeline of a case in the folder that the user named, or in the default folder for failed cases.
fn keep(timeline: &Timeline, case: &Case, context: &CaseContext, result: &mut CaseResult) {
    let options = context.options();
    let folder = options.timelines.clone().unwrap_or_else(evidence::folder_of_run);
    let error = match evidence::keep(timeline, &folder, &evidence::name(case, context)) {
        Ok(evidence) => {
            result.evidence = Some(evidence);
            return;
        }
        Err(error) => format!("cannot write the timeline to {}: {error}", folder.display()),
    };
    if options.timelines.is_none() {
        // The user did not ask for the timeline: keep the result.
        errln!("error: {}: {error}", case.id);
        return;
    }
    let headline = result.outcome.headline();
    let reason = format!("{error}; the case itself: {headline}");
    result.outcome = CaseOutcome::Broken { reason };
    result.known = false;
}
