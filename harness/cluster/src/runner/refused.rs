//! `refused`: a request that the API must reject, and its answer.

use baton_core::{
    case::model::{Action, Refused},
    names::ClusterName,
    timeline::{Mark, StepEnd},
};
use serde_json::Value;

use super::{
    Run,
    act::{is_configuration, undefined},
    act_error::ActError,
    references::{clusters, named, with_references},
};
use crate::{
    actions::{self, ActionError},
    error_chain::error_chain,
};

impl Run<'_> {
    /// Sends the request, and notes the answer for the judge. Deletes an object that was accepted.
    ///
    /// An API server drops unknown fields, so their values cannot be rejected.
    pub(super) async fn refused(&mut self, refused: &Refused) -> StepEnd {
        let request = &refused.request;
        if let Err(lacking @ ActError::Undefined { .. }) = self.look_for_fields(request).await {
            return StepEnd::Unsupported {
                reason: lacking.to_string(),
            };
        }
        let answer = if refused.creates {
            self.create(request).await
        } else {
            self.act(request).await
        };
        let (refused_with, message) = match answer {
            Ok(()) => {
                if let Err(error) = self.take_back(&refused.request).await {
                    return StepEnd::Refused {
                        message: error_chain(&error),
                    };
                }
                (None, String::new())
            }
            Err(ActError::Action(ActionError::Refused { source, what })) => match *source {
                kube::Error::Api(status) => (Some(status.code), status.message),
                other => {
                    return StepEnd::Refused {
                        message: format!("{what}: {}", error_chain(&other)),
                    };
                }
            },
            Err(ActError::Action(error @ ActionError::NotServed { .. })) => (Some(404), error.to_string()),
            Err(lacking @ ActError::Undefined { .. }) => {
                return StepEnd::Unsupported {
                    reason: lacking.to_string(),
                };
            }
            Err(error) => {
                return StepEnd::Refused {
                    message: error_chain(&error),
                };
            }
        };
        self.recorder.mark(Mark::Answered { refused_with, message });
        StepEnd::Done
    }

    /// Checks by a dry run whether the definitions have the fields of the policies in a request.
    async fn look_for_fields(&mut self, request: &Action) -> Result<(), ActError> {
        for (cluster, object) in self.objects_of(request) {
            if is_configuration(&object) {
                let client = self.client(&cluster)?;
                let applied = actions::apply_dry_run(&client, &object, self.fleet.namespace()).await;
                undefined(&object, applied.as_ref())?;
            }
        }
        Ok(())
    }

    async fn create(&mut self, request: &Action) -> Result<(), ActError> {
        for (cluster, object) in self.objects_of(request) {
            actions::create(&self.client(&cluster)?, &object, self.fleet.namespace()).await?;
        }
        Ok(())
    }

    async fn take_back(&mut self, request: &Action) -> Result<(), ActError> {
        for (cluster, object) in self.objects_of(request) {
            if let Some(of) = named(&object, self.fleet.namespace()) {
                actions::delete(&self.client(&cluster)?, &of).await?;
            }
        }
        Ok(())
    }

    /// The objects that a request applies, with their clusters.
    fn objects_of(&mut self, request: &Action) -> Vec<(ClusterName, Value)> {
        let Action::Apply { on, objects, .. } = request else {
            return Vec::new();
        };
        let known = self.known();
        let places = on.iter().flat_map(|place| clusters(place, &known));
        let object = |cluster: ClusterName| {
            let resolved = |object| (cluster.clone(), with_references(object, &known.bindings));
            objects.iter().map(resolved).collect::<Vec<_>>()
        };
        places.flat_map(object).collect()
    }
}
