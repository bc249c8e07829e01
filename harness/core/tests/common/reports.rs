//! Reports of recorded timelines, and the timelines that bear them out.
#![allow(dead_code, reason = "each test uses a part of it")]
#![expect(
    clippy::unwrap_used,
    reason = "what is committed can be read, or the test has failed"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use baton_core::{
    case::model::Case,
    catalogue::{Asked, Catalogue, DocumentClaims},
    digest::Digest,
    event::{CaseOutcome, CaseResult, Event, Evidence, RunStart, Shard, Suite, Summary},
    implementation::{
        Implementation,
        baseline::{Baseline, KnownDefect, Subject},
        versions::VersionRange,
    },
    judge, measure,
    names::{CaseId, ClusterName},
    plan::Plan,
    report::{
        Builder, ConformanceReport,
        model::CaseReport,
        settled,
        verify::{self, Verification},
    },
    timeline::{HARNESS, Provenance, Timeline},
};

use super::common::{self, spoiled};

/// A requirement that the cases show, one that a bad timeline breaks, one without a case, one undeclared.
pub const CATALOGUE: &str = "
documents: {S: {title: T, url: u, standing: merged, note: n, lines: 9, sections: [{heading: H, line: 1}]}}
core: [PurgeDirectly]
requirements:
- {id: PRG-03, level: MUST, feature: PurgeDirectly, sources: [{document: S, section: H, lines: 1, basis: said}], text: One copy at most.}
- {id: REC-01, level: MUST, feature: LabelInjection, sources: [{document: S, section: H, lines: 1, basis: said}], text: Labels from the first revision on.}
- {id: REC-11, level: SHOULD, feature: LabelInjection, sources: [{document: S, section: H, lines: 1, basis: said}], text: Labels stay.}
- {id: APP-01, level: MAY, feature: ApplicationFailover, sources: [{document: S, section: H, lines: 1, basis: said}], text: An unhealthy workload stays.}
";

pub fn case(name: &str) -> Case {
    common::case(&format!("proposal/{name}.yaml"))
}

/// The result that a run with this timeline has.
pub fn result(name: &str, fixture: &str) -> CaseResult {
    let (case, text) = (case(name), spoiled::bytes(name, fixture));
    let timeline = Timeline::read(text.as_slice()).unwrap();
    let verdict = judge::judge(&Plan::of(&case).asking(asked()), &timeline);
    let outcome = CaseOutcome::judged(verdict, Vec::new(), &timeline);
    CaseResult {
        case: case.id.clone(),
        area: case.area.clone(),
        digest: Digest::of_case(&case),
        seed: 0,
        title: case.title.clone(),
        requirements: case.requirements.iter().cloned().collect(),
        outcome,
        wall: Duration::from_millis(1250),
        virtual_time: timeline.entries().last().unwrap().at,
        migration: measure::first_migration(&timeline, &HARNESS),
        kubernetes: BTreeMap::from([(ClusterName::control(), "v1.36.0".to_owned())]),
        timeline: Some(Arc::new(timeline)),
        evidence: Some(Evidence {
            file: PathBuf::from(format!("timelines/{name}.{fixture}.jsonl")),
            digest: Digest::of_bytes(&text),
        }),
        log: None,
        known: false,
        accepted: Vec::new(),
        failed_tries: Vec::new(),
    }
}

pub fn unsupported(name: &str) -> CaseResult {
    CaseResult {
        outcome: CaseOutcome::Unsupported {
            reasons: vec!["needs FlinkRecovery".to_owned()],
        },
        virtual_time: Duration::ZERO,
        migration: None,
        timeline: None,
        evidence: None,
        ..result(name, "good")
    }
}

pub fn events(results: Vec<CaseResult>, shard: Option<Shard>) -> Vec<Event> {
    let names = ["deployment-directly", "flink-jobid-directly", "statefulset-directly"];
    let digests: Vec<Digest> = names.iter().map(|name| Digest::of_case(&case(name))).collect();
    let mut summary = Summary {
        wall: Duration::from_millis(2500),
        ..Summary::default()
    };
    let start = RunStart {
        started: "2026-01-02T03:04:05.4Z".parse().unwrap(),
        cases: results.len(),
        suite: Suite {
            cases: names.len(),
            seeds: 1,
            digest: Digest::of_cases(names.into_iter().zip(&digests)),
            shard,
            whole: Some(names.len()),
            built_in: None,
            replaced: BTreeSet::new(),
        },
        backend: "embedded".to_owned(),
        target: Implementation {
            version: Some("1.2.3".to_owned()),
            ..Implementation::named("the reference controller")
        },
        features: BTreeSet::from(["LabelInjection".into(), "PurgeDirectly".into()]),
        claims: DocumentClaims::default(),
        baseline: Baseline::default(),
    };
    let mut events = vec![Event::RunStarted(Box::new(start))];
    for result in results {
        summary.count(&result);
        events.push(Event::CaseEnded(Box::new(result)));
    }
    events.push(Event::RunEnded(summary));
    events
}

pub fn report(results: Vec<CaseResult>, shard: Option<Shard>) -> ConformanceReport {
    let all = ["deployment-directly", "flink-jobid-directly", "statefulset-directly"].map(case);
    let mut builder = Builder::new(&Catalogue::parse(CATALOGUE).unwrap(), &all);
    assert_eq!(builder.report(), None);
    for event in events(results, shard) {
        builder.on_event(&event);
    }
    sealed(builder.report().unwrap())
}

/// The bad timeline of the StatefulSet.
const BAD: &str = "label-missing";

pub fn mixed() -> Vec<CaseResult> {
    let retried = CaseResult {
        failed_tries: vec!["first seen: no such object".to_owned()],
        ..result("deployment-directly", "good")
    };
    vec![
        retried,
        result("statefulset-directly", BAD),
        unsupported("flink-jobid-directly"),
    ]
}

/// The timelines of an honest report, by file name: those of its run.
pub fn timelines(report: &ConformanceReport) -> BTreeMap<String, Vec<u8>> {
    let of = |case: &CaseReport| {
        let file = case.evidence.as_ref().unwrap().timeline.clone();
        let (name, fixture) = file.trim_end_matches(".jsonl").split_once('.').unwrap();
        let timeline = Timeline::read(spoiled::bytes(name, fixture).as_slice()).unwrap();
        let timeline = timeline.with_provenance(Provenance {
            started: report.date,
            seed: case.seed,
            attempt: u32::try_from(case.failed_tries.len()).unwrap() + 1,
            shard: report.suite.shard.map(|shard| shard.to_string()),
            settled: settled::of_report(report),
            unsupported: BTreeMap::from([("flink-jobid-directly".into(), vec!["needs FlinkRecovery".to_owned()])]),
            kubernetes_versions: report.backend.kubernetes_versions.clone(),
        });
        let mut text = Vec::new();
        timeline.write(&mut text).unwrap();
        (file, text)
    };
    let with_evidence = report.cases.iter().filter(|case| case.evidence.is_some());
    with_evidence.map(of).collect()
}

/// The report with the digests of its timelines.
fn sealed(mut report: ConformanceReport) -> ConformanceReport {
    let timelines = timelines(&report);
    for case in &mut report.cases {
        if let Some(evidence) = &mut case.evidence {
            evidence.digest = Digest::of_bytes(&timelines[&evidence.timeline]);
        }
    }
    report
}

/// Verifies a report with these timelines.
pub fn verified(report: &ConformanceReport, timelines: &BTreeMap<String, Vec<u8>>) -> Verification {
    verified_where_there_is(None, report, timelines)
}

/// The same where there is a case more than when the report was made.
pub fn verified_where_there_is(
    another: Option<Case>,
    report: &ConformanceReport,
    timelines: &BTreeMap<String, Vec<u8>>,
) -> Verification {
    let names = ["deployment-directly", "flink-jobid-directly", "statefulset-directly"];
    let cases = names.map(case).into_iter().chain(another);
    judged_by(cases, report, timelines, |context| verify::verify(report, context))
}

/// Judges a report by these cases.
pub fn judged_by<T>(
    cases: impl IntoIterator<Item = Case>,
    report: &ConformanceReport,
    timelines: &BTreeMap<String, Vec<u8>>,
    judge: impl FnOnce(&verify::VerifyContext<'_>) -> T,
) -> T {
    let cases: BTreeMap<CaseId, Case> = cases.into_iter().map(|case| (case.id.clone(), case)).collect();
    let of_report: BTreeSet<&String> = report
        .cases
        .iter()
        .filter_map(|case| Some(&case.evidence.as_ref()?.timeline))
        .collect();
    let others = timelines.keys().filter(|file| !of_report.contains(file));
    let unnamed: Vec<String> = others.cloned().collect();
    judge(&verify::VerifyContext {
        catalogue: &Catalogue::parse(CATALOGUE).unwrap(),
        cases: &cases,
        timeline: &|file| {
            timelines
                .get(file)
                .cloned()
                .ok_or_else(|| std::io::Error::other("no such file"))
        },
        snapshots: &|_, _| Vec::new(),
        unnamed: &unnamed,
    })
}

/// The report of a run against a target with this baseline.
pub fn report_with(entries: &[KnownDefect], results: Vec<CaseResult>, shard: Option<Shard>) -> ConformanceReport {
    let baseline = Baseline {
        entries: entries.to_vec(),
        ..Baseline::default()
    };
    let put_down = |mut result: CaseResult| {
        result.known = result.outcome.is_known(&result.case, &baseline, &asked());
        result
    };
    let all = ["deployment-directly", "flink-jobid-directly", "statefulset-directly"].map(case);
    let mut builder = Builder::new(&Catalogue::parse(CATALOGUE).unwrap(), &all);
    for mut event in events(results.into_iter().map(put_down).collect(), shard) {
        if let Event::RunStarted(start) = &mut event {
            start.baseline = baseline.clone();
        }
        builder.on_event(&event);
    }
    sealed(builder.report().unwrap())
}

/// The consequences of the catalogue for the implementation of these reports.
pub fn asked() -> Asked {
    let features = BTreeSet::from(["LabelInjection".into(), "PurgeDirectly".into()]);
    Asked::of(
        &Catalogue::parse(CATALOGUE).unwrap(),
        &features,
        &DocumentClaims::default(),
    )
}

/// A baseline with everything that the bad timeline of the StatefulSet breaks.
pub fn known() -> Vec<KnownDefect> {
    let bad = result("statefulset-directly", BAD);
    let verdict = bad.outcome.verdict().unwrap();
    let deviations = verdict.findings.iter().chain(&verdict.elsewhere);
    let entries = deviations.flat_map(|finding| {
        finding.requirements.iter().map(|id| KnownDefect {
            of: Subject::Requirement(id.clone()),
            field: finding.field.clone(),
            difference: finding.kind,
            reason: "seen in the field".to_owned(),
            link: None,
            versions: VersionRange::default(),
            cases: BTreeSet::new(),
            sometimes: false,
            line: 1,
        })
    });
    let mut known: Vec<KnownDefect> = Vec::new();
    for entry in entries {
        if !known.contains(&entry) {
            known.push(entry);
        }
    }
    known[1].cases = ["statefulset-directly".into()].into();
    known
}
