//! Targets with several programs: an error of one of them is reported with its name and its last lines.

use std::{collections::BTreeSet, fs, path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use baton::{
    implementation::{Described, Reference, TargetFileError},
    load::{self, Suite},
    options::RunOptions,
    run,
};
use baton_cluster::{
    fleet::Fleet,
    runner::{Ended, Running, Target, TargetError},
};
use baton_core::{
    case::model::ControllerSetup,
    event::{CaseOutcome, CaseResult},
    names::Feature,
};
use rstest::rstest;
use tokio::time::Instant;

use crate::common::roots;

/// Reads a target file with this text below `spec`.
fn described(folder: &Path, rest: &str) -> Result<Described, TargetFileError> {
    let file = folder.join("target.yaml");
    let text = format!(
        "apiVersion: baton.dev/v1alpha1\nkind: Target\nmetadata: {{name: t}}\nspec:\n  implementation: {{name: T, version: '1'}}\n  features: [Propagation, StatePreservation, LabelInjection, PurgeDirectly, NoExecuteEviction]\n  controller: {{featureGates: {{Failover: true, StatefulFailoverInjection: true}}}}\n{rest}"
    );
    fs::write(&file, text).unwrap();
    let suite = Suite::load(&roots()).unwrap();
    let spec = load::target(&roots(), &file, &suite).unwrap_or_else(|error| panic!("{error:?}"));
    Described::new(spec)
}

/// Runs a case against a controller that waits, and a webhook that is this script.
fn with_webhook(script: &str, ready: &str) -> CaseResult {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("webhook.sh"), script).unwrap();
    let rest = format!(
        "  timeouts: {{ready: 500ms}}\n  run:\n    exec:\n    - {{name: webhook, part: api, command: sh, args: [{script}], {ready}}}\n    - {{name: manager, command: sleep, args: ['600']}}\n",
        script = folder.path().join("webhook.sh").display(),
    );
    let target = described(folder.path(), &rest).unwrap();
    let suite = Suite::select(&roots(), &["deployment-directly".to_owned()]).unwrap();
    let settings = RunOptions {
        timelines: Some(folder.path().to_owned()),
        ..RunOptions::new(roots())
    };
    let settings = settings.with_target(target).unwrap();
    run::run_case(&suite.cases[0], &settings, &|_| {})
}

#[rstest]
#[case::exits_at_once("echo no such flag >&2; exit 3", "webhook, exit status: 3", "no such flag")]
#[case::writes_to_a_closed_pipe("echo going; kill -s PIPE $$", "webhook, signal: 13 (SIGPIPE)", "going")]
#[case::is_never_ready(
    "echo waiting; exec sleep 600",
    "webhook has not become ready within 500ms",
    "waiting"
)]
fn a_program_that_does_not_come_to_run_is_named_with_its_last_lines(
    #[case] script: &str,
    #[case] what: &str,
    #[case] said: &str,
) {
    let result = with_webhook(script, "ready: 'http://127.0.0.1:{{port.webhook}}/readyz'");
    let CaseOutcome::Broken { reason } = &result.outcome else {
        panic!("{:?}", result.outcome)
    };
    assert!(reason.contains(what), "{reason}");
    assert!(reason.contains(said), "{reason}");
}

#[test]
fn one_that_ends_while_the_members_are_not_ready_yet_is_named_too() {
    let result = with_webhook("echo bye; sleep 0.1; exit 4", "env: {A: b}");
    let CaseOutcome::Broken { reason } = &result.outcome else {
        panic!("{:?}", result.outcome)
    };
    assert!(
        reason.contains("webhook, exit status: 4") && reason.contains("bye"),
        "{reason}"
    );
}

/// The reference controller, next to a program that exits after 100 seconds.
#[derive(Debug)]
struct OnSand {
    environment: bool,
}

struct Sand {
    until: Instant,
    environment: bool,
}

#[async_trait]
impl Target for OnSand {
    fn name(&self) -> &'static str {
        "a controller on sand"
    }

    fn features(&self) -> BTreeSet<Feature> {
        Reference.features()
    }

    async fn start_api(
        &self,
        _: &dyn Fleet,
        _: &ControllerSetup,
        _: &Path,
    ) -> Result<Option<Box<dyn Running>>, TargetError> {
        Ok(Some(Box::new(Sand {
            until: Instant::now() + Duration::from_secs(100),
            environment: self.environment,
        })))
    }

    async fn start(
        &self,
        fleet: &dyn Fleet,
        setup: &ControllerSetup,
        log: &Path,
    ) -> Result<Box<dyn Running>, TargetError> {
        Reference.start(fleet, setup, log).await
    }
}

#[async_trait]
impl Running for Sand {
    async fn ended(&mut self) -> Ended {
        tokio::time::sleep_until(self.until).await;
        Ended {
            status: "etcd, exit status: 1".to_owned(),
            last_lines: vec!["disk full".to_owned()],
            environment: self.environment,
        }
    }

    async fn stop(self: Box<Self>) {}
}

fn run_on_sand(environment: bool) -> CaseOutcome {
    let folder = tempfile::tempdir().unwrap();
    let suite = Suite::select(&roots(), &["tolerated-for-ever-exists".to_owned()]).unwrap();
    let settings = RunOptions {
        target: Arc::new(OnSand { environment }),
        timelines: Some(folder.path().to_owned()),
        ..RunOptions::new(roots())
    };
    run::run_case(&suite.cases[0], &settings, &|_| {}).outcome
}

#[test]
fn what_the_target_needs_breaks_the_environment_when_it_ends_and_a_part_of_the_target_deviates() {
    let CaseOutcome::Broken { reason } = run_on_sand(true) else {
        panic!("etcd is not under test")
    };
    let told = "the environment broke during the run: etcd, exit status: 1\nits last lines:\n  disk full";
    assert_eq!(reason, told);
    let CaseOutcome::Deviates { verdict, .. } = run_on_sand(false) else {
        panic!("a webhook of the implementation is under test")
    };
    assert!(verdict.findings[0].seen.contains("etcd, exit status: 1"), "{verdict:?}");
}

#[test]
fn a_program_that_is_not_there_is_found_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let two = |command: &str| {
        let rest =
            format!("  run:\n    exec:\n    - {{command: sleep}}\n    - {{command: '{command}', install: build it}}\n");
        described(folder.path(), &rest).unwrap_err()
    };
    let missing = two("./no-such-program");
    assert_eq!(
        missing.to_string(),
        "the command ./no-such-program of the target was not found"
    );
    assert!(
        missing.help().ends_with("no-such-program; build it"),
        "{}",
        missing.help()
    );
    let unset = two("{{env.BATON_TEST_THAT_NOBODY_SETS}}/program");
    assert_eq!(
        unset.to_string(),
        "the environment variable BATON_TEST_THAT_NOBODY_SETS is not set, and the target file says \
         {{env.BATON_TEST_THAT_NOBODY_SETS}}/program"
    );
    assert_eq!(unset.help(), "build it");
}

/// Returns the error about the definitions below a folder.
fn told_of(folder: &Path, place: &str) -> String {
    let rest = format!("  controlPlane: {{definitions: '{place}'}}\n  run: {{exec: {{command: sleep}}}}\n");
    let told = described(folder, &rest).err().map(|error| error.to_string());
    let folder = folder.display().to_string();
    told.unwrap_or_default().replace(&folder, "")
}

#[test]
fn definitions_that_cannot_serve_are_told_with_file_and_reason() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("crds");
    let none = told_of(folder.path(), "crds");
    assert!(
        none.starts_with("/crds cannot serve as the target's definitions: No such file"),
        "{none}"
    );
    fs::create_dir(&place).unwrap();
    fs::write(place.join("readme.txt"), "nothing").unwrap();
    let empty = told_of(folder.path(), "crds");
    assert!(
        empty.ends_with("/crds cannot serve as the target's definitions: no CustomResourceDefinition is there"),
        "{empty}"
    );
    let crds = roots().path("fixtures/crds");
    for file in fs::read_dir(&crds).unwrap() {
        let file = file.unwrap().path();
        fs::copy(&file, place.join(file.file_name().unwrap())).unwrap();
    }
    assert_eq!(told_of(folder.path(), "crds"), "", "those of the repository serve");
    let works = place.join("works.work.karmada.io.yaml");
    let text = fs::read_to_string(&works).unwrap();
    fs::write(&works, text.replace("scope: Namespaced", "scope: Everywhere")).unwrap();
    let refused = told_of(folder.path(), "crds");
    assert!(
        refused.starts_with("/crds/works.work.karmada.io.yaml cannot serve") && refused.contains("spec.scope"),
        "{refused}"
    );
    fs::write(&works, "a: [").unwrap();
    let broken = told_of(folder.path(), "crds");
    assert!(
        broken.starts_with("/crds/works.work.karmada.io.yaml cannot serve"),
        "{broken}"
    );
    fs::remove_file(&works).unwrap();
    let lacking = told_of(folder.path(), "crds");
    assert!(
        lacking.ends_with("no definition of Work, which the cases need"),
        "{lacking}"
    );
}
