//! The situations that a case makes, and whether each lasted as long as the case says.
//!
//! While an object is held, a member is cut off or the controller is stopped, and afterwards, a step shows something only if
//! the situation lasted. Which steps lie in a situation is read off the plan.

use super::step_runs::Ran;
use crate::{
    case::model::{Action, Fault},
    plan::Plan,
};

/// The situations that a plan makes.
pub struct Situations {
    /// By step: one that is made by then and not yet ended, in words.
    open: Vec<Option<String>>,
}

impl Situations {
    pub fn of(plan: &Plan) -> Self {
        let mut standing: Vec<(usize, &Action)> = Vec::new();
        let open = plan.steps.iter().enumerate().map(|(number, step)| {
            standing.retain(|(_, made)| !ends(made, &step.action));
            let words = standing
                .iter()
                .map(|(number, made)| format!("“{made}” (step {})", number + 1));
            let open = (!standing.is_empty()).then(|| words.collect::<Vec<_>>().join(" and "));
            if begins(&step.action) {
                standing.push((number, &step.action));
            }
            open
        });
        Self { open: open.collect() }
    }

    /// Returns the reason for which a situation did not last: this step should let time pass, and took less than the case says.
    pub fn cut_short(&self, number: usize, action: &Action, ran: &Ran<'_>) -> Option<String> {
        let open = self.open.get(number)?.as_ref()?;
        let asked = action.facts().passes?;
        let took = ran.took();
        // Clocks of real machines are read at both ends.
        let enough = asked.mul_f64(0.99);
        (took < enough).then(|| {
            format!(
                "{open} was to last {} s longer, and step {} took {:.3} s",
                asked.as_secs_f64(),
                number + 1,
                took.as_secs_f64()
            )
        })
    }
}

/// Returns `true` if a step begins a situation that lasts.
fn begins(action: &Action) -> bool {
    match action {
        Action::Hold { .. } | Action::Taint { lasts: None, .. } => true,
        Action::Inject(fault) => match fault {
            Fault::CutOff(_)
            | Fault::Unready(_)
            | Fault::Unjoin(_)
            | Fault::Condition { .. }
            | Fault::StopController
            | Fault::StopControllerAfter(_) => true,
            Fault::Fail(_, failing) => failing.times > 0,
            Fault::Delay(_, time) => !time.is_zero(),
            Fault::Heal(_)
            | Fault::Ready(_)
            | Fault::Join(_)
            | Fault::StartController
            | Fault::AddController(_)
            | Fault::CrashController(_)
            | Fault::Move(_) => false,
        },
        _ => false,
    }
}

/// Returns `true` if a step ends the situation that another one began.
fn ends(made: &Action, by: &Action) -> bool {
    match (made, by) {
        (Action::Hold { on, of }, Action::Release { on: there, of: it }) => on == there && of == it,
        (
            Action::Taint { cluster, taint, .. },
            Action::Untaint {
                cluster: there,
                key,
                effect,
            },
        ) => cluster == there && taint.key == *key && taint.effect == *effect,
        (Action::Inject(Fault::CutOff(role)), Action::Inject(Fault::Heal(healed)))
        | (Action::Inject(Fault::Unready(role)), Action::Inject(Fault::Ready(healed)))
        | (Action::Inject(Fault::Unjoin(role)), Action::Inject(Fault::Join(healed))) => role == healed,
        (
            Action::Inject(Fault::Condition { cluster, kind, .. }),
            Action::Inject(Fault::Condition {
                cluster: there,
                kind: other,
                ..
            }),
        ) => cluster == there && kind == other,
        (Action::Inject(Fault::Delay(place, _)), Action::Inject(Fault::Delay(there, _)))
        | (Action::Inject(Fault::Fail(place, _)), Action::Inject(Fault::Fail(there, _))) => place == there,
        (
            Action::Inject(Fault::StopController | Fault::StopControllerAfter(_)),
            Action::Inject(Fault::StartController) | Action::Start(_),
        ) => true,
        _ => false,
    }
}
