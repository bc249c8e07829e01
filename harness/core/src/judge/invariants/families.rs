//! The objects on members that belong to a workload: its copies, and what these own.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{names::ClusterName, timeline::Revision, workload::Workload};

/// The objects on members that workloads own, directly or not, by cluster and uid.
#[derive(Default)]
pub(super) struct Families(BTreeMap<ClusterName, BTreeMap<String, BTreeSet<Workload>>>);

impl Families {
    /// Takes in the next revision on a member, and of which workload it is a copy. Whose pod it is, if it is a pod.
    pub(super) fn take(&mut self, revision: &Revision, copy_of: Option<Workload>) -> BTreeSet<Workload> {
        let on_cluster = self.0.entry(revision.cluster.clone()).or_default();
        let owners = revision
            .object
            .pointer("/metadata/ownerReferences")
            .and_then(Value::as_array);
        let owners = owners.into_iter().flatten();
        let uids = owners.filter_map(|owner| owner.get("uid").and_then(Value::as_str));
        let mut belongs: BTreeSet<Workload> = uids.filter_map(|uid| on_cluster.get(uid)).flatten().cloned().collect();
        belongs.extend(copy_of);
        if !belongs.is_empty() {
            let known = on_cluster.entry(uid(&revision.object).to_owned()).or_default();
            known.extend(belongs.iter().cloned());
        }
        if revision.kind == "Pod" {
            belongs
        } else {
            BTreeSet::new()
        }
    }
}

/// Uid of an object; empty without one.
pub(super) fn uid(object: &Value) -> &str {
    object
        .pointer("/metadata/uid")
        .and_then(Value::as_str)
        .unwrap_or_default()
}
