//! Targets that are separate programs, on embedded clusters with ports, in real time.

use std::{collections::BTreeSet, fs, path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use baton::{
    implementation::{Described, Reference, TargetFileError},
    load::{self, Suite},
    options::RunOptions,
    run,
};
use baton_cluster::{
    fleet::{Backend as _, Fleet, Request, TargetLocation, TimeMode, embedded::InProcess},
    runner::{Ended, Running, Target, TargetError},
};
use baton_core::{
    case::model::ControllerSetup,
    event::{CaseOutcome, CaseResult},
    implementation::{Exec, Launch, TargetSpec},
    names::Feature,
};
use tokio::time::Instant;

use crate::common::{baton, roots};

/// Returns the target of `fixtures/targets/reference.yaml`, with a shell script in place of its command.
fn script(folder: &Path, text: &str) -> TargetSpec {
    let suite = Suite::load(&roots()).unwrap();
    let spec = load::target(&roots(), &roots().path("fixtures/targets/reference.yaml"), &suite).unwrap();
    let file = folder.join("target.sh");
    fs::write(&file, text).unwrap();
    let Launch::Exec(mut programs) = spec.run else {
        panic!("the reference target is a command")
    };
    let exec = programs.remove(0);
    let args = [file.display().to_string(), "{{control_kubeconfig}}".to_owned()];
    let args = args.map(|arg| baton_core::implementation::template::Template::parse(&arg).unwrap());
    TargetSpec {
        run: Launch::Exec(vec![Exec {
            command: baton_core::implementation::template::Template::parse("sh").unwrap(),
            args: args.into(),
            // It serves no webhook.
            ready: None,
            ..exec
        }]),
        ..spec
    }
}

fn run(spec: TargetSpec, timelines: &Path) -> CaseResult {
    let suite = Suite::select(&roots(), &["deployment-directly".to_owned()]).unwrap();
    let settings = RunOptions {
        timelines: Some(timelines.to_owned()),
        ..RunOptions::new(roots())
    };
    let settings = settings.with_target(Described::new(spec).unwrap()).unwrap();
    run::run_case(&suite.cases[0], &settings, &|_| {})
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn the_minimal_implementation_of_the_contract_passes_the_first_case() {
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        println!("not tried: there is no python3 here");
        return;
    }
    let suite = Suite::load(&roots()).unwrap();
    let spec = load::target(&roots(), &roots().path("fixtures/targets/minimal.yaml"), &suite).unwrap();
    let folder = folder();
    let result = run(spec, folder.path());
    assert!(
        matches!(result.outcome, CaseOutcome::Conforms(_)),
        "{:?}",
        result.outcome
    );
}

#[test]
fn a_target_that_ends_at_once_is_told_with_its_last_lines() {
    let folder = folder();
    let spec = script(folder.path(), "echo \"no such gate: Failovr\" >&2\nexit 3\n");
    let result = run(spec, folder.path());
    let CaseOutcome::Broken { reason } = &result.outcome else {
        panic!("{:?}", result.outcome)
    };
    assert!(reason.contains("ended unexpectedly: exit status: 3"), "{reason}");
    assert!(reason.contains("no such gate: Failovr"), "{reason}");
    let log = fs::read_to_string(result.log.unwrap()).unwrap();
    assert_eq!(log, "no such gate: Failovr\n");
}

#[test]
fn a_target_that_never_becomes_ready_is_told_with_its_last_lines() {
    let folder = folder();
    let mut spec = script(folder.path(), "echo waiting for a lease\nexec sleep 600\n");
    spec.timeouts.ready = Some(Duration::from_millis(300));
    let result = run(spec, folder.path());
    let CaseOutcome::Broken { reason } = &result.outcome else {
        panic!("{:?}", result.outcome)
    };
    assert!(
        reason.contains("has not reported all members Ready within 300ms"),
        "{reason}"
    );
    assert!(reason.contains("waiting for a lease"), "{reason}");
}

#[test]
fn a_command_that_is_not_there_is_found_before_anything_runs() {
    let suite = Suite::load(&roots()).unwrap();
    let mut spec = load::target(&roots(), &roots().path("fixtures/targets/reference.yaml"), &suite).unwrap();
    if let Launch::Exec(programs) = &mut spec.run {
        programs[0].command = baton_core::implementation::template::Template::parse("no-such-controller").unwrap();
    }
    let error = Described::new(spec).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the command no-such-controller of the target was not found"
    );
    let help = "looked beside baton and on PATH; `cargo build -p baton-controller` puts it beside baton";
    assert_eq!(error.help(), help);
}

#[test]
fn a_command_beside_the_target_file_is_written_as_a_path() {
    let suite = Suite::load(&roots()).unwrap();
    let mut spec = load::target(&roots(), &roots().path("fixtures/targets/reference.yaml"), &suite).unwrap();
    if let Launch::Exec(programs) = &mut spec.run {
        programs[0].command = baton_core::implementation::template::Template::parse("minimal.yaml").unwrap();
    }
    let error = Described::new(spec).unwrap_err();
    let told = "write `./minimal.yaml` for the one beside the target file";
    assert!(error.help().contains(told), "{}", error.help());
}

#[test]
fn nothing_is_installed_on_clusters_that_begin_empty() {
    let suite = Suite::load(&roots()).unwrap();
    let spec = load::target(&roots(), &roots().path("fixtures/targets/karmada.yaml"), &suite).unwrap();
    let error = RunOptions::new(roots())
        .with_target(Described::new(spec).unwrap())
        .unwrap_err();
    assert!(matches!(error, TargetFileError::NothingInstalled));
}

/// The built-in controller, with baseline entries for defects that it does not have.
#[test]
fn an_entry_of_the_baseline_that_no_case_shows_any_more_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target.yaml");
    let entry = |case: &str| {
        format!(
            "    - {{requirement: REC-01, field: \"metadata.labels[]\", difference: missing, reason: once, cases: [{case}]}}\n"
        )
    };
    let baseline = format!(
        "  baseline:\n{}{}",
        entry("deployment-directly"),
        entry("statefulset-directly")
    );
    let features = "Propagation, StatePreservation, LabelInjection, NoExecuteEviction, PurgeDirectly";
    let head = format!(
        "apiVersion: baton.dev/v1alpha1\nkind: Target\nmetadata: {{name: target}}\nspec:\n  implementation: {{name: x, \
         version: y}}\n  features: [{features}]\n  run: {{reference: {{}}}}\n"
    );
    fs::write(&target, format!("{head}{baseline}")).unwrap();
    let line = head.lines().count() + 2;
    let ran = baton(&["run", "--target"])
        .arg(&target)
        .args(["deployment-directly", "longest-label-value"])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ran.stderr);
    let stale: Vec<&str> = told.lines().filter(|line| line.contains("in the baseline")).collect();
    let expected = format!(
        "error: {}:{line}: REC-01 (metadata.labels[]) is in the baseline, but no case shows it any more; remove the entry",
        target.display()
    );
    assert_eq!(
        stale,
        [expected],
        "the other entry is about a case that was not run: {told}"
    );
    assert_eq!(ran.status.code(), Some(1));
}

/// The reference controller, but gone after 100 seconds.
#[derive(Debug)]
struct Mortal;

struct Dying(Box<dyn Running>, Instant);

#[async_trait]
impl Target for Mortal {
    fn name(&self) -> &'static str {
        "a controller that crashes"
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
        let running = Reference.start(fleet, setup, log).await?;
        Ok(Box::new(Dying(running, Instant::now() + Duration::from_secs(100))))
    }
}

#[async_trait]
impl Running for Dying {
    async fn ended(&mut self) -> Ended {
        tokio::time::sleep_until(self.1).await;
        Ended {
            status: "signal: 11 (SIGSEGV)".to_owned(),
            last_lines: Vec::new(),
            environment: false,
        }
    }

    async fn stop(self: Box<Self>) {
        self.0.stop().await;
    }
}

#[test]
fn a_target_that_crashes_while_a_case_runs_is_noticed_at_once_and_deviates() {
    let folder = folder();
    let suite = Suite::select(&roots(), &["tolerated-for-ever-exists".to_owned()]).unwrap();
    let settings = RunOptions {
        target: Arc::new(Mortal),
        timelines: Some(folder.path().to_owned()),
        ..RunOptions::new(roots())
    };
    let result = run::run_case(&suite.cases[0], &settings, &|_| {});
    let CaseOutcome::Deviates { verdict, .. } = &result.outcome else {
        panic!("{:?}", result.outcome)
    };
    let seen: Vec<_> = verdict.findings.iter().map(|finding| finding.seen.as_str()).collect();
    assert_eq!(seen, ["it ended unexpectedly: signal: 11 (SIGSEGV)"]);
    assert_eq!(verdict.findings[0].at, Duration::from_secs(100));
    assert!(verdict.shown.is_empty(), "{:?}", verdict.shown);
}

/// A program that prints everything that it was given, and crashes.
#[test]
fn what_a_target_writes_is_kept_without_secrets() {
    let folder = folder();
    let text = "echo \"--api-token=canary $API_TOKEN\" | sed 's/ / token: /'\ncat \"$1\"\nexit 3\n";
    let mut spec = script(folder.path(), text);
    let Launch::Exec(exec) = &mut spec.run else {
        panic!("the target is a command")
    };
    let template = |text: &str| baton_core::implementation::template::Template::parse(text).unwrap();
    exec[0].env.insert("API_TOKEN".to_owned(), template("canary"));
    exec[0].args.push(template("--password=canary"));
    let result = run(spec, folder.path());
    let CaseOutcome::Broken { reason } = &result.outcome else {
        panic!("{:?}", result.outcome)
    };
    let log = fs::read_to_string(result.log.unwrap()).unwrap();
    assert!(log.starts_with("--api-token=<redacted>"), "{log}");
    for secret in ["token: ", "client-key-data: ", "\"token\": "] {
        let mut values = log.match_indices(secret).map(|(at, _)| &log[at + secret.len()..]);
        assert!(
            values.all(|value| value.trim_start_matches('"').starts_with("<redacted>")),
            "{log}"
        );
    }
    assert!(log.contains("server"), "the kubeconfig is not there: {log}");
    assert!(!log.contains("canary") && !reason.contains("canary"), "{reason}");
}

/// A command that knows two gates, and reports that it is ready in place of a controller.
const CHOOSY: &str = r#"
for argument; do
  case $argument in
    *Fallover*) echo "unknown feature gate Fallover" >&2; exit 2;;
  esac
done
echo up
exec sleep 60
"#;

/// An invalid setting shows only when a program starts: the program is started with it, and its output is read.
#[tokio::test]
async fn a_command_is_heard_when_it_is_started_with_what_may_be_wrong() {
    let folder = folder();
    let suite = Suite::select(&roots(), &["unknown-is-refused-gate".to_owned()]).unwrap();
    let backend = InProcess {
        time_mode: TimeMode::Real,
        doors: true,
    };
    let request = Request {
        beside_others: false,
        rules: None,
        case: suite.cases[0].clone(),
        members: 1,
        seed: 0,
        location: TargetLocation::Beside,
        definitions: None,
    };
    let fleet = backend.fleet(&request).await.unwrap();
    let target = Described::new(script(folder.path(), CHOOSY)).unwrap();
    let log = folder.path().join("target.log");
    let with = |gate: &str| ControllerSetup {
        feature_gates: [(gate.to_owned(), true)].into(),
        ..ControllerSetup::default()
    };
    let mut refusing = target.start_to_hear(&*fleet, &with("Fallover"), &log).await.unwrap();
    let ended = refusing.ended().await.to_string();
    assert!(
        ended.contains("exit status: 2") && ended.contains("unknown feature gate Fallover"),
        "{ended}"
    );
    refusing.stop().await;
    let mut warning = target.start_to_hear(&*fleet, &with("Failover"), &log).await.unwrap();
    let said = warning.said(&["up".to_owned()], Duration::from_secs(60)).await;
    assert_eq!(said, ["up"]);
    let in_vain = warning.said(&["never".to_owned()], Duration::from_millis(10)).await;
    assert_eq!(
        in_vain,
        ["up"],
        "the lines so far are returned, although none of them is the awaited one"
    );
    warning.stop().await;
    fleet.shut_down().await.unwrap();
    assert_eq!(
        fs::read_to_string(log).unwrap(),
        "unknown feature gate Fallover
up
"
    );
}

#[test]
fn a_command_whose_file_does_not_say_how_gates_are_passed_is_not_asked() {
    let folder = folder();
    let mut spec = script(folder.path(), CHOOSY);
    let gates = ["Failover", "StatefulFailoverInjection"];
    spec.controller.feature_gates = gates.map(|gate| (gate.to_owned(), true)).into();
    spec.settable.feature_gates.clear();
    let suite = Suite::select(&roots(), &["unknown-is-refused-gate".to_owned()]).unwrap();
    let told = |spec: &TargetSpec| Described::new(spec.clone()).unwrap().cannot_take(&suite.cases[0]);
    assert_eq!(told(&spec), None);
    let Launch::Exec(exec) = &mut spec.run else {
        panic!("the target is a command")
    };
    exec[0].feature_gates = None;
    let reason = told(&spec).unwrap();
    assert!(reason.contains("`run.exec.featureGates`"), "{reason}");
    spec.run = Launch::Installed;
    let reason = told(&spec).unwrap();
    assert!(reason.contains("it is already running"), "{reason}");
}
