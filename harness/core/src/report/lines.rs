//! The events of a run as they happen, one line of JSON each.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use jiff::Timestamp;
use serde::Serialize;

use super::model::{Backend, CaseReport};
use crate::{
    catalogue::DocumentClaims,
    event::{Event, Suite},
    implementation::Implementation,
    names::{CaseId, ClusterName, Feature},
};

/// A line; `event` names the kind of event.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Line<'a> {
    RunStarted {
        date: Timestamp,
        cases: usize,
        suite: &'a Suite,
        backend: Backend,
        implementation: &'a Implementation,
        features: &'a BTreeSet<Feature>,
        #[serde(skip_serializing_if = "DocumentClaims::is_all")]
        claims: &'a DocumentClaims,
    },
    CaseStarted {
        case: &'a CaseId,
        seed: u64,
        attempt: u32,
        steps: usize,
    },
    StepStarted {
        case: &'a CaseId,
        step: usize,
        text: &'a str,
    },
    Paused {
        case: &'a CaseId,
        kubeconfigs: &'a BTreeMap<ClusterName, PathBuf>,
    },
    CaseAgain {
        case: &'a CaseId,
        seed: u64,
        reason: &'a str,
    },
    CaseEnded(Box<CaseReport>),
    RunEnded {
        conforming: usize,
        with_remarks: usize,
        deviating: usize,
        known: usize,
        inconclusive: usize,
        unsupported: usize,
        broken: usize,
        not_begun: usize,
        wall_secs: f64,
    },
}

/// Returns an event as a line, without a line break. Steps are numbered from 1.
///
/// # Errors
/// If the event has no JSON form.
pub fn line(event: &Event) -> serde_json::Result<String> {
    let line = match event {
        Event::RunStarted(start) => Line::RunStarted {
            date: start.started,
            cases: start.cases,
            suite: &start.suite,
            backend: Backend {
                name: start.backend.clone(),
                kubernetes_versions: BTreeSet::new(),
            },
            implementation: &start.target,
            features: &start.features,
            claims: &start.claims,
        },
        Event::CaseStarted {
            case,
            seed,
            attempt,
            steps,
        } => Line::CaseStarted {
            case,
            seed: *seed,
            attempt: *attempt,
            steps: *steps,
        },
        Event::StepStarted { case, step, text } => Line::StepStarted {
            case,
            step: step + 1,
            text,
        },
        Event::Paused { case, kubeconfigs } => Line::Paused { case, kubeconfigs },
        Event::CaseAgain { case, seed, reason } => Line::CaseAgain {
            case,
            seed: *seed,
            reason,
        },
        Event::CaseEnded(result) => Line::CaseEnded(Box::new(CaseReport::of(result))),
        Event::RunEnded(summary) => Line::RunEnded {
            conforming: summary.conforming,
            with_remarks: summary.with_remarks,
            deviating: summary.deviating,
            known: summary.known,
            inconclusive: summary.inconclusive,
            unsupported: summary.unsupported,
            broken: summary.broken,
            not_begun: summary.not_begun,
            wall_secs: summary.wall.as_secs_f64(),
        },
    };
    serde_json::to_string(&line)
}
