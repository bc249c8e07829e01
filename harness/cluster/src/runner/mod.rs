//! Carries out a plan on a fleet. The result is a timeline; the judge decides whether it conforms.
//!
//! - [`run`]: the steps in order, each between two marks;
//! - `act`: steps that act on objects; `fault_injection`: steps that act on connections and the target; `crash_point`:
//!   stops the target between two writes, with `committed` for clusters whose observers learn of commits late;
//! - `references`: objects and clusters that steps refer to; `act_error`: errors of steps that act on objects;
//! - `fields`: checks that the definitions have the fields that the case expects;
//! - `trial`: repeats a refused step on a separate server, to tell an error in the case from a deviation;
//! - `director`: disturbs the target at its writes, and records them ([`Traffic`]); `moves`: the parts of moves that need the
//!   run; `taken`: taints that they put back; `policies`: edits of policies;
//! - `clean_up`: removes the case's objects at the end, so that leftovers show;
//! - `wait`: steps that wait for the timeline, without polling; `deadline`: their time limits; `processors`: how busy the
//!   machine is;
//! - `membership`: members that leave the federation and join again;
//! - `metrics`: metrics of the target;
//! - [`Precedents`]: waits of the run whose end is known, so that others need not wait for the same;
//! - `hot_loop`: ends steps in which time cannot advance;
//! - [`Timeouts`]: timeouts per phase; [`RunError`]: errors of runs without a timeline;
//! - [`Target`]: the implementation under test.

mod act;
mod act_error;
mod clean_up;
mod command;
mod committed;
mod crash_point;
mod deadline;
mod director;
mod error;
mod fault_injection;
mod fields;
mod hot_loop;
#[cfg(test)]
mod lag;
mod membership;
mod metrics;
mod moves;
mod policies;
mod precedents;
mod processors;
mod references;
mod refused;
mod step_error;
mod taken;
mod target;
mod timeouts;
mod trial;
mod wait;

use std::{collections::BTreeMap, path::Path};

use baton_core::{
    case::model::{Action, ControllerSetup, Fault, ObjectRef},
    cause::Cause,
    names::{CaseId, ClusterName},
    plan::Plan,
    timeline::{Begin, Entry, Mark, StepEnd, Timeline},
    watch::Standpoint,
};
use serde_json::Value;

use crate::{
    error_chain::error_chain,
    fleet::{Cluster, Fleet},
    observer::{Follower, Recorder},
    trial::RefusedObject,
};

use director::Director;
pub use director::Traffic;
pub use error::RunError;
use hot_loop::QuiescenceDetector;
pub use precedents::{Precedents, Standing};
pub use target::{CommandEnd, Ended, MetricsError, Running, Target, TargetError};
pub use timeouts::Timeouts;

/// Number of lines of a program's output that errors quote.
const LAST_LINES: usize = 12;

/// Reason why the case has no result.
enum Unfinished {
    /// A command could not be run to its end.
    Command(String),
    /// A step writes an invalid object.
    Case(RefusedObject),
}

impl Unfinished {
    fn at(self, step: usize, plan: &Plan) -> RunError {
        let planned = plan.steps.get(step);
        let text = planned.map(|it| it.action.to_string()).unwrap_or_default();
        let number = step + 1;
        match self {
            Self::Command(reason) => RunError::Command {
                step: number,
                text,
                reason,
            },
            Self::Case(refused) => RunError::Case {
                step: number,
                line: planned.map_or(1, |it| it.line),
                text,
                refused: Box::new(refused),
            },
        }
    }
}

/// A run in progress.
struct Run<'a> {
    fleet: &'a dyn Fleet,
    target: &'a dyn Target,
    setup: &'a ControllerSetup,
    timeouts: Timeouts,
    /// Log file of a target that is a program.
    log: &'a Path,
    recorder: Recorder,
    follower: Follower,
    /// Entries of the timeline so far.
    seen: Vec<Entry>,
    /// Position of the present step in the plan.
    standpoint: Standpoint,
    running: Option<Box<dyn Running>>,
    /// Other instances of the target, by name.
    others: BTreeMap<String, Box<dyn Running>>,
    /// Former Cluster objects of members that are unjoined.
    unjoined: BTreeMap<ClusterName, Value>,
    /// Set once the case has no result, from the present step on.
    unfinished: Option<Unfinished>,
    /// Number of that step from 0, and the reason.
    broken: Option<(usize, Unfinished)>,
    /// Definitions that the case has applied.
    definitions: Vec<Value>,
    /// Parts of the target that keep running while it is stopped.
    api: Option<Box<dyn Running>>,
    /// A program that the target needs and that has ended.
    lost: Option<Ended>,
    /// Set if the target will stop when a condition holds.
    stopping: Option<crash_point::Stopping>,
    /// Keeps the gate before the writes of the target, if the case has moves or the writes are recorded.
    director: Option<Director>,
    /// Set once the target has ended unasked; then it cannot be used any more.
    ended: bool,
    /// Waits of earlier cases, if this case may end early.
    precedents: Option<&'a Precedents>,
    /// The workload that the present step waits for, if it is about one.
    waits_for: Option<ObjectRef>,
    /// The case that waited in full for what the present step waits for, and the cause.
    given_up: Option<(CaseId, Cause)>,
    case: CaseId,
}

/// Everything about a run that is neither the case nor the implementation.
pub struct RunOptions<'a> {
    /// Timeout per phase of a migration.
    pub timeouts: Timeouts,
    /// Log file of a target that is a program; it appends its output.
    pub log: &'a Path,
    /// Called at the beginning of each step, with its number and text.
    pub on_step: &'a (dyn Fn(usize, &str) + Sync),
    /// Gets the writes of the target, if given.
    pub traffic: Option<Traffic>,
    /// Waits of earlier cases: if given, a wait that has one of their causes ends early.
    pub precedents: Option<&'a Precedents>,
}

/// Carries out a plan.
///
/// A target that exits before the first step could not be started. If it exits later, the exit is noted on the
/// timeline, the run ends, and the case deviates: a crash is a failure of the target.
///
/// The same applies to a client that writes without ever waiting, so that virtual time stands still. Not detected: a
/// target that blocks the thread, and one that never waits but changes no recorded object.
///
/// # Errors
/// [`RunError`] if the run could not begin. After that, every failure is noted on the timeline.
pub async fn run(
    plan: &Plan,
    setup: &ControllerSetup,
    fleet: &dyn Fleet,
    target: &dyn Target,
    options: &RunOptions<'_>,
) -> Result<Timeline, RunError> {
    let recorder = fleet.observe(Begin {
        case: plan.case.clone(),
        members: fleet.members().iter().map(Cluster::name).cloned().collect(),
        started: (fleet.clock())(),
        backend: fleet.backend().to_owned(),
        target: target.name().to_owned(),
        namespace: fleet.namespace().to_owned(),
        time_factor: plan.time_factor,
        order: fleet.order(),
        virtual_time: fleet.has_virtual_time(),
        provenance: None,
    })?;
    if let Some(writers) = target.writers() {
        recorder.mark(Mark::Writers(writers));
    }
    let mut run = Run::new((fleet, target), setup, plan, recorder, options);
    let mut quiescence = QuiescenceDetector::of(&run.recorder);
    let begun = tokio::select! {
        biased;
        begun = run.begin(plan) => begun,
        hot = quiescence.hot() => Err(RunError::HotLoop(hot)),
    };
    if let Err(error) = begun {
        run.stop_or_leave_target(&mut quiescence).await;
        run.stop_api().await;
        return Err(error);
    }
    let comes_to_rest = run.carry_out(plan, &mut quiescence, options).await;
    run.end_moves().await;
    run.recorder.mark(Mark::CleanUp);
    // The cost of clean-up does not count as a cost of the case.
    let (writes, idle) = (fleet.writes(), fleet.idle_writes());
    if comes_to_rest {
        let end = tokio::select! {
            biased;
            end = run.clean_up(plan) => end,
            hot = quiescence.hot() => StepEnd::HotLoop(hot),
        };
        run.note_clean_up(plan, end);
    }
    run.stop_or_leave_target(&mut quiescence).await;
    run.stop_api().await;
    if let Some(ended) = run.lost {
        return Err(RunError::Environment(ended));
    }
    if let Some((step, reason)) = run.broken {
        return Err(reason.at(step, plan));
    }
    Ok(run.recorder.close(Mark::Closed { writes, idle }))
}

impl<'a> Run<'a> {
    fn new(
        (fleet, target): (&'a dyn Fleet, &'a dyn Target),
        setup: &'a ControllerSetup,
        plan: &Plan,
        recorder: Recorder,
        options: &RunOptions<'a>,
    ) -> Self {
        Self {
            fleet,
            target,
            setup,
            timeouts: options.timeouts,
            log: options.log,
            follower: recorder.follow(),
            recorder,
            seen: Vec::new(),
            standpoint: Standpoint::default(),
            running: None,
            others: BTreeMap::new(),
            unjoined: BTreeMap::new(),
            unfinished: None,
            broken: None,
            definitions: Vec::new(),
            api: None,
            lost: None,
            stopping: None,
            director: None,
            ended: false,
            precedents: options.precedents,
            waits_for: None,
            given_up: None,
            case: plan.case.clone(),
        }
    }
}

impl Run<'_> {
    async fn begin(&mut self, plan: &Plan) -> Result<(), RunError> {
        if self.target.wants_kinds_first() {
            self.define_kinds(plan).await?;
        }
        self.api = self.target.start_api(self.fleet, self.setup, self.log).await?;
        self.start_target().await?;
        self.wait_until_ready().await
    }

    /// Applies the case's definitions before the target starts: a target that discovers kinds periodically might not
    /// know them in time otherwise, and no requirement sets a limit for that.
    async fn define_kinds(&mut self, plan: &Plan) -> Result<(), RunError> {
        let is_definition = |object: &Value| object["kind"] == "CustomResourceDefinition";
        let defines = |action: &Action| match action {
            Action::Apply { objects, .. } => objects.iter().all(is_definition),
            _ => false,
        };
        for (number, step) in plan.steps.iter().enumerate().take_while(|(_, it)| defines(&it.action)) {
            if let Err(error) = self.act(&step.action).await {
                return Err(match self.error_of_case(&step.action, &error).await {
                    Some(refused) => Unfinished::Case(refused).at(number, plan),
                    None => RunError::Kinds(error_chain(&error)),
                });
            }
        }
        Ok(())
    }

    async fn stop_api(&mut self) {
        if let Some(api) = self.api.take() {
            api.stop().await;
        }
    }

    /// Carries out the steps in order, until one ends in a way that excludes the next. Returns whether time can
    /// advance: if not, waiting is impossible.
    async fn carry_out(&mut self, plan: &Plan, quiescence: &mut QuiescenceDetector, options: &RunOptions<'_>) -> bool {
        if let Some(reason) = self.lacking_field(plan).await {
            self.not_for_this_target(plan, reason);
            return true;
        }
        let has_moves = plan
            .steps
            .iter()
            .any(|step| matches!(step.action, Action::Inject(Fault::Move(_))));
        if has_moves || options.traffic.is_some() {
            self.director = Director::start(self.fleet, &self.recorder, options.traffic.clone());
        }
        for (number, step) in plan.steps.iter().enumerate() {
            if let Some(director) = &self.director {
                director.step_begins(number);
                moves::remember(plan, number, self.fleet).await;
            }
            let text = step.action.to_string();
            self.standpoint = Standpoint::at(plan, number);
            self.waits_for = precedents::workload_of(&step.action).cloned();
            (options.on_step)(number, &text);
            self.recorder.mark(Mark::StepStarted { step: number, text });
            let end = tokio::select! {
                biased;
                end = self.step(&step.action) => end,
                hot = quiescence.hot() => StepEnd::HotLoop(hot),
            };
            self.look_after_target().await;
            let end = if self.ended {
                StepEnd::TargetEnded
            } else {
                self.or_given_up(end)
            };
            if let Some(reason) = self.unfinished.take() {
                self.broken = Some((number, reason));
            }
            let is_assertion = matches!(step.action, Action::Assert(_) | Action::Metric(_));
            let (go_on, comes_to_rest) = match &end {
                StepEnd::Done => (true, true),
                StepEnd::TimedOut { .. } | StepEnd::Refused { .. } => (is_assertion && self.broken.is_none(), true),
                StepEnd::TargetEnded | StepEnd::Unsupported { .. } | StepEnd::GivenUp { .. } => (false, true),
                StepEnd::HotLoop(_) => (false, false),
            };
            self.recorder.mark(Mark::StepEnded { step: number, end });
            if !go_on {
                return comes_to_rest;
            }
        }
        true
    }

    /// Notes that the case needs a field that the target cannot have; no step is carried out.
    fn not_for_this_target(&self, plan: &Plan, reason: String) {
        if let Some(first) = plan.steps.first() {
            let text = first.action.to_string();
            self.recorder.mark(Mark::StepStarted { step: 0, text });
            let end = StepEnd::Unsupported { reason };
            self.recorder.mark(Mark::StepEnded { step: 0, end });
        }
    }

    /// Stops the target, without waiting for one that keeps writing in a hot loop.
    async fn stop_or_leave_target(&mut self, quiescence: &mut QuiescenceDetector) {
        tokio::select! {
            biased;
            () = self.stop_all() => {}
            _ = quiescence.hot() => {}
        }
    }

    async fn step(&mut self, action: &Action) -> StepEnd {
        match action {
            Action::Wait {
                until,
                phase,
                within,
                otherwise,
            } => match (self.wait_for(until, *phase, *within).await, otherwise) {
                (StepEnd::TimedOut { .. }, Some(reason)) if self.given_up.is_none() => {
                    StepEnd::Unsupported { reason: reason.clone() }
                }
                (end, _) => end,
            },
            Action::BindRole { role, from, not } => self.bind_role(role, from, not).await,
            Action::CaptureNow(name) => {
                self.recorder.mark(Mark::Captured {
                    name: name.clone(),
                    value: (self.fleet.clock())().to_string(),
                });
                StepEnd::Done
            }
            Action::Refused(refused) => self.refused(refused).await,
            Action::Capture { name, on, of, field } => self.capture(name, on, of, field).await,
            Action::Assert(assertion) => self.assert(assertion).await,
            Action::Taint {
                cluster,
                taint,
                lasts: Some(time),
            } => self.taint_for(cluster, taint, *time).await,
            Action::Elapse(time) => {
                self.let_pass(*time).await;
                StepEnd::Done
            }
            Action::Settle(most) => {
                self.settle(*most).await;
                StepEnd::Done
            }
            // Evaluated from the timeline afterwards.
            Action::Snapshot(_) | Action::Order(_) => StepEnd::Done,
            Action::Metric(assertion) => self.metric(assertion).await,
            Action::Inject(fault) => self.inject(fault).await,
            Action::Start(start) => self.start_with(start).await,
            Action::Run(command) => self.run_command(command).await,
            Action::Apply { .. }
            | Action::Admission { .. }
            | Action::Patch { .. }
            | Action::SetStatus { .. }
            | Action::Delete { .. }
            | Action::Taint { lasts: None, .. }
            | Action::Untaint { .. }
            | Action::Hold { .. }
            | Action::Release { .. } => match self.act(action).await {
                Ok(()) => StepEnd::Done,
                Err(lacking @ act_error::ActError::Undefined { .. }) => StepEnd::Unsupported {
                    reason: lacking.to_string(),
                },
                Err(error) => {
                    self.unfinished = self.error_of_case(action, &error).await.map(Unfinished::Case);
                    StepEnd::Refused {
                        message: error_chain(&error),
                    }
                }
            },
        }
    }

    /// Checks whether the target has exited unasked.
    async fn look_after_target(&mut self) {
        let now = std::future::ready(());
        let ended = tokio::select! {
            biased;
            ended = first_to_end(&mut self.running, &mut self.api) => ended,
            () = now => return,
        };
        self.note_end(ended);
    }

    /// Notes that the target, or a program that it needs, has exited unasked.
    fn note_end(&mut self, ended: Ended) {
        self.ended = true;
        self.recorder.mark(Mark::TargetEnded {
            status: ended.status.clone(),
            last_lines: ended.last_lines.clone(),
        });
        if ended.environment {
            self.lost = Some(ended);
        }
    }
}

/// Waits until one of them exits unasked; forever if both are `None`.
async fn first_to_end(running: &mut Option<Box<dyn Running>>, api: &mut Option<Box<dyn Running>>) -> Ended {
    tokio::select! {
        biased;
        ended = end_of(api) => {
            *api = None;
            ended
        }
        ended = end_of(running) => {
            *running = None;
            ended
        }
    }
}

async fn end_of(running: &mut Option<Box<dyn Running>>) -> Ended {
    match running {
        Some(running) => running.ended().await,
        None => std::future::pending().await,
    }
}
