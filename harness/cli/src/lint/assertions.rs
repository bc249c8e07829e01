//! Assertions that blame many requirements for one field, and assertions that no label or no timeline can meet.

use std::collections::BTreeMap;

use baton_core::{
    case::model::{Action, Case, Condition, Expect, Mode, Step, Subject, behaviors},
    pattern::Pattern,
    yaml::Diagnostic,
};
use serde_json::Value;

use super::{place::Sources, policies::policies};

/// Largest number of requirements that an assertion can prove without naming the fields that show them.
const WITHOUT_FIELDS: usize = 2;

/// Returns warnings about assertions that prove many requirements.
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

/// Returns warnings about assertions on the label of a state preservation rule that no policy has under a purge mode
/// which injects it (REC-05).
pub(super) fn never_injected(case: &Case, sources: &Sources<'_>) -> Vec<Diagnostic> {
    // By label: a purge mode that does not inject it; `None` if another mode may.
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

/// Returns warnings about assertions on labels and annotations whose values are not strings.
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

/// Returns warnings about assertions on the values of environment variables, which are dropped from timelines.
pub(super) fn dropped(case: &Case, sources: &Sources<'_>) -> Vec<Diagnostic> {
    let is_dropped = |place: &Vec<String>| {
        let mut below_env = place.iter().skip_while(|key| *key != "env");
        below_env.next().is_some() && below_env.any(|key| key == "value")
    };
    let of_values = case.steps.iter().filter(|step| match &step.action {
        Action::Assert(assertion) => match &assertion.condition.expect {
            Expect::Match(whole) => whole.places().iter().any(is_dropped),
            _ => false,
        },
        _ => false,
    });
    let warning = |step| {
        let message = "values of environment variables are not recorded: every one is `<redacted>`".to_owned();
        let help = "look at the names of the variables, or at an annotation with the same value";
        sources.of_step(case, step, message, help)
    };
    of_values.map(warning).collect()
}

/// Returns the patterns of objects in the assertions of a case.
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
