//! Faults of clusters.

use std::{fmt, time::Duration};

use baton_apiserver::{Cut, Failure, FaultInjector};

use super::FleetError;

/// A fault of a cluster, or the end of one.
#[derive(Debug, Clone)]
pub enum Fault {
    /// Stops the API server; stored objects stay.
    Stop,
    /// Starts the API server.
    Start,
    /// Cuts off requests from outside, which then hang. The simulator and the harness are not affected.
    CutOff,
    /// Ends a cut.
    Heal,
    /// Delays every answer to a client outside by this much.
    Delay(Duration),
    /// Lets requests from outside fail.
    Fail(Failure),
    /// Breaks all connections from outside; new ones are accepted at once.
    BreakConnections,
    /// Watches from outside, of a kind or all, send nothing for this long; their lines arrive afterwards, in order. Zero ends
    /// it.
    HoldWatches(Option<String>, Duration),
    /// All connections from outside break, and watches cannot continue: new ones at a known revision get 410.
    ExpireWatches,
    /// Remembers the state of the server, for [`Fault::ServeStale`].
    Remember,
    /// For this long, lists of any age (`resourceVersion=0`) from outside show the last but one remembered state, and watches
    /// send nothing. Zero ends it.
    ServeStale(Duration),
    /// Reads of objects and lists from outside get 503 for this long. Zero ends it.
    RefuseReads(Duration),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stop => f.write_str("stop"),
            Self::Start => f.write_str("start"),
            Self::CutOff => f.write_str("be cut off"),
            Self::Heal => f.write_str("be reachable again"),
            Self::Delay(time) => write!(f, "answer {} s later", time.as_secs_f64()),
            Self::Fail(failure) => write!(f, "answer with {}", failure.code),
            Self::BreakConnections => f.write_str("break connections"),
            Self::HoldWatches(kind, time) => {
                let kind = kind.as_deref().map(|it| format!(" of {it}")).unwrap_or_default();
                write!(f, "hold back watches{kind} for {} s", time.as_secs_f64())
            }
            Self::ExpireWatches => f.write_str("let watches expire"),
            Self::Remember => f.write_str("remember its state"),
            Self::ServeStale(time) => write!(f, "serve stale lists for {} s", time.as_secs_f64()),
            Self::RefuseReads(time) => write!(f, "refuse reads for {} s", time.as_secs_f64()),
        }
    }
}

/// Injects a fault into a server, or into the fault proxy before it.
///
/// # Errors
/// If a proxy cannot inject this fault.
pub(super) fn inject(faults: &FaultInjector, backend: &'static str, fault: Fault) -> Result<(), FleetError> {
    match fault {
        Fault::Stop => faults.stop(),
        Fault::Start => faults.start(),
        Fault::CutOff => faults.cut_off(Cut::Hang),
        Fault::Heal => faults.heal(),
        Fault::Delay(time) => faults.delay(time),
        Fault::Fail(failure) => faults.fail(failure),
        Fault::BreakConnections => faults.break_connections(),
        Fault::HoldWatches(kind, time) => faults.hold_watches(kind, time),
        Fault::ExpireWatches if faults.compact() => faults.break_connections(),
        Fault::Remember => faults.remember(),
        Fault::ServeStale(time) if faults.serve_stale(time) => {}
        Fault::ExpireWatches | Fault::ServeStale(_) => {
            let fault = fault.to_string();
            return Err(FleetError::Unsupported { backend, fault });
        }
        Fault::RefuseReads(time) => faults.refuse_reads(time),
    }
    Ok(())
}
