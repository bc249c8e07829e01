//! A plan in another namespace than the one that its case is written for.

use std::borrow::Cow;

use serde_json::Value;

use super::{Plan, PlannedStep};
use crate::{
    case::model::{
        Action, Assertion, Condition, Count, Expect, Fault, ObjectRef, Refused, Sequence, Snapshot, Subject, Workloads,
    },
    pattern::Pattern,
    timeline::DEFAULT_NAMESPACE,
};

/// The member of objects and references that names a namespace.
const MEMBER: &str = "namespace";

impl Plan {
    /// The same plan, with `namespace` wherever its case speaks of `default`: on clusters that others use too, a run has
    /// its own namespace.
    ///
    /// Applied objects that name no namespace stay as they are: the runner puts them where they belong.
    pub fn in_namespace(&self, namespace: &str) -> Cow<'_, Self> {
        if self.namespace == namespace {
            return Cow::Borrowed(self);
        }
        let steps = self.steps.iter().map(|step| PlannedStep {
            line: step.line,
            action: action(&step.action, namespace),
        });
        Cow::Owned(Self {
            steps: steps.collect(),
            namespace: namespace.to_owned(),
            ..self.clone()
        })
    }
}

fn action(action: &Action, to: &str) -> Action {
    match action.clone() {
        Action::Apply {
            on,
            objects,
            file,
            proves,
        } => Action::Apply {
            on,
            objects: objects.iter().map(|object| value(object, to)).collect(),
            file,
            proves,
        },
        Action::Patch { on, of, merge } => Action::Patch {
            on,
            of: subject(of, to),
            merge: value(&merge, to),
        },
        Action::SetStatus { on, of, status } => Action::SetStatus {
            on,
            of: subject(of, to),
            status: value(&status, to),
        },
        Action::Delete { on, of } => Action::Delete {
            on,
            of: subject(of, to),
        },
        Action::BindRole { role, from, not } => Action::BindRole {
            role,
            from: reference(from, to),
            not,
        },
        Action::Capture { name, on, of, field } => Action::Capture {
            name,
            on,
            of: subject(of, to),
            field,
        },
        Action::Hold { on, of } => Action::Hold {
            on,
            of: subject(of, to),
        },
        Action::Release { on, of } => Action::Release {
            on,
            of: subject(of, to),
        },
        judged @ (Action::Wait { .. } | Action::Assert(_) | Action::Order(_) | Action::Snapshot(_)) => {
            self::judged(judged, to)
        }
        Action::Refused(refused) => Action::Refused(Refused {
            request: Box::new(self::action(&refused.request, to)),
            ..refused
        }),
        Action::Inject(step) => Action::Inject(fault(step, to)),
        // Admission rules name no namespace.
        same @ (Action::Admission { .. }
        | Action::Taint { .. }
        | Action::Untaint { .. }
        | Action::CaptureNow(_)
        | Action::Start(_)
        | Action::Run(_)
        | Action::Metric(_)
        | Action::Elapse(_)) => same,
    }
}

/// Steps that wait for something, or say what must hold.
fn judged(action: Action, to: &str) -> Action {
    match action {
        Action::Wait {
            until,
            phase,
            otherwise,
        } => Action::Wait {
            otherwise,
            until: condition(until, to),
            phase,
        },
        Action::Assert(assertion) => Action::Assert(Assertion {
            condition: condition(assertion.condition, to),
            ..assertion
        }),
        Action::Order(sequence) => Action::Order(Box::new(Sequence {
            first: condition(sequence.first, to),
            then: condition(sequence.then, to),
            proves: sequence.proves,
        })),
        Action::Snapshot(snapshot) => Action::Snapshot(Snapshot {
            workload: reference(snapshot.workload, to),
            ..snapshot
        }),
        same => same,
    }
}

fn fault(fault: Fault, to: &str) -> Fault {
    match fault {
        Fault::StopControllerAfter(after) => Fault::StopControllerAfter(condition(after, to)),
        same @ (Fault::CutOff(_)
        | Fault::Heal(_)
        | Fault::Unready(_)
        | Fault::Ready(_)
        | Fault::Unjoin(_)
        | Fault::Join(_)
        | Fault::Condition { .. }
        | Fault::Delay(..)
        | Fault::Fail(..)
        | Fault::StopController
        | Fault::StartController
        | Fault::AddController(_)
        | Fault::CrashController(_)
        | Fault::Move(_)) => same,
    }
}

fn reference(of: ObjectRef, to: &str) -> ObjectRef {
    let namespace = of.namespace.map(|name| renamed(name, to));
    ObjectRef { namespace, ..of }
}

fn subject(of: Subject, to: &str) -> Subject {
    match of {
        Subject::Object(object) => Subject::Object(reference(object, to)),
        Subject::BindingOf(workload) => Subject::BindingOf(reference(workload, to)),
        Subject::BindingsOf(workloads) => Subject::BindingsOf(Workloads {
            namespace: workloads.namespace.map(|name| renamed(name, to)),
            ..workloads
        }),
        Subject::WorkOf { workload, member } => Subject::WorkOf {
            workload: reference(workload, to),
            member,
        },
        Subject::Cluster(role) => Subject::Cluster(role),
        Subject::EventOf(about) => Subject::EventOf(about.into_iter().map(|about| subject(about, to)).collect()),
        Subject::NoticeOf(workload) => Subject::NoticeOf(reference(workload, to)),
        Subject::NewsOf(workload) => Subject::NewsOf(reference(workload, to)),
    }
}

fn condition(condition: Condition, to: &str) -> Condition {
    let expect = match condition.expect {
        Expect::Match(expected) => Expect::Match(pattern(expected, to)),
        Expect::NoMatch(expected) => Expect::NoMatch(pattern(expected, to)),
        Expect::Count(count) => Expect::Count(Count {
            like: count.like.map(|expected| pattern(expected, to)),
            is: count.is,
        }),
        same @ (Expect::Present | Expect::Absent) => same,
    };
    Condition {
        on: condition.on,
        of: subject(condition.of, to),
        expect,
    }
}

fn value(given: &Value, to: &str) -> Value {
    match given {
        Value::Object(members) => {
            let member = |(key, member): (&String, &Value)| match member {
                Value::String(name) if key == MEMBER => (key.clone(), Value::String(renamed(name.clone(), to))),
                other => (key.clone(), value(other, to)),
            };
            Value::Object(members.iter().map(member).collect())
        }
        Value::Array(items) => items.iter().map(|item| value(item, to)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => given.clone(),
    }
}

fn pattern(expected: Pattern, to: &str) -> Pattern {
    let all = |items: Vec<Pattern>| items.into_iter().map(|item| pattern(item, to)).collect();
    match expected {
        Pattern::Map(members) => {
            let member = |(key, member): (String, Pattern)| match member {
                Pattern::Text(name) if key == MEMBER => (key, Pattern::Text(renamed(name, to))),
                other => (key, pattern(other, to)),
            };
            Pattern::Map(members.into_iter().map(member).collect())
        }
        Pattern::Contains(items) => Pattern::Contains(all(items)),
        Pattern::Exactly(items) => Pattern::Exactly(all(items)),
        Pattern::Lacks(items) => Pattern::Lacks(all(items)),
        Pattern::Any(items) => Pattern::Any(all(items)),
        same @ (Pattern::Absent
        | Pattern::Present
        | Pattern::Text(_)
        | Pattern::Exact(_)
        | Pattern::Mentions(_)
        | Pattern::AtLeast(_)
        | Pattern::AtMost(_)
        | Pattern::OneOf(_)
        | Pattern::Regex(_)
        | Pattern::After(_)
        | Pattern::Total { .. }) => same,
    }
}

fn renamed(name: String, to: &str) -> String {
    if name == DEFAULT_NAMESPACE { to.to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_namespaces_called_default_change() {
        let object = json!({"metadata": {"name": "default"}, "spec": [{"namespace": "default"}, {"namespace": "x"}]});
        let expected = json!({"metadata": {"name": "default"}, "spec": [{"namespace": "n"}, {"namespace": "x"}]});
        assert_eq!(value(&object, "n"), expected);
    }

    #[test]
    fn patterns_and_what_they_are_about_change_together() {
        let workload = ObjectRef {
            api_version: "apps/v1".to_owned(),
            kind: "Deployment".to_owned(),
            namespace: Some("default".to_owned()),
            name: "deploy".to_owned(),
        };
        let expected = Pattern::from_value(&json!({"spec": {"resource": {"namespace": "default"}}})).unwrap();
        let before = Condition {
            on: crate::case::model::Place::Control,
            of: Subject::EventOf(vec![Subject::BindingOf(workload.clone())]),
            expect: Expect::Match(expected),
        };
        let stop = Action::Inject(Fault::StopControllerAfter(before.clone()));
        let after = condition(before, "n");
        assert_eq!(
            action(&stop, "n"),
            Action::Inject(Fault::StopControllerAfter(after.clone()))
        );
        let moved = ObjectRef {
            namespace: Some("n".to_owned()),
            ..workload
        };
        assert_eq!(after.of, Subject::EventOf(vec![Subject::BindingOf(moved)]));
        let expected = Pattern::from_value(&json!({"spec": {"resource": {"namespace": "n"}}})).unwrap();
        assert_eq!(after.expect, Expect::Match(expected));
    }
}
