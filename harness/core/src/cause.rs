//! Likely causes of a step that timed out: messages of Events, changed conditions, and frequent mistakes in cases.

mod absent;

use std::time::Duration;

use serde_json::Value;

use crate::{
    case::model::Phase,
    select::BINDING_KINDS,
    timeline::{Change, Entry, Event, Mark, ObjectId, Revision, StepEnd, Timeline, World},
};

/// Returns the message of an Event, such as `Warning EvictionBlocked: …`; `None` for other kinds.
pub fn event_message(kind: &str, event: &Value) -> Option<String> {
    if kind != "Event" {
        return None;
    }
    // core/v1 and events.k8s.io/v1 name the text differently.
    let message = text(event, "/message").or_else(|| text(event, "/note"))?;
    let words = [text(event, "/type"), text(event, "/reason")];
    let head = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
    Some(format!("{head}: {message}"))
}

/// Returns the conditions that are new or whose status changed, such as `Ready=False (NodeNotReady): …`.
pub fn condition_changes(before: Option<&Value>, after: &Value) -> Vec<String> {
    let status_before = |kind: &str| {
        let condition = conditions(before?).find(|it| it["type"].as_str() == Some(kind))?;
        condition["status"].as_str()
    };
    let changed = conditions(after).filter_map(|condition| {
        let (kind, status) = (condition["type"].as_str()?, condition["status"].as_str()?);
        (status_before(kind) != Some(status)).then(|| in_words(kind, status, condition))
    });
    changed.collect()
}

/// Returns the likely cause of a step that timed out; `None` if no step did, or if nothing points to a cause.
pub fn of_timeout(timeline: &Timeline) -> Option<String> {
    let entries = timeline.entries();
    let (timed_out, (phase, waited)) = entries
        .iter()
        .enumerate()
        .find_map(|(at, it)| Some((at, timeout(it)?)))?;
    let timed_out_at = entries[timed_out].at;
    let began = timed_out_at.saturating_sub(waited);
    let entries = &entries[..timed_out];
    let world = World::after(entries);
    several_clusters(&world)
        .or_else(|| tolerated(&world, entries, timed_out_at))
        .or_else(|| without_status(&world).filter(|_| phase == Phase::Collect.name()))
        .or_else(|| not_applied(&world))
        .or_else(|| last_warning(&entries[since(entries, began)..]))
        .or_else(|| absent::unbound(&world))
        .or_else(|| false_condition(&world))
        .or_else(|| absent::unscheduled(&world, phase))
}

/// Warnings that are older than this when a step begins are unrelated to it.
const RECENT: Duration = Duration::from_secs(10);

/// Returns the index of the first entry that may be related to a step that began at that time.
fn since(entries: &[Entry], began: Duration) -> usize {
    entries.partition_point(|entry| entry.at + RECENT < began)
}

/// Returns the members that are not ready or have taints, each with the condition `Ready` or the taint. Taints that the
/// harness set are left out.
pub fn unfit_members(world: &World) -> Vec<String> {
    let clusters = world.objects().filter(|(id, _)| id.kind == "Cluster");
    let unfit = clusters.flat_map(|(id, cluster)| {
        let not_ready = match conditions(cluster).find(|it| it["type"] == "Ready") {
            None => Some("no condition Ready".to_owned()),
            Some(ready) if ready["status"] == "True" => None,
            Some(ready) => Some(in_words("Ready", ready["status"].as_str().unwrap_or_default(), ready)),
        };
        let taints = list(cluster, "/spec/taints").iter().filter_map(|taint| {
            let (key, effect) = (taint["key"].as_str()?, taint["effect"].as_str()?);
            (!key.starts_with("baton.dev/")).then(|| format!("tainted with {key}:{effect}"))
        });
        let told = not_ready.into_iter().chain(taints);
        told.map(|what| format!("{}: {what}", id.name)).collect::<Vec<_>>()
    });
    unfit.collect()
}

/// Returns the phase of a step that timed out, and the time that it waited.
fn timeout(entry: &Entry) -> Option<(&str, Duration)> {
    match &entry.event {
        Event::Mark(Mark::StepEnded {
            end: StepEnd::TimedOut { phase, waited_secs },
            ..
        }) => Some((phase, Duration::try_from_secs_f64(*waited_secs).unwrap_or_default())),
        Event::Mark(_) | Event::Revision(_) => None,
    }
}

/// Finds a workload on several clusters. A role is bound to one cluster, so such a workload binds no role.
fn several_clusters(world: &World) -> Option<String> {
    let (id, binding) = bindings(world).find(|(_, binding)| {
        list(binding, "/spec/clusters").len() > 1 && list(binding, "/spec/placement/spreadConstraints").is_empty()
    })?;
    let names = list(binding, "/spec/clusters").iter();
    let names: Vec<&str> = names.filter_map(|cluster| cluster["name"].as_str()).collect();
    Some(format!(
        "{} {} is scheduled to {}: if one cluster is intended, set `spreadConstraints` in the policy",
        id.kind,
        id.name,
        names.join(" and ")
    ))
}

/// Finds a taint that a workload tolerates for a time that had not ended by then.
fn tolerated(world: &World, entries: &[Entry], by: Duration) -> Option<String> {
    let taints: Vec<(&str, &str)> = world
        .objects()
        .filter(|(id, _)| id.kind == "Cluster")
        .flat_map(|(id, cluster)| {
            let taints = list(cluster, "/spec/taints").iter();
            let no_execute = taints.filter(|taint| taint["effect"] == "NoExecute");
            no_execute.filter_map(|taint| Some((id.name.as_str(), taint["key"].as_str()?)))
        })
        .collect();
    bindings(world).find_map(|(_, binding)| {
        let here = list(binding, "/spec/clusters");
        let is_here = |name: &str| here.iter().any(|cluster| cluster["name"] == name);
        list(binding, "/spec/placement/clusterTolerations")
            .iter()
            .find_map(|toleration| {
                let seconds = toleration["tolerationSeconds"]
                    .as_u64()
                    .filter(|seconds| *seconds > 0)?;
                let (cluster, key) = taints.iter().find(|(cluster, key)| {
                    let tainted_for = by.saturating_sub(tainted_at(entries, cluster, key));
                    is_here(cluster)
                        && toleration["key"].as_str().is_none_or(|it| it == *key)
                        && tainted_for < Duration::from_secs(seconds)
                })?;
                Some(format!(
                    "the taint {key} on {cluster} is tolerated for {seconds} s: let that time pass with `elapse`"
                ))
            })
    })
}

/// Returns the time when a present taint was first seen.
fn tainted_at(entries: &[Entry], cluster: &str, key: &str) -> Duration {
    let (mut since, mut was_there) = (Duration::ZERO, false);
    for entry in entries {
        let Event::Revision(revision) = &entry.event else {
            continue;
        };
        if revision.kind == "Cluster" && revision.object["metadata"]["name"] == cluster {
            let taints = list(&revision.object, "/spec/taints").iter();
            let mut of_key = taints.filter(|taint| taint["key"] == key && taint["effect"] == "NoExecute");
            let is_there = of_key.next().is_some();
            if is_there && !was_there {
                since = entry.at;
            }
            was_there = is_there;
        }
    }
    since
}

/// Finds a copy without a status, such as one of a kind that the workload simulator has no rules for.
fn without_status(world: &World) -> Option<String> {
    let resources: Vec<&Value> = bindings(world)
        .map(|(_, binding)| &binding["spec"]["resource"])
        .collect();
    let is_copy = |id: &ObjectId| {
        let same = |resource: &&Value| {
            (resource["kind"].as_str(), resource["name"].as_str()) == (Some(id.kind.as_str()), Some(id.name.as_str()))
                && resource["namespace"].as_str().unwrap_or_default() == id.namespace
        };
        !id.cluster.is_control() && resources.iter().any(same)
    };
    let is_empty = |object: &Value| object["status"].as_object().is_none_or(serde_json::Map::is_empty);
    let (id, _) = world.objects().find(|(id, object)| is_copy(id) && is_empty(object))?;
    Some(format!(
        "the status of {} {} on {} is empty: neither `setStatus` nor a rule of the workload simulator has written it",
        id.kind, id.name, id.cluster
    ))
}

/// Finds a copy that a member refused.
fn not_applied(world: &World) -> Option<String> {
    bindings(world).find_map(|(id, binding)| {
        let mut items = list(binding, "/status/aggregatedStatus").iter();
        let item = items.find(|item| item["applied"] == false && text(item, "/appliedMessage").is_some())?;
        let (cluster, message) = (text(item, "/clusterName")?, text(item, "/appliedMessage")?);
        Some(format!("{} {}: not applied on {cluster}: {message}", id.kind, id.name))
    })
}

fn last_warning(entries: &[Entry]) -> Option<String> {
    let mut warnings = entries.iter().rev().filter_map(|entry| match &entry.event {
        Event::Revision(Revision {
            kind, object, change, ..
        }) if *change != Change::Deleted && object["type"] == "Warning" => event_message(kind, object),
        Event::Revision(_) | Event::Mark(_) => None,
    });
    warnings.next()
}

/// Finds a false condition of a binding or a Work.
fn false_condition(world: &World) -> Option<String> {
    let watched = |id: &ObjectId| BINDING_KINDS.contains(&id.kind.as_str()) || id.kind == "Work";
    world.objects().filter(|(id, _)| watched(id)).find_map(|(id, object)| {
        let condition = conditions(object).find(|it| it["status"] == "False")?;
        let words = in_words(condition["type"].as_str()?, "False", condition);
        Some(format!("{} {}: {words}", id.kind, id.name))
    })
}

fn bindings(world: &World) -> impl Iterator<Item = (&ObjectId, &Value)> {
    let objects = world.objects().map(|(id, object)| (id, &**object));
    objects.filter(|(id, _)| BINDING_KINDS.contains(&id.kind.as_str()))
}

fn conditions(object: &Value) -> impl Iterator<Item = &Value> {
    list(object, "/status/conditions").iter()
}

fn in_words(kind: &str, status: &str, condition: &Value) -> String {
    let reason = text(condition, "/reason").map(|reason| format!(" ({reason})"));
    let message = text(condition, "/message").map(|message| format!(": {message}"));
    format!(
        "{kind}={status}{}{}",
        reason.unwrap_or_default(),
        message.unwrap_or_default()
    )
}

fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    let list = object.pointer(pointer).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

fn text<'a>(object: &'a Value, pointer: &str) -> Option<&'a str> {
    let text = object.pointer(pointer).and_then(Value::as_str);
    text.filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::names::ClusterName;

    fn timeline(objects: &[(&str, Value)]) -> Timeline {
        timed_out_after(Duration::ZERO, objects)
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
        let found = of_timeout(&timeline(&[warning()])).unwrap();
        assert_eq!(
            found,
            "Warning Blocked: eviction from member1 waits: rule 1 matches nothing"
        );
        assert_eq!(of_timeout(&timeline(&[])), None);
    }

    #[test]
    fn what_was_over_long_before_the_step_is_no_cause() {
        let after = |seconds| of_timeout(&timed_out_after(Duration::from_secs(seconds), &[warning()]));
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
        let found = of_timeout(&timeline(&[(kind, refused)]));
        let told = "ResourceBinding deploy-deployment: not applied on member2: selector not auto-generated";
        assert_eq!(found.as_deref(), Some(told));
    }

    #[test]
    fn several_clusters_are_fine_where_the_policy_says_how_many() {
        let spread = json!({"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}]});
        let two = binding(&json!([{"name": "member1"}, {"name": "member2"}]), &spread);
        assert_eq!(of_timeout(&timeline(&[two])), None);
    }

    #[test]
    fn two_clusters_and_a_toleration_come_before_warnings() {
        let two = binding(&json!([{"name": "member1"}, {"name": "member2"}]), &json!({}));
        let found = of_timeout(&timeline(&[two, warning()])).unwrap();
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
        let found_after = |seconds| of_timeout(&timed_out_after(Duration::from_secs(seconds), &objects)).unwrap();
        let found = found_after(299);
        assert!(found.contains("on member1 is tolerated for 300 s"), "{found}");
        assert_eq!(of_timeout(&timed_out_after(Duration::from_secs(300), &objects)), None);
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
            of_timeout(&Timeline::new(entries).unwrap())
        };
        let found = told("collect", &json!({})).unwrap();
        assert!(
            found.starts_with("the status of SparkApplication spark on member1 is empty: neither `setStatus`"),
            "{found}"
        );
        assert_eq!(told("collect", &json!({"state": "RUNNING"})), None);
        assert_eq!(told("evict", &json!({})), None);
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
}
