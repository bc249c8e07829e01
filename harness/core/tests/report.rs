//! Reports: made from events of recorded timelines, read again, verified, compared and merged.

mod common;
#[path = "common/reports.rs"]
mod reports;

use std::collections::BTreeSet;

use baton_core::{
    catalogue::{Asked, Catalogue, Consequence},
    event::{CaseOutcome, CaseResult, Shard},
    implementation::{
        baseline::{Baseline, KnownDefect},
        read::{self, ReadContext},
    },
    names::{CaseId, Feature},
    report::{
        ConformanceReport, baseline, build, compare, defects, junit, lines,
        merge::{self, MergeError},
        model::{
            CaseOutcome::{Conforms, Remarks},
            CaseReport, Defect, FindingReport, ProfileResult, RequirementResult,
        },
        summary,
        timeline_view::{TimelineView, WindowKind},
    },
};
use common::spoiled;
use reports::{events, known, mixed, report, report_with, result, timelines, unsupported, verified};
use rstest::rstest;

/// Digests of cases and fixtures and the program's version may change without a report becoming another one.
fn assert_snapshot(name: &str, text: &str) {
    let version = format!(r"\b{}\b", env!("CARGO_PKG_VERSION").replace('.', r"\."));
    let filters = vec![("sha256:[0-9a-f]{64}", "sha256:<hex>"), (version.as_str(), "<version>")];
    insta::with_settings!({filters => filters}, {
        insta::assert_snapshot!(name, text);
    });
}

/// Two reports, compared, with a case that has another name in the later one.
#[expect(clippy::unwrap_used, reason = "what fails here fails a test")]
fn compared(before: &ConformanceReport, after: &ConformanceReport) -> compare::Comparison {
    let renames = "renames: {deployment-at-once: deployment-directly}\nrequirements: []\n";
    compare::compare(before, after, &Catalogue::parse(renames).unwrap())
}

#[test]
fn cases_that_are_new_gone_or_renamed_are_listed() {
    let after = report(mixed(), None);
    let mut before = after.clone();
    before.cases.retain(|case| case.name != "statefulset-directly".into());
    let earlier = before
        .cases
        .iter_mut()
        .find(|case| case.name == "deployment-directly".into());
    earlier.unwrap().name = "deployment-at-once".into();
    let mut gone = before.cases[0].clone();
    gone.name = "removed-since".into();
    before.cases.push(gone);
    let comparison = compared(&before, &after);
    assert_eq!(
        comparison.suite,
        [
            "1 case only in the later report: statefulset-directly",
            "1 case only in the earlier report: removed-since",
            "1 case renamed: deployment-at-once is now deployment-directly",
        ]
    );
    let moved: Vec<&str> = comparison.other.iter().map(|it| it.what.as_str()).collect();
    assert!(!moved.contains(&"deployment-at-once"), "{moved:?}");
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
    assert_snapshot("summary", &summary::markdown(&report(mixed(), None)));
}

#[test]
fn what_can_be_claimed_follows_from_the_musts() {
    use ProfileResult::{Conforms, Deviates, Partial, Unsupported};
    use RequirementResult::{Broken, KnownDeviation, Shown};
    const DOCUMENT: &str = "{title: T, url: u, standing: merged, note: n, lines: 9, sections: [{heading: H, line: 1}]}";
    let entry = |(id, level, feature): (&str, &str, &str)| {
        let sources = "[{document: S, section: H, lines: 1, basis: said}]";
        format!("- {{id: {id}, level: {level}, feature: {feature}, text: T., sources: {sources}}}\n")
    };
    let entries = [
        ("A-01", "MUST", "A"),
        ("A-02", "SHOULD", "A"),
        ("B-01", "MUST", "B"),
        ("C-01", "MUST", "C"),
    ];
    let entries = entries.map(entry).concat();
    let catalogue = Catalogue::parse(&format!(
        "documents: {{S: {DOCUMENT}}}\ncore: [A]\nrequirements:\n{entries}"
    ));
    let catalogue = catalogue.unwrap();
    let claimed = |declared: &[&str], results: &[(&str, RequirementResult)]| {
        let mut requirements = build::listed(&catalogue, &Asked::default());
        for requirement in &mut requirements {
            let given = results.iter().find(|(id, _)| requirement.id.as_str() == *id);
            requirement.result = given.map_or(RequirementResult::NotShown, |(_, result)| *result);
        }
        let declared = declared.iter().map(|it| Feature::new(*it)).collect();
        let profiles = build::profiles(catalogue.core(), &declared, &requirements, &[]);
        profiles.iter().map(|it| it.result).collect::<Vec<_>>()
    };
    assert_eq!(claimed(&["A"], &[("A-01", Shown)]), [Conforms, Unsupported]);
    // What only should be does not count, what is known does.
    assert_eq!(
        claimed(&["A"], &[("A-01", Shown), ("A-02", Broken)]),
        [Conforms, Unsupported]
    );
    assert_eq!(claimed(&["A"], &[("A-01", KnownDeviation)]), [Deviates, Unsupported]);
    assert_eq!(claimed(&["A", "B"], &[("B-01", Broken)]), [Partial, Deviates]);
    assert_eq!(
        claimed(&["B"], &[("A-01", Shown), ("B-01", Shown)]),
        [Unsupported, Conforms]
    );
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

#[test]
fn what_became_worse_is_told_apart_from_what_became_better() {
    let before = report(vec![result("deployment-directly", "good")], None);
    let after = report(vec![result("deployment-directly", "label-missing")], None);
    let comparison = compared(&before, &after);
    let worse: Vec<_> = comparison.worse.iter().map(|moved| moved.what.as_str()).collect();
    assert_eq!(worse, ["REC-01", "deployment-directly"]);
    let back = compared(&after, &before);
    assert_eq!((back.better.len(), back.worse.len()), (2, 0));
    assert_eq!(compared(&before, &before), compare::Comparison::default());
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
    let better = compared(&broken, &unsupported);
    assert!(
        moved(&better.better).contains(&"deployment-directly".to_owned()),
        "{better:?}"
    );
    let worse = compared(&unsupported, &broken);
    assert!(
        moved(&worse.worse).contains(&"deployment-directly".to_owned()),
        "{worse:?}"
    );
}

#[rstest]
#[case::could_not_be_run(CaseResult {
    outcome: CaseOutcome::Broken { reason: "no cluster".to_owned() },
    ..unsupported("deployment-directly")
})]
#[case::unsupported(unsupported("deployment-directly"))]
fn a_defect_that_was_not_judged_again_is_not_better(#[case] after: CaseResult) {
    let before = report(vec![result("deployment-directly", "label-missing")], None);
    let comparison = compared(&before, &report(vec![after], None));
    assert_eq!(comparison.better, []);
    let other: Vec<_> = comparison.other.iter().map(|moved| moved.what.as_str()).collect();
    assert!(
        other.contains(&"REC-01") && other.contains(&"deployment-directly"),
        "{other:?}"
    );
}

#[test]
fn a_remark_that_was_not_judged_again_is_not_better() {
    let mut before = report(vec![result("deployment-directly", "good")], None);
    let mut after = before.clone();
    for (report, result) in [
        (&mut before, RequirementResult::Remark),
        (&mut after, RequirementResult::NotJudged),
    ] {
        let requirement = report.requirements.iter_mut().find(|it| it.id.as_str() == "REC-01");
        requirement.unwrap().result = result;
    }
    let comparison = compared(&before, &after);
    assert_eq!(comparison.better, []);
    assert!(comparison.other.iter().any(|it| it.what == "REC-01"), "{comparison:?}");
}

#[test]
fn what_is_only_proposed_is_neither_better_nor_worse() {
    let before = report(vec![result("deployment-directly", "good")], None);
    let mut after = before.clone();
    let found = after.requirements.iter_mut().find(|it| it.id.as_str() == "REC-01");
    let broken = found.unwrap();
    (broken.consequence, broken.result) = (Consequence::Proposed, RequirementResult::Broken);
    let comparison = compared(&before, &after);
    assert!(!comparison.is_worse(), "{comparison:?}");
    let moved = comparison.other.iter().find(|it| it.what == "REC-01").unwrap();
    assert_eq!(moved.after.as_deref(), Some("broken, proposed"));
    assert!(!compared(&after, &before).is_worse());
}

#[test]
fn what_was_not_asked_for_is_neither_better_nor_worse() {
    let before = report(vec![result("deployment-directly", "good")], None);
    let after = report(Vec::new(), None);
    let comparison = compared(&before, &after);
    assert_eq!((comparison.better.len(), comparison.worse.len()), (0, 0));
    let other: Vec<_> = comparison.other.iter().map(|moved| moved.what.as_str()).collect();
    assert!(
        other.contains(&"REC-01") && other.contains(&"deployment-directly"),
        "{other:?}"
    );
    assert!(
        comparison
            .defects
            .iter()
            .all(|it| it.direction == compare::Direction::Other)
    );
    // But that it was asked for and not shown is.
    let mut silent = before.clone();
    for requirement in &mut silent.requirements {
        requirement.result = RequirementResult::NotShown;
    }
    let comparison = compared(&before, &silent);
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
    // Timelines say which part of the cases they come from.
    for (case, part) in whole.cases.iter_mut().zip(&merged.cases) {
        case.evidence.clone_from(&part.evidence);
    }
    assert_eq!(merged, whole);

    let missing = merge::merge(std::slice::from_ref(&one)).unwrap_err();
    assert_eq!(missing.to_string(), "1 of 2 shards are missing: 2/2");
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
        let timeline = spoiled::timeline("deployment-directly", timeline);
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

#[test]
fn what_is_known_is_neither_broken_nor_conforms() {
    let report = report_with(&known(), mixed(), None);
    let yaml = report.to_yaml().unwrap();
    assert_eq!(ConformanceReport::parse(&yaml).unwrap(), report);
    assert_eq!((report.summary.cases.known, report.summary.cases.deviating), (1, 0));
    let rec_01 = report.requirements.iter().find(|it| it.id == "REC-01".into()).unwrap();
    assert_eq!(rec_01.result, RequirementResult::KnownDeviation);
    assert!(report.baseline.iter().all(|entry| !entry.outdated), "{yaml}");
    assert_eq!(verified(&report, &timelines(&report)).objections, []);
    let junit = junit::xml(&report).unwrap();
    assert!(junit.contains("type=\"known deviation\""), "{junit}");
    assert!(
        junit.contains("<property name=\"baseline\" value=\"REC-02 metadata.labels[] missing statefulset-directly: "),
        "{junit}"
    );
    assert_eq!(junit.matches("<testcase").count(), report.cases.len());
    assert!(!junit.contains("<failure"), "{junit}");
    // Half of it is known: then it is not.
    let half = report_with(&known()[..1], mixed(), None);
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
    let report = report_with(&known(), good(), None);
    assert!(
        report.baseline.iter().all(|entry| entry.outdated),
        "{:?}",
        report.baseline
    );
    assert_eq!(verified(&report, &timelines(&report)).objections, []);
    let junit = junit::xml(&report).unwrap();
    let suites = junit.matches("<testsuite ").count();
    let entries = known().len();
    assert!(entries > 1);
    assert_eq!(junit.matches("baseline.outdated").count(), entries * suites, "{junit}");
    let comparison = compared(&report_with(&known(), mixed(), None), &report);
    assert_eq!(comparison.notes.len(), entries, "{:?}", comparison.notes);
    // A report that keeps silent about it.
    let mut silent = report.clone();
    silent.baseline[0].outdated = false;
    let told: Vec<String> = verified(&silent, &timelines(&report))
        .objections
        .iter()
        .map(ToString::to_string)
        .collect();
    let expected = "REC-01 in the baseline: outdated is reported as nothing, but the evidence makes it true";
    assert_eq!(told, [expected]);
    // What shows in some runs only is not outdated by one in which it does not.
    let mut race = report.clone();
    race.baseline[0].sometimes = true;
    race.baseline[0].outdated = false;
    let rebuilt = baseline::judged(&race.baseline, &race);
    assert_eq!(rebuilt.iter().filter(|entry| entry.outdated).count(), entries - 1);
    // A report of a part of the cases does not show that an entry is outdated.
    let part = report_with(&known(), vec![result("deployment-directly", "good")], None);
    assert!(part.baseline.iter().all(|entry| !entry.outdated), "{:?}", part.baseline);
}

#[test]
fn shards_judge_the_baseline_together() {
    let shard = |number| Some(Shard { number, of: 2 });
    let one = report_with(&known(), vec![result("deployment-directly", "good")], shard(1));
    let rest = vec![
        result("statefulset-directly", "good"),
        unsupported("flink-jobid-directly"),
    ];
    let two = report_with(&known(), rest, shard(2));
    assert!(one.baseline.iter().chain(&two.baseline).any(|entry| !entry.outdated));
    let merged = merge::merge(&[one.clone(), two]).unwrap();
    assert!(
        merged.baseline.iter().all(|entry| entry.outdated),
        "{:?}",
        merged.baseline
    );
    let other = report_with(&known()[..1], vec![result("statefulset-directly", "good")], shard(2));
    let error = merge::merge(&[one, other]).unwrap_err();
    assert!(error.to_string().contains("its baseline is"), "{error}");
}

#[test]
fn what_becomes_known_is_neither_better_nor_worse() {
    let before = report(mixed(), None);
    let after = report_with(&known(), mixed(), None);
    let comparison = compared(&before, &after);
    assert_eq!((comparison.better.len(), comparison.worse.len()), (0, 0));
    let other: Vec<_> = comparison.other.iter().map(|moved| moved.what.as_str()).collect();
    assert_eq!(other, ["REC-01", "statefulset-directly"]);
}

/// The entries that the target reader finds in a target file with this baseline.
#[expect(clippy::panic, reason = "a test cannot go on without its target")]
fn read_back(yaml: &str) -> Vec<KnownDefect> {
    let file = format!(
        "apiVersion: baton.dev/v1alpha1\nkind: Target\nmetadata: {{name: printed}}\nspec:\n  \
         implementation: {{name: printed, version: 1.2.3}}\n  features: [LabelInjection, PurgeDirectly, StatePreservation]\n  \
         run: {{installed: {{}}}}\n  baseline:\n{yaml}"
    );
    let context = ReadContext {
        catalogue: common::catalogue(),
        cases: &["deployment-directly", "statefulset-directly"].map(CaseId::new).into(),
        variable: &|_| None,
    };
    let spec = read::read(std::path::Path::new("printed.yaml"), file.as_bytes(), &context);
    spec.unwrap_or_else(|found| panic!("{}\n{file}", common::lines(&found)))
        .baseline
        .entries
}

#[test]
fn a_printed_baseline_is_read_and_makes_every_defect_known() {
    let before = report(mixed(), None);
    assert!(before.defects.iter().any(|defect| !defect.known));
    let printed = baseline::of_defects(&before, Consequence::Deviation);
    let entries = read_back(&baseline::to_yaml(&printed).unwrap());
    assert_eq!(entries.len(), printed.len());
    assert!(
        entries.iter().all(|entry| entry.reason.contains("seen ")),
        "{entries:?}"
    );
    let after = report_with(&entries, mixed(), None);
    assert_eq!((after.summary.cases.known, after.summary.cases.deviating), (1, 0));
    // A second time, nothing changes.
    let again = baseline::of_defects(&after, Consequence::Deviation);
    assert_eq!(baseline::to_yaml(&again).unwrap(), baseline::to_yaml(&printed).unwrap());
}

#[test]
fn known_defects_keep_their_words_and_their_cases() {
    let mut entries = known();
    entries[0].reason = "first line\nsecond: \"line\"".to_owned();
    entries[0].link = Some("https://example.org/1".to_owned());
    entries[1].sometimes = true;
    let report = report_with(&entries, mixed(), None);
    let mut printed = read_back(&baseline::to_yaml(&baseline::of_defects(&report, Consequence::Deviation)).unwrap());
    let key = |entry: &KnownDefect| (entry.of.clone(), entry.field.clone(), entry.difference);
    for entry in entries.iter_mut().chain(&mut printed) {
        entry.line = 0;
    }
    entries.sort_by_key(key);
    printed.sort_by_key(key);
    assert_eq!(printed, entries);
}

#[test]
fn an_entry_for_some_cases_is_not_widened_to_others() {
    let narrow: Vec<KnownDefect> = known()
        .into_iter()
        .map(|entry| KnownDefect {
            cases: ["deployment-directly".into()].into(),
            ..entry
        })
        .collect();
    let report = report_with(&narrow, mixed(), None);
    let printed = baseline::of_defects(&report, Consequence::Deviation);
    let new: Vec<_> = printed
        .iter()
        .filter(|entry| entry.reason != "seen in the field")
        .collect();
    assert_eq!(new.len(), narrow.len());
    assert!(
        new.iter()
            .all(|entry| entry.cases == ["statefulset-directly".into()].into()),
        "{new:?}"
    );
}

#[test]
fn remarks_are_printed_when_asked_for_and_proposals_never() {
    let of = |consequence, least| {
        let mut report = report(mixed(), None);
        for defect in &mut report.defects {
            defect.consequence = consequence;
        }
        for requirement in &mut report.requirements {
            requirement.consequence = consequence;
        }
        baseline::of_defects(&report, least).len()
    };
    assert_eq!(of(Consequence::Remark, Consequence::Deviation), 0);
    assert!(of(Consequence::Remark, Consequence::Remark) > 0);
    assert_eq!(of(Consequence::Proposed, Consequence::Remark), 0);
}

#[test]
fn a_comparison_tells_new_gone_and_spread_defects_also_known_ones() {
    let good = || {
        vec![
            result("deployment-directly", "good"),
            result("statefulset-directly", "good"),
        ]
    };
    let one = || {
        vec![
            result("deployment-directly", "good"),
            result("statefulset-directly", "label-missing"),
        ]
    };
    let two = || {
        vec![
            result("deployment-directly", "label-missing"),
            result("statefulset-directly", "label-missing"),
        ]
    };
    let everywhere: Vec<KnownDefect> = known()
        .into_iter()
        .map(|entry| KnownDefect {
            cases: BTreeSet::new(),
            ..entry
        })
        .collect();
    let told = |before: Vec<CaseResult>, after: Vec<CaseResult>| {
        let before = report_with(&everywhere, before, None);
        let comparison = compared(&before, &report_with(&everywhere, after, None));
        let of_rec_01 = comparison
            .defects
            .iter()
            .find(|it| it.headline.contains("REC-01") && it.headline.contains("labels[] is missing"));
        let found = of_rec_01.unwrap_or_else(|| panic!("{comparison:?}"));
        assert!(found.known, "{found:?}");
        (found.direction, found.words())
    };
    let statefulset = "statefulset-directly";
    let gone = format!("gone from 1 case: {statefulset}");
    assert_eq!(told(one(), good()), (compare::Direction::Better, gone));
    let new = format!("new in 1 case: {statefulset}");
    assert_eq!(told(good(), one()), (compare::Direction::Worse, new));
    let spread = "in 2 cases, was in 1; now in deployment-directly".to_owned();
    assert_eq!(told(one(), two()), (compare::Direction::Worse, spread));
    let fewer = "in 1 case, was in 2; no longer in deployment-directly".to_owned();
    assert_eq!(told(two(), one()), (compare::Direction::Better, fewer));
}

#[test]
fn a_case_that_only_shows_defects_of_others_succeeds_and_names_them() {
    let mut report = report(mixed(), None);
    let shows = report.defects[0].cases[0].clone();
    let case = report.cases.iter_mut().find(|case| case.name == shows).unwrap();
    case.elsewhere = std::mem::take(&mut case.findings);
    case.result = baton_core::report::model::CaseOutcome::Conforms;
    let junit = junit::xml(&report).unwrap();
    assert!(!junit.contains("<failure"), "{junit}");
    let headline = "REC-01, REC-02, STP-13: metadata.labels[] is missing";
    let property = format!("<property name=\"defect.elsewhere\" value=\"{headline}\"/>");
    assert!(junit.contains(&property), "{junit}");
    let summary = summary::markdown(&report);
    let words = "1 conforming case contains a defect that another case tests";
    assert!(summary.contains(words), "{summary}");
}

#[test]
fn the_summary_lists_remarks_by_the_statement_that_they_break() {
    let mut report = report(mixed(), None);
    let mut remark = report.defects[0].clone();
    remark.requirements = ["REC-01".into()].into();
    remark.consequence = Consequence::Remark;
    remark.field = Some("spec.clusters".to_owned());
    let other = Defect {
        field: Some("metadata.labels[]".to_owned()),
        ..remark.clone()
    };
    report.defects.extend([remark, other]);
    let summary = summary::markdown(&report);
    let rows: Vec<&str> = summary.lines().filter(|line| line.starts_with("| REC-01 | ")).collect();
    let [row] = rows.as_slice() else {
        panic!("one row for both: {summary}");
    };
    let text = report.requirements.iter().find(|it| it.id == "REC-01".into());
    assert!(row.contains(&text.unwrap().text), "{row}");
    assert!(
        row.contains("spec.clusters is missing; metadata.labels\\[\\] is missing"),
        "{row}"
    );
}

/// A report of two cases that conform, with the same remark: `statefulset-directly` tests its requirement.
fn with_a_remark_in_both() -> ConformanceReport {
    let good = ["deployment-directly", "statefulset-directly"].map(|name| result(name, "good"));
    let mut report = report(good.into(), None);
    let bad = reports::report(mixed(), None);
    let finding = bad.defects[0].finding.clone();
    for case in &mut report.cases {
        case.remarks.push(FindingReport {
            step: None,
            requirements: ["REC-01".into()].into(),
            ..finding.clone()
        });
        if case.name == "deployment-directly".into() {
            case.requirements.remove(&"REC-01".into());
        }
    }
    report
}

#[test]
fn a_remark_about_something_else_counts_where_no_clearer_case_shows_it() {
    let results = |cases: &mut [CaseReport]| {
        build::settle(cases);
        cases.iter().map(|case| case.result).collect::<Vec<_>>()
    };
    let mut cases = with_a_remark_in_both().cases;
    assert_eq!(results(&mut cases), [Conforms, Remarks]);
    cases[1].remarks.clear();
    assert_eq!(results(&mut cases), [Remarks, Conforms]);
}

#[test]
fn a_finding_that_follows_from_another_is_not_a_second_defect() {
    let mut cases = with_a_remark_in_both().cases;
    let asked = reports::asked();
    let number = |cases: &[CaseReport]| defects::of(cases, &Baseline::default(), &asked).len();
    let mut label = cases[1].remarks[0].clone();
    label.requirements.clear();
    label.follows = Some(3);
    cases[1].remarks.push(label);
    assert_eq!(number(&cases), 1);
    cases[1].remarks[1].follows = None;
    assert_eq!(number(&cases), 2);
}

#[test]
fn an_address_that_markdown_could_misread_is_no_link() {
    let mut report = report(mixed(), None);
    for (url, is_link) in [
        ("https://example.org/blob/a.md", true),
        ("javascript:alert(1)", false),
        ("https://example.org/) <img src=x>", false),
    ] {
        for document in report.documents.values_mut() {
            url.clone_into(&mut document.url);
        }
        let text = summary::markdown(&report);
        assert!(text.contains("said in S, H, line 1"), "{text}");
        assert_eq!(text.contains("](http"), is_link, "{text}");
        assert!(!text.contains("javascript") && !text.contains("<img"), "{text}");
    }
}
