//! Validates policies beyond their schema: paths that do not parse (VAL-02), label and taint keys with too long a
//! prefix (VAL-02, VAL-03), and selectors that select nothing because they are misspelt.
//!
//! An update is refused only for errors that it introduces. Errors stored before must not block other changes.

use std::collections::BTreeSet;
use std::fmt;

use baton_jsonpath::Template;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::api::StatePreservation;
use crate::api::policy::PropagationSpec;
use crate::api::taint_policy::ClusterTaintPolicySpec;

/// Maximum length of a label key's prefix, which is a DNS subdomain.
const MAX_PREFIX: usize = 253;

/// A field with an invalid value.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Invalid {
    /// Path of the field, from the object's root.
    pub field: String,
    /// Value of the field.
    pub value: String,
    /// Error, and the expected value.
    pub reason: String,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: Invalid value: {:?}: {}", self.field, self.value, self.reason)
    }
}

/// Validates a `PropagationPolicy` or `ClusterPropagationPolicy`. `old` is the stored version, if any.
pub fn propagation(spec: &PropagationSpec, old: Option<&PropagationSpec>) -> Vec<Invalid> {
    unless_known(of_propagation(spec), old.map(of_propagation))
}

/// Validates a `ClusterTaintPolicy`. `old` is the stored version, if any.
pub fn taint_policy(spec: &ClusterTaintPolicySpec, old: Option<&ClusterTaintPolicySpec>) -> Vec<Invalid> {
    unless_known(of_taint_policy(spec), old.map(of_taint_policy))
}

/// Drops errors that the stored version has too, even at another position of a list.
fn unless_known(found: Vec<Invalid>, known: Option<Vec<Invalid>>) -> Vec<Invalid> {
    let known: BTreeSet<_> = known.unwrap_or_default().iter().map(place_and_value).collect();
    let is_new = |invalid: &Invalid| !known.contains(&place_and_value(invalid));
    found.into_iter().filter(is_new).collect()
}

/// Returns the field without list positions, and the value.
fn place_and_value(invalid: &Invalid) -> (String, String) {
    let place = invalid.field.chars().filter(|c| !c.is_ascii_digit()).collect();
    (place, invalid.value.clone())
}

fn of_propagation(spec: &PropagationSpec) -> Vec<Invalid> {
    let failover = spec.failover.as_ref();
    let cluster = failover.and_then(|failover| failover.cluster.as_ref()?.state_preservation.as_ref());
    let application = failover.and_then(|failover| failover.application.as_ref()?.state_preservation.as_ref());
    let rules = [("cluster", cluster), ("application", application)]
        .into_iter()
        .filter_map(|(which, preservation)| Some((which, preservation?)))
        .flat_map(|(which, preservation)| rules(&format!("spec.failover.{which}.statePreservation"), preservation));
    let selectors = spec.resource_selectors.iter().enumerate().filter_map(|(at, selector)| {
        let field = format!("spec.resourceSelectors[{at}].labelSelector");
        Some((field, selector.label_selector.as_ref()?))
    });
    let affinity = spec.placement.cluster_affinity.as_ref();
    let affinity = affinity.and_then(|affinity| affinity.label_selector.as_ref());
    let affinity = affinity.map(|selector| ("spec.placement.clusterAffinity.labelSelector".to_owned(), selector));
    let selectors = selectors.chain(affinity);
    rules
        .chain(selectors.flat_map(|(field, selector)| misspelt(&field, selector)))
        .collect()
}

fn of_taint_policy(spec: &ClusterTaintPolicySpec) -> Vec<Invalid> {
    let to_add = spec.taints_to_add.iter().map(|taint| &taint.key).enumerate();
    let to_add = to_add.filter_map(|(at, key)| long_prefix(format!("spec.taintsToAdd[{at}].key"), key));
    let plain = spec.taints.iter().map(|taint| &taint.key).enumerate();
    let plain = plain.filter_map(|(at, key)| long_prefix(format!("spec.taints[{at}].key"), key));
    let targets = [
        ("targetCluster", &spec.target_cluster),
        ("targetClusters", &spec.target_clusters),
    ];
    let selectors = targets.into_iter().flat_map(|(name, target)| {
        let selector = target.as_ref().and_then(|target| target.label_selector.as_ref());
        selector
            .map(|selector| misspelt(&format!("spec.{name}.labelSelector"), selector))
            .unwrap_or_default()
    });
    to_add.chain(plain).chain(selectors).collect()
}

fn rules(field: &str, preservation: &StatePreservation) -> Vec<Invalid> {
    let rules = preservation.rules.iter().enumerate();
    rules
        .flat_map(|(at, rule)| {
            let key = long_prefix(format!("{field}.rules[{at}].aliasLabelName"), &rule.alias_label_name);
            let path = Template::parse(&rule.json_path).err().map(|error| Invalid {
                field: format!("{field}.rules[{at}].jsonPath"),
                value: rule.json_path.clone(),
                reason: format!("it does not parse: {error}"),
            });
            [key, path]
        })
        .flatten()
        .collect()
}

fn long_prefix(field: String, key: &str) -> Option<Invalid> {
    let (prefix, _) = key.split_once('/')?;
    (prefix.len() > MAX_PREFIX).then(|| Invalid {
        field,
        value: key.to_owned(),
        reason: format!("what stands before the slash must be {MAX_PREFIX} characters or less"),
    })
}

/// Expressions that are none: an operator that does not exist, or values with one that takes none, and the reverse.
fn misspelt(field: &str, selector: &LabelSelector) -> Vec<Invalid> {
    let expressions = selector.match_expressions.iter().flatten().enumerate();
    expressions
        .filter_map(|(at, expression)| {
            let has_values = expression.values.as_ref().is_some_and(|values| !values.is_empty());
            let reason = match (expression.operator.as_str(), has_values) {
                ("In" | "NotIn", true) | ("Exists" | "DoesNotExist", false) => return None,
                ("In" | "NotIn", false) => "values must be given with In and NotIn",
                ("Exists" | "DoesNotExist", true) => "values must not be given with Exists and DoesNotExist",
                _ => "expected In, NotIn, Exists or DoesNotExist",
            };
            Some(Invalid {
                field: format!("{field}.matchExpressions[{at}].operator"),
                value: expression.operator.clone(),
                reason: reason.to_owned(),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn policy(failover: &Value) -> PropagationSpec {
        let spec =
            json!({"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}], "failover": failover});
        serde_json::from_value(spec).unwrap()
    }

    fn with_rules(rules: &[(&str, &str)]) -> PropagationSpec {
        let rules = rules
            .iter()
            .map(|(key, path)| json!({"aliasLabelName": key, "jsonPath": path}));
        policy(&json!({"cluster": {"statePreservation": {"rules": rules.collect::<Vec<_>>()}}}))
    }

    fn texts(found: &[Invalid]) -> Vec<String> {
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_path_that_does_not_parse_is_named_with_its_field_and_what_was_expected() {
        let found = propagation(&with_rules(&[("ok", "{.a}"), ("bad", "{.a[}")]), None);
        assert_eq!(
            texts(&found),
            [
                "spec.failover.cluster.statePreservation.rules[1].jsonPath: Invalid value: \"{.a[}\": it does not parse: \
              unterminated array at column 4: expected `]`"
            ]
        );
        let application = policy(&json!({"application": {"decisionConditions": {},
            "statePreservation": {"rules": [{"aliasLabelName": "a", "jsonPath": "{.a[?(@.b==]}"}]}}}));
        let found = propagation(&application, None);
        assert_eq!(
            found[0].field,
            "spec.failover.application.statePreservation.rules[0].jsonPath"
        );
    }

    #[test]
    fn a_prefix_that_is_no_dns_name_any_more_is_refused() {
        let key = |length: usize| format!("{}/x", "a".repeat(length));
        assert_eq!(propagation(&with_rules(&[(&key(253), "{.a}")]), None), []);
        let found = propagation(&with_rules(&[(&key(254), "{.a}")]), None);
        assert!(found[0].field.ends_with("rules[0].aliasLabelName") && found[0].reason.contains("253"));
        for list in ["taintsToAdd", "taints"] {
            let taints =
                json!({list: [{"key": "ok", "effect": "NoExecute"}, {"key": key(254), "effect": "NoExecute"}]});
            let found = taint_policy(&serde_json::from_value(taints).unwrap(), None);
            assert_eq!(found[0].field, format!("spec.{list}[1].key"));
        }
    }

    #[test]
    fn selectors_that_select_nothing_by_mistake_are_refused() {
        for (operator, values, is_right) in [
            ("In", json!(["a"]), true),
            ("NotIn", json!(["a"]), true),
            ("Exists", json!([]), true),
            ("DoesNotExist", Value::Null, true),
            ("In", json!([]), false),
            ("NotIn", Value::Null, false),
            ("Exists", json!(["a"]), false),
            ("DoesNotExist", json!(["a"]), false),
            ("in", json!(["a"]), false),
        ] {
            let selector = json!({"matchExpressions": [{"key": "k", "operator": operator, "values": values}]});
            let spec = json!({"resourceSelectors": [{"apiVersion": "v1", "kind": "Pod", "labelSelector": selector}],
                "placement": {"clusterAffinity": {"labelSelector": selector}}});
            let found = propagation(&serde_json::from_value(spec).unwrap(), None);
            assert_eq!(found.len(), if is_right { 0 } else { 2 }, "{operator} {values}");
            for target in ["targetCluster", "targetClusters"] {
                let spec = json!({target: {"labelSelector": selector}});
                let found = taint_policy(&serde_json::from_value(spec).unwrap(), None);
                assert_eq!(found.is_empty(), is_right, "{operator} {values}");
                assert!(
                    found
                        .iter()
                        .all(|it| it.field.starts_with(&format!("spec.{target}.labelSelector")))
                );
            }
        }
    }

    #[test]
    fn what_was_stored_before_stands_in_the_way_of_nothing() {
        let old = with_rules(&[("bad", "{.a[}")]);
        let moved = with_rules(&[("ok", "{.a}"), ("bad", "{.a[}")]);
        assert_eq!(propagation(&moved, Some(&old)), []);
        let worse = with_rules(&[("bad", "{.b[}")]);
        assert_eq!(propagation(&worse, Some(&old)).len(), 1);
        assert_eq!(propagation(&old, None).len(), 1);
    }
}
