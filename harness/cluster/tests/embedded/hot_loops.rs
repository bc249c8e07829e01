//! A target that never waits stops virtual time; the run ends all the same.

use std::{collections::BTreeSet, path::Path, time::Duration};

use async_trait::async_trait;
use baton_cluster::{
    fleet::{Fleet, embedded::Time},
    runner::{self, RunError, RunOptions, Running, Target, TargetError, Timeouts},
};
use baton_core::{
    case::model::{Action, Condition, ControllerSetup, Expect, Phase, Place, Subject},
    names::Feature,
    plan::Plan,
    timeline::{Event, HotLoop, Mark, StepEnd, Timeline},
};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams},
};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::common::{NAMESPACE, apply, fixture, fleet, reference};

/// Reports all members as ready, then rewrites an annotation of `deploy` forever.
#[derive(Debug)]
struct Hot {
    says_ready: bool,
    stop: Stop,
}

/// Reaction to a stop.
#[derive(Debug, Clone, Copy)]
enum Stop {
    AtOnce,
    /// Waits for a second first, which never passes.
    Later,
}

struct Rewriting(JoinHandle<()>, Stop);

fn dynamic(group: &str, version: &str, kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

async fn say_ready(client: &Client, fleet: &dyn Fleet) {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &dynamic("cluster.karmada.io", "v1alpha1", "Cluster"));
    let ready = json!({"status": {"conditions": [{
        "type": "Ready", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": "2025-01-01T00:00:00Z",
    }]}});
    for member in fleet.members() {
        let name = member.name().as_str();
        let (params, patch) = (PatchParams::default(), Patch::Merge(&ready));
        api.patch_status(name, &params, &patch).await.unwrap();
    }
}

async fn rewrite(client: Client) {
    let deployments: Api<DynamicObject> = Api::namespaced_with(client, NAMESPACE, &dynamic("apps", "v1", "Deployment"));
    for number in 0_u64.. {
        let patch = Patch::Merge(json!({"metadata": {"annotations": {"number": number.to_string()}}}));
        deployments
            .patch("deploy", &PatchParams::default(), &patch)
            .await
            .unwrap();
    }
}

#[async_trait]
impl Target for Hot {
    fn name(&self) -> &'static str {
        "a controller that never waits"
    }

    fn features(&self) -> BTreeSet<Feature> {
        BTreeSet::new()
    }

    async fn start(
        &self,
        fleet: &dyn Fleet,
        _setup: &ControllerSetup,
        _log: &Path,
    ) -> Result<Box<dyn Running>, TargetError> {
        let client = fleet.control().client("hot");
        apply(fleet.control(), &fixture("workloads/deploy.yaml")).await;
        if self.says_ready {
            say_ready(&client, fleet).await;
        }
        Ok(Box::new(Rewriting(tokio::spawn(rewrite(client)), self.stop)))
    }
}

#[async_trait]
impl Running for Rewriting {
    async fn stop(self: Box<Self>) {
        if let Stop::Later = self.1 {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        self.0.abort();
    }
}

async fn run(action: Action, target: &dyn Target) -> Result<Timeline, RunError> {
    let fleet = fleet(1, Time::Virtual).await;
    let plan = Plan::of_actions("hot", 1, [action.clone(), action]);
    let setup = ControllerSetup::default();
    let timeouts = Timeouts::default();
    let log = Path::new("/dev/null");
    let options = RunOptions {
        timeouts,
        log,
        on_step: &|_, _| {},
        traffic: None,
        precedents: None,
    };
    let ran = runner::run(&plan, &setup, &*fleet, target, &options).await;
    fleet.shut_down().await.unwrap();
    ran
}

/// Reports all members as ready, then writes 200 objects, each 30 times, in turn.
#[derive(Debug)]
struct Busy;

async fn write_many(client: Client) {
    let deployments: Api<DynamicObject> = Api::namespaced_with(client, NAMESPACE, &dynamic("apps", "v1", "Deployment"));
    for number in 0..30 {
        for object in 0..200 {
            let name = format!("deploy-{object}");
            let labels = json!({"app": name});
            let patch = Patch::Apply(json!({
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": name, "annotations": {"number": number.to_string()}},
                "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": {
                    "metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "nginx:1.27"}]}}},
            }));
            let params = PatchParams::apply("busy");
            deployments.patch(&name, &params, &patch).await.unwrap();
        }
    }
}

#[async_trait]
impl Target for Busy {
    fn name(&self) -> &'static str {
        "a controller of many workloads"
    }

    fn features(&self) -> BTreeSet<Feature> {
        BTreeSet::new()
    }

    async fn start(
        &self,
        fleet: &dyn Fleet,
        _setup: &ControllerSetup,
        _log: &Path,
    ) -> Result<Box<dyn Running>, TargetError> {
        let client = fleet.control().client("busy");
        say_ready(&client, fleet).await;
        Ok(Box::new(Rewriting(tokio::spawn(write_many(client)), Stop::AtOnce)))
    }
}

fn wait_for_nothing() -> Action {
    let until = Condition {
        on: Place::Control,
        of: Subject::Object(reference("apps/v1", "Deployment", "nothing")),
        expect: Expect::Present,
    };
    let phase = Phase::Collect;
    Action::Wait {
        until,
        phase,
        within: None,
        otherwise: None,
    }
}

fn is_the_loop(hot: &HotLoop) {
    assert_eq!(hot.object, "Deployment default/deploy on control");
    assert_eq!(hot.by.as_deref(), Some("hot"));
    assert!(hot.times >= 990 && hot.times <= hot.revisions, "{hot:?}");
    let told = hot.to_string();
    assert!(
        told.starts_with("Deployment default/deploy on control was written "),
        "{told}"
    );
    assert!(told.contains(" times by hot without time passing"), "{told}");
}

fn ends(timeline: &Timeline) -> Vec<&StepEnd> {
    let of_steps = timeline.marks().filter_map(|(_, mark)| match mark {
        Mark::StepEnded { end, .. } => Some(end),
        _ => None,
    });
    of_steps.collect()
}

#[tokio::test(start_paused = true)]
async fn a_step_that_waits_ends_with_who_wrote_what() {
    for action in [wait_for_nothing(), Action::Elapse(Duration::from_secs(300))] {
        let target = Hot {
            says_ready: true,
            stop: Stop::AtOnce,
        };
        let timeline = run(action, &target).await.unwrap();
        let ends = ends(&timeline);
        let [StepEnd::HotLoop(hot)] = ends.as_slice() else {
            unreachable!("{ends:?}")
        };
        is_the_loop(hot);
        let last = timeline.entries().last().unwrap();
        assert_eq!(last.at, Duration::ZERO, "no time has passed");
        assert!(matches!(last.event, Event::Mark(Mark::Closed { .. })));
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_does_not_stop_either_is_left() {
    let target = Hot {
        says_ready: true,
        stop: Stop::Later,
    };
    let timeline = run(wait_for_nothing(), &target).await.unwrap();
    assert!(matches!(ends(&timeline).as_slice(), [StepEnd::HotLoop(_)]));
}

#[tokio::test(start_paused = true)]
async fn before_the_first_step_the_run_does_not_begin() {
    let target = Hot {
        says_ready: false,
        stop: Stop::AtOnce,
    };
    let error = run(wait_for_nothing(), &target).await.unwrap_err();
    let RunError::HotLoop(hot) = &error else {
        unreachable!("{error:?}")
    };
    is_the_loop(hot);
}

#[tokio::test(start_paused = true)]
async fn thousands_of_writes_of_many_objects_at_one_moment_are_none() {
    let timeline = run(Action::Elapse(Duration::from_secs(1)), &Busy).await.unwrap();
    let ends = ends(&timeline);
    assert!(matches!(ends.as_slice(), [StepEnd::Done, StepEnd::Done]), "{ends:?}");
    let at_once = timeline.revisions().filter(|(entry, _)| entry.at == Duration::ZERO);
    assert!(at_once.count() >= 6_000);
}
