//! Assertions that blame many requirements for one field, and those that no label can meet.

use std::collections::BTreeMap;

use baton_core::{
    case::model::{Action, Case, Condition, Expect, Mode, Step, Subject, behaviors},
    pattern::Pattern,
    yaml::Diagnostic,
};
use serde_json::Value;

use super::{place::Sources, policies::policies};

/// An assertion that proves more than this many requirements should say which of its fields shows which.
const WITHOUT_FIELDS: usize = 2;

/// Those of a case.
pub(super) fn sweeping(case: &Case, sources: &Sources<'_>) -> Vec<Diagnostic> {
    let claims = |step: &Step| {
        let Action::Assert(assertion) = &step.action else {
            return None;
        };
        let by_fields = matches!(assertion.condition.expect, Expect::Match(_));
        Some(assertion.proves.of_no_field()).filter(|claimed| *claimed > WITHOUT_FIELDS && by_fields)
    };
    let mut found = Vec::new();
    for step in &case.steps {
        if let Some(claimed) = claims(step) {
            let message = format!("one field that differs refutes all {claimed} requirements of this assertion");
            let help = "say which field shows which: `proves: {STP-02: preservedLabelState}`";
            found.push(sources.of_step(case, step, message, help));
        }
    }
    found
}

/// Assertions on the label of a state preservation rule where no policy has it under a purge mode that injects (REC-05).
pub(super) fn never_injected(case: &Case, sources: &Sources<'_>) -> Vec<Diagnostic> {
    // By label: a purge mode under which it is not injected; nothing if it may be.
    let mut modes: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    for (_, policy) in policies(case) {
        for behavior in behaviors(policy) {
            let mode = behavior["purgeMode"].as_str();
            let mode = mode.filter(|mode| matches!(*mode, "Gracefully" | "Graciously" | "Never"));
            let rules = behavior.pointer("/statePreservation/rules").and_then(Value::as_array);
            for alias in rules
                .into_iter()
                .flatten()
                .filter_map(|rule| rule["aliasLabelName"].as_str())
            {
                let known = modes.entry(alias).or_insert(mode);
                *known = known.and(mode);
            }
        }
    }
    let mut found = Vec::new();
    for (step, whole) in looks(case) {
        let labels = member(whole, "metadata").and_then(|metadata| member(metadata, "labels"));
        for (alias, mode) in &modes {
            let expected = labels.and_then(|labels| member(labels, alias));
            let Some((mode, _)) = mode.zip(expected.filter(|it| **it != Pattern::Absent)) else {
                continue;
            };
            let message = format!("the label {alias} is not injected under purgeMode {mode}");
            let help =
                format!("state is injected under Directly only (REC-05); expect `{alias}: null`, or change the policy");
            found.push(sources.of_step(case, step, message, &help));
        }
    }
    found
}

/// Assertions on labels and annotations that are no texts.
pub(super) fn no_texts(case: &Case, sources: &Sources<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (step, whole) in looks(case) {
        for field in ["labels", "annotations"] {
            let Some(Pattern::Map(members)) = member(whole, "metadata").and_then(|it| member(it, field)) else {
                continue;
            };
            for (key, pattern) in members {
                let Pattern::Exact(value @ (Value::Number(_) | Value::Bool(_))) = pattern else {
                    continue;
                };
                let message = format!("{field} are texts: {key} is never {value}");
                found.push(sources.of_step(case, step, message, &format!("write \"{value}\"")));
            }
        }
    }
    found
}

/// What objects must look like at some moment, by the assertions of a case.
fn looks(case: &Case) -> impl Iterator<Item = (&Step, &Pattern)> {
    case.steps.iter().filter_map(|step| match &step.action {
        Action::Assert(assertion) if assertion.mode != Mode::Never => match &assertion.condition {
            Condition {
                of: Subject::Object(_),
                expect: Expect::Match(whole),
                ..
            } => Some((step, whole)),
            _ => None,
        },
        _ => None,
    })
}

fn member<'p>(pattern: &'p Pattern, name: &str) -> Option<&'p Pattern> {
    match pattern {
        Pattern::Map(members) => members.get(name),
        _ => None,
    }
}
