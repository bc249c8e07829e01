//! Steps that end a fault which no step before them begins.

use baton_core::{
    case::model::{Action, Case, Fault},
    yaml::Diagnostic,
};

use super::place::Sources;

/// Returns warnings about the ends of faults.
pub(super) fn without_beginning(case: &Case, sources: &Sources<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (number, step) in case.steps.iter().enumerate() {
        let Some((end, beginnings, begins)) = end_of(&step.action) else {
            continue;
        };
        if !case.steps[..number].iter().any(|before| begins(&before.action)) {
            let message = format!("`{end}` does nothing: no step before it is {beginnings}");
            found.push(sources.of_step(case, step, message, "add that step, or remove this one"));
        }
    }
    found
}

/// An end of a fault, the steps that begin the fault, and a test for these steps.
type End = (&'static str, &'static str, fn(&Action) -> bool);

/// Returns what a step ends.
fn end_of(action: &Action) -> Option<End> {
    match action {
        Action::Inject(Fault::StartController) => Some((
            "controller: start",
            "`controller: stop`, `controller: {crash: …}` or `controller: {refuses: …}`",
            |before| {
                matches!(
                    before,
                    Action::Start(_)
                        | Action::Inject(
                            Fault::StopController | Fault::StopControllerAfter(_) | Fault::CrashController(_)
                        )
                )
            },
        )),
        Action::Inject(Fault::Heal(_)) => Some(("heal", "`cutOff`", |before| {
            matches!(before, Action::Inject(Fault::CutOff(_)))
        })),
        Action::Inject(Fault::Ready(_)) => Some(("ready", "`unready`", |before| {
            matches!(before, Action::Inject(Fault::Unready(_)))
        })),
        Action::Inject(Fault::Join(_)) => Some(("join", "`unjoin`", |before| {
            matches!(before, Action::Inject(Fault::Unjoin(_)))
        })),
        Action::Release { .. } => Some(("release", "`hold`", |before| matches!(before, Action::Hold { .. }))),
        _ => None,
    }
}
