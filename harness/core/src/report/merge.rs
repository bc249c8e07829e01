//! Merges the reports of several shards.

use std::collections::BTreeSet;

use thiserror::Error;

use super::{
    baseline, build, defects,
    model::{BaselineEntry, CaseReport, ConformanceReport},
};
use crate::{
    event::Shard,
    names::{CaseId, Feature},
};

/// Maximum number of missing shards in a message.
const MOST: usize = 10;

/// An error in combining reports.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum MergeError {
    /// There are no reports.
    #[error("there is no report to merge")]
    Nothing,
    /// Two reports are of different runs.
    #[error("the reports are not of one run: {what} is {first} in the first one and {other} in another one")]
    Different {
        /// Field that differs.
        what: &'static str,
        /// Value in the first one.
        first: String,
        /// Value in the other one.
        other: String,
    },
    /// A report covers the whole suite.
    #[error("one of the reports is of all cases, not of a shard; there is nothing to merge it with")]
    NotAShard,
    /// Two reports contain the same case.
    #[error("the case {0} stands in two reports; is a report given twice?")]
    Twice(CaseId),
    /// Shards are missing.
    #[error(
        "{number} of {of} shards are missing: {}{}",
        first.iter().map(Shard::to_string).collect::<Vec<_>>().join(", "),
        if *number > first.len() { ", …" } else { "" }
    )]
    Missing {
        /// The first missing shards.
        first: Vec<Shard>,
        /// Number of missing shards.
        number: usize,
        /// Number of shards.
        of: usize,
    },
    /// The shard of a report does not exist.
    #[error("one of the reports is of the shard {0}, which does not exist; was the report edited?")]
    NoSuchShard(Shard),
}

/// Merges the reports of all shards of one suite.
///
/// # Errors
/// Returns a [`MergeError`] if the reports are of different cases, implementations or clusters, or if some are missing.
pub fn merge(reports: &[ConformanceReport]) -> Result<ConformanceReport, MergeError> {
    let (first, others) = reports.split_first().ok_or(MergeError::Nothing)?;
    for other in others {
        same(first, other)?;
    }
    complete(reports)?;
    let mut cases: Vec<CaseReport> = Vec::new();
    let mut seen = BTreeSet::new();
    for case in reports.iter().flat_map(|report| &report.cases) {
        if !seen.insert((case.name.clone(), case.seed)) {
            return Err(MergeError::Twice(case.name.clone()));
        }
        cases.push(case.clone());
    }
    cases.sort_by_key(|case| (case.name.clone(), case.seed));
    let mut merged = first.clone();
    merged.suite.shard = None;
    // Nothing proves the date of a report without timelines.
    let with_evidence = |report: &&ConformanceReport| report.cases.iter().any(|case| case.evidence.is_some());
    let dates = reports.iter().filter(with_evidence).map(|report| report.date);
    merged.date = dates.min().unwrap_or(first.date);
    merged.backend.kubernetes_versions = reports
        .iter()
        .flat_map(|report| report.backend.kubernetes_versions.iter().cloned())
        .collect();
    let wall_secs = reports.iter().map(|report| report.summary.wall_secs).sum();
    build::settle(&mut cases);
    let asked = baseline::asked_of(&merged.requirements);
    merged.requirements = build::requirements(merged.requirements, &merged.features, &cases);
    merged.defects = defects::of(&cases, &baseline::of_report(&merged), &asked);
    merged.profiles = build::profiles(
        &build::core_of(&first.profiles),
        &merged.features,
        &merged.requirements,
        &cases,
    );
    merged.summary = build::summary(&merged.requirements, &cases, wall_secs);
    merged.cases = cases;
    merged.baseline = baseline::judged(&merged.baseline, &merged);
    Ok(merged)
}

fn same(first: &ConformanceReport, other: &ConformanceReport) -> Result<(), MergeError> {
    let name = |report: &ConformanceReport| {
        let version = report.implementation.version.as_deref().unwrap_or("of no version");
        format!("{} {version}", report.implementation.name)
    };
    let features = |report: &ConformanceReport| {
        let names: Vec<_> = report.features.iter().map(Feature::as_str).collect();
        names.join(", ")
    };
    let claims = |report: &ConformanceReport| report.claims.to_string();
    let replaced = |report: &ConformanceReport| {
        let files: Vec<&str> = report.suite.replaced.iter().map(String::as_str).collect();
        files.join(", ")
    };
    let known = |report: &ConformanceReport| {
        let told = |entry: &BaselineEntry| {
            let cases: Vec<_> = entry.cases.iter().map(CaseId::as_str).collect();
            format!("{} {} {}", entry.about(), entry.difference, cases.join(" "))
                .trim_end()
                .to_owned()
        };
        report.baseline.iter().map(told).collect::<Vec<_>>().join(", ")
    };
    let pairs = [
        (
            "the digest of the cases",
            first.suite.digest.to_string(),
            other.suite.digest.to_string(),
        ),
        (
            "the built-in suite",
            first.suite.built_in.clone().unwrap_or_default(),
            other.suite.built_in.clone().unwrap_or_default(),
        ),
        ("the replaced files", replaced(first), replaced(other)),
        (
            "the number of seeds",
            first.suite.seeds.to_string(),
            other.suite.seeds.to_string(),
        ),
        ("the implementation", name(first), name(other)),
        ("what it declares", features(first), features(other)),
        ("the documents that it claims", claims(first), claims(other)),
        ("its baseline", known(first), known(other)),
        ("the backend", first.backend.name.clone(), other.backend.name.clone()),
        ("Baton's version", first.made_with(), other.made_with()),
    ];
    match pairs.into_iter().find(|(_, first, other)| first != other) {
        Some((what, first, other)) => Err(MergeError::Different { what, first, other }),
        None => Ok(()),
    }
}

fn complete(reports: &[ConformanceReport]) -> Result<(), MergeError> {
    let shards: Option<BTreeSet<Shard>> = reports.iter().map(|report| report.suite.shard).collect();
    let shards = shards.ok_or(MergeError::NotAShard)?;
    if let Some(shard) = shards.iter().find(|shard| !shard.exists()) {
        return Err(MergeError::NoSuchShard(*shard));
    }
    let counts: BTreeSet<usize> = shards.iter().map(|shard| shard.of).collect();
    if let (Some(least), Some(most)) = (counts.first(), counts.last())
        && least != most
    {
        return Err(MergeError::Different {
            what: "the number of shards",
            first: least.to_string(),
            other: most.to_string(),
        });
    }
    let of = counts.first().copied().unwrap_or_default();
    // An edited report may name any number of shards, so the loop is bounded.
    let number = of.saturating_sub(shards.len());
    if number == 0 {
        return Ok(());
    }
    let all = (1..=of).map(|number| Shard { number, of });
    let first = all.filter(|shard| !shards.contains(shard)).take(MOST).collect();
    Err(MergeError::Missing { first, number, of })
}
