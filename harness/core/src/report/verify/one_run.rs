//! Checks that a report covers one whole run: its author must not choose results from two runs.

use std::collections::{BTreeMap, BTreeSet};

use super::{Objection, VerifyContext};
use crate::{
    report::model::ConformanceReport,
    timeline::{Provenance, Timeline},
};

/// Maximum number of seeds in a message.
const MOST: usize = 5;

/// Checks that each shard is one run: it begins once, and its seeds are consecutive.
pub(super) fn of_each_shard(report: &ConformanceReport, provenances: &[Provenance]) -> Vec<Objection> {
    let mut shards: BTreeMap<Option<&str>, Vec<&Provenance>> = BTreeMap::new();
    for provenance in provenances {
        shards.entry(provenance.shard.as_deref()).or_default().push(provenance);
    }
    let mut found = Vec::new();
    for runs in shards.values() {
        let starts: BTreeSet<_> = runs.iter().map(|run| run.started).collect();
        if starts.len() > 1 {
            found.push(Objection::SeveralRuns(starts.len()));
        }
        let seeds: BTreeSet<u64> = runs.iter().map(|run| run.seed).collect();
        let follow = |first: &u64| {
            seeds
                .iter()
                .all(|seed| seed.wrapping_sub(*first) < report.suite.seeds.max(1))
        };
        // The first seed may be any number, so the following ones may wrap around to 0.
        if !seeds.iter().any(follow) {
            let named: Vec<String> = seeds.iter().take(MOST).map(u64::to_string).collect();
            let more = if seeds.len() > MOST { ", …" } else { "" };
            found.push(Objection::Seeds {
                found: format!("{}{more}", named.join(", ")),
                seeds: report.suite.seeds,
            });
        }
    }
    found
}

/// Returns an objection for each timeline of the same runs whose case the report does not have, or has without a timeline.
pub(super) fn left_out(
    report: &ConformanceReport,
    provenances: &[Provenance],
    context: &VerifyContext<'_>,
) -> Vec<Objection> {
    let runs: BTreeSet<_> = provenances
        .iter()
        .map(|run| (run.started, run.shard.as_deref()))
        .collect();
    let judged = report.cases.iter().filter(|case| case.evidence.is_some());
    let judged: BTreeSet<_> = judged.map(|case| (&case.name, case.seed)).collect();
    let left_out = context.unnamed.iter().filter_map(|file| {
        // Files that are not timelines do not count.
        let bytes = (context.timeline)(file).ok()?;
        let first_line = bytes.split_inclusive(|byte| *byte == b'\n').next()?;
        let timeline = Timeline::read(first_line).ok()?;
        let begin = timeline.begin()?;
        let provenance = begin.provenance.as_deref()?;
        let is_of_run = runs.contains(&(provenance.started, provenance.shard.as_deref()));
        let is_left_out = is_of_run && !judged.contains(&(&begin.case, provenance.seed));
        is_left_out.then(|| Objection::LeftOut {
            case: begin.case.clone(),
            file: file.clone(),
            seed: provenance.seed,
        })
    });
    left_out.collect()
}
