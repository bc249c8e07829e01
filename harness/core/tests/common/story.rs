//! Timelines in the making: who wrote what, second by second.
#![allow(dead_code, reason = "each test uses a part of it")]
#![expect(clippy::unwrap_used, reason = "what is made here fits, or the test has failed")]
#![expect(clippy::needless_pass_by_value, reason = "JSON is made where it is passed")]

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use baton_core::{
    case::model::{ControllerSetup, Invariant},
    judge::{self, Finding, invariants},
    plan::Plan,
    timeline::{Begin, Change, Entry, Event, HANDS, Mark, Order, Revision, StepEnd, Timeline},
};
use serde_json::{Value, json};

/// User agent of the implementation.
pub const TARGET: &str = "a-controller";

/// A timeline in the making.
#[derive(Clone)]
pub struct Story(pub Vec<Entry>);

impl Story {
    pub fn begin() -> Self {
        let writers = Mark::Writers(BTreeSet::from([TARGET.to_owned()]));
        Self(vec![entry(0.0, Event::Mark(writers))])
    }

    /// One in which the order of all events is known.
    pub fn in_order() -> Self {
        let begin = Begin {
            case: "story".into(),
            members: ["member1", "member2", "member3"].map(Into::into).into(),
            started: jiff::Timestamp::UNIX_EPOCH,
            backend: "embedded".to_owned(),
            target: TARGET.to_owned(),
            namespace: "default".to_owned(),
            time_factor: 1.0,
            order: Order::Exact,
            virtual_time: false,
            provenance: None,
        };
        let mut story = Self::begin();
        story.0.insert(0, entry(0.0, Event::Mark(Mark::Begin(begin))));
        story
    }

    /// The same story in virtual time.
    pub fn in_virtual_time(mut self) -> Self {
        for entry in &mut self.0 {
            if let Event::Mark(Mark::Begin(begin)) = &mut entry.event {
                begin.virtual_time = true;
            }
        }
        self
    }

    /// A step of the plan that begins and ends at once.
    pub fn step(self, at: f64, step: usize) -> Self {
        let text = String::new();
        self.mark(at, Mark::StepStarted { step, text }).mark(
            at,
            Mark::StepEnded {
                step,
                end: StepEnd::Done,
            },
        )
    }

    /// Notes something of the runner.
    pub fn mark(mut self, at: f64, mark: Mark) -> Self {
        self.0.push(entry(at, Event::Mark(mark)));
        self
    }

    pub fn by(mut self, by: &str, at: f64, kind: &str, object: Value) -> Self {
        let name = &object["metadata"]["name"];
        let known = self.0.iter().any(|entry| match &entry.event {
            Event::Revision(it) => it.kind == kind && it.object["metadata"]["name"] == *name,
            Event::Mark(_) => false,
        });
        let revision = Revision {
            cluster: "control".into(),
            kind: kind.to_owned(),
            change: if known { Change::Modified } else { Change::Added },
            object: Arc::new(object),
            by: Some(by.to_owned()),
        };
        self.0.push(entry(at, Event::Revision(revision)));
        self
    }

    /// Deletion by a step of the case.
    pub fn deleted(self, at: f64, kind: &str, object: Value) -> Self {
        let mut story = self.hands(at, kind, object);
        if let Some(Event::Revision(revision)) = story.0.last_mut().map(|entry| &mut entry.event) {
            revision.change = Change::Deleted;
        }
        story
    }

    /// Write by a step of the case.
    pub fn hands(self, at: f64, kind: &str, object: Value) -> Self {
        self.by(HANDS, at, kind, object)
    }

    pub fn target(self, at: f64, kind: &str, object: Value) -> Self {
        self.by(TARGET, at, kind, object)
    }

    pub fn copy(self, at: f64, cluster: &str, change: Change) -> Self {
        self.copy_with(at, cluster, change, json!({}))
    }

    /// A revision of a copy with these labels.
    pub fn copy_with(self, at: f64, cluster: &str, change: Change, labels: Value) -> Self {
        let copy = json!({"metadata": {"name": "web", "namespace": "default", "labels": labels}});
        self.copy_as(at, cluster, change, copy)
    }

    /// A revision of a copy with this status.
    pub fn copy_reports(self, at: f64, cluster: &str, change: Change, status: Value) -> Self {
        let copy = json!({"metadata": {"name": "web", "namespace": "default", "labels": {}}, "status": status});
        self.copy_as(at, cluster, change, copy)
    }

    /// A revision of a copy that is this object.
    pub fn copy_as(mut self, at: f64, cluster: &str, change: Change, copy: Value) -> Self {
        let revision = Revision {
            cluster: cluster.into(),
            kind: "Deployment".to_owned(),
            change,
            object: Arc::new(copy),
            by: Some("execution".to_owned()),
        };
        self.0.push(entry(at, Event::Revision(revision)));
        self
    }

    /// Gives the last revision to another writer.
    pub fn last_by(mut self, by: &str) -> Self {
        if let Some(Event::Revision(revision)) = self.0.last_mut().map(|entry| &mut entry.event) {
            revision.by = Some(by.to_owned());
        }
        self
    }

    /// The timeline.
    pub fn timeline(self) -> Timeline {
        let mut entries = self.0;
        for (seq, entry) in (1..).zip(&mut entries) {
            entry.seq = seq;
        }
        Timeline::new(entries).unwrap()
    }

    /// Outcome of an invariant: number of judgements, and the requirements that it refutes.
    pub fn judged(self, invariant: Invariant, setup: ControllerSetup) -> (usize, Vec<String>) {
        let mut plan = Plan::of(&super::case("proposal/deployment-directly.yaml"));
        plan.controller = setup;
        self.judged_by(invariant, &plan)
    }

    /// The same, by a plan that the run had.
    pub fn judged_by(self, invariant: Invariant, plan: &Plan) -> (usize, Vec<String>) {
        let judged = invariants::judge(&self.timeline(), &BTreeSet::new(), Some(plan));
        let title = judge::invariants::title(invariant);
        let findings = judged.findings.iter().filter(|it: &&Finding| it.title == title);
        let ids = findings.flat_map(|it| &it.requirements).map(ToString::to_string);
        (judged.judged[&invariant], ids.collect())
    }
}

pub fn entry(at: f64, event: Event) -> Entry {
    Entry {
        at: Duration::from_secs_f64(at),
        seq: 0,
        event,
    }
}

pub fn with(gates: bool, options: &[(&str, &str)]) -> ControllerSetup {
    ControllerSetup {
        feature_gates: [("Failover".to_owned(), gates)].into(),
        options: options
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
    }
}

pub fn cluster(name: &str, taints: Value, ready: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {"taints": taints},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    })
}

pub fn failed() -> Value {
    json!([{"key": "failed", "effect": "NoExecute"}])
}

pub fn none() -> Value {
    json!([])
}

/// A binding, with what is put over its specification.
pub fn binding(name: &str, over: Value) -> Value {
    let mut spec = json!({
        "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": name},
        "placement": {"clusterAffinity": {"clusterNames": ["member1", "member2"]}},
        "clusters": [{"name": "member1"}],
        "gracefulEvictionTasks": [],
    });
    for (key, value) in over.as_object().unwrap() {
        spec[key] = value.clone();
    }
    json!({
        "metadata": {"name": format!("{name}-deployment"), "namespace": "default"},
        "spec": spec,
        "status": {"conditions": [{"type": "Scheduled", "status": "True"}]},
    })
}

pub fn task() -> Value {
    json!([{"fromCluster": "member1", "purgeMode": "Gracefully", "reason": "TaintUntolerated"}])
}

pub fn moved() -> Value {
    json!({"clusters": [{"name": "member2"}], "gracefulEvictionTasks": task()})
}
