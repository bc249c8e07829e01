//! Steps that act on objects of a cluster or on the target.

use baton_core::{
    case::model::{Action, ObjectRef, Place, Subject},
    names::ClusterName,
    pattern::Bindings,
    select,
    timeline::World,
    watch::Known,
};
use serde_json::{Value, json};

use super::{
    Run,
    act_error::ActError,
    references::{clusters, named, with_references},
};
use crate::{
    actions::{self, ActionError, BATON},
    admission::AdmissionRules,
    error_chain::error_chain,
    fleet::{self, FleetError},
    trial::undeclared,
};

impl Run<'_> {
    /// Carries out a step that acts on objects.
    pub(super) async fn act(&mut self, action: &Action) -> Result<(), ActError> {
        if let Action::Patch { on, of, .. } | Action::SetStatus { on, of, .. } | Action::Hold { on, of } = action {
            self.until_there(on, of).await;
        }
        let known = self.known();
        match action {
            Action::Apply { on, objects, .. } => {
                for cluster in on.iter().flat_map(|place| clusters(place, &known)) {
                    for object in objects {
                        let object = with_references(object, &known.bindings);
                        self.apply(&cluster, &object).await?;
                    }
                }
            }
            Action::Admission { on, rules, file } => self.put_in_force(on, rules, file, &known).await?,
            Action::Patch { on, of, .. }
            | Action::SetStatus { on, of, .. }
            | Action::Delete { on, of }
            | Action::Hold { on, of }
            | Action::Release { on, of } => {
                for (cluster, object) in self.objects(on, of, &known)? {
                    self.change(action, &cluster, &object, &known.bindings).await?;
                }
            }
            Action::Taint { cluster, .. } | Action::Untaint { cluster, .. } => {
                let control = ClusterName::control();
                for member in clusters(cluster, &known) {
                    let member = actions::cluster(member.as_str());
                    self.change(action, &control, &member, &known.bindings).await?;
                }
            }
            // `Run::step` carries out the others.
            _ => {}
        }
        Ok(())
    }

    /// Carries out a step on one object; fails if its definition lacks a field of the patch.
    async fn change(
        &mut self,
        action: &Action,
        cluster: &ClusterName,
        object: &ObjectRef,
        bindings: &Bindings,
    ) -> Result<(), ActError> {
        let client = self.client(cluster)?;
        match action {
            Action::Patch { .. } | Action::SetStatus { .. } | Action::Taint { .. } => {
                write(&client, action, object, bindings).await?;
            }
            Action::Delete { .. } => actions::delete(&client, object).await?,
            Action::Hold { .. } => actions::hold(&client, object).await?,
            Action::Release { .. } => actions::release(&client, object).await?,
            Action::Untaint { key, effect, .. } => {
                // Before, for a move that ends now; afterwards, for a move that has taken the taint instead.
                self.note_untaint(&object.name, key, effect);
                actions::untaint(&client, &object.name, key, effect).await?;
                self.note_untaint(&object.name, key, effect);
            }
            _ => {}
        }
        self.until_observed(cluster, object).await
    }

    fn note_untaint(&mut self, cluster: &str, key: &str, effect: &str) {
        if let Some(director) = &mut self.director {
            director.untainted(cluster, key, effect);
        }
    }

    /// Applies an object, and waits until the cluster, the observer and the control plane know its kind.
    async fn apply(&mut self, cluster: &ClusterName, object: &Value) -> Result<(), ActError> {
        let applied = actions::apply(&self.client(cluster)?, object, self.fleet.namespace()).await;
        undefined(object, applied.as_ref())?;
        let applied = applied?;
        if let Some(named) = named(&applied, self.fleet.namespace()) {
            let namespace = applied["metadata"]["namespace"].as_str().map(str::to_owned);
            self.until_observed(cluster, &ObjectRef { namespace, ..named }).await?;
        }
        if applied["kind"] == "CustomResourceDefinition" {
            self.definitions.push(object.clone());
        }
        self.until_heard_of(cluster, object).await?;
        self.until_enabled(cluster, object).await
    }

    /// Waits until the objects to change exist: the target may not have created them yet. If they never appear, the
    /// change fails with the cluster's error.
    async fn until_there(&mut self, on: &Place, of: &Subject) {
        let there = self.until(self.timeouts.create, |world, known| {
            let mut places = clusters(select::place_of(of, on), known).into_iter();
            let all = places.all(|cluster| select::find(of, &cluster, world, &known.bindings).next().is_some());
            all.then_some(())
        });
        if there.await.is_err() {
            tracing::debug!("{of} has not come to {on}");
        }
    }

    async fn put_in_force(&self, on: &[Place], rules: &str, file: &str, known: &Known) -> Result<(), ActError> {
        let rules = AdmissionRules::parse(file, rules).map_err(ActError::Rules)?;
        let admission = self.fleet.admission().ok_or_else(|| FleetError::Unsupported {
            backend: self.fleet.backend(),
            fault: "follow admission rules".to_owned(),
        })?;
        for cluster in on.iter().flat_map(|place| clusters(place, known)) {
            let cluster = fleet::cluster(self.fleet, &cluster)?;
            admission
                .put_in_force(cluster.name(), cluster.inside(BATON), &rules)
                .await?;
        }
        Ok(())
    }

    /// Client of the harness, which reaches a member even while it is cut off from the target.
    pub(super) fn client(&self, cluster: &ClusterName) -> Result<kube::Client, FleetError> {
        Ok(fleet::cluster(self.fleet, cluster)?.inside(BATON))
    }

    /// The objects that a subject denotes, by cluster. A directly named object need not be on the timeline; bindings
    /// and Works are looked up there, because the target chooses their names.
    pub(super) fn objects(
        &self,
        on: &Place,
        of: &Subject,
        known: &Known,
    ) -> Result<Vec<(ClusterName, ObjectRef)>, ActError> {
        let places = clusters(select::place_of(of, on), known);
        if let Subject::Object(object) = of {
            return Ok(places.into_iter().map(|cluster| (cluster, object.clone())).collect());
        }
        let world = World::after(&self.seen);
        let mut found = Vec::new();
        for cluster in places {
            for (id, object) in select::find(of, &cluster, &world, &known.bindings) {
                let api_version = object
                    .get("apiVersion")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned();
                let namespace = (!id.namespace.is_empty()).then(|| id.namespace.clone());
                let object = ObjectRef {
                    api_version,
                    kind: id.kind.clone(),
                    namespace,
                    name: id.name.clone(),
                };
                found.push((cluster.clone(), object));
            }
        }
        if found.is_empty() {
            Err(ActError::NotThere(of.to_string()))
        } else {
            Ok(found)
        }
    }
}

/// Writes values of the case to one object; fails if its definition lacks a field of the patch.
pub(super) async fn write(
    client: &kube::Client,
    action: &Action,
    object: &ObjectRef,
    bindings: &Bindings,
) -> Result<(), ActError> {
    match action {
        Action::Patch { merge, .. } => {
            let merge = with_references(merge, bindings);
            let patched = actions::patch(client, object, &merge).await?;
            let sent = json!({"apiVersion": object.api_version, "kind": object.kind, "spec": merge["spec"]});
            undefined(&sent, Ok(&patched))?;
        }
        Action::SetStatus { status, .. } => {
            actions::set_status(client, object, &with_references(status, bindings)).await?;
        }
        Action::Taint { taint, .. } => actions::taint(client, &object.name, taint).await?,
        _ => {}
    }
    Ok(())
}

/// Groups of policies and customizations, whose fields differ between implementations.
const CONFIGURATION: [&str; 2] = ["policy.karmada.io/", "config.karmada.io/"];

/// Checks whether an object configures the target: a policy, or a customization of its resource interpreter.
pub(super) fn is_configuration(object: &Value) -> bool {
    let group = |it: &str| CONFIGURATION.iter().any(|group| it.starts_with(group));
    object["apiVersion"].as_str().is_some_and(group)
}

/// Rejects a policy or customization that the API server stored without some of its fields, because the definition
/// lacks them.
pub(super) fn undefined(object: &Value, applied: Result<&Value, &ActionError>) -> Result<(), ActError> {
    if !is_configuration(object) {
        return Ok(());
    }
    let field = match applied {
        Ok(stored) => dropped(&object["spec"], &stored["spec"], "spec"),
        Err(error) => undeclared(&error_chain(error)).map(|field| field.path),
    };
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    field.map_or(Ok(()), |field| Err(ActError::Undefined { kind, field }))
}

/// Path of the first field that was sent but not stored.
fn dropped(sent: &Value, stored: &Value, path: &str) -> Option<String> {
    match (sent, stored) {
        (Value::Object(sent), Value::Object(stored)) => {
            let mut given = sent.iter().filter(|(_, value)| !value.is_null());
            given.find_map(|(key, value)| {
                let path = format!("{path}.{key}");
                match stored.get(key) {
                    Some(stored) => dropped(value, stored, &path),
                    None => Some(path),
                }
            })
        }
        (Value::Array(sent), Value::Array(stored)) if sent.len() == stored.len() => {
            let mut pairs = sent.iter().zip(stored).enumerate();
            pairs.find_map(|(i, (sent, stored))| dropped(sent, stored, &format!("{path}[{i}]")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    /// Answer of an API server that rejects an object for this reason.
    fn refused(message: &str) -> ActionError {
        ActionError::Refused {
            what: "applying PropagationPolicy policy".to_owned(),
            source: Box::new(kube::Error::Api(Box::new(Status::failure(message, "Invalid")))),
        }
    }

    fn field(applied: Result<&Value, &ActionError>) -> Option<String> {
        let sent = json!({
            "apiVersion": "policy.karmada.io/v1alpha1",
            "kind": "PropagationPolicy",
            "spec": {"failover": {"application": {"preConditions": {"delaySeconds": 1}, "left": null}}, "l": [{"a": 1}]},
        });
        match undefined(&sent, applied) {
            Err(ActError::Undefined { field, .. }) => Some(field),
            _ => None,
        }
    }

    #[test]
    fn a_field_that_the_definition_lacks_is_named() {
        let whole = json!({
            "spec": {"failover": {"application": {"preConditions": {"delaySeconds": 1, "more": 2}}}, "l": [{"a": 2}]},
        });
        assert_eq!(field(Ok(&whole)), None);
        let pruned = json!({"spec": {"failover": {"application": {}}, "l": [{"a": 1}]}});
        let expected = "spec.failover.application.preConditions";
        assert_eq!(field(Ok(&pruned)), Some(expected.to_owned()));
        let undeclared = "failed to create typed patch object: \
                          .spec.failover.application.preConditions: field not declared in schema";
        assert_eq!(field(Err(&refused(undeclared))), Some(format!(".{expected}")));
        assert_eq!(field(Err(&refused("not allowed"))), None);
    }

    #[test]
    fn customizations_may_lack_fields_too_and_workloads_are_nobody_elses() {
        let refused = refused(".spec.healthInterpretation: field not declared in schema");
        let of = |api_version: &str| json!({"apiVersion": api_version, "kind": "Kind", "spec": {}});
        let lacks = |api_version: &str| undefined(&of(api_version), Err(&refused)).is_err();
        assert!(lacks("config.karmada.io/v1alpha1"));
        assert!(!lacks("apps/v1"));
    }
}
