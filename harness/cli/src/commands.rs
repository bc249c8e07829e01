//! What each command does, and the exit code it ends with.

use std::{
    fs,
    io::{self, BufReader, IsTerminal as _, Read as _},
    path::Path,
    process::ExitCode,
};

use baton_cluster::runner::chain;
use baton_core::{
    case::model::Case,
    excerpt,
    judge::{self, Finding},
    plan::Plan,
    timeline::{Mark, Timeline, TimelineError},
};
use baton_jsonpath::Template;
use clap::CommandFactory as _;

use crate::{
    args::{self, Cli, Command},
    load::{LoadError, Roots, Suite},
    output::Output,
    run::{self, Settings},
    show, snapshots, up,
};

/// How the command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Everything conforms, or what was asked for was done.
    Conforms,
    /// Something does not conform.
    Deviates,
    /// What was given is wrong.
    BadInput,
    /// The environment is broken.
    Broken,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Conforms => Self::SUCCESS,
            Exit::Deviates => Self::from(1),
            Exit::BadInput => Self::from(2),
            Exit::Broken => Self::from(3),
        }
    }
}

/// Carries out a command. What it has to say stands on standard output, errors on standard error.
pub fn execute(cli: &Cli) -> Exit {
    let roots = Roots::of(&cli.root);
    match &cli.command {
        Command::Run(arguments) => with_suite(Suite::select(&roots, &arguments.cases), |suite| {
            run(&suite, &roots, arguments)
        }),
        Command::List(arguments) => with_suite(Suite::load(&roots), |suite| {
            let text = if arguments.requirements {
                show::requirements(&suite.catalogue, &suite.cases)
            } else {
                show::cases(&suite.cases)
            };
            println!("{text}");
            Exit::Conforms
        }),
        Command::Plan { case } => with_suite(Suite::select(&roots, std::slice::from_ref(case)), |suite| {
            suite.cases.iter().for_each(|case| print!("{}", Plan::of(case)));
            Exit::Conforms
        }),
        Command::Lint { files } => {
            let suite = if files.is_empty() {
                Suite::load(&roots)
            } else {
                Suite::load_files(&roots, files)
            };
            with_suite(suite, |suite| {
                println!("{} cases are fine", suite.cases.len());
                Exit::Conforms
            })
        }
        Command::Judge(arguments) => judge(&roots, arguments),
        Command::Up(arguments) => up::up(arguments),
        Command::Jsonpath { path, file } => jsonpath(path, file),
        Command::Completions { shell } => {
            clap_complete::generate(*shell, &mut Cli::command(), "baton", &mut io::stdout());
            Exit::Conforms
        }
    }
}

fn with_suite(suite: Result<Suite, LoadError>, then: impl FnOnce(Suite) -> Exit) -> Exit {
    let error = match suite {
        Ok(suite) => return then(suite),
        Err(error) => error,
    };
    match &error {
        LoadError::Cases(found) => eprint!("{}", show::diagnostics(found)),
        LoadError::NoSuchCase { help, .. } => return bad_input(&error, help),
        LoadError::Io { .. } => return bad_input(&error, "run this in the repository, or say where it is with --root"),
        LoadError::Catalogue(_) => return bad_input(&error, ""),
    }
    eprintln!("error: {error}");
    Exit::BadInput
}

fn bad_input(error: &dyn std::error::Error, help: &str) -> Exit {
    eprintln!("error: {}", chain(error));
    if !help.is_empty() {
        eprintln!("help: {help}");
    }
    Exit::BadInput
}

fn run(suite: &Suite, roots: &Roots, arguments: &args::Run) -> Exit {
    let default = Settings::new(roots.clone());
    let settings = Settings {
        jobs: arguments.jobs.unwrap_or(default.jobs),
        seed: arguments.seed,
        real_time: arguments.real_time,
        timelines: arguments.timelines.clone(),
        ..default
    };
    let mut output = Output::new();
    let summary = run::run(&suite.cases, &settings, |event| output.tell(event));
    match (summary.broken, summary.deviating) {
        (0, 0) => Exit::Conforms,
        (0, _) => Exit::Deviates,
        (_, _) => Exit::Broken,
    }
}

fn judge(roots: &Roots, arguments: &args::Judge) -> Exit {
    let Some(file) = arguments.timeline.as_ref().or(arguments.recording.as_ref()) else {
        return Exit::BadInput;
    };
    let timeline = match read_timeline(file) {
        Ok(timeline) => timeline,
        Err(error) => {
            eprintln!("error: {}: {}", file.display(), chain(&error));
            return Exit::BadInput;
        }
    };
    if arguments.recording.is_some() {
        return tell_findings(&judge::judge_recording(&timeline), &timeline);
    }
    let begin = timeline.marks().find_map(|(_, mark)| match mark {
        Mark::Begin(begin) => Some(begin),
        _ => None,
    });
    let Some(begin) = begin else {
        eprintln!("error: {} does not say which case it belongs to", file.display());
        eprintln!("help: if it is a recording of an implementation, judge it with --recording");
        return Exit::BadInput;
    };
    with_suite(Suite::select(roots, &[begin.case.to_string()]), |suite| {
        let mut exit = Exit::Conforms;
        for case in &suite.cases {
            exit = judge_by(case, roots, &timeline);
        }
        exit
    })
}

fn judge_by(case: &Case, roots: &Roots, timeline: &Timeline) -> Exit {
    let verdict = judge::judge(case, timeline);
    let differences = snapshots::differences(&roots.snapshots, case, &verdict.snapshots);
    for difference in &differences {
        println!(
            "snapshot {} differs from {}",
            difference.name,
            difference.file.display()
        );
        println!("{}", difference.diff.as_deref().unwrap_or("there is no such file"));
    }
    let exit = tell_findings(&verdict.findings, timeline);
    if exit == Exit::Conforms && differences.is_empty() {
        println!("shown: {}", show::ids(verdict.shown.iter()));
        return Exit::Conforms;
    }
    Exit::Deviates
}

fn tell_findings(findings: &[Finding], timeline: &Timeline) -> Exit {
    for finding in findings {
        println!("{finding}\n");
    }
    let Some(first) = findings.first() else {
        println!("{} entries: nothing to object to", timeline.entries().len());
        return Exit::Conforms;
    };
    println!("around the first of them (time, entry, cluster, what):");
    println!("{}", excerpt::around(timeline, first.seq).join("\n"));
    Exit::Deviates
}

fn read_timeline(file: &Path) -> Result<Timeline, TimelineError> {
    Timeline::read(BufReader::new(fs::File::open(file)?))
}

fn jsonpath(path: &str, file: &Path) -> Exit {
    let text = if file == Path::new("-") {
        let mut text = String::new();
        if io::stdin().is_terminal() {
            eprintln!("reading the status from standard input; end it with Ctrl-D");
        }
        io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(file)
    };
    let template = match Template::parse(path) {
        Ok(template) => template,
        Err(error) => return bad_input(&error, ""),
    };
    let text = match text {
        Ok(text) => text,
        Err(error) => return bad_input(&error, &format!("is {} the right file?", file.display())),
    };
    // YAML holds JSON too.
    let status: serde_json::Value = match serde_yaml::from_str(&text) {
        Ok(status) => status,
        Err(error) => return bad_input(&error, "the file must hold JSON or YAML"),
    };
    match template.evaluate(&status) {
        Ok(found) => {
            println!("{found}");
            Exit::Conforms
        }
        Err(error) => bad_input(&error, &error.help().unwrap_or_default()),
    }
}
