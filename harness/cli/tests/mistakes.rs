//! Mistakes in cases: what `baton lint` finds offline, all at once, with file, line and what is expected; and what an API
//! server refuses when the case runs.

#![expect(clippy::unwrap_used, reason = "what fails here fails a test")]

use std::{fs, path::Path, process::Command};

/// A folder with these files and nothing else.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    folder
}

/// Its exit code, standard output and standard error, run in a folder.
fn lint(folder: &Path) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
    let output = command
        .args(["lint", "cases/mine"])
        .current_dir(folder)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

const HEAD: &str = "\
apiVersion: baton.dev/v1alpha1
kind: Case
metadata: {name: mine}
spec:
  title: A case with mistakes
  controller: {featureGates: {Failover: true, StatefulFailoverInjection: true}}
  steps:
    - apply: {on: control, file: workloads/deploy.yaml}
";

const TAIL: &str = "    - assert: {mode: eventually, of: {bindingOf: {kind: Deployment, name: deploy}}, present: true, proves: [POL-01]}\n";

fn case(steps: &str) -> String {
    format!("{HEAD}{steps}{TAIL}")
}

#[test]
fn objects_are_held_against_their_definitions() {
    let steps = r#"    - apply: {on: control, file: mine/policies.yaml}
    - apply:
        on: control
        resource:
          apiVersion: policy.karmada.io/v1alpha1
          kind: ClusterTaintPolicy
          metadata: {name: taints}
          spec:
            addOnConditions: [{conditionType: Ready, operator: In, statusValues: ["False"]}]
            taints: [{key: baton.dev/failed, effect: NoExec}]
    - patch:
        on: control
        of: {kind: PropagationPolicy, name: policy}
        merge: {spec: {failover: {cluster: {purgMode: Directly}}}}
"#;
    let policies = r#"# The first is fine.
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: fine}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: deploy}]
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: policy}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: deploy}]
  propagateDeps: "yes"
  placement: {clusterAffinity: {clusterName: [member1, member2]}}
  failover:
    cluster:
      purgeMode: Directli
      statePreservation:
        rules:
          - {aliasLabelName: "baton dev/state", jsonPath: .replicas}
          - {aliasLabelName: baton.dev/state}
"#;
    let folder = folder(&[
        ("cases/mine/mine.yaml", &case(steps)),
        ("fixtures/mine/policies.yaml", policies),
    ]);
    let (code, told, error) = lint(folder.path());
    assert_eq!((code, told.as_str()), (Some(2), ""), "{error}");
    insta::assert_snapshot!(error);
}

#[test]
fn what_can_come_to_nothing_is_told() {
    let steps = r"    - apply:
        on: control
        resource: {apiVersion: example.com/v1, kind: Queue, metadata: {name: queue}}
    - apply:
        on: control
        resource:
          apiVersion: policy.karmada.io/v1alpha1
          kind: PropagationPolicy
          metadata: {name: policy}
          spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: deplo}]}
    - assert: {mode: now, of: {kind: ConfigMap, name: settings}, on: control, absent: true}
";
    let folder = folder(&[("cases/mine/mine.yaml", &case(steps))]);
    let (code, told, error) = lint(folder.path());
    assert_eq!((code, told.as_str()), (Some(0), "1 case without errors\n"), "{error}");
    insta::assert_snapshot!(error);
}

#[test]
fn a_failover_that_nothing_switches_on_is_told() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
    let folder = tempfile::tempdir().unwrap();
    let made = command
        .args(["case", "new", "mine/first"])
        .current_dir(folder.path())
        .status()
        .unwrap();
    assert!(made.success());
    let file = folder.path().join("cases/mine/first.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let gates = "  controller: {featureGates: {Failover: true, StatefulFailoverInjection: true}}\n";
    assert!(text.contains(gates));
    fs::write(&file, text.replace(gates, "")).unwrap();
    let (code, _, error) = lint(folder.path());
    assert_eq!(code, Some(0));
    insta::assert_snapshot!(error);
}

/// The operator's definition of a FlinkDeployment spells a field in one way, the documents of failover in another.
#[test]
fn a_path_of_another_spelling_is_told() {
    let told = |definition: &str, path: &str| {
        let steps = format!(
            r#"    - apply: {{on: [control, members], file: flink/{definition}.yaml}}
    - apply: {{on: control, file: flink/foo.yaml}}
    - apply:
        on: control
        resource:
          apiVersion: policy.karmada.io/v1alpha1
          kind: PropagationPolicy
          metadata: {{name: policy}}
          spec:
            resourceSelectors: [{{apiVersion: flink.apache.org/v1beta1, kind: FlinkDeployment, name: foo}}]
            failover: {{cluster: {{statePreservation: {{rules: [{{aliasLabelName: a/b, jsonPath: "{path}"}}]}}}}}}
"#
        );
        let folder = folder(&[("cases/mine/mine.yaml", &case(&steps))]);
        let (code, _, error) = lint(folder.path());
        assert_eq!(code, Some(0), "{error}");
        let about_fields = error
            .lines()
            .filter(|line| line.contains("of a FlinkDeployment") || line.contains("did you mean"));
        about_fields.map(str::trim).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(told("crd", "{ .jobStatus.jobId }"), @"
    ! the path `{ .jobStatus.jobId }` matches nothing: the status of a FlinkDeployment has no `jobStatus.jobId`
    help: did you mean `jobID`?
    ");
    insta::assert_snapshot!(told("crd-of-operator", "{ .jobStatus.jobID }"), @"
    ! the path `{ .jobStatus.jobID }` matches nothing: the status of a FlinkDeployment has no `jobStatus.jobID`
    help: did you mean `jobId`?
    ");
    assert_eq!(told("crd", "{ .jobStatus.jobID }"), "");
    assert_eq!(told("crd-of-operator", "{ .jobStatus.jobId }"), "");
}

/// Runs one case and gives its exit code and what it says of the failure.
fn run(steps: &str) -> (Option<i32>, String) {
    let folder = folder(&[("cases/mine/mine.yaml", &case(steps))]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
    let state = folder.path().join("state");
    let output = command
        .args(["run", "mine"])
        .current_dir(folder.path())
        .env("XDG_STATE_HOME", state)
        .output()
        .unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    let failure = told.lines().skip_while(|line| !line.starts_with("---"));
    let ends = |line: &&str| line.starts_with("full timeline") || line.starts_with("0 conform");
    let failure = failure.take_while(|line| !ends(line));
    (output.status.code(), failure.collect::<Vec<_>>().join("\n"))
}

#[test]
fn what_the_api_refuses_is_an_error_in_the_case() {
    let (code, told) = run(r"    - apply:
        on: control
        resource:
          apiVersion: apps/v1
          kind: Deployment
          metadata: {name: wrong}
          spec: {replicas: -1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: c}}, spec: {containers: []}}}
");
    assert_eq!(code, Some(3), "{told}");
    insta::assert_snapshot!(told);
}

#[test]
fn a_kind_that_nobody_has_defined_is_named() {
    let (code, told) = run(r"    - apply:
        on: control
        resource: {apiVersion: example.com/v1, kind: Queue, metadata: {name: queue}}
");
    assert_eq!(code, Some(3), "{told}");
    insta::assert_snapshot!(told);
}

#[test]
fn what_is_not_there_is_told_in_the_words_of_the_api() {
    let (code, told) = run(
        r"    - setStatus: {on: control, of: {kind: Deployment, name: nobody}, status: {replicas: 1}}
",
    );
    assert_eq!(code, Some(1), "{told}");
    insta::assert_snapshot!(told);
}
