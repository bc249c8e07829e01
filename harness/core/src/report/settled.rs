//! Settings that are fixed before the first case of a run, as digests that each timeline carries.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{
    baseline,
    model::{BaselineEntry, ConformanceReport},
};
use crate::{
    catalogue::DocumentClaims,
    digest::Digest,
    event::{RunStart, Suite},
    implementation::{Implementation, versions::VersionRange},
    judge::finding::DifferenceKind,
    names::{CaseId, Feature},
};

/// Returns the digests at the beginning of a run, by name.
pub fn of_start(start: &RunStart) -> BTreeMap<String, String> {
    // The cases of an entry are left out: verification finds them again.
    let entries = baseline::entries(&start.baseline, &BTreeMap::new());
    Settled {
        baton_version: env!("CARGO_PKG_VERSION"),
        implementation: &start.target,
        suite: &start.suite,
        backend: &start.backend,
        features: &start.features,
        claims: &start.claims,
        baseline: &entries,
    }
    .digests()
}

/// Returns the digests of a report's run, by name.
pub fn of_report(report: &ConformanceReport) -> BTreeMap<String, String> {
    Settled {
        baton_version: &report.baton_version,
        implementation: &report.implementation,
        suite: &report.suite,
        backend: &report.backend.name,
        features: &report.features,
        claims: &report.claims,
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
    claims: &'a DocumentClaims,
    baseline: &'a [BaselineEntry],
}

/// A baseline entry in the form of the target file, without results of cases.
#[derive(Serialize)]
struct Known<'a> {
    about: &'a str,
    field: &'a Option<String>,
    difference: DifferenceKind,
    reason: &'a str,
    link: &'a Option<String>,
    versions: &'a VersionRange,
    cases: &'a BTreeSet<CaseId>,
    sometimes: bool,
}

impl Settled<'_> {
    fn digests(&self) -> BTreeMap<String, String> {
        // Shards of one run differ only in their number.
        let suite = Suite {
            shard: None,
            ..self.suite.clone()
        };
        let known: Vec<Known<'_>> = self
            .baseline
            .iter()
            .map(|entry| Known {
                about: entry.about(),
                field: &entry.field,
                difference: entry.difference,
                reason: &entry.reason,
                link: &entry.link,
                versions: &entry.versions,
                cases: &entry.cases,
                sometimes: entry.sometimes,
            })
            .collect();
        BTreeMap::from(
            [
                ("version of Baton", digest(&self.baton_version)),
                ("implementation", digest(self.implementation)),
                ("selected cases", digest(&suite)),
                ("backend", digest(&self.backend)),
                ("features", digest(self.features)),
                ("claimed documents", digest(self.claims)),
                ("baseline", digest(&known)),
            ]
            .map(|(what, digest)| (what.to_owned(), digest)),
        )
    }
}

fn digest(what: &impl Serialize) -> String {
    Digest::of_json(what).to_string()
}
