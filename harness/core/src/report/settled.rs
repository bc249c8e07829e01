//! What is settled before the first case of a run, as digests that each timeline carries.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{
    baseline,
    model::{BaselineEntry, ConformanceReport},
};
use crate::{
    digest::Digest,
    event::{RunStart, Suite},
    implementation::Implementation,
    names::{CaseId, Feature, RequirementId},
};

/// What timelines of earlier versions say nothing of.
pub const ADDED_LATER: &str = "deviations that show only sometimes";

/// The digests of a run that begins, by what they are of.
pub fn of_start(start: &RunStart) -> BTreeMap<String, String> {
    // Which cases are about an entry is found anew by whoever verifies.
    let entries = baseline::entries(&start.baseline, &BTreeMap::new());
    Settled {
        baton_version: env!("CARGO_PKG_VERSION"),
        implementation: &start.target,
        suite: &start.suite,
        backend: &start.backend,
        features: &start.features,
        baseline: &entries,
    }
    .digests()
}

/// The digests of a report's run, by what they are of.
pub fn of_report(report: &ConformanceReport) -> BTreeMap<String, String> {
    Settled {
        baton_version: &report.baton_version,
        implementation: &report.implementation,
        suite: &report.suite,
        backend: &report.backend.name,
        features: &report.features,
        baseline: &report.baseline,
    }
    .digests()
}

struct Settled<'a> {
    baton_version: &'a str,
    implementation: &'a Implementation,
    suite: &'a Suite,
    backend: &'a str,
    features: &'a BTreeSet<Feature>,
    baseline: &'a [BaselineEntry],
}

/// What the target file says of a known deviation, without what cases show of it.
#[derive(Serialize)]
struct Known<'a> {
    requirement: &'a RequirementId,
    reason: &'a str,
    link: &'a Option<String>,
    cases: &'a BTreeSet<CaseId>,
}

impl Settled<'_> {
    fn digests(&self) -> BTreeMap<String, String> {
        // Shards of one run differ in nothing but their part.
        let suite = Suite {
            shard: None,
            ..self.suite.clone()
        };
        let known: Vec<Known<'_>> = self
            .baseline
            .iter()
            .map(|entry| Known {
                requirement: &entry.requirement,
                reason: &entry.reason,
                link: &entry.link,
                cases: &entry.cases,
            })
            .collect();
        let sometimes: Vec<bool> = self.baseline.iter().map(|entry| entry.sometimes).collect();
        BTreeMap::from(
            [
                ("version of Baton", digest(&self.baton_version)),
                ("implementation", digest(self.implementation)),
                ("selected cases", digest(&suite)),
                ("backend", digest(&self.backend)),
                ("features", digest(self.features)),
                ("baseline", digest(&known)),
                (ADDED_LATER, digest(&sometimes)),
            ]
            .map(|(what, digest)| (what.to_owned(), digest)),
        )
    }
}

fn digest(what: &impl Serialize) -> String {
    Digest::of_json(what).to_string()
}
