//! Carries out rules: writes to the cluster.

use kube::{
    Api, Client,
    api::{ApiResource, DeleteParams, GroupVersionKind, Patch, PatchParams, PostParams, Preconditions},
};
use serde_json::{Value, json};
use thiserror::Error;

use super::{
    ensure::{self, Child, Manner, Step},
    merge::merge,
    plain::Plain,
    rules::{Ensure, KindRef},
    store::{Key, Known, deleting, meta, text},
    template::{TemplateError, Templates},
};

/// A rule that could not be carried out.
#[derive(Debug, Error)]
pub(super) enum ActError {
    /// The rule has an error.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// The definition of the kind has none of the status fields, so the API server drops all of them.
    #[error("the definition of {kind} has no {} in its status: the API server drops the fields that the rule writes", fields.join(", "))]
    Dropped {
        /// Kind of the object.
        kind: String,
        /// Fields that were written.
        fields: Vec<String>,
    },
    /// The cluster refused the write; a later attempt may succeed.
    #[error("the cluster refused")]
    Write(#[from] kube::Error),
}

/// Result of a rule.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The object is already as the rule requires, or is gone.
    Nothing,
    /// The written objects, as the cluster returned them.
    Written(Vec<(KindRef, Value)>),
}

/// API resource of a kind.
pub(super) fn resource(kind: &KindRef) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(kind.group(), kind.version(), &kind.kind))
}

/// Checks that a template returned a list of objects.
pub(super) fn objects(value: Value) -> Result<Vec<Value>, TemplateError> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(objects) => Ok(objects),
        value @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => Err(TemplateError::Type {
            expected: "a list of objects",
            value,
        }),
    }
}

/// The steps for a rule about children.
pub(super) fn plan(
    rule: &Ensure,
    templates: &Templates,
    context: &minijinja::Value,
    children: &[&Known],
) -> Result<Vec<Step>, ActError> {
    let wanted = objects(templates.render(&rule.objects, context)?)?;
    let at_once = match &rule.at_once {
        Some(expression) => templates.render(expression, context)?.as_u64(),
        None => None,
    };
    let mut there = Vec::new();
    for known in children {
        let object = &known.object;
        let ready = match &rule.ready {
            Some(expression) => {
                let context = minijinja::context! { child => known.data(), ..context.clone() };
                templates.holds(expression, &context)?
            }
            None => true,
        };
        there.push(Child {
            name: text(object, "name"),
            object,
            ready,
            deleting: deleting(object),
        });
    }
    let manner = Manner {
        at_once: at_once.and_then(|limit| usize::try_from(limit).ok()),
        changed: rule.changed,
        surplus: rule.surplus,
    };
    Ok(ensure::steps(&wanted, &there, manner))
}

/// The object that a rule is carried out for.
pub(super) struct Target<'a> {
    /// Client of its cluster.
    pub client: &'a Client,
    /// Key of the object.
    pub key: &'a Key,
    /// Last known state of the object; writes that depend on it have a precondition.
    pub object: &'a Value,
}

impl Target<'_> {
    fn api(&self, kind: &KindRef) -> Api<Plain> {
        let resource = resource(kind);
        match self.key.namespace.as_str() {
            "" => Api::all_with(self.client.clone(), &resource),
            namespace => Api::namespaced_with(self.client.clone(), namespace, &resource),
        }
    }

    /// Merges a patch into the status, unless nothing would change.
    pub(super) async fn merge_status(&self, patch: Value) -> Result<Outcome, ActError> {
        if !patch.is_object() {
            let expected = "the fields of a status";
            return Err(TemplateError::Type { expected, value: patch }.into());
        }
        let before = self.object.get("status").cloned().unwrap_or_else(|| json!({}));
        let mut status = before.clone();
        merge(&mut status, &patch);
        if status == before {
            return Ok(Outcome::Nothing);
        }
        let fields = patch.as_object().into_iter().flat_map(|patch| patch.keys());
        let fields: Vec<String> = fields.map(|field| format!("`{field}`")).collect();
        let patch = json!({"metadata": self.precondition(), "status": patch});
        let api = self.api(&self.key.kind);
        let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
        let written = api.patch_status(&self.key.name, &params, &patch).await;
        let outcome = outcome(&self.key.kind, written)?;
        let is_as_before = |object: &Value| object.get("status").unwrap_or(&json!({})) == &before;
        if let Outcome::Written(objects) = &outcome
            && objects.iter().all(|(_, object)| is_as_before(object))
        {
            let kind = self.key.kind.kind.clone();
            return Err(ActError::Dropped { kind, fields });
        }
        Ok(outcome)
    }

    /// Sets the finalizers, unless they are the same.
    pub(super) async fn set_finalizers(&self, finalizers: Value) -> Result<Outcome, ActError> {
        if !finalizers.is_array() {
            let expected = "a list of finalizers";
            let value = finalizers;
            return Err(TemplateError::Type { expected, value }.into());
        }
        let before = meta(self.object, "finalizers");
        if before.unwrap_or(&json!([])) == &finalizers {
            return Ok(Outcome::Nothing);
        }
        let mut metadata = self.precondition();
        metadata["finalizers"] = finalizers;
        let api = self.api(&self.key.kind);
        let patch = Patch::Merge(json!({"metadata": metadata}));
        let written = api.patch(&self.key.name, &PatchParams::default(), &patch).await;
        outcome(&self.key.kind, written)
    }

    /// Deletes the object without a grace period.
    pub(super) async fn delete(&self) -> Result<Outcome, ActError> {
        self.delete_one(&self.key.kind, self.object).await?;
        Ok(Outcome::Nothing)
    }

    /// Carries out the steps for its children.
    pub(super) async fn carry_out(
        &self,
        kind: &KindRef,
        children: &[&Known],
        steps: Vec<Step>,
    ) -> Result<Outcome, ActError> {
        let mut all = Vec::new();
        for step in steps {
            let outcome = match step {
                Step::Create(object) => self.create(kind, object).await?,
                Step::Patch(name, patch) => {
                    let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
                    let written = self.api(kind).patch(&name, &params, &patch).await;
                    outcome(kind, written)?
                }
                Step::Delete(name) => {
                    let named = |child: &&&Known| text(&child.object, "name") == name;
                    if let Some(child) = children.iter().find(named) {
                        self.delete_one(kind, &child.object).await?;
                    }
                    Outcome::Nothing
                }
            };
            match outcome {
                Outcome::Nothing => {}
                Outcome::Written(objects) => all.extend(objects),
            }
        }
        Ok(if all.is_empty() {
            Outcome::Nothing
        } else {
            Outcome::Written(all)
        })
    }

    /// Creates an object with its status, in the namespace, unless it exists.
    pub(super) async fn provide(&self, mut object: Value) -> Result<(), ActError> {
        let kind = KindRef {
            api_version: object["apiVersion"].as_str().unwrap_or_default().to_owned(),
            kind: object["kind"].as_str().unwrap_or_default().to_owned(),
        };
        let status = object.as_object_mut().and_then(|object| object.remove("status"));
        let name = text(&object, "name").to_owned();
        object["metadata"]["namespace"] = Value::String(self.key.namespace.clone());
        let object: Plain = serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
        match self.api(&kind).create(&PostParams::default(), &object).await {
            Err(kube::Error::Api(status)) if status.code == 409 => return Ok(()),
            created => created?,
        };
        if let Some(status) = status {
            let patch = Patch::Merge(json!({"status": status}));
            self.api(&kind)
                .patch_status(&name, &PatchParams::default(), &patch)
                .await?;
        }
        Ok(())
    }

    async fn create(&self, kind: &KindRef, mut object: Value) -> Result<Outcome, ActError> {
        object["apiVersion"] = Value::String(kind.api_version.clone());
        object["kind"] = Value::String(kind.kind.clone());
        object["metadata"]["namespace"] = Value::String(self.key.namespace.clone());
        object["metadata"]["ownerReferences"] = json!([{
            "apiVersion": self.key.kind.api_version, "kind": self.key.kind.kind, "name": self.key.name,
            "uid": text(self.object, "uid"), "controller": true, "blockOwnerDeletion": true,
        }]);
        let object: Plain = serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
        let written = self.api(kind).create(&PostParams::default(), &object).await;
        outcome(kind, written)
    }

    async fn delete_one(&self, kind: &KindRef, object: &Value) -> Result<(), ActError> {
        let params = DeleteParams {
            grace_period_seconds: Some(0),
            preconditions: Some(Preconditions {
                uid: Some(text(object, "uid").to_owned()),
                resource_version: None,
            }),
            ..DeleteParams::background()
        };
        match self.api(kind).delete(text(object, "name"), &params).await {
            Ok(_) => Ok(()),
            Err(error) => absent(error),
        }
    }

    /// A write applies to the revision that it was decided on; at a later revision the rules are evaluated again.
    fn precondition(&self) -> Value {
        json!({"resourceVersion": text(self.object, "resourceVersion")})
    }
}

fn outcome(kind: &KindRef, written: kube::Result<Plain>) -> Result<Outcome, ActError> {
    match written {
        Ok(object) => Ok(Outcome::Written(vec![(kind.clone(), object.of(kind))])),
        Err(error) => absent(error).map(|()| Outcome::Nothing),
    }
}

/// Ignores that an object is already gone.
fn absent(error: kube::Error) -> Result<(), ActError> {
    match error {
        kube::Error::Api(status) if status.code == 404 => Ok(()),
        error => Err(error.into()),
    }
}
