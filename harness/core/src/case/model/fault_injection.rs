//! Faults that a case injects into clusters and into the target, and starts of the target.

use std::{collections::BTreeSet, fmt, time::Duration};

use serde::Serialize;

use super::{Condition, ControllerSetup, Move, Place};
use crate::names::{RequirementId, RoleName};

/// A fault that is injected into a cluster or into the target, or the end of one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Fault {
    /// `{cutOff: origin}`: the member becomes unreachable, and continues to run.
    CutOff(RoleName),
    /// `{heal: origin}`: it is reachable again.
    Heal(RoleName),
    /// `{unready: origin}`: its `/readyz`, `/livez` and `/healthz` answer the target with 500; everything else goes on.
    Unready(RoleName),
    /// `{ready: origin}`: they answer as usual again.
    Ready(RoleName),
    /// `{unjoin: origin}`: its Cluster object is deleted; the member goes on running.
    Unjoin(RoleName),
    /// `{join: origin}`: it is registered again.
    Join(RoleName),
    /// `condition: {cluster: origin, type: …, status: …}`: a condition of the Cluster object has this status.
    Condition {
        /// The member.
        cluster: RoleName,
        /// `type`.
        kind: String,
        /// `status`: `True`, `False` or `Unknown`.
        status: String,
    },
    /// `delay: {cluster: origin, by: 2s}`: every answer to the target takes so much longer; `0s` ends it.
    Delay(Place, Duration),
    /// `fail: {cluster: origin, with: 503, …}`: requests of the target are answered with an error.
    Fail(Place, Failing),
    /// `controller: stop`: the target is stopped.
    StopController,
    /// `controller: {stop: {after: taskWritten, …}}`: the target is stopped at the moment when this holds: it writes
    /// nothing more after that.
    StopControllerAfter(Condition),
    /// `controller: start`: the target is started again, if it is to stop at some moment, then after that.
    StartController,
    /// `controller: {add: standby}`: starts another instance of the target, with the same set-up.
    AddController(String),
    /// `controller: {crash: first}`: an instance of the target ends without a chance to give anything back.
    CrashController(String),
    /// `move: {at: …, do: …}`: a fault at a write of the target, from this step on. Later steps do not wait for it.
    Move(Move),
}

/// The name of the instance of the target that a run begins with.
pub const FIRST_INSTANCE: &str = "first";

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CutOff(role) => write!(f, "cut off {role}"),
            Self::Heal(role) => write!(f, "heal {role}"),
            Self::Unready(role) => write!(f, "let {role} say that it is not ready"),
            Self::Ready(role) => write!(f, "let {role} say that it is ready"),
            Self::Unjoin(role) => write!(f, "unjoin {role}"),
            Self::Join(role) => write!(f, "let {role} join again"),
            Self::Condition { cluster, kind, status } => write!(f, "set condition {kind} of {cluster} to {status}"),
            Self::Delay(place, time) => write!(f, "let {place} answer {} s later", time.as_secs_f64()),
            Self::Fail(place, failing) => write!(f, "let {place} answer {failing}"),
            Self::StopController => f.write_str("stop the controller"),
            Self::StopControllerAfter(condition) => write!(f, "stop the controller as soon as {condition}"),
            Self::StartController => f.write_str("start the controller"),
            Self::AddController(name) => write!(f, "start another instance of the controller, {name}"),
            Self::CrashController(name) => write!(f, "crash the instance {name} of the controller"),
            Self::Move(it) => it.fmt(f),
        }
    }
}

/// Requests that fail, and the way in which they fail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failing {
    /// `verb`: `get`, `list`, `watch`, `create`, `update`, `patch` or `delete`; all if absent.
    pub verb: Option<String>,
    /// `kind`: of the objects that they are about; all if absent.
    pub kind: Option<String>,
    /// `path`: the path of the requests, with all paths below it, for paths without an object, such as `/readyz`.
    pub path: Option<String>,
    /// `with`: the HTTP status of the answer.
    pub code: u16,
    /// `times`: how many fail, 1 if absent; 0 ends it.
    pub times: u64,
}

impl fmt::Display for Failing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = self.verb.as_deref().unwrap_or("request");
        let about = match (&self.kind, &self.path) {
            (Some(kind), _) => format!(" of a {kind}"),
            (None, Some(path)) => format!(" of {path}"),
            (None, None) => String::new(),
        };
        if self.times == 0 {
            return write!(f, "{verb}s{about} as usual");
        }
        write!(f, "the next {} {verb}s{about} with {}", self.times, self.code)
    }
}

/// A start of the target with another set-up than the case's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Start {
    /// The set-up.
    pub setup: ControllerSetup,
    /// Expected result.
    pub expect: Expected,
    /// `mentions`: what must be in what it says, all in one message.
    pub mentions: Vec<String>,
    /// Requirements that are shown if it is met; may be empty.
    pub proves: BTreeSet<RequirementId>,
}

/// Expected result of a [`Start`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Expected {
    /// `refuses`: it does not start, and says why.
    Refusal,
    /// `warns`: it starts, and warns. It goes on with this set-up.
    Warning,
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gates = self.setup.feature_gates.iter().map(|(gate, on)| format!("{gate}={on}"));
        let options = self.setup.options.iter().map(|(name, value)| format!("{name}={value}"));
        let setup = gates.chain(options).collect::<Vec<_>>().join(", ");
        let expected = match self.expect {
            Expected::Refusal => "it refuses",
            Expected::Warning => "it warns",
        };
        write!(
            f,
            "start the controller with {setup}: {expected} and mentions {}",
            self.mentions.join(", ")
        )
    }
}
