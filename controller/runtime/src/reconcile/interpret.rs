//! Determines the health of an object on a member: by the script of its kind if there is one, else by the rule of its
//! kind (APP-10).

use std::time::{Duration, Instant};

use baton_decide::api::{ResourceHealth, Work};
use baton_decide::conditions::{self, ConditionUpdate};
use baton_decide::keys::{self, Gvk, ObjectKey};
use baton_decide::{health, interpret};
use serde_json::Value;

use super::status::concerned;
use crate::context::Context;
use crate::events::{self, About, EventType};

/// Reason of the event that a script does not determine the health of an object.
const FAILED: &str = "InterpretHealthFailed";

/// Time limit of a script. Other work waits while it runs, so this is the worst case, far above the usual time.
const SCRIPT_TIMEOUT: Duration = Duration::from_secs(1);

/// Health of an object, as far as it could be determined.
pub struct Interpreted {
    /// Health of the object.
    pub health: ResourceHealth,
    /// Reason why a script does not determine the health.
    pub problem: Option<String>,
}

/// Determines the health of an object.
pub fn health(context: &Context, gvk: &Gvk, object: &Value) -> Interpreted {
    let script = context.cache().health_script(gvk);
    let Some((name, script)) = script else {
        return Interpreted {
            health: health::of(object),
            problem: None,
        };
    };
    let began = Instant::now();
    match interpret::is_healthy(object, &script, move || began.elapsed() > SCRIPT_TIMEOUT) {
        Ok(true) => Interpreted {
            health: ResourceHealth::Healthy,
            problem: None,
        },
        Ok(false) => Interpreted {
            health: ResourceHealth::Unhealthy,
            problem: None,
        },
        Err(problem) => Interpreted {
            health: ResourceHealth::Unknown,
            problem: Some(format!(
                "the ResourceInterpreterCustomization {name} does not determine the health of the object: {problem}"
            )),
        },
    }
}

impl Interpreted {
    /// Returns the condition for the Work, if its health has to be reported.
    pub fn condition(&self, work: &Work) -> Option<ConditionUpdate> {
        let failed_before = conditions::status(&work.status.conditions, conditions::HEALTH_INTERPRETED).is_some();
        match &self.problem {
            Some(problem) => Some(ConditionUpdate::no("ScriptFailed", problem.clone())),
            None => failed_before.then(|| ConditionUpdate::yes("Interpreted", "the health of the object is known")),
        }
    }

    /// Returns true if the Work does not report this problem yet.
    pub fn is_news(&self, work: &Work) -> bool {
        let known = conditions::get(&work.status.conditions, conditions::HEALTH_INTERPRETED);
        let known = known.map(|condition| condition.message.as_str());
        self.problem.as_deref().is_some_and(|problem| known != Some(problem))
    }
}

/// Publishes events about a failing script: on the Work, its binding and the resource.
pub async fn tell(context: &Context, key: &ObjectKey, work: &Work, problem: &str) {
    let mut about = vec![About {
        api_version: "work.karmada.io/v1alpha1".to_owned(),
        kind: "Work".to_owned(),
        key: key.clone(),
        uid: work.metadata.uid.clone(),
    }];
    if let Some(binding) = keys::binding_of(work) {
        let known = context.cache().binding(&binding);
        about.extend(known.into_iter().flat_map(|known| concerned(&known, &binding)));
    }
    for about in &about {
        events::publish(context, about, EventType::Warning, FAILED, problem).await;
    }
}
