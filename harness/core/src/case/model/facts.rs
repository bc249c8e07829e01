//! Facts about actions.

use std::{collections::BTreeSet, time::Duration};

use serde_json::Value;

use super::{Condition, Place, Subject};
use crate::names::RequirementId;

/// Properties of an action that planning, running, judging and linting depend on.
///
/// They are kept here so that these need not match on all kinds of actions.
#[derive(Debug, Clone, Default)]
pub struct Facts<'a> {
    /// Requirements that are shown if it succeeds.
    pub claims: BTreeSet<RequirementId>,
    /// `true` if it changes an object or the target, so that the target has a reason to act.
    pub acts: bool,
    /// Time that it lets pass without waiting for the target.
    pub passes: Option<Duration>,
    /// Object that it changes, and its place; not set for an object that it applies.
    pub changes: Option<(&'a Place, &'a Subject)>,
    /// Objects that it applies, and patches that it merges into objects.
    pub writes: Vec<Write<'a>>,
    /// Conditions that it waits for or checks.
    pub conditions: Vec<&'a Condition>,
    /// `true` if its conditions are of objects that must never exist.
    pub forbids: bool,
    /// `true` if a recording of the other steps suffices to judge it, so that it needs no trace.
    pub needs_no_trace: bool,
    /// Effect outside the objects of its case, so that no other case can use the control plane at the same time.
    pub disturbs: Option<String>,
}

/// An object, or a part of one, that a case writes.
#[derive(Debug, Clone, Copy)]
pub struct Write<'a> {
    /// Places where it is written.
    pub on: &'a [Place],
    /// Object that a patch is merged into; not set if the value is a whole object.
    pub into: Option<&'a Subject>,
    /// The object or the patch.
    pub value: &'a Value,
}

impl<'a> Write<'a> {
    /// The object as `(apiVersion, kind, name)`; `None` if the subject of a patch does not name them.
    pub fn object(&self) -> Option<(&'a str, &'a str, &'a str)> {
        let text = |pointer| self.value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        match self.into {
            None => Some((text("/apiVersion"), text("/kind"), text("/metadata/name"))),
            Some(Subject::Object(of)) => Some((&of.api_version, &of.kind, &of.name)),
            Some(
                Subject::BindingOf(_)
                | Subject::BindingsOf(_)
                | Subject::WorkOf { .. }
                | Subject::Cluster(_)
                | Subject::EventOf(_)
                | Subject::NoticeOf(_)
                | Subject::NewsOf(_),
            ) => None,
        }
    }
}
