//! Steps that can show nothing: about objects that no timeline has, or about a failover that nothing switches on.

use baton_core::{
    case::model::{Action, Case, Step, Subject},
    yaml::Diagnostic,
};
use serde_json::Value;

use super::place::Sources;

/// Requirements about gates begin so: their cases leave them as they are on purpose.
const GATES: &str = "GAT-";

/// Those of a case.
pub(super) fn warnings(case: &Case, sources: &Sources<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for step in &case.steps {
        for subject in looked_at(step) {
            if let Subject::Object(of) = subject
                && !baton_cluster::observer::is_recorded(&of.kind)
            {
                let message = format!(
                    "{} objects are not recorded: nothing can be seen of {}",
                    of.kind, of.name
                );
                let help =
                    "look at its Work, `{workOf: {kind: …, name: …}, for: origin}`, or at something that it leads to";
                found.push(sources.of_step(case, step, message, help));
            }
        }
    }
    found.extend(switched_off(case, sources));
    found
}

/// What a step looks at on the timeline.
fn looked_at(step: &Step) -> Vec<&Subject> {
    match &step.action {
        Action::Assert(assertion) => vec![&assertion.condition.of],
        Action::Order(order) => vec![&order.first.of, &order.then.of],
        Action::Wait { until, .. } => vec![&until.of],
        Action::Capture { of, .. } => vec![of],
        _ => Vec::new(),
    }
}

/// Gates without which what the case is about does not happen; they are off by default.
fn switched_off(case: &Case, sources: &Sources<'_>) -> Vec<Diagnostic> {
    let says = |gate: &str| case.controller.feature_gates.contains_key(gate);
    let preserves = |action: &Action| match action {
        Action::Apply { objects, .. } => objects.iter().any(preserves_state),
        _ => false,
    };
    let evicts = |action: &Action| matches!(action, Action::Taint { taint, .. } if taint.effect == "NoExecute");
    let moves = case.steps.iter().any(|step| match &step.action {
        Action::BindRole { not, .. } => !not.is_empty(),
        _ => false,
    });
    let mut found = Vec::new();
    let about_gates = case.requirements.iter().any(|id| id.as_str().starts_with(GATES));
    let evicting = case.steps.iter().find(|step| evicts(&step.action));
    let preserving = case.steps.iter().find(|step| preserves(&step.action));
    for (gate, without, step) in [
        ("Failover", "no taint evicts anything", evicting),
        ("StatefulFailoverInjection", "no state is injected", preserving),
    ] {
        if let Some(step) = step.filter(|_| moves && !about_gates && !says(gate)) {
            let message = format!("the feature gate {gate} is off unless a case asks for it: {without}");
            let help = format!("write `controller: {{featureGates: {{{gate}: true}}}}` below `spec`");
            found.push(sources.of_step(case, step, message, &help));
        }
    }
    found
}

fn preserves_state(object: &Value) -> bool {
    object.pointer("/spec/failover/cluster/statePreservation").is_some()
}
