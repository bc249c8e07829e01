//! Computes the steps that make an object's children match a rule, without I/O.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    merge::contains,
    rules::{Changed, Surplus},
    store::text,
};

/// An existing child.
#[derive(Debug, Clone, Copy)]
pub(super) struct Child<'a> {
    /// Name of the child.
    pub name: &'a str,
    /// The object.
    pub object: &'a Value,
    /// The rule counts it as ready.
    pub ready: bool,
    /// It is being deleted.
    pub deleting: bool,
}

/// Options for replacing children.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner {
    /// Largest number of unready children; `None` for no limit.
    pub at_once: Option<usize>,
    /// Handling of children that differ.
    pub changed: Changed,
    /// Time at which surplus children are deleted.
    pub surplus: Surplus,
}

/// A change to one child.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// Create this object.
    Create(Value),
    /// Merge this into the child of this name.
    Patch(String, Value),
    /// Delete the child of this name.
    Delete(String),
}

/// Steps from the existing children towards the wanted ones, as far as the limits allow now.
pub(super) fn steps(wanted: &[Value], there: &[Child<'_>], manner: Manner) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut unready = 0;
    for object in wanted {
        if manner.at_once.is_some_and(|limit| unready >= limit) {
            break;
        }
        let name = text(object, "name");
        let Some(child) = there.iter().find(|child| child.name == name) else {
            steps.push(Step::Create(object.clone()));
            unready += 1;
            continue;
        };
        let differs = !child.deleting && differs(child.object, object);
        match (differs, manner.changed) {
            (true, Changed::Patch) => steps.push(Step::Patch(name.to_owned(), patch_of(object))),
            (true, Changed::Replace) => steps.push(Step::Delete(name.to_owned())),
            (true, Changed::Ignore) | (false, _) => {}
        }
        let replaced = differs && manner.changed == Changed::Replace;
        if replaced || child.deleting || !child.ready {
            unready += 1;
        }
    }
    steps.extend(surplus(wanted, there, manner));
    steps
}

/// Deletions of surplus children, the last first.
fn surplus(wanted: &[Value], there: &[Child<'_>], manner: Manner) -> Vec<Step> {
    let names: BTreeSet<&str> = wanted.iter().map(|object| text(object, "name")).collect();
    let ready = |name: &&str| {
        let child = there.iter().find(|child| child.name == *name);
        child.is_some_and(|child| child.ready && !child.deleting)
    };
    let may = match manner.surplus {
        Surplus::Now => true,
        Surplus::WhenReady => names.iter().all(ready),
    };
    let not_wanted = there.iter().rev().filter(|child| may && !names.contains(child.name));
    not_wanted
        .filter(|child| !child.deleting)
        .map(|child| Step::Delete(child.name.to_owned()))
        .collect()
}

fn differs(child: &Value, wanted: &Value) -> bool {
    !contains(child, &patch_of(wanted))
}

/// The fields of an object that a rule may change later: labels, annotations, and everything but metadata and status.
fn patch_of(wanted: &Value) -> Value {
    let mut patch = wanted.clone();
    let Some(members) = patch.as_object_mut() else {
        return patch;
    };
    members.remove("status");
    if let Some(metadata) = members.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|name, _| name == "labels" || name == "annotations");
    }
    patch
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ORDERED: Manner = Manner {
        at_once: Some(1),
        changed: Changed::Replace,
        surplus: Surplus::Now,
    };

    fn pod(name: &str, hash: &str) -> Value {
        json!({"metadata": {"name": name, "labels": {"hash": hash}}, "spec": {"x": 1}})
    }

    fn child(object: &Value, ready: bool) -> Child<'_> {
        Child {
            name: text(object, "name"),
            object,
            ready,
            deleting: false,
        }
    }

    #[test]
    fn in_order_the_next_waits_for_the_one_before() {
        let wanted = [pod("s-0", "a"), pod("s-1", "a")];
        assert_eq!(steps(&wanted, &[], ORDERED), [Step::Create(wanted[0].clone())]);
        assert_eq!(steps(&wanted, &[child(&wanted[0], false)], ORDERED), []);
        assert_eq!(
            steps(&wanted, &[child(&wanted[0], true)], ORDERED),
            [Step::Create(wanted[1].clone())]
        );
    }

    #[test]
    fn without_a_limit_all_come_at_once() {
        let wanted = [pod("d-0", "a"), pod("d-1", "a")];
        let manner = Manner {
            at_once: None,
            ..ORDERED
        };
        assert_eq!(steps(&wanted, &[], manner).len(), 2);
    }

    #[test]
    fn what_is_too_many_goes_from_the_end() {
        let there = [pod("s-0", "a"), pod("s-1", "a"), pod("s-2", "a")];
        let children: Vec<_> = there.iter().map(|object| child(object, true)).collect();
        let expected = [Step::Delete("s-2".to_owned()), Step::Delete("s-1".to_owned())];
        assert_eq!(steps(&there[..1], &children, ORDERED), expected);
    }

    #[test]
    fn old_ones_may_stay_until_new_ones_are_ready() {
        let (old, new) = (
            json!({"metadata": {"name": "old"}}),
            json!({"metadata": {"name": "new"}}),
        );
        let manner = Manner {
            surplus: Surplus::WhenReady,
            ..ORDERED
        };
        let wanted = [new.clone()];
        assert_eq!(steps(&wanted, &[child(&old, true), child(&new, false)], manner), []);
        assert_eq!(
            steps(&wanted, &[child(&old, true), child(&new, true)], manner),
            [Step::Delete("old".to_owned())]
        );
    }

    #[test]
    fn a_child_that_differs_is_replaced_or_patched() {
        let (old, new) = (pod("s-0", "a"), pod("s-0", "b"));
        let children = [child(&old, true)];
        let wanted = [new, pod("s-1", "b")];
        assert_eq!(steps(&wanted, &children, ORDERED), [Step::Delete("s-0".to_owned())]);
        let manner = Manner {
            changed: Changed::Patch,
            ..ORDERED
        };
        let patch = json!({"metadata": {"labels": {"hash": "b"}}, "spec": {"x": 1}});
        assert_eq!(
            steps(&wanted[..1], &children, manner),
            [Step::Patch("s-0".to_owned(), patch)]
        );
    }
}
