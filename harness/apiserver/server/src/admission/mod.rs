//! Dynamic admission: webhooks.
//!
//! [`Admission`] keeps the configured webhooks and reads them again when a configuration changes. A write consults it
//! twice, before and after defaulting and validation (`handlers::admission` does so). Calls to webhooks take time, but
//! writes do not wait: a write that needs an answer stops and records the call in its [`Memo`], the server makes the
//! call, and the write starts again from the current stored object, this time with the answer at hand.
//!
//! - `matching`: rules and selectors; `config`: webhooks as configured, with their conditions;
//! - `check`: validation of conditions when they are written;
//! - `review`: the `AdmissionReview` and its answer; `memo`: calls and answers of one write.

pub(crate) mod check;
mod config;
pub(crate) mod matching;
mod memo;
mod review;

use std::sync::{Arc, PoisonError, RwLock};

use serde_json::Value;

pub(crate) use config::Webhook;
pub(crate) use matching::Subject;
pub(crate) use memo::{Memo, Pending};
pub(crate) use review::{Answer, AnswerError, patched, read_answer, refusal, review};

/// The kinds that configure admission; admission does not apply to them.
pub(crate) const KINDS: [&str; 2] = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];

/// The group of [`KINDS`].
pub(crate) const GROUP: &str = "admissionregistration.k8s.io";

/// The configured webhooks, ready for use.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Mutating webhooks in the order in which they are called.
    pub(crate) mutating: Vec<Webhook>,
    /// Validating webhooks.
    pub(crate) validating: Vec<Webhook>,
}

impl Plan {
    /// Reads the objects of [`KINDS`], each in order of name.
    pub(crate) fn read(objects: &[Vec<Arc<Value>>; 2]) -> Self {
        let webhooks = |configurations: &[Arc<Value>]| -> Vec<Webhook> {
            configurations
                .iter()
                .flat_map(|configuration| Webhook::read_all(configuration))
                .collect()
        };
        let [mutating, validating] = objects;
        Self {
            mutating: webhooks(mutating),
            validating: webhooks(validating),
        }
    }
}

/// The current [`Plan`].
#[derive(Debug, Default)]
pub(crate) struct Admission(RwLock<Arc<Plan>>);

impl Admission {
    pub(crate) fn plan(&self) -> Arc<Plan> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the plan; `read` runs under the lock, so that the plan that was read last is also set last.
    pub(crate) fn refresh(&self, read: impl FnOnce() -> Plan) {
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(read());
    }
}
