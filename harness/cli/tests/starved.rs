//! Runs that lack a resource: a thread that a controller blocks, or file descriptors. The result is never a deviation.
//!
//! A separate binary: a spinning controller takes a processor away from all tests of its process.

#![expect(clippy::unwrap_used, reason = "what fails here fails a test")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use baton::{
    files::Roots,
    implementation::Reference,
    load::Suite,
    options::RunOptions,
    output,
    report::{Format, ReportFile, Reports},
    run,
};
use baton_cluster::{
    fleet::Fleet,
    runner::{Running, Target, TargetError},
};
use baton_core::{
    case::model::ControllerSetup,
    event::{CaseOutcome, CaseResult, Event},
    names::Feature,
    report::ConformanceReport,
};
use rstest::rstest;

const CASES: [&str; 3] = ["deployment-directly", "flink-jobid-directly", "statefulset-directly"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Ends the spinning when the test has seen enough.
static RELEASED: AtomicBool = AtomicBool::new(false);

/// The reference controller; its first start comes with a task that never waits.
#[derive(Debug, Default)]
struct Spinning(AtomicBool);

#[async_trait]
impl Target for Spinning {
    fn name(&self) -> &'static str {
        "a controller that spins"
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
        if !self.0.swap(true, Ordering::SeqCst) {
            tokio::spawn(async {
                while !RELEASED.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        Reference.start(fleet, setup, log).await
    }
}

#[test]
fn a_controller_that_never_yields_ends_its_case_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let roots = Roots::of(&root());
    let suite = Suite::select(&roots, &CASES.map(str::to_owned)).unwrap();
    let settings = RunOptions {
        target: Arc::new(Spinning::default()),
        jobs: 1,
        silence: Duration::from_secs(10),
        ..RunOptions::new(roots)
    };
    let report = ReportFile {
        format: Format::Yaml,
        path: folder.path().join("report.yaml"),
    };
    let mut reports = Reports::open(std::slice::from_ref(&report), &suite.catalogue, &suite.cases).unwrap();
    let mut results: Vec<CaseResult> = Vec::new();
    let summary = run::run(&suite.cases, &settings, |event: &Event| {
        reports.on_event(event);
        if let Event::CaseEnded(result) = event {
            results.push((**result).clone());
        }
    });
    RELEASED.store(true, Ordering::Relaxed);
    reports.finish().into_iter().for_each(|report| drop(report.unwrap()));
    assert_eq!((summary.conforming, summary.broken, summary.deviating), (2, 1, 0));
    let broken: Vec<_> = results
        .iter()
        .filter(|it| matches!(it.outcome, CaseOutcome::Broken { .. }))
        .collect();
    let told = output::explanation(broken[0], &output::FollowUp::default()).unwrap();
    assert!(told.contains("has kept its thread for 10s without a pause"), "{told}");
    let report = ConformanceReport::parse(&fs::read_to_string(&report.path).unwrap()).unwrap();
    let of_case = report.cases.iter().find(|it| it.name == broken[0].case).unwrap();
    assert!(
        of_case.reasons[0].contains("the case was given up"),
        "{:?}",
        of_case.reasons
    );
    assert_eq!(report.cases.len(), 3);
}

/// Runs a command with a limit of open files; returns its exit code and output.
fn with_descriptors(limit: u32, arguments: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new("sh")
        .args(["-c", &format!("ulimit -n {limit} && exec \"$@\""), "sh"])
        .arg(env!("CARGO_BIN_EXE_baton"))
        .arg("--root")
        .arg(root())
        .args(["run", "--jobs", "16", "--timelines"])
        .arg(folder.path())
        .args(CASES)
        .args(arguments)
        .output()
        .unwrap();
    let told = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&told).into_owned())
}

#[rstest]
#[case::hardly_any(16, 3)]
#[case::one_too_few(39, 3)]
#[case::for_one_case(40, 0)]
#[case::for_a_few(64, 0)]
fn with_few_descriptors_embedded_runs_conform_or_are_not_begun(#[case] limit: u32, #[case] exit: i32) {
    let (code, told) = with_descriptors(limit, &[]);
    assert_eq!(code, Some(exit), "{told}");
    let why = told.contains("the limit of open files is too low");
    assert_eq!(why, exit == 3, "{told}");
}

#[rstest]
#[case::one_too_few(71, 3)]
#[case::for_one_case(72, 0)]
#[case::for_two(112, 0)]
fn with_few_descriptors_a_program_conforms_or_is_not_begun(#[case] limit: u32, #[case] exit: i32) {
    let (code, told) = with_descriptors(limit, &["--target", "fixtures/targets/reference.yaml"]);
    assert_eq!(code, Some(exit), "{told}");
    let why = told.contains("the limit of open files is too low");
    assert_eq!(why, exit == 3, "{told}");
}
