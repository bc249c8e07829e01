//! An API server with the suite's definitions and nothing else, for trying out objects.
//!
//! An object that it refuses is invalid on any cluster, regardless of the implementation under test: an error of the case's
//! author. It has no webhooks and no controllers of the failover API.

use jiff::Timestamp;
use kube::{Client, core::Status};
use serde_json::Value;

use crate::{
    actions::{self, ActionError, BATON},
    error_chain::error_chain,
    fleet::{
        Fleet as _, FleetError,
        embedded::{Embedded, Options, Time},
        register,
    },
};

/// Members of `metadata` that an API server sets, or that refer to other objects of the same cluster.
const OF_THE_SERVER: [&str; 9] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "uid",
];

/// Part of an API server's message about a field that the definition of a kind lacks.
pub(crate) const NOT_DECLARED: &str = ": field not declared in schema";

/// A field that an API server refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedField {
    /// Path of the field, such as `spec.placement.spreadConstraints[0].maxGroups`.
    pub path: String,
    /// Reason.
    pub message: String,
}

/// A request that an API server refuses because of the object in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Request, such as `applying PropagationPolicy policy`.
    pub request: String,
    /// Request and answer, as one message.
    pub message: String,
    /// Fields that the answer names.
    pub fields: Vec<RefusedField>,
    /// Set if the only fault is a field that the definition of the kind lacks.
    pub undeclared: bool,
}

/// An object of a step that is invalid on any cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct RefusedObject {
    /// The object as the case has it: whole, or the patch.
    pub object: Value,
    /// The answer of the API server.
    pub refusal: Refusal,
}

impl Refusal {
    /// Returns the refusal in an error; `None` for errors that are not about the content of the object.
    pub fn from_error(error: &ActionError) -> Option<Self> {
        let (request, fields) = match error {
            ActionError::Refused { what, source } => match &**source {
                kube::Error::Api(status) if status.message.contains(NOT_DECLARED) => {
                    (what, undeclared(&status.message).into_iter().collect())
                }
                kube::Error::Api(status) if matches!(status.code, 400 | 422) => (what, fields(status)),
                _ => return None,
            },
            ActionError::NotServed { what, .. } => (what, Vec::new()),
            ActionError::NotEstablished { .. } | ActionError::NoObject(_) => return None,
        };
        let message = error_chain(error);
        Some(Self {
            request: request.clone(),
            undeclared: message.contains(NOT_DECLARED),
            message,
            fields,
        })
    }
}

fn fields(status: &Status) -> Vec<RefusedField> {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    // Rules that were not checked have no field: other causes explain why.
    let named = causes.filter(|cause| !matches!(cause.field.as_str(), "" | "<nil>"));
    let field = named.map(|cause| RefusedField {
        path: cause.field.clone(),
        message: cause.message.clone(),
    });
    field.collect()
}

/// Returns the field that a definition lacks, according to a message of an API server.
pub(crate) fn undeclared(message: &str) -> Option<RefusedField> {
    let (before, _) = message.split_once(NOT_DECLARED)?;
    let path = before.rsplit([' ', ':']).next()?;
    Some(RefusedField {
        path: path.to_owned(),
        message: "unknown field".to_owned(),
    })
}

/// An API server for trying out objects. It ends when it is dropped.
pub struct TrialServer {
    /// Owns the server.
    fleet: Embedded,
}

impl TrialServer {
    /// Starts a server that has the definitions of the failover API. Its clock begins at `now`.
    ///
    /// # Errors
    /// If the definitions cannot be created.
    pub async fn start(now: Timestamp) -> Result<Self, FleetError> {
        let options = Options {
            bare: true,
            observed: false,
            ..Options::new(0, Time::Real(now))
        };
        let server = Self {
            fleet: Embedded::boot(options).await?,
        };
        register::define(&server.client(), register::failover_api()?).await?;
        Ok(server)
    }

    /// A client of the server.
    pub fn client(&self) -> Client {
        self.fleet.control().inside(BATON)
    }

    /// Applies an object in its namespace, or in `namespace`; creates the namespace if it does not exist.
    ///
    /// # Errors
    /// [`ActionError`] if the server refuses the object.
    pub async fn apply(&self, object: &Value, namespace: &str) -> Result<(), ActionError> {
        let client = self.client();
        actions::create_namespace(&client, namespace_of(object, namespace)).await?;
        actions::apply(&client, object, namespace).await.map(drop)
    }

    /// Applies an object as [`TrialServer::apply`] does, as a dry run.
    ///
    /// # Errors
    /// [`ActionError`] if the server refuses the object.
    pub async fn apply_dry_run(&self, object: &Value, namespace: &str) -> Result<(), ActionError> {
        let client = self.client();
        actions::create_namespace(&client, namespace_of(object, namespace)).await?;
        actions::apply_dry_run(&client, object, namespace).await.map(drop)
    }

    /// Stores the present state of an object of another server, with its status.
    ///
    /// # Errors
    /// [`ActionError`] if the server refuses the object.
    pub async fn copy(&self, object: &Value, namespace: &str) -> Result<(), ActionError> {
        let mut copy = object.clone();
        if let Some(metadata) = copy.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|name, _| !OF_THE_SERVER.contains(&name.as_str()));
        }
        let client = self.client();
        actions::create_namespace(&client, namespace_of(&copy, namespace)).await?;
        actions::create(&client, &copy, namespace).await
    }
}

fn namespace_of<'a>(object: &'a Value, otherwise: &'a str) -> &'a str {
    let own = object.pointer("/metadata/namespace").and_then(Value::as_str);
    own.unwrap_or(otherwise)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn policy(spec: &Value) -> Value {
        json!({
            "apiVersion": "policy.karmada.io/v1alpha1",
            "kind": "PropagationPolicy",
            "metadata": {"name": "policy", "namespace": "of-its-own", "uid": "1", "resourceVersion": "7"},
            "spec": spec,
        })
    }

    async fn server() -> TrialServer {
        TrialServer::start(Timestamp::UNIX_EPOCH).await.unwrap()
    }

    #[tokio::test]
    async fn a_valid_object_is_accepted_and_an_invalid_one_refused_with_its_field() {
        let server = server().await;
        let selectors = json!([{"apiVersion": "apps/v1", "kind": "Deployment"}]);
        let valid = policy(&json!({"resourceSelectors": selectors}));
        server.copy(&valid, "default").await.unwrap();
        let mode = json!({"cluster": {"purgeMode": "Directli"}});
        let mut wrong = policy(&json!({"resourceSelectors": selectors, "failover": mode}));
        wrong["metadata"] = json!({"name": "wrong"});
        let error = server.apply_dry_run(&wrong, "of-a-case").await.unwrap_err();
        let refusal = Refusal::from_error(&error).unwrap();
        assert_eq!(refusal.request, "applying PropagationPolicy wrong");
        let paths: Vec<_> = refusal.fields.iter().map(|field| field.path.as_str()).collect();
        assert_eq!(paths, ["spec.failover.cluster.purgeMode"]);
    }

    #[tokio::test]
    async fn errors_that_are_not_about_the_object_are_not_refusals() {
        let conflict = ActionError::Refused {
            what: "patching Deployment web".to_owned(),
            source: Box::new(kube::Error::Api(Box::new(
                Status::failure("try again", "Conflict").with_code(409),
            ))),
        };
        assert_eq!(Refusal::from_error(&conflict), None);
        assert_eq!(Refusal::from_error(&ActionError::NoObject(json!({}))), None);
    }
}
