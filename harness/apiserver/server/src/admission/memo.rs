//! The webhook calls of one write, and their answers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::webhook_client::{CallError, Endpoint};

/// A call that has not been made yet.
#[derive(Debug, Clone)]
pub(crate) struct Pending {
    /// The purpose of the call; the answer is kept under this name.
    pub(crate) key: String,
    /// The endpoint to call.
    pub(crate) endpoint: Endpoint,
    pub(crate) body: Vec<u8>,
}

#[derive(Debug, Default)]
struct State {
    answers: BTreeMap<String, Result<Vec<u8>, Arc<CallError>>>,
    asked: BTreeMap<String, usize>,
    pending: Option<Pending>,
    warnings: Vec<String>,
    names: BTreeMap<String, String>,
    /// Set if a webhook has added fields that the schema does not know.
    unknown_fields: bool,
}

/// Calls and answers of one write.
#[derive(Debug, Default)]
pub(crate) struct Memo(Mutex<State>);

impl Memo {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a new attempt of the write.
    pub(crate) fn restart(&self) {
        let mut state = self.lock();
        state.asked.clear();
        state.warnings.clear();
        state.unknown_fields = false;
    }

    /// Records that a webhook has added fields that the schema does not know.
    pub(crate) fn note_unknown_fields(&self) {
        self.lock().unknown_fields = true;
    }

    /// Returns `true` if a webhook has added such fields.
    pub(crate) fn has_unknown_fields(&self) -> bool {
        self.lock().unknown_fields
    }

    /// Returns the name of the next call for this purpose: the same one in every attempt of the write.
    pub(crate) fn key(&self, purpose: &str) -> String {
        let mut state = self.lock();
        let count = state.asked.entry(purpose.to_owned()).or_default();
        *count += 1;
        format!("{purpose}#{count}")
    }

    /// Returns the answer to a call, if it has been made.
    pub(crate) fn answer(&self, key: &str) -> Option<Result<Vec<u8>, Arc<CallError>>> {
        self.lock().answers.get(key).cloned()
    }

    /// Sets the call that the write waits for.
    pub(crate) fn ask(&self, call: Pending) {
        self.lock().pending = Some(call);
    }

    /// Returns `true` if the write waits for a call.
    pub(crate) fn is_waiting(&self) -> bool {
        self.lock().pending.is_some()
    }

    /// Takes the call that the write waits for.
    pub(crate) fn take(&self) -> Option<Pending> {
        self.lock().pending.take()
    }

    /// Stores the answer to a call.
    pub(crate) fn keep(&self, key: String, answer: Result<Vec<u8>, CallError>) {
        self.lock().answers.insert(key, answer.map_err(Arc::new));
    }

    /// Adds a warning for the client.
    pub(crate) fn warn(&self, warning: String) {
        self.lock().warnings.push(warning);
    }

    /// Returns the warnings of this attempt.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.lock().warnings.clone()
    }

    /// Returns a generated value for the object, the same one in every attempt.
    pub(crate) fn name(&self, what: &str, make: impl FnOnce() -> String) -> String {
        self.lock().names.entry(what.to_owned()).or_insert_with(make).clone()
    }
}
