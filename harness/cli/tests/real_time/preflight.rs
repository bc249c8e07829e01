//! The preflight: tells features that are switched off from features that are broken, before a suite runs in vain.

use std::{collections::BTreeSet, fs, path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use baton::{
    implementation::Reference,
    load::{self, Suite},
    options::RunOptions,
    preflight::{Preflight, PreflightError, PreflightOutcome},
};
use baton_cluster::{
    actions,
    fleet::Fleet,
    runner::{Running, Target, TargetError},
};
use baton_core::{
    case::model::{ControllerSetup, ObjectRef, Taint},
    implementation::{
        Launch, TargetSpec, TargetTimeouts,
        baseline::{KnownDefect, Subject},
        versions::VersionRange,
    },
    judge::DifferenceKind,
    names::Feature,
};
use serde_json::json;

use crate::common::{baton, printed, root, roots};

/// The reference controller with gates that cannot be changed, as in an installation.
#[derive(Debug)]
struct Installation(&'static [&'static str]);

#[async_trait]
impl Target for Installation {
    fn name(&self) -> &'static str {
        "an installation"
    }

    fn features(&self) -> BTreeSet<Feature> {
        Reference.features()
    }

    async fn start(
        &self,
        fleet: &dyn Fleet,
        _setup: &ControllerSetup,
        log: &Path,
    ) -> Result<Box<dyn Running>, TargetError> {
        let setup = ControllerSetup {
            feature_gates: self.0.iter().map(|gate| ((*gate).to_owned(), true)).collect(),
            ..ControllerSetup::default()
        };
        Reference.start(fleet, &setup, log).await
    }
}

/// Behavior of an implementation that does almost nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Idle {
    /// Does nothing at all.
    Nothing,
    /// Reports all members as ready.
    Ready,
    /// Also has a binding, of another workload.
    BoundAnother,
    /// Has the binding, with a cluster, but no copy there.
    NoCopy,
    /// Has a copy, too, and its status, but not its health.
    NoHealth,
}

impl Idle {
    /// Writes the objects of the implementation at its start.
    async fn write(self, fleet: &dyn Fleet) {
        let name = if self == Self::BoundAnother {
            "another"
        } else {
            "baton-canary"
        };
        let resource = json!({"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": name});
        let binding = json!({
            "apiVersion": "work.karmada.io/v1alpha2",
            "kind": "ResourceBinding",
            "metadata": {"name": "of-canary", "namespace": "default"},
            "spec": {"resource": resource, "clusters": [{"name": "member1"}]},
        });
        let control = fleet.control().client("idle");
        actions::apply(&control, &binding, "default").await.unwrap();
        if self == Self::NoHealth {
            let copy = json!({
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "baton-canary", "namespace": "default"},
                "spec": {
                    "selector": {"matchLabels": {"app": "canary"}},
                    "template": {
                        "metadata": {"labels": {"app": "canary"}},
                        "spec": {"containers": [{"name": "pause", "image": "pause"}]},
                    },
                },
            });
            let member = fleet.members()[0].client("idle");
            actions::apply(&member, &copy, "default").await.unwrap();
            let item = json!({"clusterName": "member1", "status": {"readyReplicas": 2}});
            let of = ObjectRef {
                api_version: "work.karmada.io/v1alpha2".to_owned(),
                kind: "ResourceBinding".to_owned(),
                namespace: Some("default".to_owned()),
                name: "of-canary".to_owned(),
            };
            let status = json!({"aggregatedStatus": [item]});
            actions::set_status(&control, &of, &status).await.unwrap();
        }
    }
}

#[async_trait]
impl Target for Idle {
    fn name(&self) -> &'static str {
        "an idle implementation"
    }

    fn features(&self) -> BTreeSet<Feature> {
        Reference.features()
    }

    async fn start(&self, fleet: &dyn Fleet, _: &ControllerSetup, _: &Path) -> Result<Box<dyn Running>, TargetError> {
        if *self != Self::Nothing {
            let control = fleet.control().client("idle");
            for member in fleet.members() {
                let ready = actions::condition(&control, member.name().as_str(), "Ready", "True", (fleet.clock())());
                ready.await.unwrap();
            }
        }
        if !matches!(self, Self::Nothing | Self::Ready) {
            self.write(fleet).await;
        }
        Ok(Box::new(*self))
    }
}

#[async_trait]
impl Running for Idle {
    async fn stop(self: Box<Self>) {}
}

/// The reference controller, with a member that has a taint already.
#[derive(Debug)]
struct Tainted;

#[async_trait]
impl Target for Tainted {
    fn name(&self) -> &'static str {
        "a control plane with a tainted member"
    }

    fn features(&self) -> BTreeSet<Feature> {
        Reference.features()
    }

    async fn start(&self, fleet: &dyn Fleet, _: &ControllerSetup, log: &Path) -> Result<Box<dyn Running>, TargetError> {
        let taint = Taint {
            key: "example.org/maintenance".to_owned(),
            value: None,
            effect: "NoSchedule".to_owned(),
        };
        let control = fleet.control().client("somebody");
        for member in fleet.members() {
            actions::taint(&control, member.name().as_str(), &taint).await.unwrap();
        }
        Installation(ALL).start(fleet, &ControllerSetup::default(), log).await
    }
}

fn spec(file: &str) -> TargetSpec {
    let roots = roots();
    let suite = Suite::load(&roots).unwrap();
    load::target(&roots, &root().join("fixtures/targets").join(file), &suite).unwrap()
}

/// Runs the preflight of a target file for an installation with these gates.
fn preflight(spec: &TargetSpec, gates: &'static [&'static str]) -> Result<PreflightOutcome, PreflightError> {
    preflight_of(spec, Arc::new(Installation(gates)))
}

fn preflight_of(spec: &TargetSpec, target: Arc<dyn Target>) -> Result<PreflightOutcome, PreflightError> {
    let folder = tempfile::tempdir().unwrap();
    let suite = Suite::load(&roots()).unwrap();
    let preflight = Preflight::of(spec, &suite.catalogue).unwrap().unwrap();
    let settings = RunOptions {
        target,
        timelines: Some(folder.path().to_owned()),
        ..RunOptions::new(roots())
    };
    let outcome = preflight.run(&settings);
    let looked_at = !matches!(outcome, Ok(_) | Err(PreflightError::NotRun(_)));
    assert_eq!(
        folder.path().join("preflight.jsonl").is_file(),
        looked_at,
        "what failed can be looked at"
    );
    outcome
}

const ALL: &[&str] = &["Failover", "StatefulFailoverInjection"];

#[test]
fn an_installation_with_everything_switched_on_is_fine() {
    let outcome = preflight(&spec("karmada.yaml"), ALL).unwrap();
    let PreflightOutcome::Passed { findings, .. } = outcome else {
        panic!("{outcome:?}");
    };
    assert!(findings.is_empty(), "{findings:?}");
}

#[test]
fn what_is_switched_off_is_told_with_its_flag() {
    let error = preflight(&spec("karmada.yaml"), &[]).unwrap_err();
    let told = error.to_string();
    assert!(
        told.starts_with("FailoverGate or NoExecuteEviction seems to be disabled in this installation"),
        "{told}"
    );
    assert!(told.contains("led to no eviction task within"), "{told}");
    let help = "check that this is set: karmada-controller-manager --feature-gates=Failover=true, \
                karmada-controller-manager --enable-no-execute-taint-eviction=true";
    assert_eq!(error.help(), help);
    let error = preflight(&spec("karmada.yaml"), &["Failover"]).unwrap_err();
    let told = error.to_string();
    assert!(told.contains("the eviction task has none of its state"), "{told}");
    let help = "check that this is set: karmada-controller-manager --feature-gates=StatefulFailoverInjection=true";
    assert_eq!(error.help(), help);
}

/// Formats an error, without the path of the timeline.
fn told(error: &PreflightError) -> String {
    let text = error.to_string();
    let lines = text.lines().filter(|line| !line.starts_with("full timeline: "));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn nothing_at_all_is_told_soon_with_what_is_lacking() {
    let nothing = preflight_of(&spec("karmada.yaml"), Arc::new(Idle::Nothing)).unwrap_err();
    insta::assert_snapshot!(told(&nothing), @"the test failover could not be run: the controller under test has not reported all members Ready within 15s (member1: no condition Ready; member2: no condition Ready)");
    let ready = preflight_of(&spec("karmada.yaml"), Arc::new(Idle::Ready)).unwrap_err();
    insta::assert_snapshot!(told(&ready), @"
    the test failover did not work: a policy for a Deployment led to no binding within 15 s
    likely cause: no binding refers to Deployment baton-canary, which PropagationPolicy baton-canary selects; there are no bindings at all
    ");
    let patient = TargetSpec {
        timeouts: TargetTimeouts {
            ready: Some(Duration::from_secs(40)),
            ..TargetTimeouts::default()
        },
        ..spec("karmada.yaml")
    };
    let nothing = preflight_of(&patient, Arc::new(Idle::Nothing)).unwrap_err();
    assert!(told(&nothing).contains("within 40s"), "{nothing}");
}

#[test]
fn what_the_contract_asks_for_and_is_not_there_is_named() {
    let said = |idle| {
        let error = preflight_of(&spec("karmada.yaml"), Arc::new(idle)).unwrap_err();
        format!("{}\n{}", told(&error), error.help())
    };
    insta::assert_snapshot!(said(Idle::BoundAnother), @"
    the test failover did not work: a policy for Deployment baton-canary led to no binding with that in `spec.resource` within 15 s, but to a ResourceBinding of Deployment default/another
    likely cause: no binding refers to Deployment baton-canary, which PropagationPolicy baton-canary selects; the bindings refer to: Deployment
    ");
    insta::assert_snapshot!(said(Idle::NoCopy), @"
    the test failover did not work: no Deployment baton-canary was ever seen on member1: a copy has the kind, the namespace and the name of its template
    likely cause: ResourceBinding of-canary is scheduled to member1, but there is no Deployment baton-canary on member1
    ");
    insta::assert_snapshot!(said(Idle::NoHealth), @"
    the test failover did not work: the workload's status got into its binding, but not that it is Healthy within 15 s: cases wait for `status.aggregatedStatus[].health`, or for the health in the status of its Work
    likely cause: ResourceBinding of-canary says of Deployment baton-canary on member1: health Unknown
    ");
}

#[test]
fn members_to_which_nothing_can_be_scheduled_are_named() {
    let error = preflight_of(&spec("karmada.yaml"), Arc::new(Tainted)).unwrap_err();
    insta::assert_snapshot!(told(&error), @"
    the test failover did not work: a policy for a Deployment led to a ResourceBinding, but to no cluster in it within 60 s
    member1: tainted with example.org/maintenance:NoSchedule
    member2: tainted with example.org/maintenance:NoSchedule
    likely cause: ResourceBinding baton-canary-deployment: FullyApplied=False (NotScheduled): no cluster is chosen
    ");
}

#[test]
fn what_was_started_with_the_flag_is_broken() {
    let error = preflight(&spec("reference.yaml"), &["Failover"]).unwrap_err();
    assert!(matches!(error, PreflightError::Broken { .. }), "{error}");
    let help = "the target was started with --feature-gates=StatefulFailoverInjection=true, so the feature is enabled";
    assert_eq!(error.help(), help);
    let unknown = TargetSpec {
        switches: Vec::new(),
        ..spec("karmada.yaml")
    };
    let error = preflight(&unknown, &["Failover"]).unwrap_err();
    assert!(error.help().contains("`switches` in the target file"), "{error}");
}

#[test]
fn what_is_not_declared_or_known_not_to_work_is_not_asked_for() {
    let mut modest = spec("karmada.yaml");
    modest.features.remove(&Feature::new("LabelInjection"));
    modest.features.remove(&Feature::new("StatePreservation"));
    preflight(&modest, &["Failover"]).unwrap();
    let mut known = spec("karmada.yaml");
    for requirement in ["STP-01", "REC-01"] {
        known.baseline.entries.push(KnownDefect {
            of: Subject::Requirement(requirement.into()),
            field: None,
            difference: DifferenceKind::Never,
            reason: "not yet".to_owned(),
            link: None,
            versions: VersionRange::default(),
            cases: BTreeSet::new(),
            sometimes: false,
            line: 1,
        });
    }
    preflight(&known, &["Failover"]).unwrap();
    let built_in = TargetSpec {
        run: Launch::Reference,
        ..spec("reference.yaml")
    };
    let suite = Suite::load(&roots()).unwrap();
    assert!(Preflight::of(&built_in, &suite.catalogue).unwrap().is_none());
}

#[test]
fn without_a_failover_nothing_else_is_run() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(root().join("fixtures/targets/reference.yaml")).unwrap();
    let text = text
        .replace("command: baton-controller", "command: sh")
        .replace("- --kubeconfig\n", "- -c\n        - echo no lease; exec sleep 60\n")
        .replace("  run:\n", "  timeouts: {ready: 300ms}\n  run:\n");
    let file = folder.path().join("target.yaml");
    fs::write(&file, text).unwrap();
    let run = |more: &[&str]| {
        let output = baton(&["run", "deployment-directly"])
            .args(["--timelines", folder.path().to_str().unwrap()])
            .args(["--target", file.to_str().unwrap()])
            .args(more)
            .output()
            .unwrap();
        (printed(&output), output.status.code())
    };
    let (told, code) = run(&[]);
    assert_eq!(code, Some(3), "{told}");
    assert!(
        told.contains("error: preflight: the test failover could not be run:") && told.contains("  no lease"),
        "{told}"
    );
    assert!(
        told.contains("no case was run; --no-preflight skips this check"),
        "{told}"
    );
    assert!(!told.contains("1 case on"), "{told}");
    let (told, code) = run(&["--no-preflight"]);
    assert_eq!(code, Some(3), "{told}");
    assert!(told.contains("1 case on") && !told.contains("preflight"), "{told}");
}

#[test]
fn a_label_that_comes_late_is_told_and_does_not_end_the_run() {
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        println!("not tried: python3 is missing");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let targets = root().join("fixtures/targets");
    let text = fs::read_to_string(targets.join("minimal/minimal.py")).unwrap();
    let created = "members[name].ask(\"POST\", DEPLOYMENTS, copy)\n        return";
    let before = "metadata[\"labels\"] |= task.get(\"preservedLabelState\", {})";
    assert!(text.contains(created) && text.contains(before));
    let late = "members[name].ask(\"POST\", DEPLOYMENTS, copy)\n        members[name].merge(workload, {\"metadata\": \
                {\"labels\": late}})\n        return";
    let text = text
        .replace(created, late)
        .replace(before, "late |= task.get(\"preservedLabelState\", {})")
        .replace(
            "        for task in tasks:\n            if name not",
            "        late = {}\n        for task in tasks:\n            if name not",
        );
    let script = folder.path().join("minimal.py");
    fs::write(&script, text).unwrap();
    let target = fs::read_to_string(targets.join("minimal.yaml")).unwrap();
    let run = "command: python3\n      args: [SCRIPT]".replace("SCRIPT", script.to_str().unwrap());
    let target = target.replace("command: ./minimal/minimal.py", &run);
    let file = folder.path().join("target.yaml");
    fs::write(&file, target).unwrap();
    let output = baton(&["run", "deployment-directly"])
        .args(["--timelines", folder.path().to_str().unwrap()])
        .args(["--target", file.to_str().unwrap()])
        .output()
        .unwrap();
    let told = printed(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("preflight: a workload failed over in"), "{told}");
    assert!(
        told.contains("REC-01: the new copy got the label baton.dev/canary=2 only"),
        "{told}"
    );
    assert!(told.contains("--- REC-01"), "{told}");
}
