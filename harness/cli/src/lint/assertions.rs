//! Assertions that blame many requirements for one field.

use baton_core::{
    case::model::{Action, Case, Expect, Step},
    yaml::Diagnostic,
};

use super::place::Sources;

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
