//! Ctrl-C, and the signals of service managers and closed terminals: the first signal ends the run in order, the second
//! ends the process.

use crate::terminal::errln;
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::{
    runtime::Builder,
    signal::unix::{Signal, SignalKind, signal},
};
use tokio_util::sync::CancellationToken;

/// Exit code of a program that was interrupted.
const INTERRUPTED: i32 = 130;

/// Signal of a write beyond the limit of `ulimit -f`.
const SIGXFSZ: i32 = 25;

/// Signal that lets a stopped process go on.
const SIGCONT: i32 = if cfg!(any(target_os = "linux", target_os = "android")) {
    18
} else {
    19
};

/// Lets a write beyond the limit of `ulimit -f` fail with an error that can be reported. Without this, the process
/// ends.
pub fn outlive_size_limit() {
    let listened = Builder::new_current_thread().enable_all().build().and_then(|runtime| {
        let _in_runtime = runtime.enter();
        // Once a process has listened to a signal, the signal no longer ends it, even after the listener is gone.
        signal(SignalKind::from_raw(SIGXFSZ)).map(drop)
    });
    if let Err(error) = listened {
        errln!("warning: signals cannot be received, so a write beyond `ulimit -f` ends the program: {error}");
    }
}

/// Cancellation of a run by the user.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    token: CancellationToken,
    /// Number of times that the process went on after it was stopped.
    resumed: Arc<AtomicU64>,
}

impl Interrupt {
    /// Listens to Ctrl-C and to the signals that service managers and closed terminals send, in a separate thread.
    /// Before this call, each signal ends the process at once.
    ///
    /// # Errors
    /// If signals cannot be received.
    pub fn listen() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let interrupt = Self::default();
        let (token, resumed) = (interrupt.token.clone(), Arc::clone(&interrupt.resumed));
        let (mut signals, mut continued) = {
            let _in_runtime = runtime.enter();
            (Signals::new()?, signal(SignalKind::from_raw(SIGCONT))?)
        };
        std::thread::spawn(move || {
            runtime.block_on(async {
                tokio::spawn(async move {
                    while continued.recv().await.is_some() {
                        resumed.fetch_add(1, Ordering::SeqCst);
                    }
                });
                signals.any().await;
                errln!("interrupted; cleaning up (press Ctrl-C again to leave everything behind)");
                token.cancel();
                signals.any().await;
                std::process::exit(INTERRUPTED);
            });
        });
        Ok(interrupt)
    }

    /// Interrupts the run once standard input is closed, as a process does that was started by another one and must not
    /// outlive it.
    pub fn when_input_ends(&self) {
        let token = self.token.clone();
        std::thread::spawn(move || {
            // An input that cannot be read has ended, too.
            let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
            token.cancel();
        });
    }

    /// Returns `true` once the user has interrupted the run.
    pub fn is_asked(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Waits until the user interrupts the run.
    pub async fn asked(&self) {
        self.token.cancelled().await;
    }

    /// Number of times so far that the process went on after it was stopped (SIGSTOP, Ctrl-Z).
    pub fn resumed(&self) -> u64 {
        self.resumed.load(Ordering::SeqCst)
    }
}

/// Signals that interrupt a run.
pub(crate) struct Signals([Signal; 3]);

impl Signals {
    /// Starts to listen; from now on none of the signals ends the process.
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

    /// Waits for one of the signals.
    pub(crate) async fn any(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}
