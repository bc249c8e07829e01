//! The API dialect of a target: which kinds and fields its control plane serves, and which a feature needs.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::names::Feature;

/// How it is known what a control plane serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dialect {
    /// `discovered`: by its definitions.
    Discovered,
    /// By what the target file says: kinds, with those of the fields below that each has; all if nothing is said.
    Serves(BTreeMap<String, Option<BTreeSet<String>>>),
}

/// A kind of the failover API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// Its group.
    pub group: &'static str,
    /// The version that cases use.
    pub version: &'static str,
    /// Its plural, as it stands in the name of its definition.
    pub plural: &'static str,
}

/// The kinds of the failover API, as cases use them.
pub const KINDS: [Kind; 7] = [
    kind("Cluster", "cluster.karmada.io", "v1alpha1", "clusters"),
    kind(
        "ClusterPropagationPolicy",
        "policy.karmada.io",
        "v1alpha1",
        "clusterpropagationpolicies",
    ),
    kind(
        "ClusterResourceBinding",
        "work.karmada.io",
        "v1alpha2",
        "clusterresourcebindings",
    ),
    kind(
        "ClusterTaintPolicy",
        "policy.karmada.io",
        "v1alpha1",
        "clustertaintpolicies",
    ),
    kind(
        "PropagationPolicy",
        "policy.karmada.io",
        "v1alpha1",
        "propagationpolicies",
    ),
    kind("ResourceBinding", "work.karmada.io", "v1alpha2", "resourcebindings"),
    kind("Work", "work.karmada.io", "v1alpha1", "works"),
];

const fn kind(name: &'static str, group: &'static str, version: &'static str, plural: &'static str) -> Kind {
    Kind {
        name,
        group,
        version,
        plural,
    }
}

/// What features need: a feature, a kind, and a field of it, or nothing if the kind itself is enough.
/// Lists in a path are passed through.
const NEEDS: [(&str, &str, &str); 20] = [
    ("Propagation", "Cluster", ""),
    ("Propagation", "PropagationPolicy", ""),
    ("Propagation", "ResourceBinding", "status.aggregatedStatus"),
    ("Propagation", "Work", ""),
    ("ClusterPropagation", "ClusterPropagationPolicy", ""),
    (
        "ClusterPropagation",
        "ClusterResourceBinding",
        "status.aggregatedStatus",
    ),
    (
        "StatePreservation",
        "PropagationPolicy",
        "spec.failover.cluster.statePreservation",
    ),
    (
        "StatePreservation",
        "ResourceBinding",
        "spec.gracefulEvictionTasks.preservedLabelState",
    ),
    (
        "LabelInjection",
        "ResourceBinding",
        "spec.gracefulEvictionTasks.preservedLabelState",
    ),
    (
        "LabelInjection",
        "ResourceBinding",
        "spec.gracefulEvictionTasks.clustersBeforeFailover",
    ),
    ("PurgeDirectly", "PropagationPolicy", "spec.failover.cluster.purgeMode"),
    (
        "PurgeDirectly",
        "ResourceBinding",
        "spec.gracefulEvictionTasks.purgeMode",
    ),
    (
        "PurgeGracefully",
        "PropagationPolicy",
        "spec.failover.cluster.purgeMode",
    ),
    (
        "PurgeGracefully",
        "ResourceBinding",
        "spec.gracefulEvictionTasks.purgeMode",
    ),
    ("NoExecuteEviction", "Cluster", "spec.taints"),
    ("NoExecuteEviction", "ResourceBinding", "spec.gracefulEvictionTasks"),
    ("ApplicationFailover", "PropagationPolicy", "spec.failover.application"),
    ("ApplicationFailover", "ResourceBinding", "spec.gracefulEvictionTasks"),
    (
        "GracePeriod",
        "PropagationPolicy",
        "spec.failover.cluster.gracePeriodSeconds",
    ),
    ("ClusterTaintPolicy", "ClusterTaintPolicy", ""),
];

/// The fields of a kind that some feature needs.
pub fn fields(kind: &str) -> BTreeSet<&'static str> {
    let of_kind = NEEDS.iter().filter(|(_, it, field)| *it == kind && !field.is_empty());
    of_kind.map(|(_, _, field)| *field).collect()
}

/// What is known of a kind on a control plane.
#[derive(Debug, Clone, PartialEq)]
pub enum Served {
    /// It is not served.
    No,
    /// It is, and nothing is known of its fields.
    Kind,
    /// It is, with this `OpenAPI` schema.
    Schema(Value),
}

/// The features that cannot be shown for want of a kind or a field, each with the reason in words.
pub fn missing(
    features: &BTreeSet<Feature>,
    dialect: &Dialect,
    found: &BTreeMap<String, Served>,
) -> BTreeMap<Feature, String> {
    let mut missing: BTreeMap<Feature, String> = BTreeMap::new();
    for (feature, kind, field) in NEEDS {
        let feature = Feature::new(feature);
        let lacks = match dialect {
            Dialect::Discovered => lacks(found.get(kind), field),
            Dialect::Serves(kinds) => lacks_by_file(kinds.get(kind), field),
        };
        if features.contains(&feature) && lacks != Lacks::Nothing && !missing.contains_key(&feature) {
            let reason = match lacks {
                Lacks::Field => format!("{kind} has no field {field} on this control plane, which {feature} needs"),
                Lacks::Kind | Lacks::Nothing => format!("this control plane serves no {kind}, which {feature} needs"),
            };
            missing.insert(feature, reason);
        }
    }
    missing
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lacks {
    Nothing,
    Kind,
    Field,
}

fn lacks(found: Option<&Served>, field: &str) -> Lacks {
    match found {
        // Nobody looked.
        None | Some(Served::Kind) => Lacks::Nothing,
        Some(Served::No) => Lacks::Kind,
        Some(Served::Schema(schema)) if field.is_empty() || has_field(schema, field) => Lacks::Nothing,
        Some(Served::Schema(_)) => Lacks::Field,
    }
}

fn lacks_by_file(kind: Option<&Option<BTreeSet<String>>>, field: &str) -> Lacks {
    match kind {
        None => Lacks::Kind,
        Some(Some(fields)) if !field.is_empty() && !fields.contains(field) => Lacks::Field,
        Some(_) => Lacks::Nothing,
    }
}

/// Whether a schema has a field: one that keeps what it does not know has all of them.
fn has_field(schema: &Value, path: &str) -> bool {
    let mut at = schema;
    for key in path.split('.') {
        while let Some(items) = at.get("items") {
            at = items;
        }
        if at.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true)) {
            return true;
        }
        match at.get("properties").and_then(|properties| properties.get(key)) {
            Some(next) => at = next,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn features(names: &[&str]) -> BTreeSet<Feature> {
        names.iter().map(|name| Feature::new(*name)).collect()
    }

    #[test]
    fn a_definition_without_a_field_cannot_show_what_needs_it() {
        let task = |fields: Value| {
            let tasks = json!({"type": "array", "items": {"properties": fields}});
            Served::Schema(json!({"properties": {"spec": {"properties": {"gracefulEvictionTasks": tasks}}}}))
        };
        let found = |served| [("ResourceBinding".to_owned(), served)].into();
        let asked = features(&["StatePreservation", "PurgeDirectly"]);
        let old = missing(&asked, &Dialect::Discovered, &found(task(json!({"purgeMode": {}}))));
        let told = "ResourceBinding has no field spec.gracefulEvictionTasks.preservedLabelState on this control plane, \
                    which StatePreservation needs";
        assert_eq!(old, [(Feature::new("StatePreservation"), told.to_owned())].into());
        let new = task(json!({"purgeMode": {}, "preservedLabelState": {}}));
        assert!(missing(&asked, &Dialect::Discovered, &found(new)).is_empty());
        let open = Served::Schema(json!({"properties": {"spec": {"x-kubernetes-preserve-unknown-fields": true}}}));
        assert!(missing(&asked, &Dialect::Discovered, &found(open)).is_empty());
        assert_eq!(missing(&asked, &Dialect::Discovered, &found(Served::No)).len(), 2);
    }

    #[test]
    fn a_target_file_may_say_what_is_served() {
        let only = |fields: &[&str]| Some(fields.iter().map(|field| (*field).to_owned()).collect());
        let serves = Dialect::Serves(
            [
                ("PropagationPolicy".to_owned(), None),
                (
                    "ResourceBinding".to_owned(),
                    only(&["spec.gracefulEvictionTasks.purgeMode"]),
                ),
            ]
            .into(),
        );
        let asked = features(&["StatePreservation", "PurgeDirectly", "ClusterTaintPolicy"]);
        let missing = missing(&asked, &serves, &BTreeMap::new());
        let names: Vec<_> = missing.keys().map(Feature::as_str).collect();
        assert_eq!(names, ["ClusterTaintPolicy", "StatePreservation"]);
    }
}
