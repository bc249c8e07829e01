//! `refused`: a request that the API must not accept, and what it answers.

use baton_core::{
    case::model::{Action, Refused},
    names::ClusterName,
    timeline::{Mark, StepEnd},
};
use serde_json::Value;

use super::{
    Run,
    act::{ActError, clusters, with_references},
    clean_up::named,
};
use crate::{
    actions::{self, ActionError},
    error_chain::error_chain,
};

impl Run<'_> {
    /// Makes the request, and notes the answer for the judge. An object that was accepted is deleted again.
    pub(super) async fn refused(&mut self, refused: &Refused) -> StepEnd {
        let request = &refused.request;
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
            Err(error) => {
                return StepEnd::Refused {
                    message: error_chain(&error),
                };
            }
        };
        self.recorder.mark(Mark::Answered { refused_with, message });
        StepEnd::Done
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

    /// What a request applies, and where.
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
