//! Shared helpers of the tests of fleets.

use baton_cluster::{
    actions,
    fleet::{
        Cluster, Fleet,
        embedded::{Embedded, Options, Time},
    },
    observer::Recorder,
};
use baton_core::{
    case::model::ObjectRef,
    names::{CaseId, ClusterName},
    timeline::{Begin, Change, Event, Order, Revision},
};
use serde_json::{Value, json};

/// The namespace of tests.
pub const NAMESPACE: &str = "default";

/// A fleet on virtual time, or on real time in other runtimes.
pub async fn fleet(members: usize, time: Time) -> Box<dyn Fleet> {
    let options = Options::new(members, time);
    Box::new(Embedded::boot(options).await.unwrap())
}

/// Starts to observe a fleet.
pub fn observe(fleet: &dyn Fleet) -> Recorder {
    let members = fleet.members().iter().map(|member| member.name().clone());
    fleet
        .observe(Begin {
            case: CaseId::new("test"),
            members: members.collect(),
            started: fleet.clock()(),
            backend: fleet.backend().to_owned(),
            target: "none".to_owned(),
            namespace: "default".to_owned(),
            time_factor: 1.0,
            order: Order::Exact,
            virtual_time: false,
            provenance: None,
        })
        .unwrap()
}

/// Reads a fixture with one object.
pub fn fixture(path: &str) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/");
    let text = std::fs::read_to_string(format!("{folder}{path}")).unwrap();
    baton_core::yaml::plain::read(&text).unwrap()
}

/// Reads a fixture, and adds an annotation of the simulator.
pub fn annotated(path: &str, setting: &str, value: &str) -> Value {
    let mut object = fixture(path);
    object["metadata"]["annotations"] = json!({format!("simulator.baton.dev/{setting}"): value});
    object
}

pub async fn apply(cluster: &Cluster, object: &Value) {
    let client = cluster.inside(actions::BATON);
    actions::apply(&client, object, NAMESPACE).await.unwrap();
}

pub fn reference(api_version: &str, kind: &str, name: &str) -> ObjectRef {
    ObjectRef {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        namespace: Some(NAMESPACE.to_owned()),
        name: name.to_owned(),
    }
}

/// Follows the timeline until a revision of a kind on a member fulfills the condition; returns all revisions of objects
/// of that kind and name until then.
pub async fn until(recorder: &Recorder, kind: &str, name: &str, is: impl Fn(&Revision) -> bool) -> Vec<Revision> {
    let mut follower = recorder.follow();
    let mut seen = Vec::new();
    while let Some(entries) = follower.next().await {
        for entry in entries {
            let Event::Revision(revision) = entry.event else {
                continue;
            };
            if revision.kind != kind || revision.object["metadata"]["name"] != name {
                continue;
            }
            let done = is(&revision);
            seen.push(revision);
            if done {
                return seen;
            }
        }
    }
    panic!("the timeline ended; seen until then: {seen:#?}");
}

/// Like [`until`], but for at most ten minutes of the clusters' time.
pub async fn until_status(recorder: &Recorder, kind: &str, name: &str, field: &str, value: Value) -> Vec<Value> {
    let pointer = format!("/status/{field}");
    let found = until(recorder, kind, name, |revision| {
        revision.change != Change::Deleted && revision.object.pointer(&pointer) == Some(&value)
    });
    let found = tokio::time::timeout(std::time::Duration::from_secs(600), found).await;
    let Ok(found) = found else {
        panic!(
            "{kind} {name} never had {pointer} {value}: {:#?}",
            all(recorder, kind, name)
        );
    };
    found
        .into_iter()
        .map(|revision| revision.object["status"].clone())
        .collect()
}

/// All revisions of an object so far.
pub fn all(recorder: &Recorder, kind: &str, name: &str) -> Vec<(Change, Value)> {
    let timeline = recorder.timeline();
    let revisions = timeline.revisions().map(|(_, revision)| revision);
    revisions
        .filter(|revision| revision.kind == kind && revision.object["metadata"]["name"] == name)
        .map(|revision| (revision.change, revision.object["status"].clone()))
        .collect()
}

pub fn member(number: usize) -> ClusterName {
    ClusterName::new(format!("member{number}"))
}
