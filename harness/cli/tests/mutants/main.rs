//! The suite finds every known defect of such systems: a case kills each mutant of the reference controller, at the
//! requirement that the mutant breaks.
//!
//! - `fault`: possible changes to the controller's requests and to the objects that it reads; `wire`: the client that
//!   makes them;
//! - `mutant`: the controller with a fault, as a target; `pieces`: building blocks of faults;
//! - `catalogue`: the mutants, by area;
//! - `verdict`: the case that kills a mutant;
//! - `explored`: mutants that no case kills and that an exploration finds;
//! - `allowed`: implementations that differ from the reference controller and conform, which no case may blame.
//!
//! The tests have their own `main`, so that every `cargo test` prints the case that killed each mutant. Arguments
//! without a dash are parts of names, to try some mutants alone.

#![expect(clippy::print_stdout, reason = "the output of a test is for its user")]

mod allowed;
mod catalogue;
mod explored;
mod fault;
mod mutant;
mod pieces;
mod verdict;
mod wire;

use std::{path::Path, process::ExitCode};

use baton::{
    files::Roots,
    load::{LoadError, Suite},
    show,
};
use baton_cluster::error_chain::error_chain;

use crate::{
    allowed::Allowed,
    verdict::{Death, Trial},
};

/// Number of cases that blame an implementation that conforms. Each implementation runs its share of the cases, and all of them
/// if it is named.
fn allowed_are_blamed(trial: &Trial, names: &[&String]) -> usize {
    let cases = trial.supported();
    let all = allowed::all();
    let is_wanted = |it: &Allowed| names.is_empty() || names.iter().any(|part| it.name.contains(part.as_str()));
    let wanted = all.iter().enumerate().filter(|(_, it)| is_wanted(it));
    let blamed = wanted.map(|(number, it)| {
        let cases = if names.is_empty() {
            allowed::share(&cases, number, all.len())
        } else {
            cases.clone()
        };
        let blamed = allowed::try_out(trial, it, &cases);
        println!(
            "allowed {} ... blamed by {} of {}",
            it.name,
            blamed.len(),
            show::count(cases.len(), "case")
        );
        for words in &blamed {
            println!("  {}: {words}", it.differs);
        }
        blamed.len()
    });
    blamed.sum()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        return ExitCode::SUCCESS;
    }
    let names: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let wanted = |name: &str| names.is_empty() || names.iter().any(|part| name.contains(part.as_str()));

    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let suite = match Suite::load(&Roots::of(&root)).and_then(Suite::whole) {
        Ok(suite) => suite,
        Err(LoadError::Cases(found)) => {
            println!("{}", show::diagnostics(&found));
            return ExitCode::FAILURE;
        }
        Err(error) => {
            println!("{}", error_chain(&error));
            return ExitCode::FAILURE;
        }
    };
    let roots = Roots::of(&root);
    let trial = Trial::new(suite, roots.clone());
    let mutants: Vec<_> = catalogue::all()
        .into_iter()
        .filter(|mutant| wanted(mutant.name))
        .collect();

    let deaths = verdict::each(&mutants, |mutant| {
        let death = trial.try_out(mutant);
        println!("{}", verdict::line(mutant, &death));
        death
    });
    let survivors = deaths
        .iter()
        .filter(|death| matches!(death, Death::Survives { .. }))
        .count();
    println!("\n{} mutants, {survivors} survive", mutants.len());

    let unbroken = if names.is_empty() {
        trial.unbroken(&mutants)
    } else {
        Vec::new()
    };
    for requirement in &unbroken {
        println!("no mutant breaks {requirement}");
    }
    let harmed = trial.harmed(&deaths);
    for failure in &harmed {
        println!("without a fault: {failure}");
    }
    let explored: Vec<_> = explored::all()
        .into_iter()
        .filter(|it| wanted(it.mutant.name))
        .collect();
    let found = verdict::each(&explored, |it| {
        let found = explored::try_out(&trial, &roots, it);
        println!("mutant {} ... {}", it.mutant.name, explored::line(it, &found));
        found.is_ok()
    });
    let unfound = found.into_iter().filter(|found| !found).count();
    let blamed = allowed_are_blamed(&trial, &names);
    if survivors + unbroken.len() + harmed.len() + unfound + blamed > 0 {
        return ExitCode::FAILURE;
    }
    if names.is_empty() {
        verdict::compare_table(&mutants, &deaths);
    }
    ExitCode::SUCCESS
}
