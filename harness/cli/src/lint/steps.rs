//! Steps that cannot be carried out, and steps that can show nothing: they are about objects that no timeline has, or
//! about a failover that is switched off.

use baton_core::{
    case::model::{Action, Case, Step, Subject},
    implementation::setup::KNOWN_GATES,
    spelling::nearest,
    yaml::Diagnostic,
};
use serde_json::Value;

use super::{
    place::{Part, Segment, Sources},
    policies::{no_label_key, plain},
};

/// Prefix of requirements about gates: their cases leave gates off on purpose.
const GATES: &str = "GAT-";

/// Taints whose keys an API server refuses.
pub(super) fn errors(case: &Case, sources: &Sources<'_>) -> Vec<Diagnostic> {
    let taints = case.steps.iter().filter_map(|step| match &step.action {
        Action::Taint { taint, .. } if plain(&taint.key) => Some((step, &taint.key)),
        _ => None,
    });
    let refused = taints.filter_map(|(step, key)| Some((step, key, no_label_key(key)?)));
    let told = refused.map(|(step, key, reason)| {
        let message = format!("`{key}` is not the key of a taint: {reason}");
        sources.of_step(case, step, message, "such as `example.com/failed`")
    });
    told.collect()
}

/// Returns warnings about the steps of a case.
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
    found.extend(taints_that_move_nothing(case, sources));
    found.extend(misspelt_gates(case, sources));
    found.extend(switched_off(case, sources));
    found
}

/// Returns the objects on the timeline that a step is about.
fn looked_at(step: &Step) -> Vec<&Subject> {
    match &step.action {
        Action::Capture { of, .. } => vec![of],
        action => action.facts().conditions.into_iter().map(|it| &it.of).collect(),
    }
}

/// Returns a warning about taints after which a step waits for the workload elsewhere, although they evict nothing and
/// no other step moves it.
fn taints_that_move_nothing(case: &Case, sources: &Sources<'_>) -> Option<Diagnostic> {
    let waits = |step: &Step| matches!(&step.action, Action::BindRole { not, .. } if !not.is_empty());
    let before = &case.steps[..case.steps.iter().position(waits)?];
    let acts = before.iter().filter(|step| step.action.facts().acts);
    let mut taints = Vec::new();
    for step in acts {
        match &step.action {
            Action::Apply { objects, .. } if objects.iter().all(|it| it["kind"] != "ClusterTaintPolicy") => {}
            Action::Taint { taint, .. } if taint.effect.ends_with("NoSchedule") => taints.push((step, taint)),
            _ => return None,
        }
    }
    let (step, taint) = taints.last()?;
    let message = format!(
        "{} evicts nothing, and a workload is waited for on another cluster",
        taint.effect
    );
    Some(sources.of_step(
        case,
        step,
        message,
        "NoExecute evicts, and PreferNoExecute what has `failover.cluster`",
    ))
}

/// Returns warnings about gates whose name is similar to one in the documents. Other implementations may have more
/// gates.
fn misspelt_gates(case: &Case, sources: &Sources<'_>) -> Vec<Diagnostic> {
    let unknown = case.controller.feature_gates.keys();
    let unknown = unknown.filter(|gate| !KNOWN_GATES.contains(&gate.as_str()));
    let misspelt = unknown.filter_map(|gate| Some((gate, nearest(gate, KNOWN_GATES)?)));
    let told = misspelt.map(|(gate, known)| {
        let way = ["spec", "controller", "featureGates", gate].map(|key| Segment::Key(key.to_owned()));
        let message = format!("no document has a feature gate {gate}");
        sources.of_case(case, (&way, Part::Key), message, format!("did you mean `{known}`?"))
    });
    told.collect()
}

/// Returns warnings about gates that the case depends on; they are off by default.
fn switched_off(case: &Case, sources: &Sources<'_>) -> Vec<Diagnostic> {
    let says = |gate: &str| case.controller.feature_gates.contains_key(gate);
    // A case may edit a policy to show that the edit has no effect on a failover that has begun.
    let preserves = |action: &Action| {
        let mut applied = action.facts().writes.into_iter().filter(|it| it.into.is_none());
        applied.any(|it| preserves_state(it.value))
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
