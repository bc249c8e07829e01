//! Ctrl-C: the first one asks for an orderly end, the second one is the end.

use crate::terminal::errln;
use std::io;

use tokio::{
    runtime::Builder,
    signal::unix::{Signal, SignalKind, signal},
};
use tokio_util::sync::CancellationToken;

/// Exit code of a program that was interrupted.
const INTERRUPTED: i32 = 130;

/// Whether somebody wants an end.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(CancellationToken);

impl Interrupt {
    /// Listens to Ctrl-C and to the signal that service managers send, from now on and in a thread of its own. Until
    /// then, and where it is never called, both end the process at once.
    ///
    /// # Errors
    /// If signals cannot be received.
    pub fn listen() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let interrupt = Self::default();
        let token = interrupt.0.clone();
        let (mut pressed, mut terminated) = {
            let _in_runtime = runtime.enter();
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
        };
        std::thread::spawn(move || {
            runtime.block_on(async {
                either(&mut pressed, &mut terminated).await;
                errln!("interrupted; cleaning up (press Ctrl-C again to leave everything behind)");
                token.cancel();
                either(&mut pressed, &mut terminated).await;
                std::process::exit(INTERRUPTED);
            });
        });
        Ok(interrupt)
    }

    /// Whether somebody has asked.
    pub fn is_asked(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Returns when somebody asks.
    pub async fn asked(&self) {
        self.0.cancelled().await;
    }
}

async fn either(one: &mut Signal, other: &mut Signal) {
    tokio::select! {
        _ = one.recv() => {}
        _ = other.recv() => {}
    }
}
