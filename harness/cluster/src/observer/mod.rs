//! Records every revision of the relevant kinds, on every cluster, in one order.
//!
//! - [`recorder`]: the growing timeline, to which the runner adds marks and which readers follow;
//! - `exact`: commits of embedded clusters, in their exact order;
//! - `watching`: lists and watches of other clusters, in order of arrival; `kind`: one kind of one cluster; `kinds`:
//!   the kinds to watch; `fences`: proofs of the order of events on different clusters; `news`: events on their way to
//!   the timeline.
//!
//! Never recorded: `managedFields`; Secrets and other credentials, also inside other objects; kinds that have nothing
//! to do with a failover and change all the time.

pub(crate) mod exact;
mod fences;
mod kind;
mod kinds;
mod news;
pub mod recorder;
pub mod watching;

use std::{collections::BTreeMap, task::Context};

use baton_core::{
    names::ClusterName,
    redact::redact,
    timeline::{Change, Event, ObjectId, Revision},
};
use jiff::Timestamp;
use serde_json::Value;

pub(crate) use kinds::served;
use recorder::Seen;
pub use recorder::{Follower, Recorder};

/// A source of revisions for a recorder.
pub(crate) trait Source: Send {
    /// Returns the available revisions, in order, without waiting. With a context, wakes it when more arrive.
    fn take(&mut self, context: Option<&mut Context<'_>>) -> Vec<Seen>;

    /// Returns the revisions that were held back for earlier ones, once no more are expected.
    fn rest(&mut self) -> Vec<Seen>;

    /// Checks whether every later change of a kind on a cluster will be seen.
    fn hears_of(&self, _cluster: &ClusterName, _kind: &str) -> bool {
        true
    }

    /// Checks whether a write to a kind on a cluster may be seen later than its writer gets the answer.
    fn may_lag(&self, _cluster: &ClusterName, _kind: &str) -> bool {
        false
    }
}

/// A source that has ended.
struct Nothing;

impl Source for Nothing {
    fn take(&mut self, _context: Option<&mut Context<'_>>) -> Vec<Seen> {
        Vec::new()
    }

    fn rest(&mut self) -> Vec<Seen> {
        Vec::new()
    }
}

/// Kinds that are not recorded: the first four may hold credentials, the webhooks have addresses and certificates that
/// differ between runs, the others have nothing to do with a failover.
const NOT_RECORDED: &[&str] = &[
    "Secret",
    "ConfigMap",
    "ServiceAccount",
    "TokenReview",
    "APIService",
    "ClusterRole",
    "ClusterRoleBinding",
    "ControllerRevision",
    "CustomResourceDefinition",
    "EndpointSlice",
    "Endpoints",
    "FlowSchema",
    "Lease",
    "MutatingWebhookConfiguration",
    "PriorityClass",
    "PriorityLevelConfiguration",
    "Role",
    "RoleBinding",
    "ValidatingWebhookConfiguration",
];

/// Checks whether timelines contain objects of a kind.
pub fn is_recorded(kind: &str) -> bool {
    !NOT_RECORDED.contains(&kind)
}

/// Converts the revisions so far to a list of the present objects.
fn what_is_there(seen: Vec<Seen>, at: Timestamp) -> Vec<Seen> {
    let mut there: BTreeMap<ObjectId, Revision> = BTreeMap::new();
    for Seen { event, .. } in seen {
        let Event::Revision(revision) = event else { continue };
        let id = ObjectId::of(&revision);
        match revision.change {
            Change::List | Change::Added | Change::Modified => {
                there.insert(id, revision);
            }
            Change::Deleted => {
                there.remove(&id);
            }
        }
    }
    let listed = there.into_values().map(|revision| Revision {
        change: Change::List,
        by: None,
        ..revision
    });
    listed.map(|revision| Seen::revision(at, revision)).collect()
}

/// Removes fields of an object that are not recorded; `None` for kinds that are not recorded.
fn scrub(kind: &str, object: &Value) -> Option<Value> {
    if NOT_RECORDED.contains(&kind) {
        return None;
    }
    let mut object = without_managed_fields(object);
    redact(&mut object);
    Some(object)
}

/// Copies an object without its managed fields, which are often half of it.
fn without_managed_fields(object: &Value) -> Value {
    let Value::Object(members) = object else {
        return object.clone();
    };
    let copied = members.iter().map(|(key, value)| match value {
        Value::Object(metadata) if key == "metadata" => {
            let recorded = metadata.iter().filter(|(key, _)| *key != "managedFields");
            let recorded = recorded.map(|(key, value)| (key.clone(), value.clone()));
            (key.clone(), Value::Object(recorded.collect()))
        }
        _ => (key.clone(), value.clone()),
    });
    Value::Object(copied.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_not_recorded() {
        assert_eq!(scrub("Secret", &json!({"data": {"token": "c2VjcmV0"}})), None);
    }

    #[test]
    fn managed_fields_are_left_out() {
        let object = json!({"metadata": {"name": "x", "managedFields": []}, "spec": 1});
        let expected = json!({"metadata": {"name": "x"}, "spec": 1});
        assert_eq!(scrub("Work", &object), Some(expected));
    }
}
