//! Builds the report of a run from its events.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{
    baseline::{self, About},
    defects,
    model::{
        Backend, CaseNumbers, CaseOutcome, CaseReport, ConformanceReport, DocumentReport, EvidenceReport,
        FindingReport, KIND, Profile, ProfileReport, ProfileResult, RequirementNumbers, RequirementReport,
        RequirementResult, Summary, Timing,
    },
};
use crate::{
    case::{file::API_VERSION, model::Case},
    catalogue::{Asked, Catalogue, Consequence, Document, Level, Requirement},
    event::{self, CaseResult, Event, RunStart},
    implementation::baseline::Baseline,
    judge::{Finding, Verdict},
    names::{CaseId, DocumentId, Feature, RequirementId},
};

/// Collects events and builds a report of them.
#[derive(Debug)]
pub struct Builder {
    catalogue: Catalogue,
    about: About,
    start: Option<RunStart>,
    kubernetes_versions: BTreeSet<String>,
    cases: BTreeMap<(CaseId, u64), CaseReport>,
    wall_secs: f64,
}

impl Builder {
    /// Creates the report of a run of some of these cases, which cite this catalogue.
    pub fn new<'a>(catalogue: &Catalogue, all: impl IntoIterator<Item = &'a Case>) -> Self {
        Self {
            catalogue: catalogue.clone(),
            about: baseline::about(all),
            start: None,
            kubernetes_versions: BTreeSet::new(),
            cases: BTreeMap::new(),
            wall_secs: 0.0,
        }
    }

    /// Adds an event.
    pub fn on_event(&mut self, event: &Event) {
        match event {
            Event::RunStarted(start) => self.start = Some((**start).clone()),
            Event::CaseEnded(result) => {
                self.kubernetes_versions.extend(result.kubernetes.values().cloned());
                let key = (result.case.clone(), result.seed);
                self.cases.insert(key, CaseReport::of(result));
            }
            Event::RunEnded(summary) => self.wall_secs = millis(summary.wall.as_secs_f64()),
            Event::CaseStarted { .. } | Event::StepStarted { .. } | Event::Paused { .. } | Event::CaseAgain { .. } => {}
        }
    }

    /// Returns the report; `None` if the run has not begun.
    pub fn report(&self) -> Option<ConformanceReport> {
        let start = self.start.as_ref()?;
        let mut cases: Vec<CaseReport> = self.cases.values().cloned().collect();
        settle(&mut cases);
        let report = ConformanceReport {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            date: date(start.started),
            baton_version: env!("CARGO_PKG_VERSION").to_owned(),
            judged_by: None,
            implementation: start.target.clone(),
            suite: start.suite.clone(),
            backend: Backend {
                name: start.backend.clone(),
                kubernetes_versions: self.kubernetes_versions.clone(),
            },
            features: start.features.clone(),
            claims: start.claims.clone(),
            documents: BTreeMap::new(),
            profiles: Vec::new(),
            summary: Summary {
                wall_secs: self.wall_secs,
                ..Summary::default()
            },
            defects: Vec::new(),
            baseline: Vec::new(),
            requirements: Vec::new(),
            cases,
        };
        Some(concluded(report, &self.catalogue, &start.baseline, &self.about))
    }
}

/// Completes a report with everything that follows from its settled cases, its features and claims, a catalogue and a
/// baseline.
pub fn concluded(
    report: ConformanceReport,
    catalogue: &Catalogue,
    baseline: &Baseline,
    about: &About,
) -> ConformanceReport {
    let asked = Asked::of(catalogue, &report.features, &report.claims);
    let cases = &report.cases;
    let requirements = requirements(listed(catalogue, &asked), &report.features, cases);
    ConformanceReport {
        documents: documents(catalogue),
        profiles: profiles(catalogue.core(), &report.features, &requirements, cases),
        summary: summary(&requirements, cases, report.summary.wall_secs),
        defects: defects::of(cases, baseline, &asked),
        baseline: baseline::judged(&baseline::entries(baseline, about), &report),
        requirements,
        ..report
    }
}

/// Returns the documents of a catalogue, in the form of reports.
fn documents(catalogue: &Catalogue) -> BTreeMap<DocumentId, DocumentReport> {
    let of = |(id, document): (&DocumentId, &Document)| {
        let report = DocumentReport {
            title: document.title.clone(),
            url: document.url.clone(),
            standing: document.standing,
        };
        (id.clone(), report)
    };
    catalogue.documents().iter().map(of).collect()
}

/// Decides the result of each case in view of all cases. A case with a deviation or a remark about something that it does
/// not test has the result of that finding, unless another case that tests it shows the same difference.
pub fn settle(cases: &mut [CaseReport]) {
    let results: Vec<CaseOutcome> = cases.iter().map(|case| settled(case, cases)).collect();
    for (case, result) in cases.iter_mut().zip(results) {
        case.result = result;
    }
}

fn settled(case: &CaseReport, all: &[CaseReport]) -> CaseOutcome {
    if !case.result.is_judged() {
        return case.result;
    }
    let unexplained = |finding: &FindingReport| !defects::is_shown_more_clearly(all, finding);
    let deviates = !case.findings.is_empty() || !case.snapshots.is_empty() || case.elsewhere.iter().any(unexplained);
    let remarks = case.remarks.iter().any(|it| it.is_about(case) || unexplained(it));
    match (deviates, case.known, remarks) {
        (true, true, _) => CaseOutcome::KnownDeviation,
        (true, false, _) => CaseOutcome::Deviates,
        (false, _, true) => CaseOutcome::Remarks,
        (false, _, false) => CaseOutcome::Conforms,
    }
}

/// Returns the requirements of a catalogue in the form of reports, before any case is judged.
pub fn listed(catalogue: &Catalogue, asked: &Asked) -> Vec<RequirementReport> {
    let listed = |requirement: &Requirement| RequirementReport {
        id: requirement.id.clone(),
        level: requirement.level,
        feature: requirement.feature.clone(),
        text: requirement.text.clone(),
        sources: requirement.sources.clone(),
        consequence: asked.consequence(&requirement.id),
        result: RequirementResult::NotShown,
        shown_by: BTreeSet::new(),
        broken_by: BTreeSet::new(),
        not_judged_by: BTreeSet::new(),
    };
    catalogue.iter().map(listed).collect()
}

/// Builds the results of the cases for each requirement; earlier results of the requirements are ignored.
pub fn requirements(
    asked: Vec<RequirementReport>,
    features: &BTreeSet<Feature>,
    cases: &[CaseReport],
) -> Vec<RequirementReport> {
    let mut requirements = asked;
    for requirement in &mut requirements {
        let id = &requirement.id;
        let with = |of: fn(&CaseReport) -> &BTreeSet<RequirementId>| {
            let matching = cases.iter().filter(|case| of(case).contains(id));
            matching.map(|case| case.name.clone()).collect::<BTreeSet<_>>()
        };
        requirement.broken_by = with(|case| &case.broken);
        requirement.shown_by = with(|case| &case.shown);
        let left_open = cases.iter().filter(|case| case.not_judged.contains_key(id));
        requirement.not_judged_by = left_open.map(|case| case.name.clone()).collect();
        let mut asking = cases.iter().filter(|case| case.requirements.contains(id)).peekable();
        let nobody_could = asking.peek().is_some() && asking.all(|case| case.result == CaseOutcome::Unsupported);
        let mut breaking = cases.iter().filter(|case| case.broken.contains(id)).peekable();
        let broken = breaking.peek().is_some();
        requirement.result = if broken && requirement.consequence == Consequence::Remark {
            RequirementResult::Remark
        } else if broken && breaking.all(|case| case.known) {
            RequirementResult::KnownDeviation
        } else if broken {
            RequirementResult::Broken
        } else if !requirement.shown_by.is_empty() {
            RequirementResult::Shown
        } else if nobody_could || !features.contains(&requirement.feature) {
            RequirementResult::Unsupported
        } else if !requirement.not_judged_by.is_empty() {
            RequirementResult::NotJudged
        } else {
            RequirementResult::NotShown
        };
    }
    requirements
}

/// Returns the date of a report, rounded to seconds. A time that cannot be rounded stays unchanged.
pub fn date(started: Timestamp) -> Timestamp {
    started.round(jiff::Unit::Second).unwrap_or(started)
}

/// Counts results.
pub fn summary(requirements: &[RequirementReport], cases: &[CaseReport], wall_secs: f64) -> Summary {
    let cases_with = |result| cases.iter().filter(|case| case.result == result).count();
    Summary {
        cases: CaseNumbers {
            conforming: cases_with(CaseOutcome::Conforms),
            with_remarks: cases_with(CaseOutcome::Remarks),
            deviating: cases_with(CaseOutcome::Deviates),
            known: cases_with(CaseOutcome::KnownDeviation),
            inconclusive: cases_with(CaseOutcome::Inconclusive),
            unsupported: cases_with(CaseOutcome::Unsupported),
            broken: cases_with(CaseOutcome::Broken),
        },
        requirements: numbers(requirements.iter().filter(|it| it.consequence != Consequence::Proposed)),
        proposed: numbers(requirements.iter().filter(|it| it.consequence == Consequence::Proposed)),
        wall_secs,
    }
}

fn numbers<'a>(requirements: impl IntoIterator<Item = &'a RequirementReport>) -> RequirementNumbers {
    let mut numbers = RequirementNumbers::default();
    for requirement in requirements {
        let number = match requirement.result {
            RequirementResult::Shown => &mut numbers.shown,
            RequirementResult::Broken => &mut numbers.broken,
            RequirementResult::KnownDeviation => &mut numbers.known,
            RequirementResult::Remark => &mut numbers.remarks,
            RequirementResult::NotJudged => &mut numbers.not_judged,
            RequirementResult::NotShown => &mut numbers.not_shown,
            RequirementResult::Unsupported => &mut numbers.unsupported,
        };
        *number += 1;
    }
    numbers
}

/// Results for the core and for everything else; empty if the catalogue names no core. A profile is only partly judged while
/// a case that asks for one of its requirements could not be run.
pub fn profiles(
    core: &BTreeSet<Feature>,
    declared: &BTreeSet<Feature>,
    requirements: &[RequirementReport],
    cases: &[CaseReport],
) -> Vec<ProfileReport> {
    if core.is_empty() {
        return Vec::new();
    }
    let all: BTreeSet<Feature> = requirements.iter().map(|it| it.feature.clone()).collect();
    let extended = all.difference(core).cloned().collect();
    let profile = |name, features: &BTreeSet<Feature>| {
        let supported: BTreeSet<Feature> = features.intersection(declared).cloned().collect();
        let unsupported: BTreeSet<Feature> = features.difference(declared).cloned().collect();
        let is_must = |it: &&RequirementReport| {
            it.level == Level::Must && supported.contains(&it.feature) && it.consequence != Consequence::Proposed
        };
        let musts = numbers(requirements.iter().filter(is_must));
        let not_run = |it: &RequirementReport| cases.iter().any(|case| could_not_run(case, &it.id));
        let is_incomplete = requirements.iter().filter(is_must).any(not_run);
        let claimed = match name {
            Profile::Core => unsupported.is_empty(),
            Profile::Extended => !supported.is_empty(),
        };
        let result = match (
            claimed,
            musts.broken + musts.known,
            musts.not_judged + musts.not_shown + musts.unsupported + usize::from(is_incomplete),
        ) {
            (false, ..) => ProfileResult::Unsupported,
            (true, 1.., _) => ProfileResult::Deviates,
            (true, 0, 1..) => ProfileResult::Partial,
            (true, 0, 0) => ProfileResult::Conforms,
        };
        ProfileReport {
            name,
            result,
            supported,
            unsupported,
            musts,
        }
    };
    vec![profile(Profile::Core, core), profile(Profile::Extended, &extended)]
}

/// Returns `true` for a case that asks for a requirement and could not be run.
fn could_not_run(case: &CaseReport, requirement: &RequirementId) -> bool {
    case.result == CaseOutcome::Broken && case.requirements.contains(requirement)
}

/// Returns the core features that a report was made with.
pub fn core_of(profiles: &[ProfileReport]) -> BTreeSet<Feature> {
    let core = profiles.iter().find(|profile| profile.name == Profile::Core);
    let features = core
        .into_iter()
        .flat_map(|core| core.supported.union(&core.unsupported));
    features.cloned().collect()
}

impl CaseReport {
    /// Builds the report of a result.
    pub fn of(result: &CaseResult) -> Self {
        let mut report = Self {
            name: result.case.clone(),
            area: result.area.clone(),
            title: result.title.clone(),
            digest: result.digest.clone(),
            seed: result.seed,
            result: CaseOutcome::Conforms,
            failed_tries: result.failed_tries.clone(),
            requirements: result.requirements.iter().cloned().collect(),
            shown: BTreeSet::new(),
            broken: BTreeSet::new(),
            not_judged: BTreeMap::new(),
            known: result.known,
            likely_cause: result.outcome.likely_cause().cloned(),
            findings: Vec::new(),
            elsewhere: Vec::new(),
            remarks: Vec::new(),
            proposed: Vec::new(),
            warnings: Vec::new(),
            snapshots: Vec::new(),
            reasons: Vec::new(),
            evidence: result.evidence.as_ref().map(|evidence| EvidenceReport {
                timeline: evidence
                    .file
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned(),
                digest: evidence.digest.clone(),
            }),
            timing: timing(result),
        };
        match &result.outcome {
            event::CaseOutcome::Conforms(verdict) => {
                report.take(verdict);
                if !report.remarks.is_empty() {
                    report.result = CaseOutcome::Remarks;
                }
            }
            event::CaseOutcome::Deviates { verdict, snapshots, .. } => {
                report.take(verdict);
                report.result = if result.known {
                    CaseOutcome::KnownDeviation
                } else {
                    CaseOutcome::Deviates
                };
                report.snapshots = snapshots.iter().map(|snapshot| snapshot.name.clone()).collect();
            }
            event::CaseOutcome::Inconclusive { verdict, .. } => {
                report.take(verdict);
                report.result = CaseOutcome::Inconclusive;
                report.findings = verdict.inconclusive.iter().map(FindingReport::of).collect();
            }
            event::CaseOutcome::Unsupported { reasons } => {
                report.result = CaseOutcome::Unsupported;
                report.reasons.clone_from(reasons);
            }
            event::CaseOutcome::Broken { reason } => {
                report.result = CaseOutcome::Broken;
                report.reasons = vec![reason.clone()];
            }
        }
        report
    }

    /// Adds the findings of a verdict.
    fn take(&mut self, verdict: &Verdict) {
        let reports = |findings: &[Finding]| findings.iter().map(FindingReport::of).collect();
        self.shown.clone_from(&verdict.shown);
        self.broken = verdict.broken();
        self.not_judged.clone_from(&verdict.not_judged);
        self.findings = reports(&verdict.findings);
        self.elsewhere = reports(&verdict.elsewhere);
        self.remarks = reports(&verdict.remarks);
        self.proposed = reports(&verdict.proposed);
        self.warnings = reports(&verdict.warnings);
    }
}

fn timing(result: &CaseResult) -> Timing {
    let migration = result.migration.as_ref();
    Timing {
        wall_secs: millis(result.wall.as_secs_f64()),
        clusters_secs: millis(result.virtual_time.as_secs_f64()),
        migration_secs: migration.map(|migration| millis(migration.time.as_secs_f64())),
        migration_writes: migration.map(|it| it.writes.len()).filter(|writes| *writes > 0),
    }
}

impl FindingReport {
    /// Builds the report of a finding.
    pub fn of(finding: &Finding) -> Self {
        Self {
            requirements: finding.requirements.clone(),
            title: finding.title.clone(),
            expected: finding.expected.clone(),
            seen: finding.seen.clone(),
            differences: finding.mismatches.iter().map(ToString::to_string).collect(),
            field: finding.field.clone(),
            difference: finding.kind,
            object: finding.object.as_ref().map(ToString::to_string),
            step: finding.step.map(|step| step + 1),
            follows: finding.follows.map(|step| step + 1),
            at_secs: millis(finding.at.as_secs_f64()),
            entry: finding.seq,
        }
    }
}

/// Rounds seconds to milliseconds; smaller differences mean nothing.
fn millis(secs: f64) -> f64 {
    (secs * 1e3).round() / 1e3
}
