//! A gate that writes from outside pass one at a time, each when it is let in: to stop a client between two writes.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use crate::api_error::ApiError;

/// A gate. Clones are the same one, so that several servers can share it.
#[derive(Debug, Clone)]
pub struct Gate {
    turn: Arc<Semaphore>,
    asks: mpsc::UnboundedSender<oneshot::Sender<()>>,
}

/// Who keeps a gate. It is open when this is dropped.
#[derive(Debug)]
pub struct Gatekeeper(mpsc::UnboundedReceiver<oneshot::Sender<()>>);

/// A write that waits to be let in. It is refused when this is dropped.
#[derive(Debug)]
pub struct Asking(oneshot::Sender<()>);

impl Gate {
    /// A gate and its keeper.
    pub fn new() -> (Self, Gatekeeper) {
        let (asks, keeper) = mpsc::unbounded_channel();
        let turn = Arc::new(Semaphore::new(1));
        (Self { turn, asks }, Gatekeeper(keeper))
    }

    /// Waits to be let in; whoever is in is so until what is given back is dropped.
    pub(crate) async fn enter(&self) -> Result<Option<OwnedSemaphorePermit>, ApiError> {
        let turn = Arc::clone(&self.turn).acquire_owned().await.ok();
        let (asking, answer) = oneshot::channel();
        if self.asks.send(asking).is_err() {
            return Ok(None);
        }
        let refused = |_| ApiError::new(503, "ServiceUnavailable", "the write was not let in".to_owned(), None);
        answer.await.map(|()| turn).map_err(refused)
    }
}

impl Gatekeeper {
    /// The next write that wants in, once the one before it is done.
    pub async fn next(&mut self) -> Option<Asking> {
        self.0.recv().await.map(Asking)
    }
}

impl Asking {
    /// Lets it in.
    pub fn let_in(self) {
        // A client that does not wait any more needs no answer.
        let _ = self.0.send(());
    }
}
