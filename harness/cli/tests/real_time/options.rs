//! The options of `baton run` and `baton report`, as users give them.

use std::{
    collections::BTreeSet,
    fs,
    io::Write as _,
    path::Path,
    process::{Output, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use baton::{implementation::Reference, load::Suite, options::RunOptions, output, run};
use baton_cluster::{
    actions,
    fleet::{Fleet, TimeMode, embedded::InProcess},
    runner::{Running, Target, TargetError, Timeouts},
};
use baton_core::{
    case::model::ControllerSetup,
    event::{CaseOutcome, CaseResult, Event, Summary},
    judge::{DifferenceKind, Finding},
    names::{Feature, RequirementId},
    report::{ConformanceReport, model::CaseOutcome as Settled},
};
use serde_json::json;

use crate::common::{self, printed, root, roots};

fn baton(arguments: &[&str], input: &str) -> Output {
    let mut child = common::baton(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that reads nothing may have ended already.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn assert_bad_input(arguments: &[&str], words: &str) {
    let output = baton(arguments, "");
    assert!(printed(&output).contains(words), "{arguments:?}: {}", printed(&output));
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(
        !printed(&output).contains("clusters against"),
        "{arguments:?}: something has been booted"
    );
}

#[test]
fn what_is_wrong_is_told_before_anything_boots() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().to_str().unwrap();
    assert_bad_input(
        &["run", "--report", &format!("yaml={here}/none/report.yaml")],
        "there is no folder",
    );
    assert_bad_input(&["run", "--report", &format!("html={here}")], "it is a folder");
    let twice = format!("yaml={here}/x");
    assert_bad_input(
        &["run", "--report", &twice, "--report", &twice],
        "two reports would be written to",
    );
    assert_bad_input(&["run", "--report", "pdf=x"], "unknown format `pdf`");
    assert_bad_input(
        &["run", "--filter", "no-such-case"],
        "no case matches --filter no-such-case",
    );
    assert_bad_input(&["run", "--filter", "no-such-case"], "there are ");
    assert_bad_input(&["run", "--requirement", "REC-010"], "did you mean `REC-10`");
    assert_bad_input(&["run", "--requirement", "REC-1"], "did you mean `REC-01`");
    assert_bad_input(&["run", "--label", "tier=smoek"], "did you mean `tier=smoke`?");
    assert_bad_input(&["explain", "REC-1"], "did you mean `REC-01`?");
    assert_bad_input(
        &["run", "--feature", "LabelInjections"],
        "did you mean `LabelInjection`?",
    );
    assert_bad_input(&["run", "--shard", "3/2"], "such as 2/4");
    assert_bad_input(&["run", "--jobs", "0"], "expected a whole number above 0");
    // The reason is printed once, with the remedy in a target file.
    assert_bad_input(
        &["run", "--target", &format!("{here}/none.yaml")],
        "none.yaml: No such file or directory (os error 2)\nhelp: fixtures/targets/ has examples",
    );
    assert_bad_input(&["run", "--timeout-factor", "0"], "above 0 and up to 10000");
    assert_bad_input(
        &["run", "--rerun-failed", "--timelines", here],
        "has no record of an earlier run",
    );
}

/// Each error names the file and a remedy.
#[test]
fn files_of_the_wrong_kind_are_named_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let lines = file("lines.jsonl", "{\"t\": 0}\n---\n{\"t\": 0}\n");
    let told = [
        (vec!["jsonpath", "{ .a }"], "help: the file must hold one document"),
        (
            vec!["report", "summary"],
            "help: `baton run --report yaml=FILE` writes a report",
        ),
        (vec!["judge"], "help: `baton run --timelines FOLDER` writes timelines"),
    ];
    for (mut arguments, help) in told {
        arguments.push(&lines);
        let output = baton(&arguments, "");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let said = printed(&output);
        assert!(said.starts_with(&format!("error: {lines}: ")), "{arguments:?}: {said}");
        assert!(said.contains(help), "{arguments:?}: {said}");
    }
    let target = "apiVersion: baton.dev/v1alpha1
kind: Target
metadata: {name: none}
spec:
  implementation: {name: none, version: '1'}
  features: [Propagation]
  run: {exec: {command: ./no-such-program}}
";
    let target = file("target.yaml", target);
    assert_bad_input(
        &["run", "deployment-directly", "--target", &target],
        &format!("error: {target}: the command ./no-such-program of the target was not found\nhelp: "),
    );
    let kubeconfig = file(
        "kubeconfig",
        "{apiVersion: v1, kind: Config, clusters: [], users: [], contexts: []}",
    );
    let begin = [
        "run",
        "deployment-directly",
        "--backend",
        "kubeconfig",
        "--kubeconfig",
        &kubeconfig,
    ];
    assert_bad_input(
        &[&begin[..], &["--control", "", "--member", "b"]].concat(),
        &format!(
            "error: the kubeconfig {kubeconfig} has no context \"\"; there are none\nhelp: `kubectl config get-contexts"
        ),
    );
}

#[test]
fn shards_are_merged_and_their_evidence_bears_them_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let timelines = path("timelines");
    for shard in ["1/2", "2/2"] {
        let report = format!("yaml={}", path(&shard.replace('/', "-")));
        let arguments = [
            "run",
            "--filter",
            "proposal/*",
            "--shard",
            shard,
            "--timelines",
            &timelines,
            "--report",
            &report,
        ];
        let output = baton(&arguments, "");
        assert!(output.status.success(), "{}", printed(&output));
    }
    let (one, two, merged) = (path("1-2"), path("2-2"), path("merged.yaml"));
    let output = baton(&["report", "merge", &one, "-o", &merged], "");
    assert!(
        printed(&output).contains("shards are missing: 2/2"),
        "{}",
        printed(&output)
    );
    assert_eq!(output.status.code(), Some(2));
    assert!(
        baton(&["report", "merge", &one, &two, "-o", &merged], "")
            .status
            .success()
    );

    let verify = || baton(&["report", "verify", &merged, "--timelines", &timelines], "");
    assert!(
        printed(&verify()).contains("confirmed: 3 of 3 cases"),
        "{}",
        printed(&verify())
    );
    let (nowhere, there) = (path("nowhere"), fs::read_to_string(&merged).unwrap());
    let wrong = [
        (
            vec!["report", "verify", &merged, "--timelines", &nowhere],
            "there is no folder",
        ),
        (vec!["report", "html", &merged, "-o", &merged], "would be overwritten"),
        (vec!["report", "junit", &merged, "-o", &merged], "would be overwritten"),
        (vec!["report", "merge", &one, &two, "-o", &one], "would be overwritten"),
    ];
    for (arguments, words) in wrong {
        let output = baton(&arguments, "");
        let told = printed(&output);
        assert!(
            output.status.code() == Some(2) && told.contains(words),
            "{arguments:?}: {told}"
        );
    }
    assert_eq!(fs::read_to_string(&merged).unwrap(), there);
    fs::write(&merged, there.replace("result: conforms", "result: inconclusive")).unwrap();
    let refuted = printed(&verify());
    assert!(refuted.contains("REFUTED: 0 of 3 cases"), "{refuted}");
    fs::write(&merged, there).unwrap();

    let evidence = Path::new(&timelines).join("flink-jobid-directly.jsonl");
    fs::write(
        &evidence,
        fs::read_to_string(&evidence)
            .unwrap()
            .replace("NoExecute", "NoSchedule"),
    )
    .unwrap();
    let refuted = verify();
    assert!(printed(&refuted).contains("flink-jobid-directly.jsonl is not the timeline that was reported"));
    assert_eq!(refuted.status.code(), Some(1), "{}", printed(&refuted));
}

/// Writes a case that expects what no implementation does.
fn failing_case(folder: &Path) -> String {
    let good = fs::read_to_string(root().join("cases/proposal/flink-jobid-directly.yaml")).unwrap();
    let bad = good
        .replace("name: flink-jobid-directly", "name: expects-too-much")
        .replace("exactly: [{name: \"${origin}\"}]", "exactly: [{name: nowhere}]");
    assert_ne!(good, bad);
    let file = folder.join("expects-too-much.yaml");
    fs::write(&file, bad).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn what_failed_is_run_again_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let (case, here) = (failing_case(folder.path()), folder.path().to_str().unwrap());
    let with = |more: &[&str]| {
        let arguments = [&["run", "statefulset-directly", &case, "--timelines", here], more].concat();
        baton(&arguments, "")
    };
    assert_eq!(with(&[]).status.code(), Some(1));
    let again = with(&["--rerun-failed"]);
    assert!(printed(&again).contains("expects-too-much"), "{}", printed(&again));
    assert!(!printed(&again).contains("statefulset-directly"), "{}", printed(&again));
}

#[test]
fn the_clusters_of_a_case_that_failed_are_kept_until_enter() {
    let folder = tempfile::tempdir().unwrap();
    let case = failing_case(folder.path());
    let here = folder.path().to_str().unwrap();
    let output = baton(&["run", &case, "--pause-on-failure", "--timelines", here], "\n");
    let text = printed(&output);
    assert!(
        text.contains("expects-too-much failed; its clusters are still running"),
        "{text}"
    );
    let kubeconfig = text
        .lines()
        .find_map(|line| line.strip_prefix("control "))
        .map(str::trim);
    assert!(!Path::new(kubeconfig.unwrap()).exists(), "the clusters are still there");
    assert_eq!(output.status.code(), Some(1), "{text}");
}

/// The reference controller, failing to start the first few times.
#[derive(Debug)]
struct Unwilling(AtomicUsize);

#[async_trait]
impl Target for Unwilling {
    fn name(&self) -> &'static str {
        "an unwilling controller"
    }

    fn features(&self) -> BTreeSet<Feature> {
        Reference.features()
    }

    async fn start(
        &self,
        fleet: &dyn Fleet,
        setup: &ControllerSetup,
        log: &Path,
    ) -> Result<Box<dyn Running>, TargetError> {
        let unwilling = self
            .0
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if unwilling.is_ok() {
            return Err(TargetError::Start("not now".to_owned()));
        }
        Reference.start(fleet, setup, log).await
    }
}

fn run_with(times: usize, change: impl FnOnce(RunOptions) -> RunOptions) -> (Summary, Vec<CaseResult>) {
    let names = ["deployment-directly", "flink-jobid-directly", "statefulset-directly"].map(str::to_owned);
    let roots = roots();
    let suite = Suite::select(&roots, &names).unwrap();
    let settings = change(RunOptions {
        target: Arc::new(Unwilling(AtomicUsize::new(times))),
        jobs: 1,
        ..RunOptions::new(roots)
    });
    let mut results = Vec::new();
    let summary = run::run(&suite.cases, &settings, |event| {
        if let Event::CaseEnded(result) = event {
            results.push((**result).clone());
        }
    });
    (summary, results)
}

#[test]
fn a_pass_on_a_later_try_stays_visible() {
    let (summary, results) = run_with(2, |settings| RunOptions { retries: 2, ..settings });
    assert_eq!((summary.conforming, summary.broken), (3, 0));
    assert_eq!(results[0].failed_tries.len(), 2);
    assert_eq!(results[1].failed_tries.len(), 0);
    let table = output::results(results.iter(), None);
    assert!(table.contains("conforms on try 3"), "{table}");
    let explained = output::explanation(&results[0], &output::FollowUp::default()).unwrap();
    assert!(
        explained.contains("try 1 failed: the controller under test cannot be started: not now"),
        "{explained}"
    );
}

/// The report makes a conforming case deviate if it shows a defect that no case tests.
#[test]
fn the_table_has_the_result_that_the_report_gives_to_a_case() {
    let (_, mut results) = run_with(0, |settings| settings);
    let CaseOutcome::Conforms(verdict) = &mut results[0].outcome else {
        panic!("{:?}", results[0].outcome);
    };
    verdict.elsewhere.push(Finding {
        requirements: BTreeSet::from([RequirementId::new("PRG-01")]),
        field: None,
        kind: DifferenceKind::Different,
        title: "the old copy is gone".to_owned(),
        step: None,
        expected: "one copy".to_owned(),
        seen: "two copies".to_owned(),
        object: None,
        seq: 0,
        at: Duration::ZERO,
        mismatches: Vec::new(),
        follows: None,
    });
    let file = root().join("fixtures/reports/karmada/v1.16.8/report.yaml");
    let mut report = ConformanceReport::parse(&fs::read_to_string(file).unwrap()).unwrap();
    let case = report.cases.first_mut().unwrap();
    (case.name, case.seed) = (results[0].case.clone(), results[0].seed);
    for (result, word, requirements) in [
        (Settled::Deviates, "DEVIATES", "broken: PRG-01"),
        (Settled::KnownDeviation, "deviates", "known: PRG-01"),
        (Settled::Conforms, "conforms, shows others", "shows broken: PRG-01"),
    ] {
        report.cases[0].result = result;
        let table = output::results(results.iter().take(1), Some(&report));
        let row = table.lines().last().unwrap();
        let cells: Vec<_> = row.split("  ").map(str::trim).filter(|it| !it.is_empty()).collect();
        assert_eq!(cells[1..3], [word, requirements], "{table}");
    }
}

#[test]
fn without_retries_nothing_is_tried_again() {
    let (summary, results) = run_with(1, |settings| settings);
    assert_eq!((summary.conforming, summary.broken), (2, 1));
    assert!(matches!(results[0].outcome, CaseOutcome::Broken { .. }));
}

#[test]
fn after_a_failure_no_other_case_is_begun_if_asked_so() {
    let (summary, results) = run_with(1, |settings| RunOptions {
        fail_fast: true,
        ..settings
    });
    assert_eq!((results.len(), summary.not_begun), (1, 2));
}

#[test]
fn a_case_is_repeated_with_other_seeds() {
    let folder = tempfile::tempdir().unwrap();
    let (summary, results) = run_with(0, |settings| RunOptions {
        repeat: 2,
        seed: 7,
        timelines: Some(folder.path().to_owned()),
        ..settings
    });
    assert_eq!(summary.conforming, 6);
    let seeds: BTreeSet<u64> = results.iter().map(|result| result.seed).collect();
    assert_eq!(seeds, [7, 8].into());
    assert!(folder.path().join("flink-jobid-directly.seed-8.jsonl").is_file());
}

/// The reference controller, next to a binding that another program has left and that is never removed.
#[derive(Debug)]
struct Untidy;

#[async_trait]
impl Target for Untidy {
    fn name(&self) -> &'static str {
        "an untidy controller"
    }

    fn features(&self) -> BTreeSet<Feature> {
        Reference.features()
    }

    async fn start(
        &self,
        fleet: &dyn Fleet,
        setup: &ControllerSetup,
        log: &Path,
    ) -> Result<Box<dyn Running>, TargetError> {
        let binding = json!({
            "apiVersion": "work.karmada.io/v1alpha2",
            "kind": "ResourceBinding",
            "metadata": {"name": "left", "namespace": "default", "finalizers": ["example.org/never"]},
            "spec": {"resource": {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "left"}},
        });
        let control = fleet.control().client("untidy");
        actions::create(&control, &binding, "default").await.unwrap();
        Reference.start(fleet, setup, log).await
    }
}

/// After a failed clean-up, later ones get less time: they blame no requirement, and give the reason.
#[test]
fn a_clean_up_after_one_that_failed_is_hurried_and_says_so() {
    let (summary, results) = run_with(0, |settings| RunOptions {
        target: Arc::new(Untidy),
        backend: Arc::new(InProcess {
            time_mode: TimeMode::Real,
            doors: false,
        }),
        timeouts: Timeouts {
            clear: Duration::from_secs(3),
            ..settings.timeouts
        },
        ..settings
    });
    assert_eq!((summary.showing_others, summary.inconclusive), (1, 2), "{summary:?}");
    let told = results.iter().map(|result| {
        let verdict = result.outcome.verdict().unwrap();
        let finding = verdict.all_findings().chain(&verdict.inconclusive).next().unwrap();
        let ids = finding.requirements.iter().map(ToString::to_string).collect::<Vec<_>>();
        format!("{}: {}", ids.join(" "), finding.seen)
    });
    insta::assert_snapshot!(told.collect::<Vec<_>>().join("\n"), @"
    POL-14: still there, after 3 s
    POL-14: still there, after 1 s; an earlier clean-up of this run had failed, so this one was given less time than is due
    POL-14: still there, after 1 s; an earlier clean-up of this run had failed, so this one was given less time than is due
    ");
}

/// `lint` reports a path that can match nothing, with the place; the case is still valid.
#[test]
fn lint_warns_of_paths_that_no_status_has() {
    let folder = tempfile::tempdir().unwrap();
    let changed = |file: &str, changes: &[(&str, &str)]| {
        let mut text = fs::read_to_string(root().join("cases").join(file)).unwrap();
        for (from, to) in changes {
            assert!(text.contains(from), "{from}");
            text = text.replace(from, to);
        }
        let path = folder.path().join(Path::new(file).file_name().unwrap());
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let lint = |file: &str| {
        let output = baton(&["lint", file], "");
        assert!(output.status.success(), "{}", printed(&output));
        printed(&output)
    };
    // For a kind that the case defines, and for a built-in one.
    let flink = changed(
        "recovery/consecutive-without-state.yaml",
        &[("{ .jobStatus.jobID }", "{ .jobStatus.jobIdd }")],
    );
    let text = lint(&flink);
    let message = "the path `{ .jobStatus.jobIdd }` matches nothing: the status of a FlinkDeployment has no";
    assert!(text.contains(message) && text.contains("jobStatus.jobIdd"), "{text}");
    assert!(text.contains("did you mean `jobID`?"), "{text}");
    assert!(text.contains("consecutive-without-state.yaml:29:68"), "{text}");
    assert!(text.contains("1 case without errors"), "{text}");
    let deployment = changed("taints/tolerated-for-ever.yaml", &[("{ .replicas }", "{ .replcas }")]);
    let text = lint(&deployment);
    assert_eq!(
        text.matches("the status of a Deployment has no `replcas`").count(),
        1,
        "{text}"
    );
    assert!(text.contains("did you mean `replicas`?"), "{text}");
    let case = fs::read_to_string(&deployment).unwrap();
    let place = case.lines().position(|line| line.contains("{ .replcas }")).unwrap() + 1;
    assert!(text.contains(&format!("tolerated-for-ever.yaml:{place}:")), "{text}");
    // The case that misses on purpose, and all other cases.
    assert_eq!(
        lint(&changed("preservation/path-misses.yaml", &[])),
        "4 cases without errors\n"
    );
    let output = baton(&["lint"], "");
    assert!(output.status.success());
    assert_eq!(output.stderr, b"", "{}", printed(&output));
    // Only `lint` reports it.
    let plan = baton(&["plan", &flink], "");
    assert!(
        plan.status.success() && !printed(&plan).contains("matches nothing"),
        "{}",
        printed(&plan)
    );
}
