//! The identity of a workload on all clusters.

use crate::case::model::ObjectRef;

/// A workload on whatever cluster: kind, namespace (empty for what has none) and name.
pub(in crate::judge) type Workload = (String, String, String);

/// Identity that a template and its copies share.
pub(super) fn key(workload: &ObjectRef) -> Workload {
    (
        workload.kind.clone(),
        workload.namespace.clone().unwrap_or_default(),
        workload.name.clone(),
    )
}
