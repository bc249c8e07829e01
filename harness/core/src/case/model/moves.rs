//! Moves: faults at a moment that is named by a write of the target.

use std::{fmt, time::Duration};

use serde::Serialize;

use super::Place;

/// `move: {at: {write: ResourceBinding, does: patch, nth: 2}, do: crashAfter}`: a fault at a write of the target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Move {
    /// `at`: the write.
    pub at: WritePoint,
    /// `do`: the fault.
    pub fault: MoveFault,
    /// `for`: how long it lasts; zero for faults that take no time.
    pub lasts: Duration,
}

/// A write of the target, named by what it does. It has no revision and no time, so that it means the same in another run and
/// for another implementation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct WritePoint {
    /// `on`: where; the control plane if left out.
    pub on: Place,
    /// `write`: the kind, such as `ResourceBinding`.
    pub kind: String,
    /// `does`: the verb, such as `patch`.
    pub verb: String,
    /// `subresource`: such as `status`; `None` for the object itself.
    pub subresource: Option<String>,
    /// `nth`: which of these writes since the step began; 1 is the first.
    pub nth: u64,
}

/// A fault at a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum MoveFault {
    /// The target ends before the write is carried out, and starts again.
    CrashBefore,
    /// The target ends once the write is carried out, before it gets the answer, and starts again.
    CrashAfter,
    /// The server answers 503 and does nothing.
    LoseRequest,
    /// The server carries the write out, and the connection breaks before the answer.
    LoseAnswer,
    /// Another client annotates the object first.
    Rival,
    /// All connections to the server break once the write is carried out.
    BreakConnections,
    /// Watches of the server send nothing for some time, from the write on. Their lines arrive afterwards, in order.
    HoldWatches,
    /// Watches of the kind of the write send nothing for some time, from the write on. The target learns of other kinds first.
    HoldKind,
    /// All connections to the server break once the write is carried out, and watches get 410: the target lists again.
    ExpireWatches,
    /// The server of the write is cut off for some time, from the write on; for writes on members.
    CutOff,
    /// The taints that a user set, with the effect `NoExecute`, are gone from all clusters for some time, from the write on.
    FlapTaints,
    /// Reads of objects and lists of the server get 503 for some time, once the write is carried out.
    RefuseReads,
    /// The target ends once the write is carried out, and starts again while the cache of the server lags: for some time, lists
    /// of any age (`resourceVersion=0`) show what was there before the previous step, and watches send nothing.
    StaleRestart,
    /// The cluster of the write has another taint with the effect `NoExecute` for some time, from the write on; for writes on
    /// members.
    TaintCluster,
    /// A user edits the policies of the case after the write: `Directly` becomes `Gracefully` and the other way round, and the
    /// rules of state preservation name other labels.
    EditPolicies,
}

impl MoveFault {
    /// All faults, in the order in which an exploration tries them.
    pub const ALL: [Self; 15] = [
        Self::CrashAfter,
        Self::LoseAnswer,
        Self::CrashBefore,
        Self::LoseRequest,
        Self::Rival,
        Self::HoldWatches,
        Self::BreakConnections,
        Self::CutOff,
        Self::HoldKind,
        Self::ExpireWatches,
        Self::RefuseReads,
        Self::StaleRestart,
        Self::FlapTaints,
        Self::TaintCluster,
        Self::EditPolicies,
    ];

    /// Name in case files.
    pub fn name(self) -> &'static str {
        match self {
            Self::CrashBefore => "crashBefore",
            Self::CrashAfter => "crashAfter",
            Self::LoseRequest => "loseRequest",
            Self::LoseAnswer => "loseAnswer",
            Self::Rival => "rival",
            Self::BreakConnections => "breakConnections",
            Self::HoldWatches => "holdWatches",
            Self::CutOff => "cutOff",
            Self::HoldKind => "holdKind",
            Self::ExpireWatches => "expireWatches",
            Self::RefuseReads => "refuseReads",
            Self::StaleRestart => "staleRestart",
            Self::FlapTaints => "flapTaints",
            Self::TaintCluster => "taintCluster",
            Self::EditPolicies => "editPolicies",
        }
    }

    /// Duration if a case gives none.
    pub fn default_duration(self) -> Duration {
        match self {
            Self::HoldWatches | Self::HoldKind | Self::CutOff | Self::StaleRestart => Duration::from_secs(30),
            Self::RefuseReads => Duration::from_secs(5),
            Self::TaintCluster => Duration::from_secs(20),
            Self::FlapTaints => Duration::from_secs(1),
            Self::CrashBefore
            | Self::CrashAfter
            | Self::LoseRequest
            | Self::LoseAnswer
            | Self::Rival
            | Self::BreakConnections
            | Self::ExpireWatches
            | Self::EditPolicies => Duration::ZERO,
        }
    }

    /// True if the fault can last longer.
    pub fn takes_time(self) -> bool {
        matches!(
            self,
            Self::CrashBefore
                | Self::CrashAfter
                | Self::HoldWatches
                | Self::HoldKind
                | Self::CutOff
                | Self::RefuseReads
                | Self::StaleRestart
                | Self::FlapTaints
                | Self::TaintCluster
        )
    }

    /// True if only embedded clusters can inject the fault.
    pub fn needs_embedded(self) -> bool {
        matches!(self, Self::ExpireWatches | Self::StaleRestart)
    }

    /// True if only a member can have the fault.
    pub fn needs_member(self) -> bool {
        matches!(self, Self::CutOff | Self::TaintCluster)
    }

    /// True if a user acts. Nothing fails, so the target gets no allowance.
    pub fn is_of_users(self) -> bool {
        matches!(self, Self::FlapTaints | Self::TaintCluster | Self::EditPolicies)
    }

    /// True if the fault ends the target.
    pub fn crashes(self) -> bool {
        matches!(self, Self::CrashBefore | Self::CrashAfter | Self::StaleRestart)
    }

    /// True if the fault delays what the target learns from the server.
    pub fn delays_news(self) -> bool {
        matches!(
            self,
            Self::HoldWatches
                | Self::HoldKind
                | Self::CutOff
                | Self::BreakConnections
                | Self::ExpireWatches
                | Self::RefuseReads
                | Self::StaleRestart
        )
    }
}

impl fmt::Display for WritePoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            on,
            kind,
            verb,
            subresource,
            nth,
        } = self;
        let subresource = subresource.as_deref().map(|it| format!("/{it}")).unwrap_or_default();
        write!(f, "{verb} {nth} of {kind}{subresource} on {on}")
    }
}

impl fmt::Display for MoveFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CrashBefore => "crash the controller before it",
            Self::CrashAfter => "crash the controller after it",
            Self::LoseRequest => "answer 503 and do nothing",
            Self::LoseAnswer => "lose the answer",
            Self::Rival => "let another client write the object first",
            Self::BreakConnections => "break all connections",
            Self::HoldWatches => "hold back watches",
            Self::CutOff => "cut the cluster off",
            Self::HoldKind => "hold back watches of its kind",
            Self::ExpireWatches => "break all connections and let watches expire",
            Self::RefuseReads => "refuse reads",
            Self::StaleRestart => "crash the controller after it, and serve stale lists",
            Self::FlapTaints => "remove the taints of users",
            Self::TaintCluster => "taint the cluster",
            Self::EditPolicies => "edit the policies",
        })
    }
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}: {}", self.at, self.fault)?;
        if self.lasts.is_zero() {
            return Ok(());
        }
        write!(f, " for {} s", self.lasts.as_secs_f64())
    }
}
