//! Tests of an observer that learns of writes after their answers: an assertion about the present must not look too
//! early.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    path::Path,
    pin::Pin,
    task::Context,
    time::Duration,
};

use async_trait::async_trait;
use baton_core::{
    case::{
        claims::Claims,
        model::{Action, Assertion, Condition, ControllerSetup, Expect, Mode, ObjectRef, Phase, Place, Subject},
    },
    judge,
    names::{ClusterName, Feature},
    pattern::Pattern,
    plan::Plan,
    timeline::{Begin, DEFAULT_NAMESPACE, Mark, Timeline},
};
use serde_json::json;
use tokio::time::{Instant, Sleep};

use super::{RunOptions, Running, Target, TargetError, Timeouts, run};
use crate::{
    clock::Clock,
    fleet::{
        Cluster, Fault, Fleet, FleetError,
        embedded::{Embedded, Options, Time},
    },
    observer::{Recorder, Source, recorder::Seen},
};

/// Delay of all events.
const LATE: Duration = Duration::from_millis(300);

/// A source with a delay.
struct Late {
    source: Box<dyn Source>,
    held: VecDeque<(Instant, Seen)>,
    alarm: Pin<Box<Sleep>>,
}

impl Source for Late {
    fn take(&mut self, mut context: Option<&mut Context<'_>>) -> Vec<Seen> {
        let now = Instant::now();
        let new = self.source.take(context.as_deref_mut());
        self.held.extend(new.into_iter().map(|seen| (now + LATE, seen)));
        let due = self.held.partition_point(|(at, _)| *at <= now);
        let seen = self.held.drain(..due).map(|(_, seen)| seen).collect();
        if let (Some(context), Some((at, _))) = (context, self.held.front()) {
            self.alarm.as_mut().reset(*at);
            let _ = self.alarm.as_mut().poll(context);
        }
        seen
    }

    fn rest(&mut self) -> Vec<Seen> {
        self.held.drain(..).map(|(_, seen)| seen).collect()
    }

    fn may_lag(&self, _: &ClusterName, _: &str) -> bool {
        true
    }
}

/// An embedded fleet whose observer has a delay.
struct Lagging(Embedded);

#[async_trait]
impl Fleet for Lagging {
    fn backend(&self) -> &'static str {
        self.0.backend()
    }

    fn control(&self) -> &Cluster {
        self.0.control()
    }

    fn members(&self) -> &[Cluster] {
        self.0.members()
    }

    fn clock(&self) -> Clock {
        self.0.clock()
    }

    async fn inject(&self, cluster: &ClusterName, fault: Fault) -> Result<(), FleetError> {
        self.0.inject(cluster, fault).await
    }

    fn observe(&self, begin: Begin) -> Result<Recorder, FleetError> {
        let late = Late {
            source: self.0.source()?,
            held: VecDeque::new(),
            alarm: Box::pin(tokio::time::sleep(LATE)),
        };
        let started = begin.started;
        Ok(Recorder::start(
            self.clock(),
            started,
            Mark::Begin(begin),
            Box::new(late),
        ))
    }

    fn writes(&self) -> BTreeMap<String, u64> {
        self.0.writes()
    }

    fn simulator_failures(&self) -> Vec<String> {
        self.0.simulator_failures()
    }

    async fn shut_down(self: Box<Self>) -> Result<(), FleetError> {
        Box::new(self.0).shut_down().await
    }
}

/// A target that does nothing.
#[derive(Debug)]
struct Idle;

#[async_trait]
impl Target for Idle {
    fn name(&self) -> &'static str {
        "idle"
    }

    fn features(&self) -> BTreeSet<Feature> {
        BTreeSet::new()
    }

    async fn start(&self, _: &dyn Fleet, _: &ControllerSetup, _: &Path) -> Result<Box<dyn Running>, TargetError> {
        Ok(Box::new(Self))
    }
}

#[async_trait]
impl Running for Idle {
    async fn stop(self: Box<Self>) {}
}

fn policy() -> ObjectRef {
    ObjectRef {
        api_version: "policy.karmada.io/v1alpha1".to_owned(),
        kind: "PropagationPolicy".to_owned(),
        namespace: Some(DEFAULT_NAMESPACE.to_owned()),
        name: "policy".to_owned(),
    }
}

fn now(expect: Expect) -> Action {
    Action::Assert(Assertion {
        mode: Mode::Now,
        condition: Condition {
            on: Place::Control,
            of: Subject::Object(policy()),
            expect,
        },
        phase: Phase::Collect,
        within: None,
        proves: Claims::default(),
    })
}

fn labelled() -> Expect {
    let text = |text: &str| Pattern::Text(text.to_owned());
    let map = |key: &str, value| Pattern::Map(BTreeMap::from([(key.to_owned(), value)]));
    Expect::Match(map("metadata", map("labels", map("state", text("new")))))
}

async fn timeline(plan: &Plan) -> Timeline {
    let fleet = Lagging(Embedded::boot(Options::new(0, Time::Virtual)).await.unwrap());
    let setup = ControllerSetup::default();
    let options = RunOptions {
        timeouts: Timeouts::default(),
        log: Path::new("/dev/null"),
        on_step: &|_, _| {},
        traffic: None,
        precedents: None,
    };
    let ran = run(plan, &setup, &fleet, &Idle, &options).await;
    Box::new(fleet).shut_down().await.unwrap();
    ran.unwrap()
}

#[tokio::test(start_paused = true)]
async fn what_was_written_is_what_is_there_now() {
    let object = json!({
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": "policy", "namespace": DEFAULT_NAMESPACE},
        "spec": {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}]},
    });
    let (on, of) = (Place::Control, Subject::Object(policy()));
    let actions = [
        Action::Apply {
            on: vec![on.clone()],
            objects: vec![object],
            file: None,
            proves: BTreeSet::new(),
        },
        now(Expect::Present),
        Action::Patch {
            on: on.clone(),
            of: of.clone(),
            merge: json!({"metadata": {"labels": {"state": "new"}}}),
        },
        now(labelled()),
        Action::Delete { on, of },
        now(Expect::Absent),
    ];
    let plan = Plan::of_actions("lag", 0, actions);
    assert_eq!(judge::judge(&plan, &timeline(&plan).await).findings, []);
}
