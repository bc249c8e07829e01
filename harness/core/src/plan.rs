//! The plan: a case as a list of steps that can be printed and carried out, with no choice left.

use std::{fmt, time::Duration};

use crate::{
    case::model::{Action, Case, Condition, Expect, Mode, Place, SnapshotPart, Subject},
    names::CaseId,
    redact,
};

/// The steps of a case, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The case.
    pub case: CaseId,
    /// What it shows.
    pub title: String,
    /// How many members the fleet has.
    pub members: usize,
    /// The steps.
    pub steps: Vec<PlannedStep>,
}

/// One step of a plan. Its number is its place in [`Plan::steps`].
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedStep {
    /// The line in the case file that it comes from.
    pub line: usize,
    /// What is done.
    pub action: Action,
}

/// A moment of a run from which on something counts: that of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// When this step began.
    Began(usize),
    /// When this step ended.
    Ended(usize),
}

impl Plan {
    /// Since when what can be seen at a step counts as a sign of what the case did: the last step before it that did
    /// something, or the end of what was waited for.
    pub fn since(&self, step: usize) -> Option<Since> {
        let before = self.steps.iter().enumerate().take(step).rev();
        before.into_iter().find_map(|(number, step)| match &step.action {
            Action::Wait { .. } | Action::BindRole { .. } => Some(Since::Ended(number)),
            action => action.acts().then_some(Since::Began(number)),
        })
    }

    /// The last step before this one that did something.
    pub fn last_act(&self, step: usize) -> Option<usize> {
        self.steps[..step].iter().rposition(|step| step.action.acts())
    }

    /// How long it lets time pass, whatever the target does.
    pub fn waits(&self) -> Duration {
        let wait = |step: &PlannedStep| match &step.action {
            Action::Elapse(time) => *time,
            Action::Assert(assertion) => match assertion.mode {
                Mode::Consistently(time) => time,
                Mode::Now | Mode::Eventually | Mode::Observed | Mode::Never | Mode::FirstSeen => Duration::ZERO,
            },
            Action::Apply { .. }
            | Action::Admission { .. }
            | Action::Patch { .. }
            | Action::SetStatus { .. }
            | Action::Delete { .. }
            | Action::BindRole { .. }
            | Action::Capture { .. }
            | Action::Taint { .. }
            | Action::Untaint { .. }
            | Action::Hold { .. }
            | Action::Release { .. }
            | Action::Inject(_)
            | Action::Start(_)
            | Action::Wait { .. }
            | Action::Snapshot(_) => Duration::ZERO,
        };
        self.steps.iter().map(wait).sum()
    }

    /// The plan of a case. A step that applies something in several places becomes one step a place.
    pub fn of(case: &Case) -> Self {
        let steps = case.steps.iter().flat_map(|step| {
            let planned = |action| PlannedStep {
                line: step.line,
                action,
            };
            match &step.action {
                Action::Apply { on, objects, file } => on
                    .iter()
                    .map(|place| {
                        let (objects, file) = (objects.clone(), file.clone());
                        planned(Action::Apply {
                            on: vec![place.clone()],
                            objects,
                            file,
                        })
                    })
                    .collect(),
                other => vec![planned(other.clone())],
            }
        });
        Self {
            case: case.id.clone(),
            title: case.title.clone(),
            members: case.members,
            steps: steps.collect(),
        }
    }
}

impl Action {
    /// Whether it changes something, so that the target has a reason to act.
    fn acts(&self) -> bool {
        match self {
            Self::Apply { .. }
            | Self::Admission { .. }
            | Self::Patch { .. }
            | Self::SetStatus { .. }
            | Self::Delete { .. }
            | Self::Taint { .. }
            | Self::Untaint { .. }
            | Self::Hold { .. }
            | Self::Release { .. }
            | Self::Inject(_)
            | Self::Start(_) => true,
            Self::BindRole { .. }
            | Self::Capture { .. }
            | Self::Elapse(_)
            | Self::Wait { .. }
            | Self::Assert(_)
            | Self::Snapshot(_) => false,
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.case, self.title)?;
        writeln!(f, "on 1 control plane and {} members", self.members)?;
        for (number, step) in (1..).zip(&self.steps) {
            writeln!(f, "{number:>3}  {}", step.action)?;
        }
        Ok(())
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Apply { on, objects, file } => {
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
            Self::Taint { cluster, taint } => {
                let value = taint
                    .value
                    .as_ref()
                    .map(|value| format!("={value}"))
                    .unwrap_or_default();
                write!(f, "taint {cluster} with {}{value}:{}", taint.key, taint.effect)
            }
            Self::Untaint { cluster, key, effect } => write!(f, "remove taint {key}:{effect} from {cluster}"),
            Self::Hold { on, of } => write!(f, "hold {of} on {on} with a finalizer"),
            Self::Release { on, of } => write!(f, "release {of} on {on}"),
            Self::Inject(fault) => fault.fmt(f),
            Self::Start(start) => start.fmt(f),
            Self::Elapse(time) => write!(f, "let {} s pass", time.as_secs_f64()),
            Self::Wait { until, phase } => write!(f, "wait until {until} (phase {})", phase.name()),
            Self::Assert(assertion) => {
                write!(f, "assert {}: {}", assertion.mode, assertion.condition)?;
                match (assertion.mode, assertion.within) {
                    (_, Some(time)) => write!(f, " (within {} s)", time.as_secs_f64())?,
                    (Mode::Eventually | Mode::Observed | Mode::FirstSeen, None) => {
                        write!(f, " (phase {})", assertion.phase.name())?;
                    }
                    (Mode::Now | Mode::Consistently(_) | Mode::Never, None) => {}
                }
                if assertion.proves.is_empty() {
                    Ok(())
                } else {
                    write!(f, " [{}]", assertion.proves)
                }
            }
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

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let none = crate::pattern::Bindings::new();
        let Self { on, of, expect } = self;
        match of {
            Subject::Object(_) | Subject::EventOf(_) => write!(f, "{of} on {on} ")?,
            Subject::BindingOf(_) | Subject::WorkOf { .. } | Subject::Cluster(_) | Subject::NoticeOf(_) => {
                write!(f, "{of} ")?;
            }
        }
        match expect {
            Expect::Present => f.write_str("is there"),
            Expect::Absent => f.write_str("is not there"),
            Expect::Match(pattern) => write!(f, "is like {}", pattern.describe(&none)),
            Expect::NoMatch(pattern) => write!(f, "is not like {}", pattern.describe(&none)),
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

fn named(object: &serde_json::Value) -> String {
    let text = |pointer| {
        object
            .pointer(pointer)
            .and_then(serde_json::Value::as_str)
            .unwrap_or("?")
    };
    format!("{} {}", text("/kind"), text("/metadata/name"))
}
