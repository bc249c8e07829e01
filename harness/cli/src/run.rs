//! Runs cases, each on a separate fleet, several at once. `case`: one case; `error`: cases without a verdict;
//! `side_by_side`: which cases run at once.

mod case;
mod error;
pub mod side_by_side;

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError, atomic::Ordering, mpsc},
    time::Instant,
};

use crate::settings::Settings;
use baton_cluster::{fleet::TimeMode, runner::Standing};
use baton_core::{
    case::model::Case,
    digest::Digest,
    event::{CaseOutcome, CaseResult, Event, RunStart, Suite, Summary},
    report::settled,
    timeline::Provenance,
};
use jiff::Timestamp;

pub(crate) use self::case::{execute_with, planned};
use self::side_by_side::{Confirmed, Layout, Weight};
pub use self::{
    case::{Ran, execute, run_case, unsupported},
    error::CaseError,
};

/// Returns the event for the start of a run of these cases.
pub fn start(cases: &[Case], settings: &Settings) -> RunStart {
    let count = usize::try_from(settings.repeat)
        .unwrap_or(usize::MAX)
        .saturating_mul(cases.len());
    RunStart {
        started: Timestamp::now(),
        cases: count,
        suite: Suite {
            seeds: settings.repeat,
            ..settings.part_of.clone().unwrap_or_else(|| suite_of(cases))
        },
        backend: settings.backend.name().to_owned(),
        target: settings.target.implementation(),
        features: settings.target.features(),
        claims: settings.target.documents(),
        baseline: settings.target.baseline(),
    }
}

/// Runs cases and emits events; returns when all cases have ended.
pub fn run(cases: &[Case], settings: &Settings, mut emit: impl FnMut(&Event)) -> Summary {
    let began = Instant::now();
    let start = start(cases, settings);
    let count = start.cases;
    let settings = &Settings {
        provenance: Some(Arc::new(provenance(&start, cases, settings))),
        stored: Some(settings.stored(cases)),
        precedents: may_end_early(settings).then(Arc::default),
        ..settings.clone()
    };
    emit(&Event::RunStarted(Box::new(start)));
    let layout = Layout::of(cases, settings);
    let mut summary = Summary::default();
    let mut ended = 0;
    let mut tell = |event: &Event| {
        if let Event::CaseEnded(result) = event {
            summary.count(result);
            ended += 1;
        }
        emit(event);
    };
    let in_full = Settings {
        precedents: None,
        ..settings.clone()
    };
    let beside_others = Settings {
        beside_others: true,
        retries: 0,
        ..in_full.clone()
    };
    let later = run_some(
        with_seeds(&layout.beside_each_other, settings),
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
    let all = with_seeds(&layout.rest, settings).chain(later.again);
    let at_once = layout.rest_at_once;
    let early = run_some(all, at_once, settings, &mut |event| tell_alone(&mut confirmed, event)).early;
    let (settled, open): (Vec<_>, Vec<_>) = early.into_iter().partition(|(_, it)| is_settled(it, settings));
    for (_, result) in settled {
        tell_alone(&mut confirmed, &Event::CaseEnded(result));
    }
    if !settings.stop.load(Ordering::SeqCst) {
        for (_, result) in &open {
            tell_alone(&mut confirmed, &again(result));
        }
        let all = open.iter().map(|(case, result)| (*case, result.seed));
        run_some(all, at_once, &in_full, &mut |event| tell_alone(&mut confirmed, event));
    }
    for (case, result) in later.if_confirmed {
        if confirmed.covers(&result) {
            tell_alone(&mut confirmed, &Event::CaseEnded(result));
        } else if !settings.stop.load(Ordering::SeqCst) {
            tell_alone(&mut confirmed, &again(&result));
            let one = std::iter::once((case, result.seed));
            run_some(one, 1, &in_full, &mut |event| tell_alone(&mut confirmed, event));
        }
    }
    summary.not_begun = count.saturating_sub(ended);
    summary.wall = began.elapsed();
    emit(&Event::RunEnded(summary.clone()));
    summary
}

/// Returns cases with all their seeds, lazily: there may be more than fit into memory.
fn with_seeds<'a, 'c>(
    cases: &'a [&'c Case],
    settings: &Settings,
) -> impl Iterator<Item = (&'c Case, u64)> + Send + use<'a, 'c> {
    let first = settings.seed;
    // Without cases, the iteration over the seeds would yield nothing but could take forever: there may be billions.
    let repeat = if cases.is_empty() { 0 } else { settings.repeat };
    let seeds = (0..repeat).map(move |number| first.wrapping_add(number));
    seeds.flat_map(move |seed| cases.iter().map(move |case| (*case, seed)))
}

/// Cases that ran next to others and whose results do not count, or not yet.
#[derive(Default)]
struct Later<'c> {
    /// Cases to run again, with their seeds.
    again: Vec<(&'c Case, u64)>,
    /// Cases whose results count if a case that runs alone breaks the same requirements.
    if_confirmed: Vec<(&'c Case, Box<CaseResult>)>,
    /// Cases that ended early, while the case on whose wait they rely had not ended.
    early: Vec<(&'c Case, Box<CaseResult>)>,
}

/// Returns `true` if cases may end early. In virtual time waiting costs nothing.
fn may_end_early(settings: &Settings) -> bool {
    let is_real = settings.backend.time_mode() == TimeMode::Real;
    is_real && !settings.full_waits && !settings.pause_on_failure
}

/// Returns `true` if the result of a case counts: it did not end early, or the case on whose wait it relies deviates.
fn is_settled(result: &CaseResult, settings: &Settings) -> bool {
    let Some(cause) = result.outcome.early_end() else {
        return true;
    };
    let standing = settings.precedents.as_deref().and_then(|it| it.standing(cause));
    standing == Some(Standing::Confirmed)
}

/// Notes the end of a case for those that rely on its waits.
fn note_end(result: &CaseResult, settings: &Settings) {
    if let Some(precedents) = &settings.precedents {
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
fn run_some<'c>(
    all: impl Iterator<Item = (&'c Case, u64)> + Send,
    workers: usize,
    settings: &Settings,
    tell: &mut dyn FnMut(&Event),
) -> Later<'c> {
    let queue = Mutex::new(all);
    let later = Mutex::new(Later::default());
    let (sender, events) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let (sender, queue, later) = (sender.clone(), &queue, &later);
            scope.spawn(move || {
                while !settings.stop.load(Ordering::SeqCst) && !settings.interrupt.is_asked() {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some((case, seed)) = next else { break };
                    let settings = Settings {
                        seed,
                        ..settings.clone()
                    };
                    // The receiver outlives all senders, so that sending cannot fail.
                    let emit = |event| drop(sender.send(event));
                    let result = run_case(case, &settings, &emit);
                    note_end(&result, &settings);
                    let mut later = later.lock().unwrap_or_else(PoisonError::into_inner);
                    if !is_settled(&result, &settings) {
                        later.early.push((case, Box::new(result)));
                        continue;
                    }
                    match side_by_side::weight(&result, &settings) {
                        Weight::Counts => {
                            if settings.fail_fast && result.outcome.failed() {
                                settings.stop.store(true, Ordering::SeqCst);
                            }
                            emit(Event::CaseEnded(Box::new(result)));
                        }
                        Weight::IfAlsoAlone => later.if_confirmed.push((case, Box::new(result))),
                        Weight::Nothing => {
                            emit(again(&result));
                            later.again.push((case, seed));
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
fn provenance(start: &RunStart, cases: &[Case], settings: &Settings) -> Provenance {
    let reasons = |case: &Case| unsupported(case, &planned(case, settings), settings);
    let unsupported = cases.iter().map(|case| (case.id.clone(), reasons(case)));
    Provenance {
        started: start.started,
        seed: settings.seed,
        attempt: 1,
        shard: start.suite.shard.map(|shard| shard.to_string()),
        settled: settled::of_start(start),
        unsupported: unsupported.filter(|(_, reasons)| !reasons.is_empty()).collect(),
        kubernetes_versions: BTreeSet::new(),
    }
}

/// Identity of a set of cases, for those who compare reports.
pub fn suite_of(cases: &[Case]) -> Suite {
    let digests: Vec<_> = cases
        .iter()
        .map(|case| (case.id.as_str(), Digest::of_case(case)))
        .collect();
    Suite {
        cases: cases.len(),
        digest: Digest::of_cases(digests.iter().map(|(name, digest)| (*name, digest))),
        seeds: 1,
        shard: None,
        whole: None,
        built_in: None,
        replaced: BTreeSet::new(),
    }
}
