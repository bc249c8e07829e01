//! Carries out a plan on a fleet. What comes of it is a timeline; whether that is right is for the judge to say.
//!
//! - [`run`]: the steps in order, each between two marks;
//! - `act`: steps that do something to objects; `fault_injection`: to connections and to the target; `crash_point`: stops it between
//!   two writes, with `committed` for clusters that tell late of what they have stored;
//! - `fields`: whether the definitions have what the case expects;
//! - `clean_up`: what is removed at the end, so that what is left shows;
//! - `wait`: steps that wait, always on the growing timeline and never by looking again and again; `deadline`: for how long;
//! - `membership`: members that are taken out of the federation, and join again;
//! - `metrics`: what the target says of itself;
//! - `hot_loop`: ends steps in which time cannot pass;
//! - [`Timeouts`]: how long is waited for what; [`RunError`]: why there is no timeline;
//! - [`Target`]: the implementation under test.

mod act;
mod clean_up;
mod command;
mod committed;
mod crash_point;
mod deadline;
mod error;
mod fault_injection;
mod fields;
mod hot_loop;
#[cfg(test)]
mod lag;
mod membership;
mod metrics;
mod refused;
mod target;
mod timeouts;
mod wait;

use std::{collections::BTreeMap, path::Path};

use baton_core::{
    case::model::{Action, ControllerSetup},
    names::ClusterName,
    plan::Plan,
    timeline::{Begin, Entry, Mark, StepEnd, Timeline},
    watch::Standpoint,
};
use serde_json::Value;

use crate::{
    error_chain::error_chain,
    fleet::{Cluster, Fleet},
    observer::{Follower, Recorder},
};

pub use error::RunError;
use hot_loop::QuiescenceDetector;
pub use target::{CommandEnd, Ended, MetricsError, Running, Target, TargetError};
pub use timeouts::Timeouts;

/// Of what a program wrote, this many lines are told.
const LAST_LINES: usize = 12;

/// Why nothing can be said of a case.
enum Unfinished {
    /// A command could not be run to its end.
    Command(String),
    /// What a step writes is not valid.
    Case(String),
}

impl Unfinished {
    fn at(self, step: usize, text: String) -> RunError {
        match self {
            Self::Command(reason) => RunError::Command { step, text, reason },
            Self::Case(reason) => RunError::Case { step, text, reason },
        }
    }
}

/// A run in progress.
struct Run<'a> {
    fleet: &'a dyn Fleet,
    target: &'a dyn Target,
    setup: &'a ControllerSetup,
    timeouts: Timeouts,
    /// The file that a target which is a program writes to.
    log: &'a Path,
    recorder: Recorder,
    follower: Follower,
    /// What was read of the timeline so far.
    seen: Vec<Entry>,
    /// Where the present step stands in the plan.
    standpoint: Standpoint,
    running: Option<Box<dyn Running>>,
    /// Other instances of it, by name.
    others: BTreeMap<String, Box<dyn Running>>,
    /// The Cluster objects of members that are unjoined, as they were.
    unjoined: BTreeMap<ClusterName, Value>,
    /// Why nothing can be said of the case from the present step on.
    unfinished: Option<Unfinished>,
    /// That step: its number from 1, its text, and that reason.
    broken: Option<(usize, String, Unfinished)>,
    /// What of the target goes on while it is stopped.
    api: Option<Box<dyn Running>>,
    /// What the target needs and has ended.
    lost: Option<Ended>,
    /// That the target is to stop at some moment.
    stopping: Option<crash_point::Stopping>,
    /// Whether the target has ended by itself; then nothing more can be asked of it.
    ended: bool,
}

/// Carries out a plan; `tell` is called when a step begins, with its number and text. A target that is a program adds
/// what it writes to the file `log`.
///
/// A target that ends by itself before the first step could not be started; one that ends later is noted on the
/// timeline, the run ends there, and the case deviates: a crash is the target's own doing.
///
/// The same holds where somebody writes without ever waiting, so that virtual time cannot pass. What is not noticed is
/// a target that keeps the thread to itself, and one that never waits but changes nothing that is recorded.
///
/// # Errors
/// [`RunError`] if the run could not begin. Once it has, whatever happens is on the timeline.
pub async fn run(
    plan: &Plan,
    setup: &ControllerSetup,
    fleet: &dyn Fleet,
    target: &dyn Target,
    timeouts: Timeouts,
    log: &Path,
    tell: &(dyn Fn(usize, &str) + Sync),
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
        provenance: None,
    })?;
    if let Some(writers) = target.writers() {
        recorder.mark(Mark::Writers(writers));
    }
    let follower = recorder.follow();
    let mut run = Run {
        fleet,
        target,
        setup,
        timeouts,
        log,
        recorder,
        follower,
        seen: Vec::new(),
        standpoint: Standpoint::default(),
        running: None,
        others: BTreeMap::new(),
        unjoined: BTreeMap::new(),
        unfinished: None,
        broken: None,
        api: None,
        lost: None,
        stopping: None,
        ended: false,
    };
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
    let comes_to_rest = run.carry_out(plan, &mut quiescence, tell).await;
    run.recorder.mark(Mark::CleanUp);
    // What clean-up costs is not what the case has cost.
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
    if let Some((step, text, reason)) = run.broken {
        return Err(reason.at(step, text));
    }
    Ok(run.recorder.close(Mark::Closed { writes, idle }))
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

    /// Applies the definitions that the case begins with, before the target starts: one that looks for new kinds every now
    /// and then would not know them in time, and no requirement says when it must.
    async fn define_kinds(&mut self, plan: &Plan) -> Result<(), RunError> {
        let is_definition = |object: &Value| object["kind"] == "CustomResourceDefinition";
        let defines = |action: &Action| match action {
            Action::Apply { objects, .. } => objects.iter().all(is_definition),
            _ => false,
        };
        for step in plan.steps.iter().take_while(|step| defines(&step.action)) {
            let applied = self.act(&step.action).await;
            applied.map_err(|error| RunError::Kinds(error_chain(&error)))?;
        }
        Ok(())
    }

    async fn stop_api(&mut self) {
        if let Some(api) = self.api.take() {
            api.stop().await;
        }
    }

    /// The steps in order, until one ends so that no other can follow. Says whether time can pass: if not, nothing more
    /// can be waited for.
    async fn carry_out(
        &mut self,
        plan: &Plan,
        quiescence: &mut QuiescenceDetector,
        tell: &(dyn Fn(usize, &str) + Sync),
    ) -> bool {
        if let Some(reason) = self.lacking_field(plan).await {
            self.not_for_this_target(plan, reason);
            return true;
        }
        for (number, step) in plan.steps.iter().enumerate() {
            let text = step.action.to_string();
            self.standpoint = Standpoint::at(plan, number);
            tell(number, &text);
            self.recorder.mark(Mark::StepStarted { step: number, text });
            let end = tokio::select! {
                biased;
                end = self.step(&step.action) => end,
                hot = quiescence.hot() => StepEnd::HotLoop(hot),
            };
            self.look_after_target().await;
            let end = if self.ended { StepEnd::TargetEnded } else { end };
            if let Some(reason) = self.unfinished.take() {
                self.broken = Some((number + 1, step.action.to_string(), reason));
            }
            let is_assertion = matches!(step.action, Action::Assert(_) | Action::Metric(_));
            let (go_on, comes_to_rest) = match &end {
                StepEnd::Done => (true, true),
                StepEnd::TimedOut { .. } | StepEnd::Refused { .. } => (is_assertion && self.broken.is_none(), true),
                StepEnd::TargetEnded | StepEnd::Unsupported { .. } => (false, true),
                StepEnd::HotLoop(_) => (false, false),
            };
            self.recorder.mark(Mark::StepEnded { step: number, end });
            if !go_on {
                return comes_to_rest;
            }
        }
        true
    }

    /// Notes that the case asks for what the target cannot have; no step is carried out.
    fn not_for_this_target(&self, plan: &Plan, reason: String) {
        if let Some(first) = plan.steps.first() {
            let text = first.action.to_string();
            self.recorder.mark(Mark::StepStarted { step: 0, text });
            let end = StepEnd::Unsupported { reason };
            self.recorder.mark(Mark::StepEnded { step: 0, end });
        }
    }

    /// Stops the target; one that goes on writing without ever waiting while it is to stop is not waited for.
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
                otherwise,
            } => match (self.wait_for(until, *phase).await, otherwise) {
                (StepEnd::TimedOut { .. }, Some(reason)) => StepEnd::Unsupported { reason: reason.clone() },
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
            // What it shows is taken from the timeline afterwards.
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
                Err(lacking @ act::ActError::Undefined { .. }) => StepEnd::Unsupported {
                    reason: lacking.to_string(),
                },
                Err(error) => {
                    let message = error_chain(&error);
                    if error.is_of_the_case(action) {
                        self.unfinished = Some(Unfinished::Case(message.clone()));
                    }
                    StepEnd::Refused { message }
                }
            },
        }
    }

    /// Whether the target has ended by itself by now.
    async fn look_after_target(&mut self) {
        let now = std::future::ready(());
        let ended = tokio::select! {
            biased;
            ended = first_to_end(&mut self.running, &mut self.api) => ended,
            () = now => return,
        };
        self.note_end(ended);
    }

    /// Notes that the target has ended by itself, or something that it needs.
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

/// Completes when one of them has ended by itself; never if neither is there.
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
