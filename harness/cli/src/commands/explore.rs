//! `baton explore`.

use std::{
    ffi::OsString,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    time::Duration,
};

use baton_core::{event::Shard, explore::space::Random};

use super::{Exit, bad_input, not_loaded, wrong_rules};
use crate::{
    args, evidence,
    explore::{
        self, BROKEN, Explored, INCONCLUSIVE, Wanted,
        folder::{self, Folder, FolderError, JOURNAL, PAGE},
        moments::{self, Moments},
        workers::{self, End, Worker},
    },
    files::Roots,
    interrupt::Interrupt,
    load::{self, Suite},
    options::RunOptions,
    output::{FollowUp, quoted},
    select,
    terminal::{errln, outln},
};

/// Merges the folders of shards.
pub(super) fn merge(args::ExploreCommand::Merge { first, others, out }: &args::ExploreCommand) -> Exit {
    match folder::merge(first, others, out) {
        Ok(journal) => {
            let explored = Explored::of(&journal);
            explored.print(None);
            print_files(out);
            let is_whole = explored.missing.is_empty();
            exit_of(&explored).and(if is_whole { Exit::Conforms } else { Exit::Broken })
        }
        Err(error) => refused(&error),
    }
}

/// Explores the cases of a suite as the arguments say. `root` is the folder that the user named.
pub(super) fn explore(
    suite: Suite,
    all: &Suite,
    roots: &Roots,
    root: Option<&Path>,
    arguments: &args::ExploreRun,
) -> Exit {
    if let Some((error, help)) = nothing_to_explore(arguments) {
        errln!("error: {error}");
        errln!("help: {help}");
        return Exit::BadInput;
    }
    let selection = args::Selection {
        label: arguments.label.clone(),
        ..args::Selection::default()
    };
    let selected = match select::select(suite.cases, &suite.catalogue, &selection, None) {
        Ok(selected) => selected,
        Err(error) => return bad_input(&error, error.help()),
    };
    let options = match options(all, roots, arguments) {
        Ok(options) => options,
        Err(exit) => return exit,
    };
    let wanted = wanted(roots, arguments, &options);
    if let Some(moments) = moments(arguments) {
        let printed = moments::print(all, &selected.cases, roots, &options, wanted.jobs, &moments);
        return if printed > 0 { Exit::Conforms } else { Exit::Broken };
    }
    let (path, resume) = match (&arguments.resume, &arguments.out) {
        (Some(resume), _) => (resume.clone(), true),
        (None, Some(out)) => (out.clone(), false),
        (None, None) => (default_folder(), false),
    };
    if let Some(number) = arguments.workers {
        let workers = workers::workers(number.get(), wanted.shard, wanted.plans, &path);
        let arguments = arguments.of_workers(root);
        return with_workers(&workers, &arguments, &path, resume, &options.interrupt);
    }
    if resume
        && !arguments.worker
        && let Err(error) = workers::check(&path, 0)
    {
        return bad_input(&error, &error.help());
    }
    let mut folder = Folder::new(path, resume);
    let explored = match explore::explore(all, &selected.cases, roots, &options, &wanted, &mut folder) {
        Ok(explored) => explored,
        Err(error) => return refused(&error),
    };
    print_files(folder.path());
    if options.interrupt.is_asked() {
        outln!("interrupted; --resume {} continues", quoted(folder.path()));
        return Exit::Interrupted;
    }
    if explored.deviations == 0 && explored.not_explored == selected.cases.len() {
        return Exit::Broken;
    }
    exit_of(&explored)
}

/// Returns why no plan would be run, and the remedy: in CI, an exploration of nothing would seem to have found nothing.
fn nothing_to_explore(arguments: &args::ExploreRun) -> Option<(&'static str, &'static str)> {
    if moments(arguments).is_some() {
        None
    } else if (arguments.plans == Some(0) && !arguments.worker) || arguments.budget == Some(Duration::ZERO) {
        Some(("no plan may be run", "give --plans or --budget a number above 0"))
    } else if arguments.max_plan_time.is_zero() {
        Some(("no plan may take any time", "give --max-plan-time a time above 0s"))
    } else if arguments.depth == 0 && arguments.random == 0 {
        Some((
            "--depth 0 runs random plans alone, and there are none",
            "--random N runs N of them",
        ))
    } else if arguments.random_faults.is_some() && arguments.random == 0 {
        Some((
            "--random-faults is about random plans, and there are none",
            "--random N runs N of them",
        ))
    } else {
        None
    }
}

/// The moments that the user asks for, if any.
fn moments(arguments: &args::ExploreRun) -> Option<Moments> {
    let explained = arguments.explain.clone().map(Moments::Explained);
    explained.or_else(|| arguments.list.then_some(Moments::Listed))
}

/// Explores in several processes, and merges their folders.
fn with_workers(workers: &[Worker], arguments: &[OsString], path: &Path, resume: bool, interrupt: &Interrupt) -> Exit {
    let begun = if resume {
        workers::check(path, workers.len()).map_err(|error| bad_input(&error, &error.help()))
    } else {
        Folder::create(path).map_err(|error| refused(&error))
    };
    if let Err(exit) = begun {
        return exit;
    }
    let ends = match workers::run(workers, arguments, interrupt) {
        Ok(ends) => ends,
        Err(error) => {
            bad_input(&error, &error.help());
            return Exit::Broken;
        }
    };
    let Some((first, others)) = workers.split_first() else {
        return Exit::BadInput;
    };
    let ended_as = |exit: Exit| ends.contains(&End::Code(i32::from(exit.code())));
    if ended_as(Exit::BadInput) {
        return Exit::BadInput;
    }
    let others: Vec<PathBuf> = others.iter().map(|it| it.folder.clone()).collect();
    let merged = folder::forget(path).and_then(|()| folder::merge(&first.folder, &others, path));
    let journal = match merged {
        Ok(journal) => journal,
        Err(error) => return refused(&error),
    };
    let mut explored = Explored::of(&journal);
    // The workers of a shard explore this shard alone.
    explored
        .missing
        .retain(|shard| workers.iter().any(|worker| worker.shard == *shard));
    explored.print(None);
    print_files(path);
    if interrupt.is_asked() {
        outln!(
            "interrupted; --resume {} --workers {} continues",
            quoted(path),
            workers.len()
        );
        return Exit::Interrupted;
    }
    let broken = if ends.contains(&End::Died) || ended_as(Exit::Broken) {
        Exit::Broken
    } else {
        Exit::Conforms
    };
    exit_of(&explored).and(broken)
}

/// The exit code for the outcomes of plans.
fn exit_of(explored: &Explored) -> Exit {
    if explored.deviations > 0 {
        Exit::Deviates
    } else if [BROKEN, INCONCLUSIVE]
        .iter()
        .any(|word| explored.plans.contains_key(word))
    {
        Exit::Broken
    } else {
        Exit::Conforms
    }
}

fn refused(error: &FolderError) -> Exit {
    let exit = bad_input(error, error.help());
    if error.is_input() { exit } else { Exit::Broken }
}

fn print_files(folder: &Path) {
    outln!("journal    {}", folder.join(JOURNAL).display());
    outln!("page       {}", folder.join(PAGE).display());
}

/// The options of all runs: the implementation, its backend, and the seed.
fn options(all: &Suite, roots: &Roots, arguments: &args::ExploreRun) -> Result<RunOptions, Exit> {
    let spec = arguments.target.as_ref().map(|file| load::target(roots, file, all));
    let spec = spec.transpose().map_err(|error| not_loaded(&error))?;
    let interrupt = Interrupt::listen().map_err(|error| {
        errln!("error: cannot handle signals: {error}");
        Exit::Broken
    })?;
    if arguments.worker {
        interrupt.when_input_ends();
    }
    let rules = all.rules.as_ref().map_err(|wrong| wrong_rules(wrong))?.clone();
    let options = RunOptions {
        rules,
        interrupt,
        limit: Some(arguments.max_plan_time),
        seed: arguments.seed,
        ..RunOptions::new(roots.clone())
    };
    match spec {
        None => Ok(options.asking(&all.catalogue)),
        Some(spec) => super::run::described(spec, options, all).map(|(options, _)| options),
    }
}

fn wanted(roots: &Roots, arguments: &args::ExploreRun, options: &RunOptions) -> Wanted {
    let jobs = arguments.jobs.map_or(options.jobs, usize::from);
    let mut random = Random::plans(arguments.random);
    if let Some(faults) = arguments.random_faults.map(usize::from) {
        random.moves = faults..=faults;
    }
    Wanted {
        plans: arguments.plans,
        budget: arguments.budget,
        depth: usize::from(arguments.depth),
        random,
        faults: arguments.moves.iter().map(|it| it.0).collect(),
        shard: arguments.shard.unwrap_or(Shard { number: 1, of: 1 }),
        jobs: jobs.try_into().unwrap_or(NonZeroUsize::MIN),
        shrink: arguments.shrink,
        again: FollowUp::new(roots, arguments.target.clone(), &[]),
    }
}

/// A new folder next to the timelines of runs.
fn default_folder() -> PathBuf {
    evidence::folder_of_run().join("explored")
}
