//! Fields that the definitions on the control plane lack: the API server drops them, so no implementation can keep
//! them.

use baton_core::{
    case::model::{Action, Condition, Expect, Mode, Subject},
    names::ClusterName,
    plan::Plan,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use serde_json::Value;

use super::Run;

/// Name of the definition of ResourceBinding, whose fields carry the state of a failover; ClusterResourceBinding has
/// the same fields.
const BINDINGS: &str = "resourcebindings.work.karmada.io";

impl Run<'_> {
    /// Explains why a case does not fit these definitions: it expects a field of a binding that they lack. `None` if it
    /// fits.
    ///
    /// The built-in controller uses the harness's definitions, which must have every field.
    pub(super) async fn lacking_field(&self, plan: &Plan) -> Option<String> {
        if self.target.writers().is_some() {
            return None;
        }
        let conditions = plan.steps.iter().filter_map(|step| expected(&step.action));
        let mut needed = conditions.flat_map(of_binding).peekable();
        needed.peek()?;
        let client = self.client(&ClusterName::control()).ok()?;
        let definition = Api::<CustomResourceDefinition>::all(client).get(BINDINGS).await.ok()?;
        let definition = serde_json::to_value(definition).ok()?;
        let version = definition["spec"]["versions"]
            .as_array()?
            .iter()
            .find(|it| it["storage"] == true)?;
        let schema = &version["schema"]["openAPIV3Schema"];
        let lacking = needed.find(|field| !has(schema, field))?;
        Some(format!(
            "the definition of ResourceBinding on the control plane has no field {}",
            lacking.join(".")
        ))
    }
}

/// The condition that a step expects.
fn expected(action: &Action) -> Option<&Condition> {
    match action {
        Action::Assert(assertion) if assertion.mode != Mode::Never => Some(&assertion.condition),
        Action::Wait { until, .. } => Some(until),
        _ => None,
    }
}

fn of_binding(condition: &Condition) -> Vec<Vec<String>> {
    match (&condition.of, &condition.expect) {
        (Subject::BindingOf(_), Expect::Match(pattern)) => pattern.needed(),
        _ => Vec::new(),
    }
}

/// Checks whether objects with this schema can have a field. A schema need not list the fields of all objects.
fn has(schema: &Value, field: &[String]) -> bool {
    let of_all = |key: &String| matches!(key.as_str(), "apiVersion" | "kind" | "metadata");
    field.first().is_some_and(of_all) || declares(schema, field)
}

/// Checks whether a schema declares a field. Lists are skipped, as in the paths of a pattern.
fn declares(schema: &Value, field: &[String]) -> bool {
    let items = &schema["items"];
    if items.is_object() {
        return declares(items, field);
    }
    let Some((key, rest)) = field.split_first() else {
        return true;
    };
    if schema["x-kubernetes-preserve-unknown-fields"] == true {
        return true;
    }
    match (schema["properties"].get(key), &schema["additionalProperties"]) {
        (Some(property), _) => declares(property, rest),
        (None, Value::Null) => false,
        (None, values) => declares(values, rest),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_is_declared_by_name_or_kept_unknown() {
        let schema = json!({"type": "object", "properties": {
            "status": {"type": "object", "properties": {"items": {"type": "array", "items": {
                "type": "object",
                "properties": {
                    "health": {"type": "string"},
                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                },
            }}}},
        }});
        let declared = |path: &str| {
            let keys: Vec<_> = path.split('.').map(ToOwned::to_owned).collect();
            has(&schema, &keys)
        };
        for there in [
            "status.items.health",
            "status.items.status.a.b",
            "status.items.labels.x",
            "metadata.resourceVersion",
        ] {
            assert!(declared(there), "{there}");
        }
        for lacking in [
            "status.items.settled",
            "spec",
            "status.items.health.more",
            "status.items.labels.x.y",
        ] {
            assert!(!declared(lacking), "{lacking}");
        }
    }
}
