//! Steps that an API server refuses: an error in the case if the object is invalid on any cluster, a deviation if only the
//! target's clusters refuse it.

use std::{fs, path::Path};

use crate::{
    common::{baton_in, outcome, root},
    mistakes::{case, folder},
};

/// Runs a case of these steps, on the built-in target or on that of a file; returns its exit code and the description
/// of the failure.
fn run(steps: &str, target: Option<&Path>) -> (Option<i32>, String) {
    let folder = folder(&[("cases/mine/mine.yaml", &case(steps))]);
    let mut command = baton_in(folder.path(), &["run", "mine", "--no-preflight"]);
    if let Some(target) = target {
        command.arg("--target").arg(target);
    }
    let (code, told, error) = outcome(&command.output().unwrap());
    let failure = told.lines().skip_while(|line| !line.starts_with("---"));
    let failure: Vec<&str> = failure.take_while(|line| !line.starts_with("0 conform")).collect();
    (code, format!("{}\n{error}", failure.join("\n")))
}

/// Lints a case of these steps; returns its exit code, and the first error with its place.
fn lint(steps: &str) -> (Option<i32>, String) {
    let folder = folder(&[("cases/mine/mine.yaml", &case(steps))]);
    let (code, _, error) = outcome(&baton_in(folder.path(), &["lint", "cases/mine"]).output().unwrap());
    let is_meant = |line: &&str| ["x ", "at "].iter().any(|begin| line.starts_with(begin));
    let told = error.lines().map(str::trim).filter(is_meant).take(2);
    (code, told.collect::<Vec<_>>().join("\n"))
}

/// A step that applies a policy with this failover.
fn policy(failover: &str) -> String {
    format!(
        "    - apply:
        on: control
        resource:
          apiVersion: policy.karmada.io/v1alpha1
          kind: PropagationPolicy
          metadata: {{name: policy}}
          spec:
            resourceSelectors: [{{apiVersion: apps/v1, kind: Deployment, name: deploy}}]
            failover: {{{failover}}}
"
    )
}

/// A part of the rule about grace periods.
const RULE: &str = "[''Gracefully'', ''Graciously'']";

/// Steps that apply the definition of a kind with a pattern and a rule, then a Queue with this `spec`.
fn queue(spec: &str) -> String {
    format!(
        r#"    - apply:
        on: [control, members]
        resource:
          apiVersion: apiextensions.k8s.io/v1
          kind: CustomResourceDefinition
          metadata: {{name: queues.example.com}}
          spec:
            group: example.com
            scope: Namespaced
            names: {{kind: Queue, plural: queues, singular: queue, listKind: QueueList}}
            versions:
              - name: v1
                served: true
                storage: true
                subresources: {{status: {{}}}}
                schema:
                  openAPIV3Schema:
                    type: object
                    properties:
                      spec:
                        type: object
                        x-kubernetes-validations: [{{rule: "self.least <= self.most", message: least is at most most}}]
                        properties: {{least: {{type: integer}}, most: {{type: integer}}, name: {{type: string, pattern: "^[a-z]+$"}}}}
                      status: {{type: object, properties: {{length: {{type: integer, maximum: 9}}}}}}
    - apply:
        on: control
        resource:
          apiVersion: example.com/v1
          kind: Queue
          metadata: {{name: queue}}
          spec: {spec}
"#
    )
}

/// Checks that a case with these steps has no verdict and that `baton lint` finds the error, both at the last line with
/// this text and with this message.
fn is_an_error_in_the_case(steps: &str, text: &str, field: &str) {
    let whole = case(steps);
    let line = 1 + whole
        .lines()
        .rev()
        .skip_while(|line| !line.contains(text))
        .skip(1)
        .count();
    let place = format!("cases/mine/mine.yaml:{line}:");
    let (code, told) = lint(steps);
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains(&place) && told.contains(field), "{place} {field}: {told}");
    let (code, told) = run(steps, None);
    assert_eq!(code, Some(3), "{told}");
    let begins = format!("error in the case: {place}");
    assert!(
        told.contains(&begins) && told.contains(field),
        "{begins} {field}: {told}"
    );
}

#[test]
fn a_policy_that_breaks_a_rule_is_an_error_in_the_case() {
    is_an_error_in_the_case(
        &policy("cluster: {purgeMode: Directly, gracePeriodSeconds: 30}"),
        "failover: {",
        "spec.failover.cluster: Invalid value",
    );
}

#[test]
fn an_object_of_ones_own_kind_that_breaks_a_rule_or_a_pattern_is_an_error_in_the_case() {
    is_an_error_in_the_case(&queue("{least: 2, most: 1}"), "spec: {least", "spec: Invalid value");
    is_an_error_in_the_case(
        &queue("{least: 1, most: 1, name: Q}"),
        "spec: {least",
        "spec.name: Invalid value",
    );
}

#[test]
fn a_patch_and_a_status_that_the_definition_refuses_are_errors_in_the_case() {
    let patch = "    - patch: {on: control, of: {kind: Queue, apiVersion: example.com/v1, name: queue}, merge: {spec: {most: 0}}}\n";
    let steps = format!("{}{patch}", queue("{least: 1, most: 1}"));
    is_an_error_in_the_case(&steps, "- patch", "spec: Invalid value");
    let status = "    - setStatus: {on: control, of: {kind: Queue, apiVersion: example.com/v1, name: queue}, status: {length: 10}}\n";
    let steps = format!("{}{status}", queue("{least: 1, most: 1}"));
    is_an_error_in_the_case(&steps, "- setStatus", "status.length");
    let patch = "    - patch: {on: control, of: {kind: PropagationPolicy, name: policy}, merge: {spec: {failover: {cluster: {gracePeriodSeconds: 3}}}}}\n";
    let steps = format!("{}{patch}", policy("cluster: {purgeMode: Directly}"));
    is_an_error_in_the_case(&steps, "- patch", "spec.failover.cluster: Invalid value");
}

#[test]
fn a_definition_that_kubernetes_refuses_is_an_error_in_the_case() {
    let steps = queue("{least: 1, most: 1}").replace("length: {type: integer, maximum: 9}", "length: {}");
    is_an_error_in_the_case(&steps, "length: {}", "properties[length].type: Required value");
}

/// A target that serves these definitions of the failover API, with a part of their text replaced.
fn target(folder: &Path, old: &str, new: &str) -> std::path::PathBuf {
    let crds = root().join("fixtures/crds");
    let mut replaced = 0;
    for file in fs::read_dir(crds).unwrap() {
        let file = file.unwrap();
        let text = fs::read_to_string(file.path()).unwrap();
        replaced += text.matches(old).count();
        fs::write(folder.join(file.file_name()), text.replace(old, new)).unwrap();
    }
    assert!(replaced > 0, "{old}");
    let file = folder.join("target.yaml.txt");
    let text = "apiVersion: baton.dev/v1alpha1
kind: Target
metadata: {name: strict}
spec:
  implementation: {name: strict, version: 0.0.1}
  features: [Propagation, NoExecuteEviction, StatePreservation, PurgeDirectly, LabelInjection, FailoverGate, StatefulInjectionGate]
  controlPlane: {definitions: .}
  run: {reference: {}}
";
    fs::write(&file, text).unwrap();
    file
}

#[test]
fn a_target_that_refuses_a_valid_object_deviates() {
    let folder = tempfile::tempdir().unwrap();
    let target = target(folder.path(), RULE, "[''Never'']");
    let valid = policy("cluster: {purgeMode: Gracefully, gracePeriodSeconds: 30}");
    let (code, told) = run(&valid, Some(&target));
    assert_eq!(code, Some(1), "{told}");
    assert!(
        told.contains("seen      refused: applying PropagationPolicy policy was refused"),
        "{told}"
    );
    let (code, told) = run(&valid, None);
    assert_eq!(code, Some(0), "{told}");
}

#[test]
fn an_invalid_object_is_an_error_in_the_case_whatever_the_target_says_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let target = target(
        folder.path(),
        "message: gracePeriodSeconds is only allowed",
        "message: that is only allowed",
    );
    let wrong = policy("cluster: {purgeMode: Directly, gracePeriodSeconds: 30}");
    let (code, told) = run(&wrong, Some(&target));
    assert_eq!(code, Some(3), "{told}");
    assert!(told.contains("error in the case: cases/mine/mine.yaml:17:"), "{told}");
}

#[test]
fn a_refusal_that_the_case_expects_is_no_error() {
    let expected = "    - refused:
        apply:
          on: control
          resource:
            apiVersion: policy.karmada.io/v1alpha1
            kind: PropagationPolicy
            metadata: {name: policy}
            spec:
              resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: deploy}]
              failover: {cluster: {purgeMode: Directly, gracePeriodSeconds: 30}}
        mentions: gracePeriodSeconds
";
    let steps = format!("{expected}{}", policy("cluster: {purgeMode: Directly}"));
    let (code, told) = run(&steps, None);
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(lint(&steps).0, Some(0));
}
