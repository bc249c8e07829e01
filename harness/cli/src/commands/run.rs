//! `baton run`.

use crate::terminal::{err, errln, outln};
use std::{
    collections::BTreeSet,
    hash::{BuildHasher as _, Hasher as _, RandomState},
    num::NonZeroUsize,
    path::Path,
};

use baton_cluster::error_chain::error_chain;
use baton_core::{
    case::sharing,
    catalogue::Consequence,
    event::{Event, Summary},
    implementation::{TargetSpec, baseline::Baseline},
    report::{ConformanceReport, described},
};

use super::{Exit, bad_file, bad_input, not_loaded, wrong_rules};
use crate::{
    args,
    backend::{self, BackendError, BackendNeeds},
    context::RunState,
    descriptors,
    evidence::{
        self,
        runs::{self, NotRemoved},
    },
    files::Roots,
    implementation::Described,
    interrupt::Interrupt,
    last_run::LastRun,
    lint::{self, Findings},
    load::{self, LoadError, Suite},
    options::RunOptions,
    output::{FollowUp, Output},
    preflight::{self, Preflight},
    provision::BootError,
    report::Reports,
    run::{self, planned::plan_cases, side_by_side::Layout},
    select::{self, Selected},
    show,
};

/// Runs the cases of a suite as the arguments say. Invalid arguments are reported before any cluster boots. The
/// baseline is checked against all cases, not only those that run.
pub(super) fn run(suite: Suite, all: &Suite, roots: &Roots, arguments: &args::Run) -> Exit {
    let spec = arguments.target.as_ref().map(|file| load::target(roots, file, all));
    let spec = match spec.transpose() {
        Ok(spec) => spec,
        Err(error) => return not_loaded(&error),
    };
    err!(
        "{}",
        show::warnings(spec.as_ref().map_or(&[][..], |spec| &spec.warnings))
    );
    let mut cases = suite.cases;
    let findings = lint::look(roots, &cases);
    let wrong = findings.errors();
    // Another implementation may bring definitions that allow other objects than those of the program.
    let has_ours = !arguments.on.shares_control_plane() && spec.as_ref().is_none_or(brings_no_api);
    if has_ours && !wrong.is_empty() {
        cases.retain(|case| !findings.has_error(&case.id));
        err!("{}", show::diagnostics(&wrong));
        let errors = show::count(wrong.len(), "error");
        if cases.is_empty() {
            errln!("error: {errors} in the cases");
            return Exit::BadInput;
        }
        errln!("error: {errors} in the cases; those that have one were left out");
    }
    let suite = Suite { cases, ..suite };
    let exit = run_right(suite, all, roots, arguments, spec, findings);
    if has_ours && !wrong.is_empty() {
        exit.and(Exit::BadInput)
    } else {
        exit
    }
}

/// Returns `true` if the failover API has the program's definitions, and no webhook changes what is written.
fn brings_no_api(spec: &TargetSpec) -> bool {
    spec.control_plane.definitions.is_none() && spec.control_plane.webhooks.is_empty()
}

/// Runs cases in which no error was found.
fn run_right(
    suite: Suite,
    all: &Suite,
    roots: &Roots,
    arguments: &args::Run,
    spec: Option<TargetSpec>,
    findings: Findings,
) -> Exit {
    let folder = arguments.timelines.clone().unwrap_or_else(evidence::folder_by_default);
    let before = LastRun::read(&folder, roots.folder());
    let failed = match (&before, arguments.selection.rerun_failed) {
        (_, false) => None,
        (Ok(before), true) => Some(before.failed()),
        (Err(error), true) => return bad_input(error, "run the cases once without --rerun-failed"),
    };
    if failed.is_some_and(BTreeSet::is_empty) {
        outln!("no case failed in the last run");
        return Exit::Conforms;
    }
    let selected = match select::select(suite.cases, &suite.catalogue, &arguments.selection, failed) {
        Ok(selected) => selected,
        Err(error) => return bad_input(&error, error.help()),
    };
    err!("{}", show::warnings(&findings.all_of(&selected.cases)));
    if let Some(folder) = &arguments.timelines
        && let Err(error) = evidence::check(folder)
    {
        errln!("error: cannot write timelines to {}: {error}", folder.display());
        return Exit::BadInput;
    }
    let reports = match Reports::open(&arguments.reports, &all.catalogue, &all.cases) {
        Ok(reports) => reports,
        Err(error) => return bad_input(&error, error.help()),
    };
    if arguments.timelines.is_none() {
        prune(&folder);
    }
    let last_run = before.unwrap_or_else(|_| LastRun::none(roots.folder()));
    let rules = match &all.rules {
        Ok(rules) => rules.clone(),
        Err(wrong) => return wrong_rules(wrong),
    };
    let (options, preflight) = match options(roots, arguments, &selected, all, spec) {
        Ok((options, preflight)) => (RunOptions { rules, ..options }, preflight),
        Err(exit) => return exit,
    };
    // Snapshots are read now: the preflight starts the target, which may write files.
    let state = RunState::new(options, &selected.cases);
    let options = &state.options;
    let mode = options.backend.time_mode();
    if descriptors::enough_for(mode) == Some(0) {
        errln!("error: the limit of open files is too low to run a case");
        errln!(
            "help: `ulimit -n` sets it; one case at a time needs {}",
            descriptors::least(mode)
        );
        return end(options);
    }
    if let Err(exit) = run_preflight(preflight.as_ref(), options) {
        return exit;
    }
    let again = FollowUp::new(roots, arguments.target.clone(), &selected.cases);
    let output = Output::new(again, arguments.loudness);
    carry_out(&selected, state, output, reports, last_run, arguments.strict, &folder)
}

/// Removes the folders of old runs from Baton's folder of timelines.
fn prune(folder: &Path) {
    for NotRemoved { folder, reason } in runs::prune(folder, runs::KEPT) {
        errln!(
            "warning: cannot remove the timelines of an earlier run, {}: {reason}; remove the folder yourself",
            folder.display()
        );
    }
}

/// Ends a run whose clusters exist but cannot be used.
fn end(options: &RunOptions) -> Exit {
    if let Err(error) = backend::end(&*options.backend) {
        errln!("error: {}", error_chain(&error));
    }
    Exit::Broken
}

/// Runs the preflight; returns an exit code if the cases would run in vain.
fn run_preflight(preflight: Option<&Preflight>, options: &RunOptions) -> Result<(), Exit> {
    let Some(preflight) = preflight else {
        return Ok(());
    };
    let error = match preflight.run(options) {
        Ok(outcome) => {
            outln!("{}", preflight::message(&outcome));
            return Ok(());
        }
        Err(error) => error,
    };
    if let Err(error) = backend::end(&*options.backend) {
        errln!("error: {}", error_chain(&error));
    }
    if options.interrupt.is_asked() {
        return Err(Exit::Interrupted);
    }
    errln!("error: preflight: {error}");
    if !error.help().is_empty() {
        errln!("help: {}", error.help());
    }
    errln!("help: no case was run; --no-preflight skips this check");
    Err(Exit::Broken)
}

fn carry_out(
    selected: &Selected,
    state: RunState,
    mut output: Output,
    mut reports: Reports,
    mut last_run: LastRun,
    strict: bool,
    folder: &Path,
) -> Exit {
    let options = state.options.clone();
    let planned = plan_cases(&selected.cases, &options);
    let layout = Layout::new(&planned, &options);
    if let Some(words) = layout.words() {
        outln!("{words}");
    }
    let summary = run::run_planned(&planned, &layout, state, |event| {
        reports.on_event(event);
        if let Event::CaseEnded(result) = event {
            last_run.case_ended(result);
        }
        output.on_event(event);
    });
    let report = reports.report();
    if let Some(report) = &report {
        output.end(&summary, report);
    }
    if let Err(error) = last_run.write(folder) {
        // The result of the run does not depend on the file.
        errln!(
            "warning: cannot record this run for --rerun-failed in {}: {error}",
            folder.display()
        );
    }
    let ended = backend::end(&*options.backend);
    if let Err(error) = &ended {
        errln!("error: {}", error_chain(error));
    }
    let all_written = tell_reports(reports);
    if ended.is_err() || !all_written {
        return Exit::Broken;
    }
    if options.interrupt.is_asked() {
        return Exit::Interrupted;
    }
    let outdated = report
        .iter()
        .flat_map(|report| stale(&options.target.baseline(), report))
        .collect::<Vec<_>>();
    for line in &outdated {
        errln!("error: {line}");
    }
    let has_remarks = report.as_ref().is_some_and(|report| {
        let mut remarks = described::with(report, Consequence::Remark);
        remarks.any(|defect| !defect.known)
    });
    match exit(&summary) {
        Exit::Conforms if !outdated.is_empty() || (strict && has_remarks) => Exit::Deviates,
        Exit::Conforms if summary.conforming + summary.with_remarks + summary.known == 0 => nothing_judged(&summary),
        exit => exit,
    }
}

/// Returns the entries of a baseline that no case shows any more, as one error per line.
fn stale(baseline: &Baseline, report: &ConformanceReport) -> Vec<String> {
    let entries = baseline.holding().zip(&report.baseline);
    let stale = entries.filter(|(_, judged)| judged.outdated);
    let lines = stale.map(|(entry, judged)| {
        let (file, line, about) = (baseline.file.display(), entry.line, judged.about());
        let field = judged
            .field
            .as_deref()
            .map(|field| format!(" ({field})"))
            .unwrap_or_default();
        format!("{file}:{line}: {about}{field} is in the baseline, but no case shows it any more; remove the entry")
    });
    lines.collect()
}

/// Returns an error if no case was judged: such a run proves nothing about the target.
fn nothing_judged(summary: &Summary) -> Exit {
    let cases = show::count(summary.unsupported, "case");
    errln!("error: nothing was judged: {cases} selected, and the target or the clusters support none");
    errln!(
        "help: `features`, `controller` and `settable` in the target file say what the target supports and how it runs; \
         --backend and --filter select others"
    );
    Exit::Broken
}

/// Writes the reports; returns `true` if all of them were written.
fn tell_reports(reports: Reports) -> bool {
    let mut all_written = true;
    for report in reports.finish() {
        match report {
            Ok(path) => outln!("report: {}", path.display()),
            Err(error) => {
                errln!("error: {}", error_chain(&error));
                all_written = false;
            }
        }
    }
    all_written
}

fn exit(summary: &Summary) -> Exit {
    // An inconclusive result is not a fault of the target, and not a proof either.
    let deviating = summary.deviating + summary.showing_others;
    match (summary.broken, deviating, summary.inconclusive) {
        (0, 0, 0) => Exit::Conforms,
        (0, 1.., _) => Exit::Deviates,
        (_, _, _) => Exit::Broken,
    }
}

/// Reports clusters that cannot be used.
pub(super) fn refused(error: &BackendError) -> Exit {
    let told = bad_input(error, &error.help());
    match error {
        BackendError::Boot(BootError::Interrupted) => Exit::Interrupted,
        error if error.is_input() => told,
        _ => Exit::Broken,
    }
}

/// Returns the options of a run, and the preflight unless it is skipped.
fn options(
    roots: &Roots,
    arguments: &args::Run,
    selected: &Selected,
    all: &Suite,
    spec: Option<TargetSpec>,
) -> Result<(RunOptions, Option<Preflight>), Exit> {
    let default = RunOptions::new(roots.clone());
    let interrupt = Interrupt::listen().map_err(|error| refused(&error.into()))?;
    // Cases share an existing control plane only if the user asks for it.
    let shared = arguments.on.shares_control_plane();
    let jobs = match arguments.jobs {
        _ if arguments.pause_on_failure => 1,
        Some(jobs) => jobs.get(),
        None if shared => 1,
        None => default.jobs,
    };
    let chosen: Vec<_> = selected.cases.iter().collect();
    let suite = provenance_of(roots, selected, all)?;
    let beside_others = sharing::together(&chosen);
    let beside_others = beside_others.iter().filter_map(|number| chosen.get(*number));
    let needs = BackendNeeds {
        members: selected.cases.iter().map(|case| case.members).max().unwrap_or(1),
        members_beside_others: beside_others.map(|case| case.members).max().unwrap_or(1),
        at_once: NonZeroUsize::new(jobs.min(selected.cases.len())).unwrap_or(NonZeroUsize::MIN),
        open: arguments.pause_on_failure,
        interrupt: &interrupt,
    };
    let selected = RunOptions {
        backend: arguments.on.backend(roots, &needs).map_err(|error| refused(&error))?,
        interrupt,
        max_case_time: arguments.on.max_case_time(),
        jobs,
        seed: arguments.seed.unwrap_or_default(),
        timeouts: default.timeouts.scaled(arguments.timeout_factor),
        time_factor: arguments.time_factor,
        timelines: arguments.timelines.clone(),
        accept_snapshots: arguments.accept_snapshots,
        repeat: arguments.repeat,
        retries: arguments.retries,
        fail_fast: arguments.fail_fast,
        full_waits: arguments.full_waits,
        pause_on_failure: arguments.pause_on_failure,
        part_of: Some(suite),
        ..default
    };
    match spec {
        None => Ok((selected, None)),
        Some(spec) => {
            let (mut options, preflight) = described(spec, selected, all)?;
            // A target with a preflight must not be able to predict the values of a case; the built-in one has no
            // preflight.
            if arguments.seed.is_none() && preflight.is_some() {
                options.seed = random_seed();
            }
            if arguments.jobs.is_none() && !shared && !arguments.pause_on_failure && preflight.is_some() {
                options.jobs = options.jobs.saturating_mul(WAITING);
            }
            Ok((options, preflight.filter(|_| !arguments.no_preflight)))
        }
    }
}

/// Returns the selected cases with the suite that they come from. Prints a warning with the files that replace those of
/// the program.
fn provenance_of(roots: &Roots, selected: &Selected, all: &Suite) -> Result<baton_core::event::Suite, Exit> {
    let mut replaced = roots.replaced().map_err(|source| {
        let path = roots.folder().to_owned();
        not_loaded(&LoadError::Io { path, source })
    })?;
    replaced.extend(all.overridden(roots, &selected.cases));
    if !replaced.is_empty() {
        errln!("note: {}", show::replaced(&replaced));
    }
    let names: BTreeSet<_> = all.cases.iter().chain(&selected.cases).map(|case| &case.id).collect();
    Ok(baton_core::event::Suite {
        whole: Some(names.len().max(selected.suite.cases)),
        built_in: Some(baton_suite::DIGEST.to_owned()),
        replaced,
        ..selected.suite.clone()
    })
}

/// Number of cases per processor that run at once in real time: they wait most of the time.
const WAITING: usize = 8;

/// Returns a seed of nine digits at most, short enough to type for users who repeat a run.
fn random_seed() -> u64 {
    RandomState::new().build_hasher().finish() % 1_000_000_000
}

/// Sets the target that a file describes.
pub(super) fn described(
    spec: TargetSpec,
    options: RunOptions,
    all: &Suite,
) -> Result<(RunOptions, Option<Preflight>), Exit> {
    let preflight = Preflight::of(&spec, &all.catalogue).map_err(|error| bad_input(&error, ""))?;
    let file = spec.file.clone();
    let target = Described::new(spec).map_err(|error| {
        if error.is_environment() {
            bad_input(&error, error.help());
            return Exit::Broken;
        }
        bad_file(&file.display().to_string(), &error, error.help())
    })?;
    let options = options
        .with_target(target)
        .map_err(|error| bad_input(&error, error.help()))?;
    Ok((options.asking(&all.catalogue), preflight))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_broken_is_the_environment_whatever_else_deviates() {
        let came = |broken, deviating, inconclusive| {
            exit(&Summary {
                conforming: 1,
                broken,
                deviating,
                inconclusive,
                ..Summary::default()
            })
        };
        assert_eq!(came(0, 0, 0), Exit::Conforms);
        assert_eq!(came(0, 1, 1), Exit::Deviates);
        assert_eq!(came(0, 0, 1), Exit::Broken);
        assert_eq!(came(1, 0, 0), Exit::Broken);
        assert_eq!(came(1, 1, 0), Exit::Broken);
    }
}
