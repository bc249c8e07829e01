//! A plan in another namespace than the one that its case is written for.

use std::borrow::Cow;

use serde_json::Value;

use super::{Plan, PlannedStep};
use crate::{case::model::Rewrite, pattern::Pattern, timeline::DEFAULT_NAMESPACE};

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
            action: step.action.rewritten(&Move { to: namespace }),
        });
        Cow::Owned(Self {
            steps: steps.collect(),
            namespace: namespace.to_owned(),
            ..self.clone()
        })
    }
}

/// The move of everything that a case has in `default` to another namespace.
struct Move<'a> {
    to: &'a str,
}

impl Rewrite for Move<'_> {
    fn leaf(&self, key: Option<&str>, leaf: &Value) -> Value {
        match leaf {
            Value::String(name) if key == Some(MEMBER) => Value::String(self.namespace(name.clone())),
            other => other.clone(),
        }
    }

    fn expected(&self, key: Option<&str>, leaf: Pattern) -> Pattern {
        match leaf {
            Pattern::Text(name) if key == Some(MEMBER) => Pattern::Text(self.namespace(name)),
            other => other,
        }
    }

    fn namespace(&self, name: String) -> String {
        if name == DEFAULT_NAMESPACE {
            self.to.to_owned()
        } else {
            name
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;
    use crate::case::model::{Action, Condition, Expect, Fault, ObjectRef, Place, Subject};

    fn moved(action: &Action) -> Action {
        action.rewritten(&Move { to: "n" })
    }

    #[test]
    fn only_namespaces_called_default_change() {
        let apply = |object: Value| Action::Apply {
            on: vec![Place::Control],
            objects: vec![object],
            file: None,
            proves: BTreeSet::new(),
        };
        let object = json!({"metadata": {"name": "default"}, "spec": [{"namespace": "default"}, {"namespace": "x"}]});
        let expected = json!({"metadata": {"name": "default"}, "spec": [{"namespace": "n"}, {"namespace": "x"}]});
        assert_eq!(moved(&apply(object)), apply(expected));
    }

    #[test]
    fn patterns_and_references_change_together() {
        let stop_in = |namespace: &str| {
            let workload = ObjectRef {
                api_version: "apps/v1".to_owned(),
                kind: "Deployment".to_owned(),
                namespace: Some(namespace.to_owned()),
                name: "deploy".to_owned(),
            };
            let expected = Pattern::from_value(&json!({"spec": {"resource": {"namespace": namespace}}})).unwrap();
            Action::Inject(Fault::StopControllerAfter(Condition {
                on: Place::Control,
                of: Subject::EventOf(vec![Subject::BindingOf(workload)]),
                expect: Expect::Match(expected),
            }))
        };
        assert_eq!(moved(&stop_in("default")), stop_in("n"));
        assert_eq!(moved(&stop_in("other")), stop_in("other"));
    }
}
