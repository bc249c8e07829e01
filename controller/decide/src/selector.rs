//! Matches label selectors and cluster affinities.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use crate::api::Cluster;
use crate::api::policy::ClusterAffinity;

/// Returns true if the selector selects the labels. An empty selector selects everything, an unknown operator nothing.
pub fn selects(selector: &LabelSelector, labels: Option<&BTreeMap<String, String>>) -> bool {
    let none = BTreeMap::new();
    let labels = labels.unwrap_or(&none);
    let exact = selector
        .match_labels
        .iter()
        .flatten()
        .all(|(key, value)| labels.get(key) == Some(value));
    exact
        && selector
            .match_expressions
            .iter()
            .flatten()
            .all(|requirement| meets(requirement, labels))
}

fn meets(requirement: &LabelSelectorRequirement, labels: &BTreeMap<String, String>) -> bool {
    let value = labels.get(&requirement.key);
    let among = value.is_some_and(|value| requirement.values.iter().flatten().any(|allowed| allowed == value));
    match requirement.operator.as_str() {
        "In" => among,
        "NotIn" => !among,
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        _ => false,
    }
}

/// Returns true if the affinity selects the cluster, or if there is none.
pub fn means(affinity: Option<&ClusterAffinity>, cluster: &Cluster) -> bool {
    let Some(affinity) = affinity else { return true };
    let name = cluster.name();
    let named = affinity.cluster_names.is_empty() || affinity.cluster_names.iter().any(|wanted| wanted == name);
    let excluded = affinity.exclude_clusters.iter().any(|excluded| excluded == name);
    let labelled = affinity
        .label_selector
        .as_ref()
        .is_none_or(|selector| selects(selector, cluster.metadata.labels.as_ref()));
    named && labelled && !excluded
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn selectors_as_in_kubernetes() {
        let labels = BTreeMap::from([("app".to_owned(), "web".to_owned())]);
        for (selector, expected) in [
            (json!({}), true),
            (json!({"matchLabels": {"app": "web"}}), true),
            (json!({"matchLabels": {"app": "db"}}), false),
            (
                json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["db", "web"]}]}),
                true,
            ),
            (
                json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}),
                false,
            ),
            (
                json!({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["web"]}]}),
                true,
            ),
            (
                json!({"matchExpressions": [{"key": "app", "operator": "Exists"}]}),
                true,
            ),
            (
                json!({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}),
                false,
            ),
            (json!({"matchExpressions": [{"key": "app", "operator": "Odd"}]}), false),
        ] {
            let parsed: LabelSelector = serde_json::from_value(selector.clone()).unwrap();
            assert_eq!(selects(&parsed, Some(&labels)), expected, "{selector}");
        }
    }
}
