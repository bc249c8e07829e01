//! Changes of everything that a case writes or expects, such as its namespace or its periods.

use std::time::Duration;

use serde_json::Value;

use super::{Condition, Count, Expect, Fault, Mode, ObjectRef, Subject, Workloads};
use crate::pattern::Pattern;

/// A change of all objects, patterns, references and periods of an action; see [`Action::rewritten`](super::Action::rewritten).
pub trait Rewrite: Sized {
    /// Rewrites a text, number or truth value of an object that the case writes. `key` is the member that holds it, if a
    /// member does.
    fn leaf(&self, key: Option<&str>, leaf: &Value) -> Value;

    /// Rewrites a pattern that contains no other patterns. `key` is the member that it is for, if it is for one.
    fn expected(&self, key: Option<&str>, leaf: Pattern) -> Pattern;

    /// Rewrites the namespace of a reference to an object.
    fn namespace(&self, name: String) -> String {
        name
    }

    /// Rewrites a period of a step.
    fn time(&self, _: Period, time: Duration) -> Duration {
        time
    }

    /// Rewrites a patch of a status.
    fn status(&self, status: &Value) -> Value {
        value(self, status)
    }

    /// Returns `true` if requests that the API must refuse are rewritten too.
    fn includes_refused(&self) -> bool {
        true
    }
}

/// Meaning of a period of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    /// The step lets it pass.
    Passing,
    /// A condition must hold for it.
    Holding,
    /// Something must happen within it.
    Limit,
}

/// Rewrites all texts, numbers and truth values of a value.
pub(super) fn value(by: &impl Rewrite, given: &Value) -> Value {
    member(by, None, given)
}

fn member(by: &impl Rewrite, key: Option<&str>, given: &Value) -> Value {
    match given {
        Value::Object(members) => {
            let rewritten = |(key, value): (&String, &Value)| (key.clone(), member(by, Some(key), value));
            Value::Object(members.iter().map(rewritten).collect())
        }
        Value::Array(items) => items.iter().map(|item| member(by, None, item)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => by.leaf(key, given),
    }
}

fn pattern(by: &impl Rewrite, key: Option<&str>, given: Pattern) -> Pattern {
    let all = |key: Option<&str>, items: Vec<Pattern>| items.into_iter().map(|item| pattern(by, key, item)).collect();
    match given {
        Pattern::Map(members) => {
            let rewritten = |(key, value): (String, Pattern)| {
                let value = pattern(by, Some(&key), value);
                (key, value)
            };
            Pattern::Map(members.into_iter().map(rewritten).collect())
        }
        Pattern::Any(items) => Pattern::Any(all(key, items)),
        Pattern::Contains(items) => Pattern::Contains(all(None, items)),
        Pattern::Exactly(items) => Pattern::Exactly(all(None, items)),
        Pattern::Lacks(items) => Pattern::Lacks(all(None, items)),
        leaf @ (Pattern::Absent
        | Pattern::Present
        | Pattern::Text(_)
        | Pattern::Exact(_)
        | Pattern::Mentions(_)
        | Pattern::AtLeast(_)
        | Pattern::AtMost(_)
        | Pattern::OneOf(_)
        | Pattern::Regex(_)
        | Pattern::After(_)
        | Pattern::Total { .. }) => by.expected(key, leaf),
    }
}

impl ObjectRef {
    pub(super) fn rewritten(self, by: &impl Rewrite) -> Self {
        let namespace = self.namespace.map(|name| by.namespace(name));
        Self { namespace, ..self }
    }
}

impl Subject {
    pub(super) fn rewritten(self, by: &impl Rewrite) -> Self {
        match self {
            Self::Object(object) => Self::Object(object.rewritten(by)),
            Self::BindingOf(workload) => Self::BindingOf(workload.rewritten(by)),
            Self::BindingsOf(workloads) => Self::BindingsOf(Workloads {
                namespace: workloads.namespace.map(|name| by.namespace(name)),
                ..workloads
            }),
            Self::WorkOf { workload, member } => Self::WorkOf {
                workload: workload.rewritten(by),
                member,
            },
            Self::Cluster(role) => Self::Cluster(role),
            Self::EventOf(about) => Self::EventOf(about.into_iter().map(|about| about.rewritten(by)).collect()),
            Self::NoticeOf(workload) => Self::NoticeOf(workload.rewritten(by)),
            Self::NewsOf(workload) => Self::NewsOf(workload.rewritten(by)),
        }
    }
}

impl Condition {
    pub(super) fn rewritten(self, by: &impl Rewrite) -> Self {
        let expect = match self.expect {
            Expect::Match(expected) => Expect::Match(pattern(by, None, expected)),
            Expect::NoMatch(expected) => Expect::NoMatch(pattern(by, None, expected)),
            Expect::Count(count) => Expect::Count(Count {
                like: count.like.map(|expected| pattern(by, None, expected)),
                is: count.is,
            }),
            same @ (Expect::Present | Expect::Absent) => same,
        };
        Self {
            on: self.on,
            of: self.of.rewritten(by),
            expect,
        }
    }
}

impl Mode {
    pub(super) fn rewritten(self, by: &impl Rewrite) -> Self {
        match self {
            Self::Consistently(time) => Self::Consistently(by.time(Period::Holding, time)),
            same @ (Self::Now | Self::Eventually | Self::Observed | Self::Never | Self::FirstSeen) => same,
        }
    }
}

impl Fault {
    pub(super) fn rewritten(self, by: &impl Rewrite) -> Self {
        match self {
            Self::StopControllerAfter(after) => Self::StopControllerAfter(after.rewritten(by)),
            same @ (Self::CutOff(_)
            | Self::Heal(_)
            | Self::Unready(_)
            | Self::Ready(_)
            | Self::Unjoin(_)
            | Self::Join(_)
            | Self::Condition { .. }
            | Self::Delay(..)
            | Self::Fail(..)
            | Self::StopController
            | Self::StartController
            | Self::AddController(_)
            | Self::CrashController(_)
            | Self::Move(_)) => same,
        }
    }
}
