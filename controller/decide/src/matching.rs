//! Selects the policy of a resource.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::api::Policy;
use crate::api::policy::ResourceSelector;
use crate::keys::{Gvk, ObjectKey, TemplateKey};
use crate::selector::selects;

/// Precision of a selector: a name is more precise than labels, labels are more precise than a kind alone.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Closeness {
    Kind,
    Labels,
    Name,
}

/// Returns the policy of a resource (POL-01). Namespaced policies precede cluster-scoped ones; then the highest
/// priority, the most precise selector and the first name decide. Policies that are being deleted do not count.
pub fn policy_for<'a>(
    template: &TemplateKey,
    labels: Option<&BTreeMap<String, String>>,
    policies: impl IntoIterator<Item = &'a Policy>,
) -> Option<&'a Policy> {
    policies
        .into_iter()
        .filter(|policy| !policy.is_being_deleted())
        .filter_map(|policy| Some((closest(policy, template, labels)?, policy)))
        .max_by_key(|(closeness, policy)| {
            (
                policy.namespace().is_some(),
                policy.spec.priority.unwrap_or(0),
                *closeness,
                Reverse(policy.name()),
            )
        })
        .map(|(_, policy)| policy)
}

fn closest(policy: &Policy, template: &TemplateKey, labels: Option<&BTreeMap<String, String>>) -> Option<Closeness> {
    let namespace = policy.namespace();
    if namespace.is_some() && namespace != template.key.namespace.as_deref() {
        return None;
    }
    policy
        .spec
        .resource_selectors
        .iter()
        .filter_map(|selector| closeness(selector, namespace, template, labels))
        .max()
}

fn closeness(
    selector: &ResourceSelector,
    policy_namespace: Option<&str>,
    template: &TemplateKey,
    labels: Option<&BTreeMap<String, String>>,
) -> Option<Closeness> {
    if !may_select(selector, policy_namespace, template) {
        return None;
    }
    if named(selector.name.as_deref()).is_some() {
        return Some(Closeness::Name);
    }
    match &selector.label_selector {
        Some(wanted) => selects(wanted, labels).then_some(Closeness::Labels),
        None => Some(Closeness::Kind),
    }
}

/// Returns true if kind, namespace and name match a selector of a policy in this namespace. Labels are not checked, so
/// the selector may still not select the resource.
pub fn may_select(selector: &ResourceSelector, policy_namespace: Option<&str>, template: &TemplateKey) -> bool {
    let allows = |wanted: Option<&str>, given: Option<&str>| wanted.is_none() || wanted == given;
    allows(named(selector.name.as_deref()), Some(&template.key.name))
        && selector.kind == template.gvk.kind
        && allows(
            policy_namespace.or_else(|| named(selector.namespace.as_deref())),
            template.key.namespace.as_deref(),
        )
        && selector.api_version == template.gvk.api_version()
}

/// Returns the only resource that a selector of a policy in this namespace can select; `None` if there may be several.
pub fn only_choice(selector: &ResourceSelector, policy_namespace: Option<&str>) -> Option<TemplateKey> {
    let namespace = policy_namespace.or_else(|| named(selector.namespace.as_deref()))?;
    Some(TemplateKey {
        gvk: Gvk::new(&selector.api_version, &selector.kind),
        key: ObjectKey::new(Some(namespace), named(selector.name.as_deref())?),
    })
}

/// Treats an empty name like an absent one.
fn named(wanted: Option<&str>) -> Option<&str> {
    wanted.filter(|wanted| !wanted.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn policy(namespace: Option<&str>, name: &str, priority: i32, selector: Value) -> Policy {
        let selector = match selector {
            Value::Object(mut fields) => {
                fields.insert("apiVersion".into(), "apps/v1".into());
                fields.entry("kind").or_insert("Deployment".into());
                Value::Object(fields)
            }
            other => other,
        };
        serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"resourceSelectors": [selector], "priority": priority}
        }))
        .unwrap()
    }

    fn chosen(policies: &[Policy]) -> Option<&str> {
        let template = TemplateKey {
            gvk: Gvk::new("apps/v1", "Deployment"),
            key: ObjectKey::new(Some("ns"), "deploy"),
        };
        let labels = BTreeMap::from([("app".to_owned(), "web".to_owned())]);
        policy_for(&template, Some(&labels), policies).map(Policy::name)
    }

    #[test]
    fn selectors_by_kind_name_labels_and_namespace() {
        for (selector, namespace, expected) in [
            (json!({"name": "deploy"}), Some("ns"), true),
            (json!({"name": "other"}), Some("ns"), false),
            (json!({"name": "deploy"}), Some("elsewhere"), false),
            (json!({"name": "deploy", "kind": "StatefulSet"}), Some("ns"), false),
            (
                json!({"labelSelector": {"matchLabels": {"app": "web"}}}),
                Some("ns"),
                true,
            ),
            (
                json!({"labelSelector": {"matchLabels": {"app": "db"}}}),
                Some("ns"),
                false,
            ),
            (json!({}), Some("ns"), true),
            (json!({}), None, true),
            (json!({"namespace": "ns"}), None, true),
            (json!({"namespace": "other"}), None, false),
            (
                json!({"name": "deploy", "labelSelector": {"matchLabels": {"app": "db"}}}),
                Some("ns"),
                true,
            ),
        ] {
            let found = chosen(&[policy(namespace, "p", 0, selector.clone())]).is_some();
            assert_eq!(found, expected, "{selector} in {namespace:?}");
        }
    }

    #[test]
    fn scope_then_priority_then_closeness_then_name_decide() {
        let by_name = json!({"name": "deploy"});
        let by_label = json!({"labelSelector": {"matchLabels": {"app": "web"}}});
        let cluster = policy(None, "cluster", 9, by_name.clone());
        let kind = policy(Some("ns"), "kind", 0, json!({}));
        assert_eq!(chosen(&[cluster, kind.clone()]), Some("kind"));
        let labels = policy(Some("ns"), "labels", 0, by_label);
        assert_eq!(chosen(&[kind.clone(), labels.clone()]), Some("labels"));
        assert_eq!(
            chosen(&[labels, policy(Some("ns"), "name", 0, by_name.clone())]),
            Some("name")
        );
        assert_eq!(
            chosen(&[
                policy(Some("ns"), "name", 0, by_name),
                policy(Some("ns"), "high", 1, json!({}))
            ]),
            Some("high")
        );
        assert_eq!(
            chosen(&[
                policy(Some("ns"), "b", 0, json!({})),
                policy(Some("ns"), "a", 0, json!({}))
            ]),
            Some("a")
        );
    }
}
