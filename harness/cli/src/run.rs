//! Runs cases, each on a fleet of its own, several at once.

use std::{
    collections::VecDeque,
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError, mpsc},
    time::{Duration, Instant},
};

use baton_cluster::{
    actions::BATON,
    fleet::{
        Fleet,
        embedded::{Embedded, Options, Time},
    },
    runner::{self, Target, Timeouts, chain},
};
use baton_core::{
    case::model::Case,
    event::{CaseOutcome, CaseResult, Event, Summary},
    excerpt,
    judge::{self, Verdict},
    measure,
    names::Feature,
    plan::Plan,
    timeline::Timeline,
};
use jiff::Timestamp;

use crate::{load::Roots, snapshots, target::Reference};

/// User agents of the harness and of the clusters' own parts; what others write is the target's.
const OWN: [&str; 5] = [BATON, "baton-simulator", "baton-fleet", "generic-garbage-collector", ""];

/// How cases are run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The repository's folders.
    pub roots: Roots,
    /// How many run at once.
    pub jobs: usize,
    /// What decides where chance is allowed.
    pub seed: u64,
    /// Whether time passes as it does outside.
    pub real_time: bool,
    /// Where the timelines of all cases are written; those that fail are written anyway.
    pub timelines: Option<PathBuf>,
}

impl Settings {
    /// Virtual time, seed 0, one job a processor.
    pub fn new(roots: Roots) -> Self {
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            roots,
            jobs,
            seed: 0,
            real_time: false,
            timelines: None,
        }
    }
}

/// Runs cases and tells what happens; returns when all have ended.
pub fn run(cases: &[Case], settings: &Settings, mut tell: impl FnMut(&Event)) -> Summary {
    let began = Instant::now();
    let target = Reference;
    tell(&Event::RunStarted {
        cases: cases.len(),
        backend: "embedded".to_owned(),
        target: target.name().to_owned(),
    });
    let queue: Mutex<VecDeque<&Case>> = Mutex::new(cases.iter().collect());
    let (sender, events) = mpsc::channel();
    let mut summary = Summary::default();
    std::thread::scope(|scope| {
        for _ in 0..settings.jobs.clamp(1, cases.len().max(1)) {
            let (sender, queue, target) = (sender.clone(), &queue, &target);
            scope.spawn(move || {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    let Some(case) = next else { break };
                    // The receiver outlives all senders; without it nobody would want to know.
                    let tell = |event| drop(sender.send(event));
                    let result = run_case(case, settings, target, &tell);
                    tell(Event::CaseEnded(Box::new(result)));
                }
            });
        }
        drop(sender);
        for event in events {
            if let Event::CaseEnded(result) = &event {
                summary.count(&result.outcome);
            }
            tell(&event);
        }
    });
    summary.wall = began.elapsed();
    tell(&Event::RunEnded(summary.clone()));
    summary
}

/// Runs one case to its result.
pub fn run_case(case: &Case, settings: &Settings, target: &dyn Target, tell: &(dyn Fn(Event) + Sync)) -> CaseResult {
    let began = Instant::now();
    let plan = Plan::of(case);
    tell(Event::CaseStarted {
        case: case.id.clone(),
        steps: plan.steps.len(),
    });
    let declared = target.features();
    let missing: Vec<Feature> = case.features.difference(&declared).cloned().collect();
    let mut result = CaseResult {
        case: case.id.clone(),
        title: case.title.clone(),
        requirements: case.requirements.iter().cloned().collect(),
        outcome: CaseOutcome::Unsupported {
            missing: missing.clone(),
        },
        wall: Duration::ZERO,
        virtual_time: Duration::ZERO,
        migration: None,
        timeline: None,
    };
    if missing.is_empty() {
        match timeline_of(case, &plan, settings, target, tell) {
            Ok(timeline) => weigh(case, settings, &timeline, &mut result),
            Err(reason) => result.outcome = CaseOutcome::Broken { reason },
        }
    }
    result.wall = began.elapsed();
    result
}

/// Runs the plan on a fleet of its own and gives the closed timeline, or says what is broken.
pub fn timeline_of(
    case: &Case,
    plan: &Plan,
    settings: &Settings,
    target: &dyn Target,
    tell: &(dyn Fn(Event) + Sync),
) -> Result<Timeline, String> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().start_paused(!settings.real_time).build();
    let runtime = runtime.map_err(|error| format!("no asynchronous runtime can be had: {error}"))?;
    runtime.block_on(async {
        let time = if settings.real_time {
            Time::Real(Timestamp::now())
        } else {
            Time::Virtual
        };
        let options = Options {
            seed: settings.seed,
            ..Options::new(case.members, time)
        };
        let fleet = Embedded::boot(options).await.map_err(|error| chain(&error))?;
        let tell_step = |step: usize, text: &str| {
            tell(Event::StepStarted {
                case: case.id.clone(),
                step,
                text: text.to_owned(),
            });
        };
        let timeline = runner::run(plan, &case.controller, &fleet, target, Timeouts::default(), &tell_step).await;
        let failures = fleet.simulator_failures();
        Box::new(fleet).shut_down().await;
        if !failures.is_empty() {
            return Err(format!("the workload simulator failed: {}", failures.join("; ")));
        }
        timeline.map_err(|error| chain(&error))
    })
}

/// Judges a timeline and keeps it where it must be kept.
fn weigh(case: &Case, settings: &Settings, timeline: &Timeline, result: &mut CaseResult) {
    let verdict = judge::judge(case, timeline);
    let differences = snapshots::differences(&settings.roots.snapshots, case, &verdict.snapshots);
    result.migration = measure::first_migration(timeline, &OWN);
    result.virtual_time = timeline.entries().last().map(|entry| entry.at).unwrap_or_default();
    let conforms = verdict.conforms() && differences.is_empty();
    let folder = match (&settings.timelines, conforms) {
        (Some(folder), _) => Some(folder.clone()),
        (None, false) => Some(std::env::temp_dir().join("baton-timelines")),
        (None, true) => None,
    };
    result.outcome = if conforms {
        CaseOutcome::Conforms(verdict)
    } else {
        let around = around_first(&verdict, timeline);
        CaseOutcome::Deviates {
            verdict,
            snapshots: differences,
            around,
        }
    };
    if let Some(folder) = folder {
        match keep(timeline, &folder, case) {
            Ok(file) => result.timeline = Some(file),
            Err(error) => {
                let reason = format!("the timeline cannot be written into {}: {error}", folder.display());
                result.outcome = CaseOutcome::Broken { reason };
            }
        }
    }
}

fn around_first(verdict: &Verdict, timeline: &Timeline) -> Vec<String> {
    verdict
        .findings
        .first()
        .map(|finding| excerpt::around(timeline, finding.seq))
        .unwrap_or_default()
}

fn keep(timeline: &Timeline, folder: &Path, case: &Case) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let path = folder.join(format!("{}.jsonl", case.id));
    let file = io::BufWriter::new(fs::File::create(&path)?);
    timeline.write(file).map_err(io::Error::other)?;
    Ok(path)
}
