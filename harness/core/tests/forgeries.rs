//! Reports that were edited after the run: none is confirmed, and judging the timelines again corrects their verdicts.

#![expect(
    clippy::unwrap_used,
    reason = "what a test has made is there, or the test has failed"
)]

mod common;
#[path = "forgeries/rejudged.rs"]
mod rejudged;
#[path = "common/reports.rs"]
mod reports;
#[path = "forgeries/runs.rs"]
mod runs;

use std::collections::{BTreeMap, BTreeSet};

use baton_core::{
    case::model::Case,
    catalogue::Level,
    digest::Digest,
    event::Shard,
    implementation::{Implementation, versions::VersionRange},
    judge::DifferenceKind,
    names::{CaseId, RequirementId},
    report::{
        ConformanceReport, baseline, build, merge,
        model::{BaselineEntry, CaseOutcome, CaseReport, Profile, ProfileResult, RequirementReport, RequirementResult},
        verify::Objection,
    },
};
use common::spoiled;
use reports::{known, mixed, report, report_with, result, timelines, unsupported, verified, verified_where_there_is};

const FAILING: &str = "statefulset-directly";
const CONFORMING: &str = "deployment-directly";
const UNSUPPORTED: &str = "flink-jobid-directly";

/// Somebody who has a report with its timelines and edits both, but for what timelines say of happenings.
struct Forger {
    report: ConformanceReport,
    files: BTreeMap<String, Vec<u8>>,
}

impl Forger {
    fn case(&mut self, name: &str) -> &mut CaseReport {
        self.report.cases.iter_mut().find(|it| it.name == name.into()).unwrap()
    }

    fn requirement(&mut self, id: &str) -> &mut RequirementReport {
        let mut all = self.report.requirements.iter_mut();
        all.find(|it| it.id == id.into()).unwrap()
    }

    fn remove(&mut self, name: &str) {
        self.report.cases.retain(|case| case.name != name.into());
        self.select_again();
    }

    /// The selected cases are those that are left.
    fn select_again(&mut self) {
        let cases = &self.report.cases;
        self.report.suite.cases = cases.iter().map(|it| &it.name).collect::<BTreeSet<_>>().len();
        let digests = cases.iter().map(|case| (case.name.as_str(), &case.digest));
        self.report.suite.digest = Digest::of_cases(digests);
    }

    /// The failing case, as if nothing had been wrong.
    fn whitewash(&mut self, result: CaseOutcome) {
        let case = self.case(FAILING);
        case.result = result;
        case.findings.clear();
        case.shown.append(&mut case.broken);
    }

    /// Puts this timeline in the place of the failing one.
    fn replace(&mut self, text: Vec<u8>) {
        let evidence = self.case(FAILING).evidence.as_mut().unwrap();
        evidence.digest = Digest::of_bytes(&text);
        let name = evidence.timeline.clone();
        self.files.insert(name, text);
    }

    /// Requirements, baseline and numbers follow from the cases, as far as nothing but the report is looked at.
    fn recount(&mut self) {
        let report = &mut self.report;
        report.requirements = build::requirements(report.requirements.clone(), &report.features, &report.cases);
        let core = build::core_of(&report.profiles);
        report.profiles = build::profiles(&core, &report.features, &report.requirements, &report.cases);
        report.baseline = baseline::judged(&report.baseline, report);
        report.summary = build::summary(&report.requirements, &report.cases, report.summary.wall_secs);
    }

    fn objections(&self) -> Vec<String> {
        let found = verified(&self.report, &self.files).objections;
        found.iter().map(ToString::to_string).collect()
    }
}

fn honest() -> Forger {
    let report = report(mixed(), None);
    Forger {
        files: timelines(&report),
        report,
    }
}

type Forgery = (&'static str, fn(&mut Forger));

fn refuted(forgeries: &[Forgery], honest: impl Fn() -> Forger) {
    assert_eq!(honest().objections(), Vec::<String>::new());
    let mut passed = Vec::new();
    for (name, forge) in forgeries {
        // Once as a careless forger leaves it, once so that the report agrees with itself.
        let (mut careless, mut careful) = (honest(), honest());
        forge(&mut careless);
        assert!(careless.report != honest().report, "{name}: nothing was forged");
        forge(&mut careful);
        careful.recount();
        if careless.objections().is_empty() {
            passed.push(*name);
        }
        let undone = careful.report == honest().report;
        if !undone && careful.objections().is_empty() {
            passed.push(*name);
        }
    }
    assert_eq!(passed, Vec::<&str>::new());
}

const CASES: &[Forgery] = &[
    ("the failing case removed", |it| it.remove(FAILING)),
    ("all but the conforming case removed", |it| {
        it.remove(FAILING);
        it.remove(UNSUPPORTED);
    }),
    ("the unsupported case removed", |it| it.remove(UNSUPPORTED)),
    ("the failing case removed, the digest kept", |it| {
        it.remove(FAILING);
        it.report.suite.digest = honest().report.suite.digest;
    }),
    ("no cases at all", |it| {
        it.report.cases.clear();
        it.select_again();
    }),
    ("no cases at all, their number kept", |it| it.report.cases.clear()),
    ("all cases unsupported", |it| {
        for case in &mut it.report.cases {
            case.result = CaseOutcome::Unsupported;
            case.reasons = vec!["needs FlinkRecovery".to_owned()];
            case.evidence = None;
            case.findings.clear();
            case.shown.clear();
            case.broken.clear();
            case.not_judged.clear();
        }
    }),
    ("a case in the report twice", |it| {
        let case = it.case(CONFORMING).clone();
        it.report.cases.push(case);
    }),
    ("one timeline for two seeds", |it| {
        let case = CaseReport {
            seed: 1,
            ..it.case(CONFORMING).clone()
        };
        it.report.cases.push(case);
        it.report.suite.seeds = 2;
    }),
    ("a copy of a timeline for another seed", |it| {
        let mut case = CaseReport {
            seed: 1,
            ..it.case(CONFORMING).clone()
        };
        let evidence = case.evidence.as_mut().unwrap();
        let mut text = it.files[&evidence.timeline].clone();
        text.push(b'\n');
        "copy.jsonl".clone_into(&mut evidence.timeline);
        evidence.digest = Digest::of_bytes(&text);
        it.files.insert("copy.jsonl".to_owned(), text);
        it.report.cases.push(case);
    }),
    ("another seed", |it| it.case(CONFORMING).seed = 7),
    ("a failing case as one of a shard that is not looked at", |it| {
        it.report.cases.retain(|case| case.name == CONFORMING.into());
        it.report.suite.shard = Some(Shard { number: 1, of: 3 });
    }),
    ("the failing case under the name of the conforming one", |it| {
        it.report.cases.retain(|case| case.name != FAILING.into());
        let case = CaseReport {
            name: FAILING.into(),
            ..it.case(CONFORMING).clone()
        };
        it.report.cases.push(case);
    }),
];

const RESULTS: &[Forgery] = &[
    ("deviates becomes conforms", |it| {
        it.case(FAILING).result = CaseOutcome::Conforms;
    }),
    ("deviates becomes conforms, findings removed", |it| {
        it.whitewash(CaseOutcome::Conforms);
    }),
    ("deviates becomes inconclusive", |it| {
        it.whitewash(CaseOutcome::Inconclusive);
    }),
    ("deviates becomes inconclusive, also in the summary", |it| {
        it.case(FAILING).result = CaseOutcome::Inconclusive;
        it.report.summary.cases.deviating -= 1;
        it.report.summary.cases.inconclusive += 1;
    }),
    ("deviates becomes a known deviation", |it| {
        it.case(FAILING).result = CaseOutcome::KnownDeviation;
    }),
    ("unsupported, with `shown` full", |it| {
        it.whitewash(CaseOutcome::Unsupported);
        it.case(FAILING).reasons = vec!["needs FlinkRecovery".to_owned()];
        it.case(FAILING).evidence = None;
    }),
    ("unsupported, with nothing shown", |it| {
        it.whitewash(CaseOutcome::Unsupported);
        let case = it.case(FAILING);
        case.shown.clear();
        case.not_judged.clear();
        case.reasons = vec!["needs FlinkRecovery".to_owned()];
        case.evidence = None;
    }),
    ("unsupported, with its timeline", |it| {
        it.whitewash(CaseOutcome::Unsupported);
        it.case(FAILING).shown.clear();
        it.case(FAILING).reasons = vec!["needs FlinkRecovery".to_owned()];
    }),
    ("could not be run, with `shown` full", |it| {
        it.whitewash(CaseOutcome::Broken);
        it.case(FAILING).reasons = vec!["no cluster".to_owned()];
        it.case(FAILING).evidence = None;
    }),
    ("an unsupported case conforms, without a timeline", |it| {
        it.case(UNSUPPORTED).result = CaseOutcome::Conforms;
    }),
    ("an unsupported case shows something", |it| {
        it.case(UNSUPPORTED).shown.insert("REC-11".into());
    }),
    ("another reason for being unsupported", |it| {
        it.case(UNSUPPORTED).reasons = vec!["it takes too long".to_owned()];
    }),
    ("no reason for being unsupported", |it| {
        it.case(UNSUPPORTED).reasons.clear();
    }),
    ("shown without having been", |it| {
        it.case(CONFORMING).shown.insert("REC-11".into());
    }),
    ("not shown though it was", |it| {
        it.case(CONFORMING).shown.pop_first();
    }),
    ("broken becomes not judged", |it| {
        let case = it.case(FAILING);
        let broken = std::mem::take(&mut case.broken);
        case.not_judged
            .extend(broken.into_iter().map(|id| (id, "no time".to_owned())));
    }),
    ("something left open", |it| {
        it.case(CONFORMING)
            .not_judged
            .insert("REC-11".into(), "no time".to_owned());
    }),
    ("broken by fewer requirements", |it| {
        it.case(FAILING).broken.pop_first();
    }),
    ("put down to the baseline", |it| {
        it.case(FAILING).known = true;
    }),
    ("a finding removed", |it| {
        it.case(FAILING).findings.pop();
    }),
    ("all findings removed", |it| it.case(FAILING).findings.clear()),
    ("a finding says something else was seen", |it| {
        "nothing to speak of".clone_into(&mut it.case(FAILING).findings[0].seen);
    }),
    ("a finding expects something else", |it| {
        "more than anybody could".clone_into(&mut it.case(FAILING).findings[0].expected);
    }),
    ("a finding refutes nothing", |it| {
        it.case(FAILING).findings[0].requirements.clear();
    }),
    ("a finding at another time", |it| {
        it.case(FAILING).findings[0].at_secs += 1.0;
    }),
    ("a finding at another entry", |it| {
        it.case(FAILING).findings[0].entry += 1;
    }),
    ("a finding becomes a warning", |it| {
        let case = it.case(FAILING);
        let finding = case.findings.remove(0);
        case.warnings.push(finding);
    }),
    ("a snapshot that differs", |it| {
        it.case(CONFORMING).snapshots = vec!["end".to_owned()];
    }),
    ("earlier tries left out", |it| it.case(CONFORMING).failed_tries.clear()),
    ("faster by the clusters' clock", |it| {
        it.case(CONFORMING).timing.clusters_secs -= 0.01;
    }),
    ("another time of the migration", |it| {
        it.case(CONFORMING).timing.migration_secs = Some(10.0);
    }),
    ("a migration with fewer writes", |it| {
        it.case(CONFORMING).timing.migration_writes = Some(1);
    }),
    ("another title", |it| {
        "It is all right".clone_into(&mut it.case(FAILING).title);
    }),
    ("another area", |it| "elsewhere".clone_into(&mut it.case(FAILING).area)),
    ("about fewer requirements", |it| {
        it.case(FAILING).requirements.pop_first();
    }),
    ("of another case", |it| it.case(FAILING).digest = Digest::of_bytes(b"")),
];

const EVIDENCE: &[Forgery] = &[
    ("a timeline that leads elsewhere", |it| {
        "../secret.jsonl".clone_into(&mut it.case(CONFORMING).evidence.as_mut().unwrap().timeline);
    }),
    ("a timeline that is not there", |it| {
        "missing.jsonl".clone_into(&mut it.case(CONFORMING).evidence.as_mut().unwrap().timeline);
    }),
    ("no timeline", |it| it.case(CONFORMING).evidence = None),
    ("a timeline of no run", |it| {
        it.whitewash(CaseOutcome::Conforms);
        it.replace(spoiled::bytes(FAILING, "good"));
    }),
    ("the timeline of another case", |it| {
        it.whitewash(CaseOutcome::Conforms);
        let evidence = it.case(CONFORMING).evidence.clone();
        it.case(FAILING).evidence = evidence;
    }),
    ("a good timeline of another run", |it| {
        let mut good = report(vec![result(FAILING, "good")], None);
        "1.2.4".clone_into(good.implementation.version.as_mut().unwrap());
        let text = timelines(&good).into_values().next().unwrap();
        it.case(FAILING).result = CaseOutcome::Conforms;
        it.replace(text);
    }),
    ("a timeline with something behind it", |it| {
        let file = it.case(CONFORMING).evidence.as_ref().unwrap().timeline.clone();
        it.files.get_mut(&file).unwrap().push(b'\n');
        // The report itself is edited, too, so that there is a forgery in it.
        it.report.summary.wall_secs += 1.0;
    }),
    ("an empty timeline", |it| it.replace(Vec::new())),
];

const REQUIREMENTS: &[Forgery] = &[
    ("a row removed", |it| {
        it.report.requirements.retain(|it| it.id != "REC-01".into());
    }),
    ("all rows removed", |it| it.report.requirements.clear()),
    ("a row renamed", |it| it.requirement("REC-01").id = "REC-99".into()),
    ("a row twice", |it| {
        let row = it.requirement("PRG-03").clone();
        it.report.requirements.push(row);
    }),
    ("another text", |it| {
        "Labels, if at all.".clone_into(&mut it.requirement("REC-01").text);
    }),
    ("another level", |it| it.requirement("REC-01").level = Level::May),
    ("another feature", |it| {
        it.requirement("REC-01").feature = "FlinkRecovery".into();
    }),
    ("another result", |it| {
        it.requirement("REC-01").result = RequirementResult::Shown;
    }),
    ("unsupported", |it| {
        it.requirement("REC-01").result = RequirementResult::Unsupported;
    }),
    ("shown by more", |it| {
        it.requirement("REC-11").shown_by.insert(CONFORMING.into());
    }),
    ("broken by none", |it| it.requirement("REC-01").broken_by.clear()),
    ("a better summary", |it| {
        it.report.summary.cases.deviating = 0;
        it.report.summary.cases.conforming += 1;
    }),
    ("more requirements shown in the summary", |it| {
        it.report.summary.requirements.shown += 1;
    }),
];

const HEAD: &[Forgery] = &[
    ("another name", |it| {
        it.report.implementation = Implementation::named("mine");
    }),
    ("another version", |it| {
        "9.9.9".clone_into(it.report.implementation.version.as_mut().unwrap());
    }),
    ("another address", |it| {
        it.report.implementation.url = Some("https://example.com".to_owned());
    }),
    ("somebody else to ask", |it| {
        it.report.implementation.contact.push("me".to_owned());
    }),
    ("a feature less", |it| {
        it.report.features.remove(&"LabelInjection".into());
    }),
    ("a feature more", |it| {
        it.report.features.insert("ApplicationFailover".into());
    }),
    ("another backend", |it| "kind".clone_into(&mut it.report.backend.name)),
    ("another version of Kubernetes", |it| {
        it.report.backend.kubernetes_versions = ["v1.30.0".to_owned()].into();
    }),
    ("another date", |it| {
        it.report.date += jiff::SignedDuration::from_hours(24);
    }),
    ("another version of Baton", |it| {
        "9.9.9".clone_into(&mut it.report.baton_version);
    }),
    ("another digest of the cases", |it| {
        it.report.suite.digest = Digest::of_bytes(b"");
    }),
    ("more cases selected", |it| it.report.suite.cases += 1),
    ("more seeds", |it| it.report.suite.seeds = 2),
    ("a baseline written afterwards", |it| {
        let broken = it.case(FAILING).broken.clone();
        let entry = |id: &RequirementId| BaselineEntry {
            requirement: Some(id.clone()),
            step: None,
            field: None,
            difference: DifferenceKind::Missing,
            reason: "known for long".to_owned(),
            link: None,
            versions: VersionRange::default(),
            cases: [FAILING.into()].into(),
            sometimes: false,
            told_by: [FAILING.into()].into(),
            outdated: false,
        };
        it.report.baseline = broken.iter().map(entry).collect();
        it.case(FAILING).result = CaseOutcome::KnownDeviation;
        it.case(FAILING).known = true;
    }),
];

const BASELINE: &[Forgery] = &[
    ("an entry removed", |it| {
        it.report.baseline.pop();
    }),
    ("another reason", |it| {
        "fixed".clone_into(&mut it.report.baseline[0].reason);
    }),
    ("a link", |it| {
        it.report.baseline[0].link = Some("https://example.com".to_owned());
    }),
    ("for more cases", |it| it.report.baseline[1].cases.clear()),
    ("told by others", |it| {
        it.report.baseline[0].told_by.pop_first();
    }),
    ("outdated", |it| it.report.baseline[0].outdated = true),
    ("only sometimes", |it| it.report.baseline[0].sometimes = true),
    ("known without an entry", |it| {
        it.case(FAILING).known ^= true;
    }),
];

#[test]
fn no_edit_of_the_set_of_cases_is_confirmed() {
    refuted(CASES, honest);
}

#[test]
fn no_edit_of_a_result_is_confirmed() {
    refuted(RESULTS, honest);
}

#[test]
fn no_edit_of_the_evidence_is_confirmed() {
    refuted(EVIDENCE, honest);
}

#[test]
fn no_edit_of_requirements_is_confirmed() {
    refuted(REQUIREMENTS, honest);
}

#[test]
fn no_edit_of_the_head_is_confirmed() {
    refuted(HEAD, honest);
}

#[test]
fn no_edit_of_the_baseline_is_confirmed() {
    refuted(BASELINE, with_baseline);
}

fn with_baseline() -> Forger {
    let report = report_with(&known(), mixed(), None);
    Forger {
        files: timelines(&report),
        report,
    }
}

#[test]
fn a_case_that_the_run_did_not_know_refutes_nothing() {
    let Forger { report, files } = with_baseline();
    let another = Case {
        id: "my-case".into(),
        ..reports::case(FAILING)
    };
    assert!(
        another
            .requirements
            .contains(report.baseline[0].requirement.as_ref().unwrap())
    );
    let verification = verified_where_there_is(Some(another.clone()), &report, &files);
    assert_eq!(verification.objections, []);
    assert_eq!((verification.confirmed, verification.not_selected), (2, 1));

    // Nor does it help who says that a deviation is gone: perhaps that case would tell of it.
    let mut forged = report;
    forged.baseline[0].outdated = true;
    let found = verified_where_there_is(Some(another), &forged, &files).objections;
    assert_ne!(found, []);
}

#[test]
fn a_requirement_that_the_run_did_not_know_refutes_nothing() {
    let Forger { mut report, files } = with_baseline();
    let untested = |it: &RequirementReport| it.result == RequirementResult::NotShown;
    report.requirements.retain(|it| !untested(it));
    report.summary = build::summary(&report.requirements, &report.cases, report.summary.wall_secs);
    let another = Case {
        id: "my-case".into(),
        ..reports::case(FAILING)
    };
    let verification = verified_where_there_is(Some(another), &report, &files);
    assert_eq!(verification.objections, []);
    // In a report of all cases, the requirement was left out.
    assert_ne!(verified(&report, &files).objections, []);
}

#[test]
fn of_long_lists_it_is_told_what_only_one_of_them_has() {
    let Forger { mut report, files } = with_baseline();
    let invented = (0..10).map(|number| CaseId::new(format!("another-case-that-is-not-there-{number}")));
    report.baseline[0].told_by.extend(invented);
    let found = verified(&report, &files).objections;
    let told: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert!(
        told[0].contains("13 entries, among them another-case-that-is-not-there-0"),
        "{told:?}"
    );
}

#[test]
fn an_honest_report_is_confirmed_and_counts_what_was_not_run() {
    let honest = honest();
    let verification = verified(&honest.report, &honest.files);
    let numbers = (verification.confirmed, verification.judged, verification.unsupported);
    assert_eq!(numbers, (2, 2, 1));
}

#[test]
fn what_an_interrupted_run_has_judged_is_confirmed_and_the_rest_is_missing() {
    let report = report(vec![result(CONFORMING, "good")], None);
    let verification = verified(&report, &timelines(&report));
    assert_eq!(verification.objections, []);
    assert_eq!((verification.confirmed, verification.missing), (1, 2));
}

#[test]
fn a_report_of_unsupported_cases_alone_judges_nothing() {
    let report = report(vec![unsupported(UNSUPPORTED)], None);
    let found = verified(&report, &BTreeMap::new()).objections;
    assert!(found.contains(&Objection::NothingJudged), "{found:?}");
}

#[test]
fn a_merged_report_and_its_parts_are_confirmed() {
    let shard = |number| Some(Shard { number, of: 3 });
    let mut parts: Vec<ConformanceReport> = (1..).zip(mixed()).map(|(at, it)| report(vec![it], shard(at))).collect();
    // The cases of shards go by their names.
    parts[1].suite.shard = shard(3);
    parts[2].suite.shard = shard(2);
    let again = |part: &ConformanceReport| {
        let results = mixed().into_iter().filter(|it| it.case == part.cases[0].name).collect();
        report(results, part.suite.shard)
    };
    let parts: Vec<ConformanceReport> = parts.iter().map(again).collect();
    let files: BTreeMap<String, Vec<u8>> = parts.iter().flat_map(timelines).collect();
    for part in parts.iter().filter(|part| part.cases[0].evidence.is_some()) {
        assert_eq!(verified(part, &files).objections, []);
    }
    assert_eq!(verified(&merge::merge(&parts).unwrap(), &files).objections, []);
}
