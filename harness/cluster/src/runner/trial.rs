//! Repeats a refused step on an API server that has only the suite's definitions and those of the case.
//!
//! If that server refuses the object as well, the object is invalid on any cluster: an error in the case. If it accepts the
//! object, the refusal is a deviation of the target.

use baton_core::{
    case::model::{Action, ObjectRef, Subject},
    watch::Known,
};
use kube::Client;
use serde_json::Value;

use super::{
    Run, act,
    act_error::ActError,
    references::{clusters, named, with_references},
};
use crate::{
    actions::{self, ActionError},
    error_chain::error_chain,
    fleet::FleetError,
    trial::{NOT_DECLARED, Refusal, RefusedObject, TrialServer},
};

/// Suffix of API groups that a target may define itself.
const TARGETS_API: &str = ".karmada.io/";

/// Parts of an API server's message if the object was refused by what a target may have installed there.
const BY_ADMISSION: [&str; 2] = ["admission webhook", "ValidatingAdmissionPolicy"];

/// Client of the cluster, reference to the object, and the object if the step has it whole.
type Write = (Client, ObjectRef, Option<Value>);

impl ActError {
    /// Returns the error of an API server, or of the lookup of a kind there.
    fn action(&self) -> Option<&ActionError> {
        match self {
            Self::Action(
                error @ (ActionError::Refused { .. } | ActionError::NotServed { .. } | ActionError::NoObject(_)),
            ) => Some(error),
            _ => None,
        }
    }
}

impl Run<'_> {
    /// Returns the object of a failed step if it is invalid regardless of the target.
    ///
    /// Kubernetes itself validates objects of its kinds and of kinds that the case defines, unless an admission webhook
    /// or policy has refused them. For all others, the step is repeated on an API server of the harness.
    pub(super) async fn error_of_case(&mut self, action: &Action, error: &ActError) -> Option<RefusedObject> {
        let error = error.action()?;
        let refusal = if matches!(error, ActionError::NoObject(_)) || is_of_kubernetes(action, error) {
            refusal_of(error)
        } else {
            match self.repeated(action, error).await {
                Ok(refusal) => refusal?,
                Err(failed) => {
                    tracing::debug!(error = error_chain(&failed), "a refused step cannot be repeated");
                    return None;
                }
            }
        };
        let object = object_of(action, &refusal.request);
        Some(RefusedObject { object, refusal })
    }

    /// Repeats a step, and returns the refusal if the object that the target's cluster has refused is refused again.
    async fn repeated(&mut self, action: &Action, error: &ActionError) -> Result<Option<Refusal>, FleetError> {
        let (ActionError::Refused { what: request, .. } | ActionError::NotServed { what: request, .. }) = error else {
            return Ok(None);
        };
        let known = self.known();
        let namespace = self.fleet.namespace().to_owned();
        let writes = self.writes(action, &known)?;
        if writes.is_empty() {
            return Ok(None);
        }
        let server = TrialServer::start((self.fleet.clock())()).await?;
        for definition in &self.definitions {
            // The clusters of the case have accepted it.
            drop(server.apply(definition, &namespace).await);
        }
        for (live, of, object) in writes {
            if let Ok(Some(present)) = actions::get(&live, &of).await {
                // If the target has stored it in a form that is invalid here, the step fails for another reason.
                drop(server.copy(&present, &namespace).await);
            }
            let repeated = match object {
                Some(object) => server.apply(&object, &namespace).await.map_err(ActError::from),
                None => act::write(&server.client(), action, &of, &known.bindings).await,
            };
            let Err(repeated) = repeated else { continue };
            if let Some(refusal) = same_refusal(&repeated, error).filter(|it| it.request == *request) {
                return Ok(Some(refusal));
            }
        }
        Ok(None)
    }

    /// The objects that a step writes.
    fn writes(&self, action: &Action, known: &Known) -> Result<Vec<Write>, FleetError> {
        let mut writes = Vec::new();
        match action {
            Action::Apply { on, objects, .. } => {
                for cluster in on.iter().flat_map(|place| clusters(place, known)) {
                    let client = self.client(&cluster)?;
                    for object in objects.iter().map(|object| with_references(object, &known.bindings)) {
                        if let Some(of) = named(&object, self.fleet.namespace()) {
                            writes.push((client.clone(), of, Some(object)));
                        }
                    }
                }
            }
            Action::Patch { on, of, .. } | Action::SetStatus { on, of, .. } => {
                for (cluster, of) in self.objects(on, of, known).unwrap_or_default() {
                    writes.push((self.client(&cluster)?, of, None));
                }
            }
            _ => {}
        }
        Ok(writes)
    }
}

/// Returns `true` if Kubernetes itself, and nothing of the target, has refused the object of a step.
fn is_of_kubernetes(action: &Action, error: &ActionError) -> bool {
    let is_targets = |object: &Value| text(object, "apiVersion").contains(TARGETS_API);
    let is_targets = match action {
        Action::Apply { objects, .. } => objects.iter().any(is_targets),
        Action::Patch {
            of: Subject::Object(of),
            ..
        } => of.api_version.contains(TARGETS_API),
        _ => true,
    };
    if is_targets {
        return false;
    }
    match error {
        ActionError::NotServed { .. } | ActionError::NoObject(_) => true,
        ActionError::Refused { source, .. } => match &**source {
            kube::Error::Api(status) => {
                let invalid = matches!(status.code, 400 | 422) || status.message.contains(NOT_DECLARED);
                invalid && !BY_ADMISSION.iter().any(|by| status.message.contains(by))
            }
            _ => false,
        },
        ActionError::NotEstablished { .. } => false,
    }
}

/// Returns the refusal of a repeated step, if it is about the object and of the same sort as the original error.
fn same_refusal(repeated: &ActError, original: &ActionError) -> Option<Refusal> {
    let repeated = repeated.action()?;
    match (repeated, original) {
        (ActionError::NotServed { .. }, ActionError::Refused { .. })
        | (ActionError::Refused { .. }, ActionError::NotServed { .. }) => None,
        // A target may have a field that the suite's definitions lack.
        _ => Refusal::from_error(repeated).filter(|it| !it.undeclared),
    }
}

fn refusal_of(error: &ActionError) -> Refusal {
    Refusal::from_error(error).unwrap_or_else(|| Refusal {
        request: String::new(),
        message: error_chain(error),
        fields: Vec::new(),
        undeclared: false,
    })
}

/// Returns the object of a step that a request is about, as the case has it.
fn object_of(action: &Action, request: &str) -> Value {
    match action {
        Action::Apply { objects, .. } => {
            let is_meant = |it: &&Value| request.ends_with(&format!(" {} {}", text(it, "kind"), name(it)));
            objects.iter().find(is_meant).or(objects.first()).cloned()
        }
        Action::Patch { merge, .. } => Some(merge.clone()),
        Action::SetStatus { status, .. } => Some(status.clone()),
        _ => None,
    }
    .unwrap_or_default()
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

fn name(object: &Value) -> &str {
    text(&object["metadata"], "name")
}
