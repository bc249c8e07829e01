//! The commands and their exit codes.
//!
//! [`execute`] dispatches; short commands are here, each longer one has a module.

mod case;
mod completions;
mod explore;
mod jsonpath;
mod judge;
mod member;
mod record;
mod report;
mod run;
mod scale;
mod up;

use crate::terminal::{err, errln, out, outln};
use std::{path::Path, process::ExitCode};

use baton_cluster::{error_chain::error_chain, simulator::shapes};
use baton_core::{names::RequirementId, plan::Plan, schema, yaml::Diagnostic};

use crate::{
    args::{Cli, Command, ScaleCommand, Schema},
    files::Roots,
    lint,
    load::{LoadError, Suite},
    show, terminal,
};

/// How the command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Everything conforms, or the command succeeded.
    Conforms,
    /// Something does not conform.
    Deviates,
    /// The input is invalid.
    BadInput,
    /// The environment is broken.
    Broken,
    /// The user interrupted.
    Interrupted,
}

impl Exit {
    /// Returns the exit code of the process.
    const fn code(self) -> u8 {
        match self {
            Self::Conforms => 0,
            Self::Deviates => 1,
            Self::BadInput => 2,
            Self::Broken => 3,
            Self::Interrupted => 130,
        }
    }

    /// Returns the worse of two results. A deviation counts more than cases that could not be judged.
    fn and(self, other: Self) -> Self {
        let rank = |exit: Self| match exit {
            Self::Conforms => 0,
            Self::Broken => 1,
            Self::Deviates => 2,
            Self::BadInput => 3,
            Self::Interrupted => 4,
        };
        if rank(other) > rank(self) { other } else { self }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Carries out a command. Writes results to standard output and errors to standard error. If results cannot be written,
/// that is an error, too.
pub fn execute(cli: &Cli) -> Exit {
    let exit = carry_out(cli);
    if terminal::lost_output() {
        exit.and(Exit::Broken)
    } else {
        exit
    }
}

/// Does something with the chosen cases and the whole suite.
fn with_chosen(roots: &Roots, cases: &[String], act: impl FnOnce(Suite, &Suite) -> Exit) -> Exit {
    match Suite::load(roots) {
        Ok(all) => with_suite(all.chosen(roots, cases), |suite| act(suite, &all)),
        Err(error) => not_loaded(&error),
    }
}

/// Folders of which a suite has at least one.
const OF_A_SUITE: [&str; 3] = ["cases", "fixtures", "snapshots"];

fn carry_out(cli: &Cli) -> Exit {
    // A wrong path would otherwise run the built-in suite alone. The first case creates the folders.
    let is_suite = |root: &Path| OF_A_SUITE.iter().any(|name| root.join(name).is_dir());
    let wrong = cli.root.as_deref().filter(|root| root.is_dir() && !is_suite(root));
    if let Some(root) = wrong.filter(|_| !matches!(cli.command, Command::Case(_))) {
        errln!(
            "error: {} is not the folder of a suite: it has none of cases/, fixtures/ and snapshots/",
            root.display()
        );
        errln!("help: name the folder that contains cases/, or leave --root out");
        return Exit::BadInput;
    }
    let roots = Roots::of(cli.root.as_deref().unwrap_or(Path::new(".")));
    match &cli.command {
        Command::Run(arguments) => with_chosen(&roots, &arguments.cases, |suite, all| {
            run::run(suite, all, &roots, arguments)
        }),
        Command::Explore(arguments) => match &arguments.merge {
            Some(asked) => explore::merge(asked),
            None => with_chosen(&roots, &arguments.run.cases, |suite, all| {
                explore::explore(suite, all, &roots, cli.root.as_deref(), &arguments.run)
            }),
        },
        Command::Scale(arguments) => match &arguments.command {
            Some(ScaleCommand::Compare { one, other }) => scale::compare(one, other),
            Some(ScaleCommand::Page { result, out }) => scale::write_page(result, out),
            None => with_suite(Suite::load(&roots), |suite| {
                scale::scale(&suite, &roots, &arguments.run)
            }),
        },
        Command::List(arguments) => with_suite(Suite::load(&roots), |suite| {
            if arguments.names {
                suite.cases.iter().for_each(|case| outln!("{}", case.id));
            } else if arguments.requirements {
                outln!("{}", show::requirements(&suite.catalogue, &suite.cases));
            } else {
                outln!("{}", show::cases(&suite.cases));
            }
            Exit::Conforms
        }),
        Command::Explain { requirement } => with_suite(Suite::load(&roots), |suite| explain(&suite, requirement)),
        Command::Case(asked) => case::case(&roots, asked),
        Command::Plan { cases, objects } => with_suite(Suite::select(&roots, cases), |suite| {
            for case in &suite.cases {
                out!("{}{}", Plan::of(case), show::needs(case));
                outln!("  {}", show::sharing(case));
                if *objects {
                    out!("{}", show::objects(case));
                }
            }
            Exit::Conforms
        }),
        Command::Schema { of } => with_suite(Suite::load(&roots), |suite| print_schema(*of, &suite)),
        Command::Lint { files } => with_suite(Suite::select(&roots, files), |suite| lint_suite(&suite, &roots)),
        Command::Record(arguments) => record::run(arguments),
        Command::Judge(arguments) => judge::judge(&roots, arguments),
        // Files next to a report do not judge it, unless `--root` names their folder.
        Command::Report(arguments) if cli.root.is_none() => report::report(&Roots::built_in(), arguments),
        Command::Report(arguments) => report::report(&roots, arguments),
        Command::Up(arguments) => up::up(arguments),
        Command::Member(arguments) => member::member(arguments),
        Command::Jsonpath { path, file } => jsonpath::jsonpath(path, file),
        Command::Completions { shell } => {
            out!("{}", completions::script(*shell));
            Exit::Conforms
        }
    }
}

/// Checks cases and rules, and prints what is wrong with them.
fn lint_suite(suite: &Suite, roots: &Roots) -> Exit {
    if suite.cases.is_empty() {
        errln!("error: there are no cases to check");
        errln!("help: cases are YAML files below cases/, or in the folder that is named");
        return Exit::BadInput;
    }
    let findings = match lint::look(roots, &suite.cases).with_refused(roots, &suite.cases) {
        Ok(findings) => findings,
        Err(error) => {
            errln!("error: {}", error_chain(&error));
            return Exit::Broken;
        }
    };
    let errors = findings.errors();
    err!("{}", show::warnings(&findings.warnings()));
    err!("{}", show::diagnostics(&errors));
    if let Err(wrong) = &suite.rules {
        return wrong_rules(wrong);
    }
    if !errors.is_empty() {
        errln!("error: {} in the cases", show::count(errors.len(), "error"));
        return Exit::BadInput;
    }
    outln!("{} without errors", show::count(suite.cases.len(), "case"));
    Exit::Conforms
}

/// Calls a function with the cases that can be read. Prints the errors of the others; the exit code reflects them.
fn with_suite(suite: Result<Suite, LoadError>, then: impl FnOnce(Suite) -> Exit) -> Exit {
    let suite = match suite {
        Ok(suite) if suite.cases.is_empty() => suite.whole(),
        suite => suite,
    };
    let suite = match suite {
        Ok(suite) => suite,
        Err(error) => return not_loaded(&error),
    };
    let broken = show::diagnostics(&suite.broken);
    let left_out = (!suite.broken.is_empty()).then(|| show::count(suite.broken.len(), "error"));
    err!("{broken}");
    let exit = then(suite);
    match left_out {
        None => exit,
        Some(errors) => {
            errln!("error: {errors} in the cases; what is in these files was left out");
            exit.and(Exit::BadInput)
        }
    }
}

fn print_schema(of: Schema, suite: &Suite) -> Exit {
    let schema = match of {
        Schema::Case => schema::of_cases(&suite.catalogue),
        Schema::Target => schema::of_targets(&suite.catalogue),
        Schema::Rules => schema::of_shape(&shapes::RULES, "What the workload simulator does for a kind"),
    };
    outln!("{schema:#}");
    Exit::Conforms
}

fn explain(suite: &Suite, id: &str) -> Exit {
    if let Some(requirement) = suite.catalogue.get(&RequirementId::new(id)) {
        outln!("{}", show::requirement(requirement, &suite.catalogue, &suite.cases));
        return Exit::Conforms;
    }
    let help = suite.catalogue.suggestion(id);
    errln!("error: unknown requirement `{id}`");
    errln!("help: {help} (`baton list --requirements` shows all)");
    Exit::BadInput
}

/// Prints why the suite cannot be read.
fn not_loaded(error: &LoadError) -> Exit {
    match error {
        LoadError::Cases(found) | LoadError::Target(found) => err!("{}", show::diagnostics(found)),
        LoadError::NoSuchCase { help, .. } => return bad_input(error, help),
        LoadError::Io { .. } => {
            return bad_input(
                error,
                "--root takes a folder with cases/ and fixtures/ of your own, or the repository",
            );
        }
        LoadError::NoTarget { .. } => return bad_input(error, "fixtures/targets/ has examples of target files"),
        LoadError::Catalogue(_) => return bad_input(error, ""),
    }
    errln!("error: {error}");
    Exit::BadInput
}

/// Prints errors in rules of the workload simulator.
fn wrong_rules(wrong: &[Diagnostic]) -> Exit {
    err!("{}", show::diagnostics(wrong));
    errln!(
        "error: {} in the rules of the workload simulator",
        show::count(wrong.len(), "error")
    );
    Exit::BadInput
}

fn bad_input(error: &(dyn std::error::Error + 'static), help: &str) -> Exit {
    errln!("error: {}", error_chain(error));
    tell_remedy(help)
}

/// Reports an error in a file, which is given by its name, with a remedy.
fn bad_file(file: &str, error: &(dyn std::error::Error + 'static), help: &str) -> Exit {
    errln!("error: {file}: {}", error_chain(error));
    tell_remedy(help)
}

fn tell_remedy(help: &str) -> Exit {
    if !help.is_empty() {
        errln!("help: {help}");
    }
    Exit::BadInput
}
