//! Case files as people write them: wrong ones are explained. That those of the repository are right is tested where
//! they are run.

mod common;

use std::path::Path;

use baton_core::{case::model::Action, digest::Digest, plan::Plan};

#[test]
fn all_errors_of_a_file_are_told_at_once() {
    let found = common::read_bytes(Path::new("everything.yaml"), include_bytes!("bad/everything.yaml")).unwrap_err();
    insta::assert_snapshot!(common::lines(&found));
}

#[test]
fn the_digest_of_a_case_leaves_out_its_title() {
    let text = include_str!("../../../cases/proposal/deployment-directly.yaml");
    let digest = |text: &str| {
        let cases = common::read_bytes(Path::new("one.yaml"), text.as_bytes()).unwrap();
        Digest::of_case(&cases[0])
    };
    let with = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    };
    assert_eq!(digest(text), digest(&with("title: The", "title: All")));
    assert_ne!(digest(text), digest(&with("members: 2", "members: 3")));
    assert_ne!(digest(text), digest(&with("mode: now", "mode: eventually")));
}

#[test]
fn what_a_case_is_about_may_follow_from_its_steps() {
    let text = r"
apiVersion: baton.dev/v1alpha1
kind: Case
metadata: {name: mine}
spec:
  title: A policy is there
  steps:
    - assert: {mode: now, on: control, of: {kind: Job, name: x}, match: {}, proves: POL-01}
    - assert: {mode: now, on: control, of: {kind: Job, name: y}, match: {}}
";
    let cases = common::read_bytes(Path::new("mine.yaml"), text.as_bytes()).unwrap();
    let told = |ids: Vec<&str>| ids.join(" ");
    assert_eq!(
        told(
            cases[0]
                .requirements
                .iter()
                .map(baton_core::names::RequirementId::as_str)
                .collect()
        ),
        "POL-01"
    );
    assert_eq!(
        told(
            cases[0]
                .features
                .iter()
                .map(baton_core::names::Feature::as_str)
                .collect()
        ),
        "Propagation"
    );
}

#[test]
fn a_file_with_scenarios_is_several_cases() {
    let text = r"
apiVersion: baton.dev/v1alpha1
kind: Case
metadata: {name: several}
spec:
  title: A $(kind) is there
  requirements: [POL-01]
  features: [Propagation]
  scenarios:
    - {name: one, with: {kind: Deployment, match: {spec: {replicas: 2}}}}
    - {name: two, with: {kind: Job, match: {spec: {parallelism: 1}}}}
  steps:
    - assert: {mode: now, on: control, of: {kind: $(kind), name: x-$(kind)}, match: $(match), proves: POL-01}
";
    let unnamed = text.replace("{name: one, with", "{with");
    let cases = common::read_bytes(Path::new("several.yaml"), unnamed.as_bytes()).unwrap();
    let ids: Vec<_> = cases.iter().map(|case| case.id.to_string()).collect();
    assert_eq!(ids, ["several", "several-two"]);
    let twice = unnamed.replace("{name: two, with", "{with");
    let found = common::read_bytes(Path::new("several.yaml"), twice.as_bytes()).unwrap_err();
    assert_eq!(
        common::lines(&found),
        "several.yaml:11:7: only one scenario may go without a name (choose another name)"
    );
    let cases = common::read_bytes(Path::new("several.yaml"), text.as_bytes()).unwrap();
    let plans = cases.iter().map(|case| Plan::of(case).to_string()).collect::<String>();
    insta::assert_snapshot!(plans);
    let wrong = text.replace("title: A $(kind)", "title: A $(kin)");
    let found = common::read_bytes(Path::new("several.yaml"), wrong.as_bytes()).unwrap_err();
    let told = "several.yaml:6:10: not every scenario has a parameter `kin` (did you mean `kind`?)";
    assert_eq!(common::lines(&found), told);
    let nested = text.replace("parallelism: 1", "parallelism: $(kind)");
    let found = common::read_bytes(Path::new("several.yaml"), nested.as_bytes()).unwrap_err();
    assert!(
        common::lines(&found)
            .contains("several.yaml:11:65: `$(kind)` in a value of a parameter (use both parameters in `steps`)"),
        "{}",
        common::lines(&found)
    );
}

/// The scenarios of a file that several cases have in common; a mismatch is reported where the case refers to it.
#[test]
fn scenarios_may_come_from_a_file_of_their_own() {
    let text = r"
apiVersion: baton.dev/v1alpha1
kind: Case
metadata: {name: several}
spec:
  title: A $(kind) is there
  requirements: [POL-01]
  features: [Propagation]
  scenarios: {from: workloads, without: [cluster-scoped, job]}
  steps:
    - assert: {mode: now, on: control, of: {apiVersion: $(apiVersion), kind: $(kind), name: $(name)}, present: true, proves: POL-01}
";
    let told = |from: &str, to: &str| {
        let text = text.replace(from, to);
        common::lines(&common::read_bytes(Path::new("several.yaml"), text.as_bytes()).unwrap_err())
    };
    let cases = common::read_bytes(Path::new("several.yaml"), text.as_bytes()).unwrap();
    let ids: Vec<_> = cases.iter().map(|case| case.id.to_string()).collect();
    assert_eq!(ids, ["several", "several-statefulset", "several-flinkdeployment"]);
    assert!(Plan::of(&cases[1]).to_string().contains("StatefulSet"));
    assert_eq!(
        told("from: workloads,", "from: workload,"),
        "several.yaml:9:21: cannot read fixtures/scenarios/workload.yaml: entity not found (did you mean `workloads`?)"
    );
    assert_eq!(
        told("[cluster-scoped, job]", "jobs"),
        "several.yaml:9:41: fixtures/scenarios/workloads.yaml has no scenario `jobs` (did you mean `job`?)"
    );
    assert_eq!(
        told("title: A $(kind)", "title: A $(kin)"),
        "several.yaml:6:10: not every scenario has a parameter `kin` (did you mean `kind`?)"
    );
    // An error in a value from a file is reported at the reference.
    assert!(
        told("{apiVersion: $(apiVersion), kind: $(kind), name: $(name)}", "$(ready)").contains("several.yaml:9:21: ")
    );
}

#[test]
fn a_case_may_have_ten_thousand_workloads() {
    let text = r#"
apiVersion: baton.dev/v1alpha1
kind: Case
metadata: {name: many}
spec:
  title: The first of ten thousand Deployments is there
  requirements: [POL-01]
  features: [Propagation]
  steps:
    - workloads: {on: control, file: workloads/deploy.yaml, count: 10000, name: "web-{i}"}
    - assert: {mode: now, on: control, of: {kind: Deployment, name: web-00001}, present: true, proves: POL-01}
"#;
    let cases = common::read_bytes(Path::new("many.yaml"), text.as_bytes()).unwrap();
    let Action::Apply { objects, .. } = &cases[0].steps[0].action else {
        unreachable!("{:?}", cases[0].steps[0].action)
    };
    assert_eq!(objects.len(), 10_000);
    assert_eq!(objects[9_999]["metadata"]["name"], "web-10000");
    assert_eq!(
        objects[9_999]["spec"]["template"]["metadata"]["labels"]["app"],
        "web-10000"
    );
}
