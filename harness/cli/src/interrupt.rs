//! Ctrl-C, and the signals of service managers and closed terminals: the first one asks for an orderly end, the second
//! one is the end.

use crate::terminal::errln;
use std::io;

use tokio::{
    runtime::Builder,
    signal::unix::{Signal, SignalKind, signal},
};
use tokio_util::sync::CancellationToken;

/// Exit code of a program that was interrupted.
const INTERRUPTED: i32 = 130;

/// The signal of a write beyond the limit of `ulimit -f`.
const SIGXFSZ: i32 = 25;

/// Lets a write beyond the limit of `ulimit -f` fail, so that a message tells of it: without this, the process ends.
pub fn outlive_size_limit() {
    let listened = Builder::new_current_thread().enable_all().build().and_then(|runtime| {
        let _in_runtime = runtime.enter();
        // A signal that was listened to no longer ends the process, even if no listener is left.
        signal(SignalKind::from_raw(SIGXFSZ)).map(drop)
    });
    if let Err(error) = listened {
        errln!("warning: signals cannot be received, so a write beyond `ulimit -f` ends the program: {error}");
    }
}

/// Whether somebody wants an end.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(CancellationToken);

impl Interrupt {
    /// Listens to Ctrl-C and to the signals that service managers and closed terminals send, from now on and in a thread
    /// of its own. Until then, and where it is never called, each ends the process at once.
    ///
    /// # Errors
    /// If signals cannot be received.
    pub fn listen() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let interrupt = Self::default();
        let token = interrupt.0.clone();
        let mut signals = {
            let _in_runtime = runtime.enter();
            Signals::new()?
        };
        std::thread::spawn(move || {
            runtime.block_on(async {
                signals.any().await;
                errln!("interrupted; cleaning up (press Ctrl-C again to leave everything behind)");
                token.cancel();
                signals.any().await;
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

/// The signals by which somebody asks for an end.
pub(crate) struct Signals([Signal; 3]);

impl Signals {
    /// From now on none of them ends the process.
    ///
    /// # Errors
    /// If signals cannot be received.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self([
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
        ]))
    }

    /// Returns when one of them comes.
    pub(crate) async fn any(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}
