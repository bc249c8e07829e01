//! Dynamic admission: webhooks.
//!
//! [`Admission`] keeps what is configured, read anew when a configuration changes. A write asks it twice, before and
//! after defaulting and validation (`handlers::admission` does so). Calls to webhooks take time, writes do not wait:
//! a write that needs an answer stops with it noted in its [`Memo`], the answer is fetched, and the write starts
//! again from what is stored by then, this time with the answer at hand.
//!
//! - `matching`: rules and selectors; `config`: webhooks as configured, with their conditions;
//! - `check`: conditions that are refused when they are written;
//! - `review`: the `AdmissionReview` that is sent and what comes back; `memo`: calls and answers of one write.

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
pub(crate) use review::{Answer, patched, read_answer, refusal, review};

/// The kinds that configure admission; they are not subject to it themselves.
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

    /// Replaces the plan; `read` runs under the lock, so that what was read last is also set last.
    pub(crate) fn refresh(&self, read: impl FnOnce() -> Plan) {
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(read());
    }
}
