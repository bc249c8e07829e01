//! Reports: made from events of recorded timelines, read again, verified, compared and merged.

#![expect(
    clippy::unwrap_used,
    reason = "what is committed can be read, or the test has failed"
)]

mod common;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use baton_core::{
    case::model::Case,
    catalogue::Catalogue,
    digest::Digest,
    event::{CaseOutcome, CaseResult, Event, Evidence, RunStart, Shard, Suite, Summary},
    implementation::{
        Implementation,
        baseline::{Baseline, KnownDeviation},
    },
    judge,
    names::{CaseId, ClusterName},
    plan::Plan,
    report::{
        Builder, ConformanceReport, compare, junit, lines,
        merge::{self, MergeError},
        model::RequirementResult,
        timeline_view::{TimelineView, WindowKind},
        verify::{self, Objection, Verification},
    },
    timeline::Timeline,
};

/// A requirement that the cases show, one that a bad timeline breaks, one that nobody asks for, one undeclared.
const CATALOGUE: &str = "
requirements:
- {id: PRG-03, level: MUST, feature: PurgeDirectly, source: S, text: One copy at most.}
- {id: REC-01, level: MUST, feature: LabelInjection, source: S, text: Labels from the first revision on.}
- {id: REC-11, level: SHOULD, feature: LabelInjection, source: S, text: Labels stay.}
- {id: APP-01, level: MAY, feature: ApplicationFailover, source: S, text: An unhealthy workload stays.}
";

fn bytes(case: &str, timeline: &str) -> Vec<u8> {
    fs::read(common::root().join(format!("fixtures/timelines/{case}/{timeline}.jsonl"))).unwrap()
}

fn case(name: &str) -> Case {
    common::case(&format!("proposal/{name}.yaml"))
}

/// The result that a run with this timeline has.
fn result(name: &str, timeline: &str) -> CaseResult {
    let (case, text) = (case(name), bytes(name, timeline));
    let timeline = Timeline::read(text.as_slice()).unwrap();
    let verdict = judge::judge(&Plan::of(&case), &timeline);
    let outcome = if verdict.conforms() {
        CaseOutcome::Conforms(verdict)
    } else {
        CaseOutcome::Deviates {
            verdict,
            snapshots: Vec::new(),
            excerpt: Vec::new(),
            likely_cause: None,
        }
    };
    CaseResult {
        case: case.id.clone(),
        area: case.area.clone(),
        digest: Digest::of_case(&case),
        seed: 0,
        title: case.title.clone(),
        requirements: case.requirements.iter().cloned().collect(),
        outcome,
        wall: Duration::from_millis(1250),
        virtual_time: Duration::from_millis(40),
        migration: None,
        kubernetes: BTreeMap::from([(ClusterName::control(), "v1.36.0".to_owned())]),
        timeline: Some(Arc::new(timeline)),
        evidence: Some(Evidence {
            file: PathBuf::from(format!("timelines/{name}.jsonl")),
            digest: Digest::of_bytes(&text),
        }),
        log: None,
        known: BTreeSet::new(),
        accepted: Vec::new(),
        failed_tries: Vec::new(),
    }
}

fn unsupported(name: &str) -> CaseResult {
    CaseResult {
        outcome: CaseOutcome::Unsupported {
            reasons: vec!["needs FlinkRecovery".to_owned()],
        },
        timeline: None,
        evidence: None,
        ..result(name, "good")
    }
}

fn events(results: Vec<CaseResult>, shard: Option<Shard>) -> Vec<Event> {
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
            digest: Digest::of_cases(names.into_iter().zip(&digests)),
            shard,
        },
        backend: "embedded".to_owned(),
        target: Implementation {
            version: Some("1.2.3".to_owned()),
            ..Implementation::named("the reference controller")
        },
        features: BTreeSet::from(["LabelInjection".into(), "PurgeDirectly".into()]),
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

fn report(results: Vec<CaseResult>, shard: Option<Shard>) -> ConformanceReport {
    let all = ["deployment-directly", "flink-jobid-directly", "statefulset-directly"].map(case);
    let mut builder = Builder::new(&Catalogue::parse(CATALOGUE).unwrap(), &all);
    assert_eq!(builder.report(), None);
    for event in events(results, shard) {
        builder.on_event(&event);
    }
    builder.report().unwrap()
}

fn mixed() -> Vec<CaseResult> {
    let retried = CaseResult {
        failed_tries: vec!["first seen: no such object".to_owned()],
        ..result("deployment-directly", "good")
    };
    vec![
        retried,
        result("statefulset-directly", "label-missing"),
        unsupported("flink-jobid-directly"),
    ]
}

/// Digests are those of cases and fixtures, which may change without a report becoming another one.
fn assert_snapshot(name: &str, text: &str) {
    insta::with_settings!({filters => vec![("sha256:[0-9a-f]{64}", "sha256:<hex>")]}, {
        insta::assert_snapshot!(name, text);
    });
}

#[test]
fn a_report_says_what_was_found_and_is_read_again() {
    let report = report(mixed(), None);
    let yaml = report.to_yaml().unwrap();
    assert_eq!(ConformanceReport::parse(&yaml).unwrap(), report);
    assert_snapshot("conformance-report", &yaml);
}

#[test]
fn ci_systems_are_told_what_failed_was_skipped_and_needed_two_tries() {
    assert_snapshot("junit", &junit::xml(&report(mixed(), None)).unwrap());
}

#[test]
fn every_event_is_a_line() {
    let lines: Vec<serde_json::Value> = events(mixed(), None)
        .iter()
        .map(|event| serde_json::from_str(&lines::line(event).unwrap()).unwrap())
        .collect();
    let kinds: Vec<_> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["runStarted", "caseEnded", "caseEnded", "caseEnded", "runEnded"]);
    assert_eq!(lines[2]["result"], "deviates");
    assert_eq!(lines[4]["unsupported"], 1);
}

fn verified(report: &ConformanceReport, corrupt: fn(&str, Vec<u8>) -> Vec<u8>) -> Verification {
    verified_by(report, "label-missing", corrupt)
}

/// With this timeline of the StatefulSet.
fn verified_by(report: &ConformanceReport, sts: &str, corrupt: fn(&str, Vec<u8>) -> Vec<u8>) -> Verification {
    let names = ["deployment-directly", "flink-jobid-directly", "statefulset-directly"];
    let cases: BTreeMap<CaseId, Case> = names.map(|name| (CaseId::new(name), case(name))).into();
    let timeline = |file: &str| match file {
        "deployment-directly.jsonl" => Ok(corrupt(file, bytes("deployment-directly", "good"))),
        "statefulset-directly.jsonl" => Ok(corrupt(file, bytes("statefulset-directly", sts))),
        _ => Err("no such file".to_owned()),
    };
    verify::verify(
        report,
        &verify::VerifyContext {
            cases: &cases,
            timeline: &timeline,
            snapshots_fit: &|_, _| true,
        },
    )
}

#[test]
fn an_honest_report_is_confirmed() {
    let verification = verified(&report(mixed(), None), |_, text| text);
    assert_eq!(verification.objections, []);
    assert_eq!((verification.confirmed, verification.not_run), (2, 1));
}

#[test]
fn a_changed_timeline_is_told() {
    let verification = verified(&report(mixed(), None), |file, mut text| {
        if file.starts_with("deployment") {
            text.push(b'\n');
        }
        text
    });
    assert!(
        matches!(&verification.objections[..], [Objection::OtherFile { .. }]),
        "{verification:?}"
    );
}

#[test]
fn a_report_that_hides_a_finding_is_refuted() {
    let mut report = report(mixed(), None);
    let hidden = report.cases.iter_mut().find(|case| !case.findings.is_empty()).unwrap();
    hidden.result = baton_core::report::model::CaseOutcome::Conforms;
    hidden.shown.append(&mut hidden.broken);
    let told: Vec<String> = verified(&report, |_, text| text)
        .objections
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(
        told.contains(&"statefulset-directly: reported as conforms, judged as deviates".to_owned()),
        "{told:?}"
    );
    assert!(
        told.iter().any(|line| line.starts_with("REC-01: reported as broken")),
        "{told:?}"
    );
    assert!(told.iter().any(|line| line.starts_with("the summary")), "{told:?}");
}

#[test]
fn evidence_that_is_elsewhere_or_of_something_else_is_told() {
    let honest = report(mixed(), None);
    let with = |name: &str| {
        let mut report = honest.clone();
        let evidence = report.cases[0].evidence.as_mut().unwrap();
        name.clone_into(&mut evidence.timeline);
        verified(&report, |_, text| text).objections
    };
    assert!(matches!(with("../secret.jsonl")[..], [Objection::Name { .. }]));
    assert!(matches!(with("missing.jsonl")[..], [Objection::Unreadable { .. }]));
    let mut of_another = honest.clone();
    "another".clone_into(&mut of_another.implementation.name);
    let found = verified(&of_another, |_, text| text).objections;
    assert!(
        matches!(found[..], [Objection::OtherRun { .. }, Objection::OtherRun { .. }]),
        "{found:?}"
    );
    let mut without = honest.clone();
    without.cases[0].evidence = None;
    let found = verified(&without, |_, text| text).objections;
    assert!(matches!(found[..], [Objection::NoEvidence(_)]), "{found:?}");
}

#[test]
fn what_became_worse_is_told_apart_from_what_became_better() {
    let before = report(vec![result("deployment-directly", "good")], None);
    let after = report(vec![result("deployment-directly", "label-missing")], None);
    let comparison = compare::compare(&before, &after);
    let worse: Vec<_> = comparison.worse.iter().map(|moved| moved.what.as_str()).collect();
    assert_eq!(worse, ["REC-01", "deployment-directly"]);
    let back = compare::compare(&after, &before);
    assert_eq!((back.better.len(), back.worse.len()), (2, 0));
    assert_eq!(compare::compare(&before, &before), compare::Comparison::default());
}

#[test]
fn a_case_that_is_unsupported_is_better_than_one_that_could_not_be_run() {
    let broken = CaseResult {
        outcome: CaseOutcome::Broken {
            reason: "no cluster".to_owned(),
        },
        ..unsupported("deployment-directly")
    };
    let (broken, unsupported) = (
        report(vec![broken], None),
        report(vec![unsupported("deployment-directly")], None),
    );
    let moved = |moved: &[compare::Moved]| moved.iter().map(|it| it.what.clone()).collect::<Vec<_>>();
    let better = compare::compare(&broken, &unsupported);
    assert!(
        moved(&better.better).contains(&"deployment-directly".to_owned()),
        "{better:?}"
    );
    let worse = compare::compare(&unsupported, &broken);
    assert!(
        moved(&worse.worse).contains(&"deployment-directly".to_owned()),
        "{worse:?}"
    );
}

#[test]
fn what_was_not_asked_for_is_neither_better_nor_worse() {
    let before = report(vec![result("deployment-directly", "good")], None);
    let after = report(Vec::new(), None);
    let comparison = compare::compare(&before, &after);
    assert_eq!((comparison.better.len(), comparison.worse.len()), (0, 0));
    let other: Vec<_> = comparison.other.iter().map(|moved| moved.what.as_str()).collect();
    assert!(
        other.contains(&"REC-01") && other.contains(&"deployment-directly"),
        "{other:?}"
    );
    // But that it was asked for and not shown is.
    let mut silent = before.clone();
    for requirement in &mut silent.requirements {
        requirement.result = RequirementResult::NotShown;
    }
    let comparison = compare::compare(&before, &silent);
    assert!(
        comparison.worse.iter().any(|moved| moved.what == "REC-01"),
        "{comparison:?}"
    );
}

#[test]
fn shards_become_the_report_of_one_run() {
    let shard = |number| Some(Shard { number, of: 2 });
    let mut results = mixed();
    let last = results.pop().unwrap();
    let (one, two) = (report(results, shard(1)), report(vec![last], shard(2)));
    let merged = merge::merge(&[two.clone(), one.clone()]).unwrap();
    let mut whole = report(mixed(), None);
    whole.summary.wall_secs = 5.0;
    assert_eq!(merged, whole);

    let missing = merge::merge(std::slice::from_ref(&one)).unwrap_err();
    assert_eq!(missing.to_string(), "shards are missing: 2/2");
    assert_eq!(merge::merge(&[whole]).unwrap_err(), MergeError::NotAShard);
    let mut of_another = two;
    "another".clone_into(&mut of_another.implementation.name);
    let different = merge::merge(&[one, of_another]).unwrap_err();
    assert!(
        matches!(
            different,
            MergeError::Different {
                what: "the implementation",
                ..
            }
        ),
        "{different}"
    );
}

#[test]
fn a_picture_shows_when_there_was_no_copy_or_one_too_many() {
    let windows = |timeline: &str| {
        let timeline = Timeline::read(bytes("deployment-directly", timeline).as_slice()).unwrap();
        let timeline_view = TimelineView::of(&timeline, &[]);
        timeline_view
            .windows
            .iter()
            .map(|window| window.kind)
            .collect::<Vec<_>>()
    };
    assert_eq!(windows("good"), [WindowKind::NoCopy]);
    assert_eq!(windows("new-before-old-is-gone"), [WindowKind::TwoCopies]);
}

#[test]
fn a_picture_draws_every_finding() {
    let result = result("deployment-directly", "label-on-template");
    let entries: Vec<u64> = result.outcome.findings().iter().map(|finding| finding.seq).collect();
    let timeline_view = TimelineView::of(&result.timeline.unwrap(), &entries);
    let drawn: BTreeSet<usize> = timeline_view
        .events
        .iter()
        .flat_map(|event| event.findings.clone())
        .collect();
    assert_eq!(drawn, (0..entries.len()).collect());
    let lanes: Vec<_> = timeline_view.lanes.iter().map(|lane| lane.name.as_str()).collect();
    assert_eq!(lanes, ["case", "control", "member1", "member2"]);
}

/// The report of a run against a target with these entries in its baseline.
fn report_with(entries: &[(&str, &[&str])], results: Vec<CaseResult>, shard: Option<Shard>) -> ConformanceReport {
    let entry = |(id, cases): &(&str, &[&str])| KnownDeviation {
        requirement: (*id).into(),
        reason: "seen in the field".to_owned(),
        link: None,
        cases: cases.iter().map(|case| CaseId::new(*case)).collect(),
        line: 1,
    };
    let baseline = Baseline {
        entries: entries.iter().map(entry).collect(),
        ..Baseline::default()
    };
    let put_down = |mut result: CaseResult| {
        if let CaseOutcome::Deviates { verdict, .. } = &result.outcome {
            result.known = baseline.covers(&result.case, verdict, false).unwrap_or_default();
        }
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
    builder.report().unwrap()
}

/// What the bad timeline of the StatefulSet refutes.
const KNOWN: &[(&str, &[&str])] = &[("REC-01", &[]), ("REC-02", &["statefulset-directly"]), ("STP-13", &[])];

#[test]
fn what_is_known_is_neither_broken_nor_conforms() {
    let report = report_with(KNOWN, mixed(), None);
    let yaml = report.to_yaml().unwrap();
    assert_eq!(ConformanceReport::parse(&yaml).unwrap(), report);
    assert_eq!((report.summary.cases.known, report.summary.cases.deviating), (1, 0));
    let rec_01 = report.requirements.iter().find(|it| it.id == "REC-01".into()).unwrap();
    assert_eq!(rec_01.result, RequirementResult::KnownDeviation);
    assert!(report.baseline.iter().all(|entry| !entry.outdated), "{yaml}");
    let verification = verified(&report, |_, text| text);
    assert_eq!(verification.objections, []);
    let junit = junit::xml(&report).unwrap();
    assert!(junit.contains("type=\"known deviation\""), "{junit}");
    assert!(
        junit.contains("<property name=\"baseline\" value=\"REC-02 statefulset-directly: "),
        "{junit}"
    );
    assert_eq!(junit.matches("<testcase").count(), report.cases.len());
    assert!(!junit.contains("<failure"), "{junit}");
    // Half of it is known: then it is not.
    let half = report_with(&KNOWN[..1], mixed(), None);
    assert_eq!((half.summary.cases.known, half.summary.cases.deviating), (0, 1));
}

#[test]
fn an_entry_that_no_case_breaks_is_outdated() {
    let good = || {
        vec![
            result("deployment-directly", "good"),
            result("statefulset-directly", "good"),
            unsupported("flink-jobid-directly"),
        ]
    };
    let report = report_with(KNOWN, good(), None);
    assert!(
        report.baseline.iter().all(|entry| entry.outdated),
        "{:?}",
        report.baseline
    );
    assert_eq!(verified_by(&report, "good", |_, text| text).objections, []);
    let junit = junit::xml(&report).unwrap();
    let suites = junit.matches("<testsuite ").count();
    assert_eq!(junit.matches("baseline.outdated").count(), 3 * suites, "{junit}");
    let comparison = compare::compare(&report_with(KNOWN, mixed(), None), &report);
    assert_eq!(comparison.notes.len(), 3, "{:?}", comparison.notes);
    // A report that keeps silent about it.
    let mut silent = report.clone();
    silent.baseline[0].outdated = false;
    let told: Vec<String> = verified_by(&silent, "good", |_, text| text)
        .objections
        .iter()
        .map(ToString::to_string)
        .collect();
    let expected = "REC-01: reported as still known in the baseline, but its cases make it outdated";
    assert_eq!(told, [expected]);
    // Of a part of the cases nothing can be told.
    let part = report_with(KNOWN, vec![result("deployment-directly", "good")], None);
    assert!(part.baseline.iter().all(|entry| !entry.outdated), "{:?}", part.baseline);
}

#[test]
fn shards_judge_the_baseline_together() {
    let shard = |number| Some(Shard { number, of: 2 });
    let one = report_with(KNOWN, vec![result("deployment-directly", "good")], shard(1));
    let rest = vec![
        result("statefulset-directly", "good"),
        unsupported("flink-jobid-directly"),
    ];
    let two = report_with(KNOWN, rest, shard(2));
    assert!(one.baseline.iter().chain(&two.baseline).any(|entry| !entry.outdated));
    let merged = merge::merge(&[one.clone(), two]).unwrap();
    assert!(
        merged.baseline.iter().all(|entry| entry.outdated),
        "{:?}",
        merged.baseline
    );
    let other = report_with(&KNOWN[..1], vec![result("statefulset-directly", "good")], shard(2));
    let error = merge::merge(&[one, other]).unwrap_err();
    assert!(error.to_string().contains("its baseline is"), "{error}");
}

#[test]
fn what_becomes_known_is_neither_better_nor_worse() {
    let before = report(mixed(), None);
    let after = report_with(KNOWN, mixed(), None);
    let comparison = compare::compare(&before, &after);
    assert_eq!((comparison.better.len(), comparison.worse.len()), (0, 0));
    let other: Vec<_> = comparison.other.iter().map(|moved| moved.what.as_str()).collect();
    assert_eq!(other, ["REC-01", "statefulset-directly"]);
}
