//! The step `settle` ends once a failover is over, and judges it by then.

use std::{fs, time::Duration};

use baton_core::timeline::{Mark, Timeline};

use crate::common::{baton, outcome};

/// A case about `settles`, with these steps between the failure of the cluster and `settle: 30m`.
fn case(steps: &str) -> String {
    format!(
        "apiVersion: baton.dev/v1alpha1
kind: Case
metadata: {{name: settling}}
spec:
  title: A failover is over some time after its cluster failed
  requirements: [GRE-10]
  features: [Propagation, NoExecuteEviction, PurgeDirectly, PurgeGracefully]
  controller: {{featureGates: {{Failover: true}}}}
  steps:
    - apply: {{on: control, file: workloads/deploy.yaml}}
    - apply:
        on: control
        resource:
          apiVersion: policy.karmada.io/v1alpha1
          kind: PropagationPolicy
          metadata: {{name: policy}}
          spec:
            resourceSelectors: [{{apiVersion: apps/v1, kind: Deployment, name: deploy}}]
            placement:
              clusterAffinity: {{clusterNames: [member1, member2]}}
              spreadConstraints: [{{spreadByField: cluster, minGroups: 1, maxGroups: 1}}]
            failover: {{cluster: {{purgeMode: Directly}}}}
    - bindRole: {{role: origin, from: {{kind: Deployment, name: deploy}}}}
    - wait: {{for: healthy, of: {{kind: Deployment, name: deploy}}, from: origin}}
{steps}
    - taint: {{cluster: origin, key: baton.dev/failed, effect: NoExecute}}
    - settle: 30m
  invariants: [settles]
"
    )
}

/// Runs the case; returns the exit code, the output, and the time that the last step took.
fn run(steps: &str) -> (Option<i32>, String, Duration) {
    let folder = tempfile::tempdir().unwrap();
    let (file, timelines) = (folder.path().join("settling.yaml"), folder.path().join("timelines"));
    fs::write(&file, case(steps)).unwrap();
    let arguments = [
        "run",
        file.to_str().unwrap(),
        "--timelines",
        timelines.to_str().unwrap(),
    ];
    let (code, told, error) = outcome(&baton(&arguments).output().unwrap());
    let recorded = fs::read(timelines.join("settling.jsonl")).unwrap_or_else(|lost| panic!("{lost}: {told}{error}"));
    let timeline = Timeline::read(recorded.as_slice()).unwrap();
    let last = |is_one: fn(&Mark) -> bool| {
        let mut marks = timeline.marks().filter(|(_, mark)| is_one(mark));
        marks.next_back().unwrap().0.at
    };
    let began = last(|mark| matches!(mark, Mark::StepStarted { .. }));
    let ended = last(|mark| matches!(mark, Mark::StepEnded { .. }));
    (code, told + &error, ended.saturating_sub(began))
}

#[test]
fn it_ends_a_minute_after_the_failover_and_has_judged_it() {
    let (code, told, took) = run("");
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("1 conform"), "{told}");
    let (least, most) = (Duration::from_secs(60), Duration::from_secs(120));
    assert!((least..most).contains(&took), "{took:?}");
}

#[test]
fn it_takes_all_its_time_while_the_old_copy_is_held() {
    let (_, told, took) = run("    - hold: {on: origin, of: {kind: Deployment, name: deploy}}");
    assert_eq!(took, Duration::from_secs(30 * 60), "{told}");
}
