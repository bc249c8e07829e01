//! Actions of steps: their data, their words and the facts about them.

use std::{collections::BTreeSet, fmt, slice, time::Duration};

use serde::Serialize;
use serde_json::Value;

use super::{
    Assertion, CommandRun, Condition, Facts, Fault, MetricAssertion, Mode, ObjectRef, Phase, Place, Sequence, Snapshot,
    Start, Subject, Taint, Write,
    rewrite::{self, Period, Rewrite},
    words,
};
use crate::{
    names::{RequirementId, RoleName},
    redact,
};

/// Action of a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Action {
    /// `apply`: server-side apply of objects.
    Apply {
        /// Place.
        on: Vec<Place>,
        /// The objects of the `file`, or the one `resource`. Texts in them may refer to roles.
        objects: Vec<Value>,
        /// The file they came from, below `fixtures/`, for people.
        #[serde(skip)]
        file: Option<String>,
        /// Requirements that are shown if the API accepts them.
        #[serde(skip_serializing_if = "BTreeSet::is_empty")]
        proves: BTreeSet<RequirementId>,
    },
    /// `admission`: puts admission rules in force, in the place of a policy engine on the member.
    Admission {
        /// Place.
        on: Vec<Place>,
        /// The rules, as the file has them.
        rules: String,
        /// The file, below `fixtures/`.
        file: String,
    },
    /// `patch`: a merge patch of one object.
    Patch {
        /// Place.
        on: Place,
        /// Object.
        of: Subject,
        /// The patch. Texts in it may refer to roles and captures.
        merge: Value,
    },
    /// `setStatus`: a merge patch of an object's status, as the workload's own controller would make it.
    SetStatus {
        /// Place.
        on: Place,
        /// Object.
        of: Subject,
        /// Value that is merged into `.status`.
        status: Value,
    },
    /// `delete`: deletes an object; does not wait until it is gone.
    Delete {
        /// Place.
        on: Place,
        /// Object.
        of: Subject,
    },
    /// `bindRole`: waits until the scheduling result of a workload names one member that plays none of the other
    /// roles, and gives it the role.
    BindRole {
        /// The role.
        role: RoleName,
        /// The workload.
        from: ObjectRef,
        /// Members with these roles do not count.
        not: Vec<RoleName>,
    },
    /// `capture`: waits until a field is there and keeps its value; patterns refer to it as `${name}`.
    Capture {
        /// The name.
        name: String,
        /// Place.
        on: Place,
        /// Object.
        of: Subject,
        /// The field, as keys from the object's root: `[status, jobStatus, jobID]`, written with dots.
        field: Vec<String>,
    },
    /// `capture: {name: …, now: true}`: keeps the present time.
    CaptureNow(String),
    /// `refused`: a request that the API must not accept.
    Refused(Refused),
    /// `taint`: adds a taint to a cluster, leaving others alone.
    Taint {
        /// Cluster.
        cluster: Place,
        /// The taint.
        taint: Taint,
        /// `for`: after this time it is removed again, and the step ends; it stays if absent.
        lasts: Option<Duration>,
    },
    /// `untaint`: removes a taint from a cluster.
    Untaint {
        /// Cluster.
        cluster: Place,
        /// The taint's key.
        key: String,
        /// The taint's effect.
        effect: String,
    },
    /// `hold`: puts a finalizer on an object, so that it stays when it is deleted.
    Hold {
        /// Place.
        on: Place,
        /// Object.
        of: Subject,
    },
    /// `release`: takes that finalizer off again.
    Release {
        /// Place.
        on: Place,
        /// Object.
        of: Subject,
    },
    /// `cutOff`, `heal`, `unready`, `ready`, `unjoin`, `join`, `condition`, `delay`, `fail`, `controller: stop` and `start`:
    /// injects a fault, or ends one.
    Inject(Fault),
    /// `controller: {refuses: …}` or `{warns: …}`: starts the target anew with another set-up, and hears what it says.
    Start(Start),
    /// `run`: runs a command of the implementation to its end.
    Run(CommandRun),
    /// `elapse`: lets time pass. On real clusters it really takes that long.
    Elapse(Duration),
    /// `settle`: waits until every failover is over and nothing changes any more, at most for this time. It ends in any case:
    /// the invariant `settles` judges the result.
    Settle(Duration),
    /// `wait`: waits until something holds.
    Wait {
        /// Condition to wait for.
        until: Condition,
        /// The phase whose timeout counts.
        phase: Phase,
        /// Time limit in the place of the phase's timeout.
        #[serde(skip_serializing_if = "Option::is_none")]
        within: Option<Duration>,
        /// `orUnsupported`: what the implementation has not if it does not come, so that the case is not for it.
        #[serde(skip_serializing_if = "Option::is_none")]
        otherwise: Option<String>,
    },
    /// `assert`: judged on the timeline; `eventually`, `observed` and `firstSeen` also wait, `consistently` lets time pass.
    Assert(Assertion),
    /// `assert: {mode: order, …}`: of two things, which came first.
    Order(Box<Sequence>),
    /// `assert: {metric: …}`: what a metric of the target says.
    Metric(MetricAssertion),
    /// `snapshot`: compares what is there with a file under `snapshots/`.
    Snapshot(Snapshot),
}

/// `refused`: a request that the API must answer with 400, 403 or 422.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Refused {
    /// The request: `apply` or `create` of one object in one place, `patch` or `delete`.
    pub request: Box<Action>,
    /// Set if the object is created with a POST instead of server-side apply.
    pub creates: bool,
    /// `mentions`: what the answer must mention, all of it.
    pub mentions: Vec<String>,
    /// Requirements that are shown if it is refused; may be empty.
    pub proves: BTreeSet<RequirementId>,
}

impl Refused {
    /// The HTTP statuses by which an API refuses what it is asked for.
    pub const STATUSES: [u16; 3] = [400, 403, 422];
}

impl Action {
    /// Properties that planning, running, judging and linting depend on.
    #[expect(clippy::too_many_lines, reason = "one short arm for each kind of action")]
    pub fn facts(&self) -> Facts<'_> {
        let look = Facts::default();
        let act = Facts {
            acts: true,
            ..Facts::default()
        };
        match self {
            Self::Apply {
                on, objects, proves, ..
            } => Facts {
                claims: proves.clone(),
                writes: objects.iter().map(|value| Write { on, into: None, value }).collect(),
                ..act
            },
            Self::Patch { on, of, merge } => Facts {
                changes: Some((on, of)),
                writes: vec![Write {
                    on: slice::from_ref(on),
                    into: Some(of),
                    value: merge,
                }],
                ..act
            },
            Self::SetStatus { on, of, .. }
            | Self::Delete { on, of }
            | Self::Hold { on, of }
            | Self::Release { on, of } => Facts {
                changes: Some((on, of)),
                ..act
            },
            Self::Taint { lasts, .. } => Facts { passes: *lasts, ..act },
            Self::Untaint { .. } => act,
            Self::Admission { .. } => Facts {
                disturbs: Some("has a webhook in the place of a policy engine".to_owned()),
                ..act
            },
            Self::Refused(refused) => Facts {
                claims: refused.proves.clone(),
                ..act
            },
            Self::Inject(fault) => Facts {
                conditions: match fault {
                    Fault::StopControllerAfter(condition) => vec![condition],
                    _ => Vec::new(),
                },
                disturbs: Some(format!("injects a fault: {fault}")),
                ..act
            },
            Self::Start(start) => Facts {
                claims: start.proves.clone(),
                disturbs: Some("starts the target with other settings".to_owned()),
                ..act
            },
            Self::Run(run) => Facts {
                claims: run.proves.clone(),
                disturbs: Some(format!("runs the command {}", run.command)),
                ..act
            },
            Self::BindRole { .. } | Self::Capture { .. } | Self::CaptureNow(_) => look,
            Self::Elapse(time) => Facts {
                passes: Some(*time),
                needs_no_trace: true,
                ..look
            },
            Self::Wait { until, .. } => Facts {
                conditions: vec![until],
                ..look
            },
            Self::Assert(assertion) => Facts {
                claims: assertion.proves.ids(),
                passes: assertion.mode.passes(),
                conditions: vec![&assertion.condition],
                forbids: assertion.mode == Mode::Never,
                needs_no_trace: true,
                ..look
            },
            Self::Order(sequence) => Facts {
                claims: sequence.proves.clone(),
                conditions: vec![&sequence.first, &sequence.then],
                needs_no_trace: true,
                ..look
            },
            Self::Metric(assertion) => Facts {
                claims: assertion.proves.clone(),
                passes: assertion.mode.passes(),
                disturbs: Some("reads metrics, which count what all cases do".to_owned()),
                ..look
            },
            Self::Settle(_) | Self::Snapshot(_) => Facts {
                needs_no_trace: true,
                ..look
            },
        }
    }
}

impl Action {
    /// The same action with everything rewritten that the case writes or expects.
    #[must_use]
    #[expect(clippy::too_many_lines, reason = "one short arm for each kind of action")]
    pub fn rewritten(&self, by: &impl Rewrite) -> Self {
        match self.clone() {
            Self::Apply {
                on,
                objects,
                file,
                proves,
            } => Self::Apply {
                on,
                objects: objects.iter().map(|object| rewrite::value(by, object)).collect(),
                file,
                proves,
            },
            Self::Patch { on, of, merge } => Self::Patch {
                on,
                of: of.rewritten(by),
                merge: rewrite::value(by, &merge),
            },
            Self::SetStatus { on, of, status } => Self::SetStatus {
                on,
                of: of.rewritten(by),
                status: by.status(&status),
            },
            Self::Delete { on, of } => Self::Delete {
                on,
                of: of.rewritten(by),
            },
            Self::Hold { on, of } => Self::Hold {
                on,
                of: of.rewritten(by),
            },
            Self::Release { on, of } => Self::Release {
                on,
                of: of.rewritten(by),
            },
            Self::BindRole { role, from, not } => Self::BindRole {
                role,
                from: from.rewritten(by),
                not,
            },
            Self::Capture { name, on, of, field } => Self::Capture {
                name,
                on,
                of: of.rewritten(by),
                field,
            },
            Self::Refused(refused) if by.includes_refused() => Self::Refused(Refused {
                request: Box::new(refused.request.rewritten(by)),
                ..refused
            }),
            Self::Inject(fault) => Self::Inject(fault.rewritten(by)),
            Self::Elapse(time) => Self::Elapse(by.time(Period::Passing, time)),
            Self::Wait {
                until,
                phase,
                within,
                otherwise,
            } => Self::Wait {
                until: until.rewritten(by),
                phase,
                within: within.map(|time| by.time(Period::Limit, time)),
                otherwise,
            },
            Self::Assert(assertion) => Self::Assert(Assertion {
                mode: assertion.mode.rewritten(by),
                condition: assertion.condition.rewritten(by),
                within: assertion.within.map(|time| by.time(Period::Limit, time)),
                ..assertion
            }),
            Self::Order(sequence) => Self::Order(Box::new(Sequence {
                first: sequence.first.rewritten(by),
                then: sequence.then.rewritten(by),
                proves: sequence.proves,
            })),
            Self::Metric(assertion) => Self::Metric(MetricAssertion {
                mode: assertion.mode.rewritten(by),
                within: assertion.within.map(|time| by.time(Period::Limit, time)),
                ..assertion
            }),
            Self::Snapshot(snapshot) => Self::Snapshot(Snapshot {
                workload: snapshot.workload.rewritten(by),
                ..snapshot
            }),
            // They name neither objects nor periods of the case.
            same @ (Self::Admission { .. }
            | Self::Taint { .. }
            | Self::Untaint { .. }
            | Self::CaptureNow(_)
            | Self::Settle(_)
            | Self::Refused(_)
            | Self::Start(_)
            | Self::Run(_)) => same,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Apply { on, objects, file, .. } => {
                let places = on.iter().map(Place::to_string).collect::<Vec<_>>().join(", ");
                let names = objects.iter().map(named).collect::<Vec<_>>().join(", ");
                write!(f, "apply {names} on {places}")?;
                file.as_ref().map_or(Ok(()), |file| write!(f, " ({file})"))
            }
            Self::Admission { on, file, .. } => {
                let places = on.iter().map(Place::to_string).collect::<Vec<_>>().join(", ");
                write!(f, "put admission rules in force on {places} ({file})")
            }
            Self::Patch { on, of, merge } => write!(f, "patch {of} on {on} with {}", redact::shown(merge)),
            Self::SetStatus { on, of, status } => {
                write!(f, "set the status of {of} on {on} to {}", redact::shown(status))
            }
            Self::Delete { on, of } => write!(f, "delete {of} on {on}"),
            Self::BindRole { role, from, not } => {
                write!(f, "bind role {role} to the cluster that {from} is scheduled to")?;
                not.iter().try_for_each(|other| write!(f, ", not {other}"))
            }
            Self::Capture { name, on, of, field } => {
                write!(f, "capture {name} = {} of {of} on {on}", field.join("."))
            }
            Self::CaptureNow(name) => write!(f, "capture {name} = the present time"),
            Self::Refused(refused) => refused.fmt(f),
            Self::Taint { cluster, taint, lasts } => {
                let value = taint
                    .value
                    .as_ref()
                    .map(|value| format!("={value}"))
                    .unwrap_or_default();
                write!(f, "taint {cluster} with {}{value}:{}", taint.key, taint.effect)?;
                lasts.map_or(Ok(()), |time| write!(f, " for {} s", time.as_secs_f64()))
            }
            Self::Untaint { cluster, key, effect } => write!(f, "remove taint {key}:{effect} from {cluster}"),
            Self::Hold { on, of } => write!(f, "hold {of} on {on} with a finalizer"),
            Self::Release { on, of } => write!(f, "release {of} on {on}"),
            Self::Inject(fault) => fault.fmt(f),
            Self::Start(start) => start.fmt(f),
            Self::Run(run) => run.fmt(f),
            Self::Elapse(time) => write!(f, "let {} s pass", time.as_secs_f64()),
            Self::Settle(most) => write!(f, "wait until every failover is over, at most {} s", most.as_secs_f64()),
            Self::Wait {
                until,
                phase,
                within,
                otherwise,
            } => words::wait(until, &words::limit(*phase, *within), otherwise.as_deref(), f),
            Self::Assert(assertion) => assertion.fmt(f),
            Self::Order(sequence) => sequence.fmt(f),
            Self::Metric(assertion) => assertion.fmt(f),
            Self::Snapshot(snapshot) => {
                let parts = snapshot
                    .of
                    .iter()
                    .map(|part| part.name())
                    .collect::<Vec<_>>()
                    .join(", ");
                write!(f, "snapshot {}: {parts} of {}", snapshot.name, snapshot.workload)?;
                snapshot
                    .when_first_seen_on
                    .as_ref()
                    .map_or(Ok(()), |role| write!(f, " when first seen on {role}"))
            }
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let request = self.request.to_string();
        let request = match request.strip_prefix("apply").filter(|_| self.creates) {
            Some(rest) => format!("create{rest}"),
            None => request,
        };
        write!(f, "{request}: it is refused")?;
        if !self.mentions.is_empty() {
            write!(f, ", mentioning {}", self.mentions.join(", "))?;
        }
        if !self.proves.is_empty() {
            let proves: Vec<_> = self.proves.iter().map(RequirementId::as_str).collect();
            write!(f, " [{}]", proves.join(", "))?;
        }
        Ok(())
    }
}

fn named(object: &Value) -> String {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or("?");
    format!("{} {}", text("/kind"), text("/metadata/name"))
}
