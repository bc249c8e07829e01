//! Reports that are put together from several runs, or that hide how much of the suite they are about.

use super::*;

/// A run with two seeds for each case, in a part of the built-in suite in which a file was replaced.
fn of_a_part() -> Forger {
    let mut report = report(vec![result(CONFORMING, "good"), result(FAILING, "label-missing")], None);
    report.suite.whole = Some(607);
    report.suite.built_in = Some("1f".repeat(32));
    report.suite.replaced = BTreeSet::from(["cases/proposal/deployment-directly.yaml".to_owned()]);
    report.suite.seeds = 2;
    let files = timelines(&report);
    for case in &mut report.cases {
        let evidence = case.evidence.as_mut().unwrap();
        evidence.digest = Digest::of_bytes(&files[&evidence.timeline]);
    }
    Forger { report, files }
}

impl Forger {
    /// The timeline that a run of this report would have for a case, with this recording.
    fn recorded(&self, name: &str, fixture: &str) -> Vec<u8> {
        let mut of_run = self.report.clone();
        of_run.cases = report(vec![result(name, fixture)], None).cases;
        of_run.cases[0].seed = self.report.cases.iter().find(|it| it.name == name.into()).unwrap().seed;
        timelines(&of_run).into_values().next().unwrap()
    }

    /// The timeline that another run of the same selection has, which began at another time.
    fn of_another_run(&self, name: &str, fixture: &str) -> Vec<u8> {
        let mut other = honest_head(self);
        other.report.date += jiff::SignedDuration::from_secs(60);
        other.recorded(name, fixture)
    }

    /// The conforming case is judged by this timeline.
    fn judge_by(&mut self, text: Vec<u8>) {
        let evidence = self.case(CONFORMING).evidence.as_mut().unwrap();
        evidence.digest = Digest::of_bytes(&text);
        let name = evidence.timeline.clone();
        self.files.insert(name, text);
    }

    /// The conforming case has this seed, in its timeline as well.
    fn seed(&mut self, seed: u64) {
        self.case(CONFORMING).seed = seed;
        let text = self.recorded(CONFORMING, "good");
        self.judge_by(text);
    }

    /// The case seems not to have been run, for a reason that no timeline can refute. Returns the file name of its timeline.
    fn could_not_run(&mut self, name: &str) -> String {
        let case = self.case(name);
        case.result = CaseOutcome::Broken;
        case.reasons = vec!["the machine was too slow".to_owned()];
        for set in [&mut case.shown, &mut case.broken] {
            set.clear();
        }
        case.not_judged.clear();
        case.findings.clear();
        case.likely_cause = None;
        case.timing.clusters_secs = 0.0;
        (case.timing.migration_secs, case.timing.migration_writes) = (None, None);
        let evidence = case.evidence.take().unwrap();
        self.report.defects.clear();
        evidence.timeline
    }

    /// The report is of a part of the cases, and its timelines say the same.
    fn shard(&mut self, number: usize, of: usize) {
        self.report.suite.shard = Some(Shard { number, of });
        for name in [CONFORMING, FAILING] {
            let fixture = if name == FAILING { "label-missing" } else { "good" };
            let text = self.recorded(name, fixture);
            let evidence = self.case(name).evidence.as_mut().unwrap();
            evidence.digest = Digest::of_bytes(&text);
            let file = evidence.timeline.clone();
            self.files.insert(file, text);
        }
    }
}

fn honest_head(of: &Forger) -> Forger {
    Forger {
        report: of.report.clone(),
        files: BTreeMap::new(),
    }
}

const RUNS: &[Forgery] = &[
    ("a good timeline of a second run", |it| {
        let text = it.of_another_run(FAILING, "good");
        let again = report(vec![result(FAILING, "good")], None);
        *it.case(FAILING) = again.cases[0].clone();
        it.replace(text);
    }),
    ("the timeline of the conforming case from a second run", |it| {
        let text = it.of_another_run(CONFORMING, "good");
        it.judge_by(text);
    }),
    ("a second run that began a year before", |it| {
        let mut other = honest_head(it);
        other.report.date -= jiff::SignedDuration::from_hours(24 * 365);
        let text = other.recorded(CONFORMING, "good");
        it.judge_by(text);
        it.report.date = other.report.date;
    }),
    ("a seed that the run cannot have", |it| it.seed(2)),
    ("a seed far from the others", |it| it.seed(1_000_000)),
    ("the largest seed but one", |it| it.seed(u64::MAX - 1)),
    ("a case left out, as if the run had been interrupted", |it| {
        it.report.cases.retain(|case| case.name != FAILING.into());
    }),
    ("the other case left out", |it| {
        it.report.cases.retain(|case| case.name != CONFORMING.into());
    }),
    ("a case left out, and its timeline renamed", |it| {
        let file = it.case(FAILING).evidence.as_ref().unwrap().timeline.clone();
        it.report.cases.retain(|case| case.name != FAILING.into());
        let text = it.files.remove(&file).unwrap();
        it.files.insert("notes.jsonl".to_owned(), text);
    }),
    ("a failing case that could not be run, its timeline left", |it| {
        it.could_not_run(FAILING);
    }),
    ("a failing case that could not be run, its timeline renamed", |it| {
        let file = it.could_not_run(FAILING);
        let text = it.files.remove(&file).unwrap();
        it.files.insert("notes.jsonl".to_owned(), text);
    }),
    ("the shard 0/0", |it| it.shard(0, 0)),
    ("the shard 0/3", |it| it.shard(0, 3)),
    ("the shard 4/3", |it| it.shard(4, 3)),
    ("the first of 2^64-1 shards", |it| it.shard(1, usize::MAX)),
    ("the last of 2^64-1 shards", |it| it.shard(usize::MAX, usize::MAX)),
    ("a shard, in the report only", |it| {
        it.report.suite.shard = Some(Shard { number: 1, of: 2 });
    }),
    ("a smaller suite", |it| it.report.suite.whole = Some(3)),
    ("a suite of unknown size", |it| it.report.suite.whole = None),
    ("a larger suite", |it| it.report.suite.whole = Some(10_000)),
    ("another built-in suite", |it| {
        it.report.suite.built_in = Some("2e".repeat(32));
    }),
    ("no built-in suite", |it| it.report.suite.built_in = None),
    ("no replaced file", |it| it.report.suite.replaced.clear()),
    ("another replaced file", |it| {
        it.report.suite.replaced = BTreeSet::from(["cases/proposal/none.yaml".to_owned()]);
    }),
    ("one file more replaced", |it| {
        it.report
            .suite
            .replaced
            .insert("fixtures/workloads/deploy.yaml".to_owned());
    }),
    ("fewer seeds", |it| it.report.suite.seeds = 1),
    ("no seeds", |it| it.report.suite.seeds = 0),
    ("as many seeds as there are", |it| it.report.suite.seeds = u64::MAX),
    ("fewer cases selected", |it| it.report.suite.cases = 2),
];

#[test]
fn no_choice_from_several_runs_is_confirmed() {
    refuted(RUNS, of_a_part);
}

#[test]
fn a_report_of_a_part_says_so() {
    let words = of_a_part().report.partly().unwrap();
    assert_eq!(
        words,
        "2 of 607 cases run, 605 not run; incomplete: 4 of 6 selected runs missing"
    );
    assert_eq!(honest().report.partly(), None);
}

#[test]
fn a_case_that_could_not_be_run_makes_the_report_and_the_core_partial() {
    let mut forger = honest();
    let file = forger.could_not_run(FAILING);
    forger.recount();
    forger.files.remove(&file);
    assert_eq!(forger.objections(), Vec::<String>::new());
    let words = forger.report.partly().unwrap();
    assert_eq!(words, "2 of 3 cases run, 1 not run");
    let core = forger
        .report
        .profiles
        .iter()
        .find(|it| it.name == Profile::Core)
        .unwrap();
    assert_eq!(core.result, ProfileResult::Partial);
}

#[test]
fn timelines_of_other_runs_in_the_same_folder_refute_nothing() {
    let mut honest = honest();
    let text = honest.of_another_run(CONFORMING, "good");
    honest.files.insert("of-yesterday.jsonl".to_owned(), text);
    honest.files.insert("empty.jsonl".to_owned(), Vec::new());
    honest.files.insert("notes.jsonl".to_owned(), b"no timeline\n".to_vec());
    assert_eq!(honest.objections(), Vec::<String>::new());
}

#[test]
fn shards_that_cannot_be_are_not_merged() {
    let of = |number, of| {
        let mut part = honest().report;
        part.suite.shard = Some(Shard { number, of });
        merge::merge(&[part]).unwrap_err().to_string()
    };
    for (number, parts) in [(0, 0), (0, 1), (2, 1), (usize::MAX, 1)] {
        let told = of(number, parts);
        assert!(told.contains("which does not exist"), "{told}");
    }
    let told = of(usize::MAX, usize::MAX);
    assert!(
        told.contains("shards are missing: 1/18446744073709551615, 2/"),
        "{told}"
    );
}
