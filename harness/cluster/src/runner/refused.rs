//! `refused`: a request that the API must not accept, and what it answers.

use baton_core::{
    case::model::{Action, Refused},
    timeline::{Mark, StepEnd},
};

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
        let (refused_with, message) = match self.act(&refused.request).await {
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

    async fn take_back(&mut self, request: &Action) -> Result<(), ActError> {
        let Action::Apply { on, objects, .. } = request else {
            return Ok(());
        };
        let known = self.known();
        for cluster in on.iter().flat_map(|place| clusters(place, &known)) {
            let client = self.client(&cluster)?;
            for object in objects {
                let object = with_references(object, &known.bindings);
                if let Some(of) = named(&object, self.fleet.namespace()) {
                    actions::delete(&client, &of).await?;
                }
            }
        }
        Ok(())
    }
}
