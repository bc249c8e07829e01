//! Tests of likely causes.

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::{
    names::ClusterName,
    timeline::{Change, Revision},
};

fn timeline(objects: &[(&str, Value)]) -> Timeline {
    timed_out_after(Duration::ZERO, objects)
}

/// Returns the text of the likely cause of a timeout.
fn text_of(timeline: &Timeline) -> Option<String> {
    of_timeout(timeline).map(|cause| cause.text)
}

/// Builds a timeline of objects that exist from the start, and a step that timed out after `time`.
fn timed_out_after(time: Duration, objects: &[(&str, Value)]) -> Timeline {
    let revision = |(kind, object): &(&str, Value)| {
        Event::Revision(Revision {
            cluster: ClusterName::control(),
            kind: (*kind).to_owned(),
            change: Change::Added,
            object: Arc::new(object.clone()),
            by: None,
        })
    };
    let timed_out = Event::Mark(Mark::StepEnded {
        step: 0,
        end: StepEnd::TimedOut {
            phase: "evict".to_owned(),
            waited_secs: 60.0,
        },
    });
    let events = objects.iter().map(revision).chain([timed_out]);
    let entries = (1..).zip(events).map(|(seq, event)| Entry {
        at: if matches!(event, Event::Mark(_)) {
            time
        } else {
            Duration::ZERO
        },
        seq,
        event,
    });
    Timeline::new(entries.collect()).unwrap()
}

fn binding(clusters: &Value, placement: &Value) -> (&'static str, Value) {
    let spec = json!({"clusters": clusters, "placement": placement});
    (
        "ResourceBinding",
        json!({"metadata": {"name": "deploy-deployment"}, "spec": spec}),
    )
}

fn warning() -> (&'static str, Value) {
    let message = "eviction from member1 waits: rule 1 matches nothing";
    let event = json!({"metadata": {"name": "e"}, "type": "Warning", "reason": "Blocked", "message": message});
    ("Event", event)
}

#[test]
fn a_warning_event_is_a_likely_cause() {
    let found = text_of(&timeline(&[warning()])).unwrap();
    assert_eq!(
        found,
        "Warning Blocked: eviction from member1 waits: rule 1 matches nothing"
    );
    assert_eq!(text_of(&timeline(&[])), None);
}

#[test]
fn a_lost_race_is_no_cause() {
    let (kind, mut event) = warning();
    event["message"] = json!("resourcebindings.work.karmada.io \"deploy-deployment\" already exists");
    assert_eq!(text_of(&timeline(&[(kind, event.clone())])), None);
    let found = text_of(&timeline(&[warning(), (kind, event)]));
    assert!(
        found.is_some_and(|it| it.starts_with("Warning Blocked")),
        "the one before it is"
    );
}

#[test]
fn what_was_over_long_before_the_step_is_no_cause() {
    let after = |seconds| text_of(&timed_out_after(Duration::from_secs(seconds), &[warning()]));
    assert!(after(60).is_some(), "it was there when the step began to wait for 60 s");
    assert!(after(70).is_some());
    assert_eq!(after(71), None);
}

#[test]
fn a_copy_that_a_member_refused_is_a_likely_cause() {
    let status = json!({"aggregatedStatus": [
        {"clusterName": "member1", "applied": true},
        {"clusterName": "member2", "applied": false, "appliedMessage": "selector not auto-generated"},
    ]});
    let (kind, mut refused) = binding(&json!([{"name": "member1"}]), &json!({}));
    refused["status"] = status;
    let found = text_of(&timeline(&[(kind, refused)]));
    let told = "ResourceBinding deploy-deployment: not applied on member2: selector not auto-generated";
    assert_eq!(found.as_deref(), Some(told));
}

#[test]
fn several_clusters_are_fine_where_the_policy_says_how_many() {
    let spread = json!({"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}]});
    let two = binding(&json!([{"name": "member1"}, {"name": "member2"}]), &spread);
    assert_eq!(text_of(&timeline(&[two])), None);
}

#[test]
fn two_clusters_and_a_toleration_come_before_warnings() {
    let two = binding(&json!([{"name": "member1"}, {"name": "member2"}]), &json!({}));
    let found = text_of(&timeline(&[two, warning()])).unwrap();
    assert!(found.contains("is scheduled to member1 and member2"), "{found}");
    let taints = json!([{"key": "baton.dev/failed", "effect": "NoExecute"}]);
    let cluster = (
        "Cluster",
        json!({"metadata": {"name": "member1"}, "spec": {"taints": taints}}),
    );
    let tolerations = json!([{"key": "baton.dev/failed", "effect": "NoExecute", "tolerationSeconds": 300}]);
    let one = binding(
        &json!([{"name": "member1"}]),
        &json!({"clusterTolerations": tolerations}),
    );
    let objects = [cluster, one, warning()];
    let found_after = |seconds| text_of(&timed_out_after(Duration::from_secs(seconds), &objects)).unwrap();
    let found = found_after(299);
    assert!(found.contains("on member1 is tolerated for 300 s"), "{found}");
    assert_eq!(text_of(&timed_out_after(Duration::from_secs(300), &objects)), None);
}

#[test]
fn a_copy_without_a_status_is_named_where_one_was_waited_for() {
    let resource = json!({"kind": "SparkApplication", "namespace": "default", "name": "spark"});
    let binding = json!({"metadata": {"name": "spark"}, "spec": {"resource": resource}});
    let copy = |status: &Value| {
        let spark = json!({"metadata": {"namespace": "default", "name": "spark"}, "status": status});
        Event::Revision(Revision {
            cluster: ClusterName::new("member1"),
            kind: "SparkApplication".to_owned(),
            change: Change::Added,
            object: Arc::new(spark),
            by: None,
        })
    };
    let told = |phase: &str, status: &Value| {
        let bound = timeline(&[("ResourceBinding", binding.clone())]);
        let mut entries = bound.entries().to_vec();
        entries[1].event = copy(status);
        let mut last = entries[1].clone();
        last.seq += 1;
        last.event = Event::Mark(Mark::StepEnded {
            step: 1,
            end: StepEnd::TimedOut {
                phase: phase.to_owned(),
                waited_secs: 60.0,
            },
        });
        entries.push(last);
        text_of(&Timeline::new(entries).unwrap())
    };
    let found = told("collect", &json!({})).unwrap();
    assert!(
        found.starts_with("the status of SparkApplication spark on member1 is empty: neither `setStatus`"),
        "{found}"
    );
    for (phase, status) in [("collect", json!({"state": "RUNNING"})), ("evict", json!({}))] {
        let found = told(phase, &status).unwrap_or_default();
        assert!(!found.contains("is empty"), "{found}");
    }
}

#[test]
fn conditions_are_told_when_their_status_changes() {
    let object = |status: &str| {
        json!({"status": {"conditions": [
            {"type": "Ready", "status": status, "reason": "Lost", "message": "no answer"},
        ]}})
    };
    let changes = condition_changes(Some(&object("True")), &object("False"));
    assert_eq!(changes, ["Ready=False (Lost): no answer"]);
    assert!(condition_changes(Some(&object("False")), &object("False")).is_empty());
}

fn finding(step: Option<usize>, seq: u64) -> Finding {
    Finding {
        requirements: std::collections::BTreeSet::new(),
        field: None,
        kind: crate::judge::DifferenceKind::Other,
        title: "two copies".to_owned(),
        step,
        expected: String::new(),
        seen: String::new(),
        object: None,
        seq,
        at: Duration::ZERO,
        mismatches: Vec::new(),
        follows: None,
    }
}

#[test]
fn every_failure_has_a_cause() {
    let cause = |timeline: &Timeline, finding: Finding| of_failure(timeline, &[finding]).unwrap();
    let silent = timeline(&[]);
    assert_eq!(
        cause(&silent, finding(Some(0), 1)),
        Cause::new("nothing happens any more", "the implementation wrote nothing at all")
    );
    let (kind, bound) = binding(&json!([{"name": "member1"}]), &json!({}));
    let wrote = timeline(&[(kind, bound)]);
    let of_step = cause(&wrote, finding(Some(0), 2));
    assert!(
        of_step
            .text
            .ends_with("its last write: ResourceBinding deploy-deployment on control created at 0.000 s, entry 1"),
        "{of_step:?}"
    );
    let of_invariant = cause(&wrote, finding(None, 1));
    assert_eq!(of_invariant.group, "two copies");
    assert!(
        of_invariant.text.ends_with("created at 0.000 s, entry 1"),
        "{of_invariant:?}"
    );
}

#[test]
fn a_cause_of_another_step_than_that_of_the_finding_is_none() {
    let warned = timeline(&[warning()]);
    assert_eq!(
        of_failure(&warned, &[finding(Some(0), 2)]).unwrap().group,
        "Warning Blocked"
    );
    assert_eq!(of_failure(&warned, &[finding(Some(7), 1)]).unwrap().group, "two copies");
}

#[test]
fn a_warning_about_another_workload_is_no_cause() {
    let bound = |name: &str| {
        let resource = json!({"kind": "Deployment", "namespace": "default", "name": name});
        let metadata = json!({"name": format!("{name}-deployment"), "namespace": "default"});
        let spec = json!({"clusters": [{"name": "member1"}], "resource": resource});
        ("ResourceBinding", json!({"metadata": metadata, "spec": spec}))
    };
    let (kind, mut event) = warning();
    event["involvedObject"] = json!({"kind": "Deployment", "namespace": "default", "name": "other"});
    let warned = timeline(&[bound("deploy"), bound("other"), (kind, event)]);
    let of_binding = |name: &str| Finding {
        object: Some(ObjectId {
            cluster: ClusterName::control(),
            kind: "ResourceBinding".to_owned(),
            namespace: "default".to_owned(),
            name: name.to_owned(),
        }),
        ..finding(Some(0), 4)
    };
    let group = |finding: Finding| of_failure(&warned, &[finding]).unwrap().group;
    assert_eq!(group(of_binding("other-deployment")), "Warning Blocked");
    assert_ne!(group(of_binding("deploy-deployment")), "Warning Blocked");
    let of_policy = finding(Some(0), 4);
    assert_eq!(group(of_policy), "Warning Blocked", "it may be about anything");
}

#[test]
fn no_warning_explains_a_wrong_value_in_a_task() {
    let warned = timeline(&[warning()]);
    let wrong = |field: &str| Finding {
        field: Some(field.to_owned()),
        kind: crate::judge::DifferenceKind::Different,
        ..finding(Some(0), 2)
    };
    let group = |field: &str| of_failure(&warned, &[wrong(field)]).unwrap().group;
    assert_eq!(group("spec.clusters[].name"), "Warning Blocked");
    assert_ne!(
        group("spec.gracefulEvictionTasks[].preservedLabelState[]"),
        "Warning Blocked"
    );
}

/// A step that began after the case tainted a cluster waits for something that follows the taint.
#[test]
fn a_warning_from_before_the_last_write_of_the_case_is_no_cause() {
    let by = |hands: Option<&str>, (kind, object): (&str, Value)| {
        Event::Revision(Revision {
            cluster: ClusterName::control(),
            kind: kind.to_owned(),
            change: Change::Modified,
            object: Arc::new(object),
            by: hands.map(str::to_owned),
        })
    };
    let taint = || by(Some(HANDS), ("Cluster", json!({"metadata": {"name": "member1"}})));
    let warned = || by(None, warning());
    let found = |events: [Event; 2]| {
        let timed_out = Event::Mark(Mark::StepEnded {
            step: 0,
            end: StepEnd::TimedOut {
                phase: "evict".to_owned(),
                waited_secs: 0.0,
            },
        });
        let entries = (1..).zip(events.into_iter().chain([timed_out]));
        let entries = entries.map(|(seq, event)| Entry {
            at: Duration::ZERO,
            seq,
            event,
        });
        text_of(&Timeline::new(entries.collect()).unwrap())
    };
    assert!(found([taint(), warned()]).is_some());
    assert_eq!(found([warned(), taint()]), None);
}

#[test]
fn an_unhealthy_workload_that_is_to_fail_over_is_a_cause() {
    let unhealthy = |failover: Value| {
        let (kind, mut bound) = binding(&json!([{"name": "member1"}]), &json!({}));
        let status = json!({"readyReplicas": 0});
        bound["spec"]["resource"] = json!({"kind": "Deployment", "namespace": "default", "name": "deploy"});
        bound["spec"]["failover"] = failover;
        bound["status"] =
            json!({"aggregatedStatus": [{"clusterName": "member1", "health": "Unhealthy", "status": status}]});
        let copy = json!({"metadata": {"name": "deploy", "namespace": "default"}, "status": status});
        let mut entries = timeline(&[(kind, bound), ("Deployment", copy)]).entries().to_vec();
        if let Event::Revision(copy) = &mut entries[1].event {
            copy.cluster = ClusterName::new("member1");
        }
        text_of(&Timeline::new(entries).unwrap()).unwrap()
    };
    let stays = unhealthy(json!({"application": {"purgeMode": "Directly"}}));
    assert!(stays.ends_with("and it is still scheduled to member1"), "{stays}");
    assert!(unhealthy(Value::Null).ends_with("health Unhealthy"));
}
