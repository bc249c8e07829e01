//! Mistakes in cases: `baton lint` finds them offline, all at once, with file, line and remedy; an API server refuses
//! the others when the case runs.

use std::{fs, path::Path};

use crate::common::{baton_in, outcome};

/// A folder with these files and nothing else.
pub fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    folder
}

/// Runs `baton lint` in a folder; returns its exit code, standard output and standard error.
fn lint(folder: &Path) -> (Option<i32>, String, String) {
    outcome(&baton_in(folder, &["lint", "cases/mine"]).output().unwrap())
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

pub fn case(steps: &str) -> String {
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
    - apply:
        on: control
        resource:
          apiVersion: config.karmada.io/v1alpha1
          kind: ResourceInterpreterCustomization
          metadata: {name: health}
          spec:
            target: {apiVersion: apps/v1, kind: Deployment}
            customizations:
              healthInterpretation:
                luaScript: |
                  function InterpretHealth(observedObj) {
                    return true
                  }
    - assert: {mode: now, of: {kind: ConfigMap, name: settings}, on: control, absent: true}
    - assert:
        mode: now
        of: {kind: Deployment, name: deploy}
        on: control
        match: {spec: {template: {spec: {containers: {contains: [{env: {contains: [{name: MODE, value: fast}]}}]}}}}}
";
    let folder = folder(&[("cases/mine/mine.yaml", &case(steps))]);
    let (code, told, error) = lint(folder.path());
    assert_eq!((code, told.as_str()), (Some(0), "1 case without errors\n"), "{error}");
    insta::assert_snapshot!(error);
}

#[test]
fn a_failover_that_nothing_switches_on_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let made = baton_in(folder.path(), &["case", "new", "mine/first"]).status();
    assert!(made.unwrap().success());
    let file = folder.path().join("cases/mine/first.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let gates = "  controller: {featureGates: {Failover: true, StatefulFailoverInjection: true}}\n";
    assert!(text.contains(gates));
    fs::write(&file, text.replace(gates, "")).unwrap();
    let (code, _, error) = lint(folder.path());
    assert_eq!(code, Some(0));
    insta::assert_snapshot!(error);
}

/// Lints a case with these steps; returns its exit code, and the messages with their remedies.
fn messages(steps: &str) -> (Option<i32>, Vec<String>) {
    let folder = folder(&[("cases/mine/mine.yaml", &case(steps))]);
    let (code, _, error) = lint(folder.path());
    let is_told = |line: &&str| ["x ", "! "].iter().any(|it| line.starts_with(it));
    let told = error.lines().map(str::trim).filter(is_told);
    (code, told.map(|line| line[2..].to_owned()).collect())
}

#[test]
fn matchers_that_hold_for_anything_or_for_nothing_are_told() {
    let of_deployment = |mode: &str, pattern: &str| {
        format!(
            "    - assert: {{mode: {mode}, on: control, of: {{kind: Deployment, name: deploy}}, match: {pattern}}}\n"
        )
    };
    let time = "{metadata: {creationTimestamp: {after: {time: '2026-01-01T00:00:00Z', atLeast: 3s, atMost: 2s}}}}";
    for (pattern, expected) in [
        ("{}", "an empty pattern matches any object"),
        (
            "{spec: {replicas: {atLeast: 5, atMost: 2}}}",
            "spec.replicas: `atLeast` is the name of a field here: a matcher is the only key of its map",
        ),
        (
            "{spec: {replicas: {oneOf: []}}}",
            "spec.replicas: `oneOf: []` matches nothing",
        ),
        (
            "{metadata: {finalizers: {contains: []}}}",
            "metadata.finalizers: `contains: []` matches any list",
        ),
        (
            "{metadata: {finalizers: {lacks: []}}}",
            "metadata.finalizers: `lacks: []` matches any list",
        ),
        (
            "{metadata: {uid: {mentions: []}}}",
            "metadata.uid: `mentions: []` matches anything",
        ),
        (time, "metadata.creationTimestamp: no time meets both bounds of `after`"),
        (
            "{spec: {replicas: {atLeast: many}}}",
            "spec.replicas: `atLeast` is the name of a field here: the matcher does not take this argument",
        ),
        (
            "{spec: {replicas: {atleast: 1}}}",
            "spec.replicas: `atleast` is the name of a field here; did you mean the matcher `atLeast`?",
        ),
        (
            "{spec: {replicas: {presnt: true}}}",
            "spec.replicas: `presnt` is the name of a field here; did you mean the matcher `present`?",
        ),
    ] {
        for mode in ["now", "never"] {
            let (code, told) = messages(&of_deployment(mode, pattern));
            assert_eq!((code, told), (Some(0), vec![expected.to_owned()]), "{mode} {pattern}");
        }
    }
    let right = "{metadata: {finalizers: {exactly: []}}, spec: {replicas: {oneOf: [1, 2]}}}";
    assert_eq!(messages(&of_deployment("now", right)), (Some(0), Vec::new()));
}

/// An assertion that such an object never has a label holds whatever the implementation does.
#[test]
fn objects_that_no_step_creates_are_told_once() {
    let of = |name: &str| {
        format!(
            "    - assert: {{mode: never, on: control, of: {{kind: Deployment, name: {name}}}, match: {{metadata: {{labels: {{a: b}}}}}}}}\n"
        )
    };
    let (code, told) = messages(&[of("depoly"), of("depoly"), of("deploy")].concat());
    assert_eq!(
        (code, told),
        (Some(0), vec!["no step creates the Deployment `depoly`".to_owned()])
    );
    // The case creates no object of this kind: the implementation may create the one that it looks for.
    let foreign = "    - assert: {mode: never, on: control, of: {kind: StatefulSet, name: other}, match: {metadata: {labels: {a: b}}}}\n";
    assert_eq!(messages(foreign), (Some(0), Vec::new()));
}

#[test]
fn names_that_no_api_accepts_are_told() {
    let (code, told) = messages(
        r"    - apply:
        on: control
        resource:
          apiVersion: v1
          kind: ConfigMap
          metadata: {name: My_Config, labels: {a b: c, path: 's3://bucket'}}
",
    );
    assert_eq!(code, Some(2), "{told:?}");
    let beginnings = [
        "`My_Config` is not a valid name of a ConfigMap: ",
        "`a b` is not the key of a label: ",
        "`s3://bucket` is not a valid label value",
    ];
    assert_eq!(told.len(), beginnings.len(), "{told:?}");
    for beginning in beginnings {
        assert!(told.iter().any(|message| message.starts_with(beginning)), "{told:?}");
    }
    let (code, told) = messages(
        r"    - bindRole: {role: origin, from: {kind: Deployment, name: Deploy}}
    - assert:
        mode: eventually
        on: origin
        of: {kind: Deployment, name: deploy}
        match: {metadata: {labels: {'a/b/c': {present: true}, path: 's3://bucket'}}}
",
    );
    assert_eq!(code, Some(0), "{told:?}");
    for beginning in [
        "no Deployment has the name `Deploy`: ",
        "no object has the label `a/b/c`: ",
        "no label has the value `s3://bucket`",
    ] {
        assert!(told.iter().any(|message| message.starts_with(beginning)), "{told:?}");
    }
}

#[test]
fn ends_of_faults_that_did_not_begin_are_told() {
    let start = "    - controller: start\n";
    let (code, told) = messages(start);
    assert_eq!((code, told.len()), (Some(0), 1), "{told:?}");
    assert!(
        told[0].starts_with("`controller: start` does nothing: no step before it is "),
        "{told:?}"
    );
    assert_eq!(
        messages(&format!("    - controller: stop\n{start}")),
        (Some(0), Vec::new())
    );
}

#[test]
fn a_step_on_no_cluster_is_an_error() {
    let (code, told) = messages("    - apply: {on: [], file: workloads/job.yaml}\n");
    assert_eq!(code, Some(2), "{told:?}");
    assert_eq!(told, ["`on` names no cluster: the step would do nothing"]);
}

#[test]
fn keys_in_a_filter_are_checked() {
    let path = |key: &str| format!("{{ .conditions[?(@.{key}=='Available')].status }}");
    let (code, told) = messages(&failover(ONE, &path("typ")));
    let end = "matches nothing: the status of a Deployment has no `conditions[].typ`";
    assert_eq!((code, told.len()), (Some(0), 1), "{told:?}");
    assert!(told[0].ends_with(end), "{told:?}");
    assert_eq!(messages(&failover(ONE, &path("type"))), (Some(0), Vec::new()));
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

/// Runs one case; returns its exit code and the description of the failure.
fn run(steps: &str) -> (Option<i32>, String) {
    let (code, told, _) = run_case(&case(steps));
    let failure = told.lines().skip_while(|line| !line.starts_with("---"));
    let ends = |line: &&str| line.starts_with("full timeline") || line.starts_with("0 conform");
    let failure = failure.take_while(|line| !ends(line));
    (code, failure.collect::<Vec<_>>().join("\n"))
}

/// Runs a case; returns its exit code, standard output and standard error.
fn run_case(case: &str) -> (Option<i32>, String, String) {
    let folder = folder(&[("cases/mine/mine.yaml", case)]);
    outcome(&baton_in(folder.path(), &["run", "mine"]).output().unwrap())
}

/// Steps that let a Deployment fail over under this policy.
fn failover(placement: &str, path: &str) -> String {
    format!(
        r#"    - apply:
        on: control
        resource:
          apiVersion: policy.karmada.io/v1alpha1
          kind: PropagationPolicy
          metadata: {{name: policy}}
          spec:
            resourceSelectors: [{{apiVersion: apps/v1, kind: Deployment, name: deploy}}]
            placement: {{{placement}}}
            failover: {{cluster: {{purgeMode: Directly, statePreservation: {{rules: [{{aliasLabelName: a/b, jsonPath: "{path}"}}]}}}}}}
    - bindRole: {{role: origin, from: {{kind: Deployment, name: deploy}}}}
    - taint: {{cluster: origin, key: a/b, effect: NoExecute}}
    - bindRole: {{role: destination, from: {{kind: Deployment, name: deploy}}, not: origin}}
"#
    )
}

/// Runs a case and returns the causes in its output: in the failure, and in a warning before it.
fn causes(case: &str) -> String {
    let (code, told, error) = run_case(case);
    assert_eq!(code, Some(1), "{told}{error}");
    let of_failure = told.lines().filter(|line| line.starts_with("likely cause"));
    let warnings = error.lines().filter(|line| line.contains('!') || line.contains("help"));
    let all = of_failure.chain(warnings).map(str::trim);
    all.collect::<Vec<_>>().join("\n")
}

const ONE: &str = "spreadConstraints: [{spreadByField: cluster, minGroups: 1, maxGroups: 1}]";

#[test]
fn the_likely_cause_of_a_failure_is_told() {
    let mistyped = case(&failover(ONE, "{ .readyReplica }"));
    insta::assert_snapshot!(causes(&mistyped), @"
    likely cause: Warning EvictWorkloadFromClusterFailed: eviction from member1 waits: rule a/b with path { .readyReplica }: the path matches nothing in the status: readyReplica is not found (column 3); did you mean `readyReplicas`?
    ! the path `{ .readyReplica }` matches nothing: the status of a Deployment has no `readyReplica`
    help: did you mean `readyReplicas`?
    ");
    let tolerated = "clusterTolerations: [{key: a/b, operator: Exists, effect: NoExecute, tolerationSeconds: 300}]";
    insta::assert_snapshot!(causes(&case(&failover(&format!("{ONE}, {tolerated}"), "{ .replicas }"))), @"likely cause: the taint a/b on member1 is tolerated for 300 s: let that time pass with `elapse`");
    insta::assert_snapshot!(causes(&case(&failover("clusterAffinity: {clusterNames: [member1, member2]}", "{ .replicas }"))), @"likely cause: ResourceBinding deploy-deployment is scheduled to member1 and member2: if one cluster is intended, set `spreadConstraints` in the policy");
    let own_kind = r"    - apply:
        on: [control, members]
        resource:
          apiVersion: apiextensions.k8s.io/v1
          kind: CustomResourceDefinition
          metadata: {name: sparkapplications.example.org}
          spec:
            group: example.org
            scope: Namespaced
            names: {kind: SparkApplication, plural: sparkapplications, singular: sparkapplication, listKind: SparkApplicationList}
            versions:
              - name: v1
                served: true
                storage: true
                subresources: {status: {}}
                schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
    - apply: {on: control, resource: {apiVersion: example.org/v1, kind: SparkApplication, metadata: {name: spark}}}
    - apply:
        on: control
        resource:
          apiVersion: policy.karmada.io/v1alpha1
          kind: PropagationPolicy
          metadata: {name: policy}
          spec:
            resourceSelectors: [{apiVersion: example.org/v1, kind: SparkApplication, name: spark}]
            placement: {spreadConstraints: [{spreadByField: cluster, minGroups: 1, maxGroups: 1}]}
    - bindRole: {role: origin, from: {kind: SparkApplication, name: spark}}
    - wait: {for: statusCollected, of: {kind: SparkApplication, name: spark}, from: origin, status: {state: RUNNING}}
";
    insta::assert_snapshot!(causes(&case(own_kind)), @"likely cause: the status of SparkApplication spark on member1 is empty: neither `setStatus` nor a rule of the workload simulator has written it");
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
