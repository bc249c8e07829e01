//! Runs cases, each on a separate fleet, several at once, in stages: cases are planned (`planned`), divided into those
//! that run at once and the others (`side_by_side`), and run (`case`), again if they fail (`tries`). `error`: cases without a verdict.

mod case;
mod error;
pub mod planned;
pub mod side_by_side;
mod tries;

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError, mpsc},
    time::Instant,
};

use crate::{
    context::{CaseContext, RunState},
    options::RunOptions,
};
use baton_cluster::runner::Standing;
use baton_core::{
    case::model::Case,
    digest::Digest,
    event::{CaseOutcome, CaseResult, Event, RunStart, Suite, Summary},
    report::settled,
    timeline::Provenance,
};
use jiff::Timestamp;

pub(crate) use self::case::execute_with;
pub use self::{
    case::{Ran, execute},
    error::CaseError,
    tries::run_case,
};
use self::{
    planned::{PlannedCase, plan_cases},
    side_by_side::{Confirmed, Layout, Weight},
};

/// Returns the event for the start of a run of these cases.
pub fn start<'a>(cases: impl IntoIterator<Item = &'a Case>, options: &RunOptions) -> RunStart {
    let cases: Vec<&Case> = cases.into_iter().collect();
    let count = usize::try_from(options.repeat)
        .unwrap_or(usize::MAX)
        .saturating_mul(cases.len());
    RunStart {
        started: Timestamp::now(),
        cases: count,
        suite: Suite {
            seeds: options.repeat,
            ..options.part_of.clone().unwrap_or_else(|| suite_of(cases))
        },
        backend: options.backend.name().to_owned(),
        target: options.target.implementation(),
        features: options.target.features(),
        claims: options.target.documents(),
        baseline: options.target.baseline(),
    }
}

/// Plans cases, runs them, and emits events; returns when all cases have ended.
pub fn run(cases: &[Case], options: &RunOptions, emit: impl FnMut(&Event)) -> Summary {
    let planned = plan_cases(cases, options);
    let layout = Layout::new(&planned, options);
    run_planned(&planned, &layout, RunState::new(options.clone(), cases), emit)
}

/// Runs planned cases and emits events; returns when all cases have ended.
pub fn run_planned(
    planned: &[PlannedCase<'_>],
    layout: &Layout<'_>,
    mut state: RunState,
    mut emit: impl FnMut(&Event),
) -> Summary {
    let began = Instant::now();
    let start = start(planned.iter().map(|planned| planned.case), &state.options);
    let count = start.cases;
    state.provenance = Some(provenance(&start, planned, &state.options));
    let alone = CaseContext {
        may_end_early: state.options.may_end_early(),
        ..CaseContext::new(state)
    };
    let options = alone.options();
    emit(&Event::RunStarted(Box::new(start)));
    let mut summary = Summary::default();
    let mut ended = 0;
    let mut tell = |event: &Event| {
        if let Event::CaseEnded(result) = event {
            summary.count(result);
            ended += 1;
        }
        emit(event);
    };
    let in_full = CaseContext {
        may_end_early: false,
        ..alone.clone()
    };
    let beside_others = CaseContext {
        beside_others: true,
        ..in_full.clone()
    };
    let later = run_some(
        with_seeds(&layout.beside_each_other, options),
        layout.at_once,
        &beside_others,
        &mut tell,
    );
    let mut confirmed = Confirmed::default();
    let mut tell_alone = |confirmed: &mut Confirmed, event: &Event| {
        if let Event::CaseEnded(result) = event {
            confirmed.add(result);
        }
        tell(event);
    };
    let all = with_seeds(&layout.rest, options).chain(later.again);
    let at_once = layout.rest_at_once;
    let early = run_some(all, at_once, &alone, &mut |event| tell_alone(&mut confirmed, event)).early;
    let (settled, open): (Vec<_>, Vec<_>) = early.into_iter().partition(|(_, it)| is_settled(it, &alone));
    for (_, result) in settled {
        tell_alone(&mut confirmed, &Event::CaseEnded(result));
    }
    if !alone.run.is_stopped() {
        for (_, result) in &open {
            tell_alone(&mut confirmed, &again(result));
        }
        let all = open.iter().map(|(planned, result)| (*planned, result.seed));
        run_some(all, at_once, &in_full, &mut |event| tell_alone(&mut confirmed, event));
    }
    for (planned, result) in later.if_confirmed {
        if confirmed.covers(&result) {
            tell_alone(&mut confirmed, &Event::CaseEnded(result));
        } else if !alone.run.is_stopped() {
            tell_alone(&mut confirmed, &again(&result));
            let one = std::iter::once((planned, result.seed));
            run_some(one, 1, &in_full, &mut |event| tell_alone(&mut confirmed, event));
        }
    }
    summary.not_begun = count.saturating_sub(ended);
    summary.wall = began.elapsed();
    emit(&Event::RunEnded(summary.clone()));
    summary
}

/// Returns cases with all their seeds, lazily: there may be more than fit into memory.
fn with_seeds<'p>(
    cases: &'p [&'p PlannedCase<'p>],
    options: &RunOptions,
) -> impl Iterator<Item = (&'p PlannedCase<'p>, u64)> + Send + use<'p> {
    let first = options.seed;
    // Without cases, the iteration over the seeds would yield nothing but could take forever: there may be billions.
    let repeat = if cases.is_empty() { 0 } else { options.repeat };
    let seeds = (0..repeat).map(move |number| first.wrapping_add(number));
    seeds.flat_map(move |seed| cases.iter().map(move |case| (*case, seed)))
}

/// Cases that ran next to others and whose results do not count, or not yet.
#[derive(Default)]
struct Later<'p> {
    /// Cases to run again, with their seeds.
    again: Vec<(&'p PlannedCase<'p>, u64)>,
    /// Cases whose results count if a case that runs alone breaks the same requirements.
    if_confirmed: Vec<(&'p PlannedCase<'p>, Box<CaseResult>)>,
    /// Cases that ended early, while the case on whose wait they rely had not ended.
    early: Vec<(&'p PlannedCase<'p>, Box<CaseResult>)>,
}

/// Returns `true` if the result of a case counts: it did not end early, or the case on whose wait it relies deviates.
fn is_settled(result: &CaseResult, context: &CaseContext) -> bool {
    let Some(cause) = result.outcome.early_end() else {
        return true;
    };
    let standing = context.precedents().and_then(|it| it.standing(cause));
    standing == Some(Standing::Confirmed)
}

/// Notes the end of a case for those that rely on its waits.
fn note_end(result: &CaseResult, context: &CaseContext) {
    if let Some(precedents) = context.precedents() {
        let deviates = matches!(result.outcome, CaseOutcome::Deviates { .. }) && !result.known;
        precedents.ended(&result.case, deviates);
    }
}

/// Event for a case that is run again.
fn again(result: &CaseResult) -> Event {
    Event::CaseAgain {
        case: result.case.clone(),
        seed: result.seed,
        reason: result.outcome.headline(),
    }
}

/// Runs cases with their seeds, up to `workers` at once.
fn run_some<'p>(
    all: impl Iterator<Item = (&'p PlannedCase<'p>, u64)> + Send,
    workers: usize,
    context: &CaseContext,
    tell: &mut dyn FnMut(&Event),
) -> Later<'p> {
    let queue = Mutex::new(all);
    let later = Mutex::new(Later::default());
    let (sender, events) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let (sender, queue, later) = (sender.clone(), &queue, &later);
            scope.spawn(move || {
                while !context.run.is_stopped() {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some((planned, seed)) = next else { break };
                    let context = CaseContext {
                        seed,
                        ..context.clone()
                    };
                    // The receiver outlives all senders, so that sending cannot fail.
                    let emit = |event| drop(sender.send(event));
                    let result = tries::run_planned_case(planned, &context, &emit);
                    note_end(&result, &context);
                    let mut later = later.lock().unwrap_or_else(PoisonError::into_inner);
                    if !is_settled(&result, &context) {
                        later.early.push((planned, Box::new(result)));
                        continue;
                    }
                    match side_by_side::weight(&result, &context) {
                        Weight::Counts => {
                            if context.options().fail_fast && result.outcome.failed() {
                                context.run.stop();
                            }
                            emit(Event::CaseEnded(Box::new(result)));
                        }
                        Weight::IfAlsoAlone => later.if_confirmed.push((planned, Box::new(result))),
                        Weight::Nothing => {
                            emit(again(&result));
                            later.again.push((planned, seed));
                        }
                    }
                }
            });
        }
        drop(sender);
        for event in &events {
            tell(&event);
        }
    });
    later.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Provenance that all timelines of a run share; each timeline adds its seed and attempt.
fn provenance(start: &RunStart, planned: &[PlannedCase<'_>], options: &RunOptions) -> Provenance {
    let unsupported = planned.iter().filter(|planned| !planned.unsupported.is_empty());
    Provenance {
        started: start.started,
        seed: options.seed,
        attempt: 1,
        shard: start.suite.shard.map(|shard| shard.to_string()),
        settled: settled::of_start(start),
        unsupported: unsupported
            .map(|planned| (planned.case.id.clone(), planned.unsupported.clone()))
            .collect(),
        kubernetes_versions: BTreeSet::new(),
    }
}

/// Identity of a set of cases, for those who compare reports.
pub fn suite_of<'a>(cases: impl IntoIterator<Item = &'a Case>) -> Suite {
    let digests: Vec<_> = cases
        .into_iter()
        .map(|case| (case.id.as_str(), Digest::of_case(case)))
        .collect();
    Suite {
        cases: digests.len(),
        digest: Digest::of_cases(digests.iter().map(|(name, digest)| (*name, digest))),
        seeds: 1,
        shard: None,
        whole: None,
        built_in: None,
        replaced: BTreeSet::new(),
    }
}
