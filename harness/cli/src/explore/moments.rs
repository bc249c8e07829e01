//! The moments of cases, for people: a list, and details of some.

use std::num::NonZeroUsize;

use baton_core::{
    case::model::{Case, Move, MoveFault},
    explore::{
        points::Point,
        space,
        variant::{self, Base},
    },
};

use super::{Explored, explorable, runs::Runs};
use crate::{
    context::{CaseContext, RunState},
    files::Roots,
    load::Suite,
    options::RunOptions,
    show::count,
    terminal::{errln, outln},
};

/// The moments of cases that are printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moments {
    /// A line for each.
    Listed,
    /// Everything about those with this number, or with this text in their names.
    Explained(String),
}

/// Prints the moments of cases. Returns the number of moments.
pub fn print(
    suite: &Suite,
    cases: &[Case],
    roots: &Roots,
    options: &RunOptions,
    jobs: NonZeroUsize,
    moments: &Moments,
) -> usize {
    let context = &CaseContext::new(RunState::new(options.clone(), cases));
    let runs = Runs { suite, roots, context };
    let mut printed = 0;
    for of in explorable(runs, cases, jobs, &mut Explored::default()) {
        if *moments == Moments::Listed {
            outln!(
                "{}: {} at {}",
                of.case.id,
                count(of.writes, "write"),
                count(of.points.len(), "moment")
            );
        }
        for (index, point) in of.points.iter().enumerate() {
            let number = index + 1;
            match moments {
                Moments::Listed => outln!("{number:>4}  step {:<3} {}", point.step + 1, point.at),
                Moments::Explained(asked) => {
                    let is_asked = match asked.parse::<usize>() {
                        Ok(asked) => asked == number,
                        Err(_) => point.at.to_string().contains(asked.as_str()),
                    };
                    if !is_asked {
                        continue;
                    }
                    explain(of.case, &of.base, number, point);
                }
            }
            printed += 1;
        }
    }
    if let (0, Moments::Explained(asked)) = (printed, moments) {
        errln!("error: no moment of these cases has the number or the text `{asked}`");
        errln!("help: --list prints the moments of each case");
    }
    printed
}

/// Prints everything about a moment.
fn explain(case: &Case, base: &Base, number: usize, point: &Point) {
    outln!("moment {number} of {}: {}", case.id, point.at);
    outln!("  step   {}: {}", point.step + 1, base.step_text(point.step));
    outln!("  class  {}", point.class);
    let possible = MoveFault::ALL
        .into_iter()
        .filter(|it| space::obstacle(*it, point).is_none());
    for fault in possible {
        let it = Move {
            at: point.at.clone(),
            fault,
            lasts: fault.default_duration(),
        };
        outln!("  {:<17} move: {}", fault.name(), variant::as_yaml(&it));
    }
    for fault in MoveFault::ALL {
        if let Some(reason) = space::obstacle(fault, point) {
            outln!("  {:<17} not here: {reason}", fault.name());
        }
    }
}
