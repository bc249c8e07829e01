//! Steps and conditions in words, as a plan prints them and a timeline keeps them.

use std::{collections::BTreeSet, fmt};

use serde_json::Value;

use super::{
    Action, Assertion, Condition, Count, Expect, MetricAssertion, Mode, Place, Sequence, SnapshotPart, Subject,
};
use crate::{names::RequirementId, pattern::Bindings, redact};

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
            Self::Wait {
                until,
                phase,
                otherwise,
            } => {
                write!(f, "wait until {until} (phase {})", phase.name())?;
                let otherwise = otherwise.as_ref();
                otherwise.map_or(Ok(()), |reason| write!(f, ", unsupported otherwise: {reason}"))
            }
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

impl fmt::Display for Assertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "assert {}: {}", self.mode, self.condition)?;
        match (self.mode, self.within) {
            (_, Some(time)) => write!(f, " (within {} s)", time.as_secs_f64())?,
            (Mode::Eventually | Mode::Observed | Mode::FirstSeen, None) => {
                write!(f, " (phase {})", self.phase.name())?;
            }
            (Mode::Now | Mode::Consistently(_) | Mode::Never, None) => {}
        }
        if self.proves.is_empty() {
            Ok(())
        } else {
            write!(f, " [{}]", self.proves)
        }
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "assert order: first {}; then {}", self.first, self.then)?;
        proved(&self.proves, f)
    }
}

impl fmt::Display for MetricAssertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "assert {}: the metric {}", self.mode, self.metric)?;
        if let Some(time) = self.within {
            write!(f, " (within {} s)", time.as_secs_f64())?;
        }
        proved(&self.proves, f)
    }
}

fn proved(ids: &BTreeSet<RequirementId>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let ids: Vec<_> = ids.iter().map(RequirementId::as_str).collect();
    if ids.is_empty() {
        return Ok(());
    }
    write!(f, " [{}]", ids.join(", "))
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let none = Bindings::new();
        match &self.like {
            Some(like) => write!(f, "like {}: {}", like.describe(&none), self.is.describe(&none)),
            None => write!(f, "in number: {}", self.is.describe(&none)),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let none = Bindings::new();
        let Self { on, of, expect } = self;
        match of {
            Subject::Object(_) | Subject::EventOf(_) => write!(f, "{of} on {on} ")?,
            Subject::BindingOf(_)
            | Subject::BindingsOf(_)
            | Subject::WorkOf { .. }
            | Subject::Cluster(_)
            | Subject::NoticeOf(_)
            | Subject::NewsOf(_) => write!(f, "{of} ")?,
        }
        match expect {
            Expect::Present => f.write_str("is there"),
            Expect::Absent => f.write_str("is not there"),
            Expect::Match(pattern) => write!(f, "is like {}", pattern.describe(&none)),
            Expect::NoMatch(pattern) => write!(f, "is not like {}", pattern.describe(&none)),
            Expect::Count(count) => count.fmt(f),
        }
    }
}

impl SnapshotPart {
    /// Its name in cases.
    pub fn name(self) -> &'static str {
        match self {
            Self::Taints => "taints",
            Self::Binding => "binding",
            Self::Labels => "labels",
        }
    }
}

fn named(object: &Value) -> String {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or("?");
    format!("{} {}", text("/kind"), text("/metadata/name"))
}
