//! Objects that only the garbage collector of a cluster has not removed yet are not held against the target.

#![expect(
    clippy::unwrap_used,
    reason = "what a test has made is there, or the test has failed"
)]

use std::{sync::Arc, time::Duration};

use baton_core::{
    case::{
        claims::Claims,
        model::{Action, Assertion, Condition, Expect, Mode, ObjectRef, Phase, Place, Subject},
    },
    judge::{self, Verdict},
    names::{CaseId, ClusterName},
    plan::Plan,
    timeline::{Begin, Change, DEFAULT_NAMESPACE, Entry, Event, Mark, Order, Revision, StepEnd, Timeline},
    watch::{Standpoint, Watch},
};
use rstest::rstest;
use serde_json::{Value, json};

fn gone() -> Condition {
    Condition {
        on: Place::Control,
        of: Subject::Object(ObjectRef {
            api_version: "example.baton.dev/v1".to_owned(),
            kind: "Tenant".to_owned(),
            namespace: None,
            name: "acme".to_owned(),
        }),
        expect: Expect::Absent,
    }
}

fn assertion(mode: Mode) -> Action {
    Action::Assert(Assertion {
        mode,
        condition: gone(),
        phase: Phase::Purge,
        within: None,
        proves: Claims::default(),
    })
}

fn wait() -> Action {
    Action::Wait {
        until: gone(),
        phase: Phase::Purge,
        within: None,
        otherwise: None,
    }
}

fn tenant(metadata: &Value) -> Event {
    Event::Revision(Revision {
        cluster: ClusterName::control(),
        kind: "Tenant".to_owned(),
        change: Change::Modified,
        object: Arc::new(json!({"apiVersion": "example.baton.dev/v1", "kind": "Tenant", "metadata": metadata})),
        by: None,
    })
}

fn entries(events: impl IntoIterator<Item = Event>) -> Vec<Entry> {
    let entries = (1..).zip(events).map(|(seq, event)| Entry {
        at: Duration::from_secs(seq),
        seq,
        event,
    });
    entries.collect()
}

/// Of a step that waited in vain for the end of an object with this metadata.
fn verdict(action: Action, metadata: &Value) -> Verdict {
    let plan = Plan::of_actions("garbage", 0, [action]);
    let begin = Begin {
        case: CaseId::new("garbage"),
        members: Vec::new(),
        started: "2026-01-02T03:04:05Z".parse().unwrap(),
        backend: "embedded".to_owned(),
        target: "none".to_owned(),
        namespace: DEFAULT_NAMESPACE.to_owned(),
        time_factor: 1.0,
        order: Order::Exact,
        virtual_time: false,
        provenance: None,
    };
    let end = StepEnd::TimedOut {
        phase: "purge".to_owned(),
        waited_secs: 13.0,
    };
    let text = String::new();
    let events = [
        Event::Mark(Mark::Begin(begin)),
        tenant(metadata),
        Event::Mark(Mark::StepStarted { step: 0, text }),
        Event::Mark(Mark::StepEnded { step: 0, end }),
    ];
    judge::judge(&plan, &Timeline::new(entries(events)).unwrap())
}

const DELETED: &str = "2026-01-02T03:04:06Z";

#[rstest]
#[case::of_an_assertion(assertion(Mode::Eventually))]
#[case::of_a_wait(wait())]
fn what_the_garbage_collector_has_not_removed_is_inconclusive(#[case] action: Action) {
    let metadata = json!({"name": "acme", "deletionTimestamp": DELETED, "finalizers": ["foregroundDeletion"]});
    let verdict = verdict(action, &metadata);
    assert_eq!(verdict.findings, []);
    let seen: Vec<_> = verdict
        .inconclusive
        .iter()
        .map(|finding| finding.seen.as_str())
        .collect();
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert!(
        seen[0].ends_with("the cluster's garbage collector has not removed it yet"),
        "{seen:?}"
    );
}

#[test]
fn who_goes_on_before_it_is_gone_is_to_blame() {
    let metadata = json!({"name": "acme", "deletionTimestamp": DELETED, "finalizers": ["foregroundDeletion"]});
    let verdict = verdict(assertion(Mode::Now), &metadata);
    assert_eq!((verdict.findings.len(), verdict.inconclusive.len()), (1, 0));
}

#[rstest]
#[case::it_is_not_deleted(json!({"name": "acme", "finalizers": ["foregroundDeletion"]}))]
#[case::somebody_else_holds_it(json!({
    "name": "acme", "deletionTimestamp": DELETED, "finalizers": ["foregroundDeletion", "example.org/held"],
}))]
#[case::somebody_holds_it(json!({"name": "acme", "deletionTimestamp": DELETED, "finalizers": ["example.org/held"]}))]
fn what_others_have_not_removed_is_a_finding(
    #[case] metadata: Value,
    #[values(assertion(Mode::Eventually), wait())] action: Action,
) {
    let verdict = verdict(action, &metadata);
    assert_eq!((verdict.findings.len(), verdict.inconclusive.len()), (1, 0));
}

#[rstest]
#[case(json!({"name": "acme", "deletionTimestamp": DELETED, "finalizers": ["foregroundDeletion"]}), true)]
#[case(json!({"name": "acme", "deletionTimestamp": DELETED, "finalizers": ["example.org/held"]}), false)]
#[case(json!({"name": "acme"}), false)]
fn whoever_waits_can_tell(#[case] metadata: Value, #[case] left: bool) {
    let condition = gone();
    let history = entries([tenant(&metadata)]);
    let watch = Watch::begin(Mode::Eventually, &condition, &history, Standpoint::default());
    assert_eq!(watch.waits_for_garbage_collector(), left);
}
