//! Records every revision of the kinds that matter, on every cluster, in one order.
//!
//! - [`recorder`]: the growing timeline, to which the runner adds its marks and which others follow;
//! - `exact`: what embedded clusters commit, in exactly that order;
//! - `watching`: what clusters tell those who list and watch, in the order in which they tell it; `kind`: one kind of one
//!   cluster; `kinds`: which kinds there are; `fences`: what is done to tell the order of events on different clusters all
//!   the same.
//!
//! What never gets in: `managedFields`; Secrets and whatever else holds credentials, also inside other objects; kinds
//! that say nothing of a failover and change all the time.

pub(crate) mod exact;
mod fences;
mod kind;
mod kinds;
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

/// Where a recorder takes revisions from.
pub(crate) trait Source: Send {
    /// What has come, in order, without waiting. With a context it is woken when more comes.
    fn take(&mut self, context: Option<&mut Context<'_>>) -> Vec<Seen>;

    /// What has come but still waits for something before it; now that nothing more is waited for.
    fn rest(&mut self) -> Vec<Seen>;

    /// Whether whatever happens to objects of a kind on a cluster is sure to be heard of from now on.
    fn hears_of(&self, _cluster: &ClusterName, _kind: &str) -> bool {
        true
    }

    /// Whether what is written to objects of a kind on a cluster may be heard of later than its writer has the answer.
    fn may_lag(&self, _cluster: &ClusterName, _kind: &str) -> bool {
        false
    }
}

/// A source that is over.
struct Nothing;

impl Source for Nothing {
    fn take(&mut self, _context: Option<&mut Context<'_>>) -> Vec<Seen> {
        Vec::new()
    }

    fn rest(&mut self) -> Vec<Seen> {
        Vec::new()
    }
}

/// Kinds that are not recorded: the first four could hold credentials, the webhooks have addresses and certificates that
/// differ from run to run, the others say nothing of a failover.
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

/// Whether timelines have objects of a kind.
pub fn is_recorded(kind: &str) -> bool {
    !NOT_RECORDED.contains(&kind)
}

/// Makes a list of what is there out of what was seen until now.
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

/// What of an object is recorded; nothing at all of some kinds.
fn scrub(kind: &str, object: &Value) -> Option<Value> {
    if NOT_RECORDED.contains(&kind) {
        return None;
    }
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    redact(&mut object);
    Some(object)
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
