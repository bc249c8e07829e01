//! A gate that writes from outside pass one at a time, each when its keeper decides: to stop a client between two
//! writes, to disturb it at one of them, or to record its writes.

use std::{fmt, sync::Arc};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use crate::api_error::ApiError;

/// A gate. Clones share their state, so that several servers can use one gate.
#[derive(Debug, Clone)]
pub struct Gate {
    server: Arc<str>,
    turn: Arc<Semaphore>,
    asks: mpsc::UnboundedSender<Asking>,
}

/// Keeper of a gate. Dropping it opens the gate.
#[derive(Debug)]
pub struct Gatekeeper(mpsc::UnboundedReceiver<Asking>);

/// A write that waits at a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatedWrite {
    /// Name of the server, as passed to [`Gate::before`].
    pub server: Arc<str>,
    /// `create`, `update`, `patch`, `delete` or `deletecollection`.
    pub verb: &'static str,
    /// API group with the version, such as `apps/v1`.
    pub api_version: String,
    /// Kind of the resource, such as `ConfigMap`.
    pub kind: String,
    /// Namespace of the object, if it has one.
    pub namespace: Option<String>,
    /// Name of the object; `None` for creations, whose path does not name it.
    pub name: Option<String>,
    /// Subresource; `None` for the object itself.
    pub subresource: Option<String>,
    /// User agent of the client.
    pub client: String,
}

/// A write that waits for a decision. Dropping it refuses the write with 503.
#[derive(Debug)]
pub struct Asking {
    write: GatedWrite,
    answer: oneshot::Sender<Decision>,
}

/// A decision to let a write in.
struct Decision {
    loses_answer: bool,
    /// Dropped once the server has carried the write out.
    carried_out: oneshot::Sender<()>,
}

/// Completes once the server has carried out a write that was let in.
#[derive(Debug)]
pub struct CarriedOut(oneshot::Receiver<()>);

/// A write that was let in. The next one waits until this is dropped.
#[derive(Debug)]
pub(crate) struct Passed {
    _turn: Option<OwnedSemaphorePermit>,
    _carried_out: oneshot::Sender<()>,
    loses_answer: bool,
}

impl fmt::Debug for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decision")
            .field("loses_answer", &self.loses_answer)
            .finish_non_exhaustive()
    }
}

impl Gate {
    /// Returns a gate and its keeper.
    pub fn new() -> (Self, Gatekeeper) {
        let (asks, keeper) = mpsc::unbounded_channel();
        let gate = Self {
            server: Arc::from(""),
            turn: Arc::new(Semaphore::new(1)),
            asks,
        };
        (gate, Gatekeeper(keeper))
    }

    /// Returns the same gate for a server of this name.
    #[must_use]
    pub fn before(&self, server: &str) -> Self {
        Self {
            server: Arc::from(server),
            ..self.clone()
        }
    }

    /// Waits until a write is let in; `None` if the gate has no keeper. `write` gets the name of the server.
    pub(crate) async fn enter(&self, write: impl FnOnce(Arc<str>) -> GatedWrite) -> Result<Option<Passed>, ApiError> {
        let turn = Arc::clone(&self.turn).acquire_owned().await.ok();
        let (answer, decided) = oneshot::channel();
        let write = write(Arc::clone(&self.server));
        if self.asks.send(Asking { write, answer }).is_err() {
            return Ok(None);
        }
        let decision = decided.await.map_err(|_| {
            let message = "the write was not let in".to_owned();
            ApiError::new(503, "ServiceUnavailable", message, None)
        })?;
        Ok(Some(Passed {
            _turn: turn,
            _carried_out: decision.carried_out,
            loses_answer: decision.loses_answer,
        }))
    }
}

impl Gatekeeper {
    /// Returns the next waiting write, once the one before it is done.
    pub async fn next(&mut self) -> Option<Asking> {
        self.0.recv().await
    }

    /// Opens the gate: admits all waiting writes, and later ones do not wait.
    pub fn open(mut self) {
        self.0.close();
        while let Ok(asking) = self.0.try_recv() {
            asking.let_in();
        }
    }
}

impl Asking {
    /// Returns the write that waits.
    pub fn write(&self) -> &GatedWrite {
        &self.write
    }

    /// Admits the write.
    pub fn let_in(self) -> CarriedOut {
        self.decide(false)
    }

    /// Admits the write, and breaks its connection before the client gets the answer.
    pub fn let_in_and_lose_answer(self) -> CarriedOut {
        self.decide(true)
    }

    fn decide(self, loses_answer: bool) -> CarriedOut {
        let (carried_out, done) = oneshot::channel();
        // A client that no longer waits needs no answer.
        let _ = self.answer.send(Decision {
            loses_answer,
            carried_out,
        });
        CarriedOut(done)
    }
}

impl CarriedOut {
    /// Waits until the write has been carried out, or its client has gone.
    pub async fn wait(self) {
        // The sender never sends a value: it is dropped.
        let _ = self.0.await;
    }
}

impl Passed {
    /// Returns `true` if the client must not get the answer.
    pub(crate) fn loses_answer(&self) -> bool {
        self.loses_answer
    }
}
