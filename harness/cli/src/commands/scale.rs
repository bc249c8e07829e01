//! `baton scale`.

use std::{num::NonZeroUsize, path::Path, sync::Arc, time::Duration};

use baton_cluster::{
    error_chain::error_chain,
    fleet::{
        TimeMode,
        embedded::InProcess,
        envtest::{Assets, Envtest, EnvtestError},
        external::{Access, Clusters, External, Options, Workloads},
    },
};
use baton_core::{
    names::ClusterName,
    scale::{
        compare,
        parameters::Parameters,
        report::{End, ScaleReport},
    },
};

use super::{Exit, bad_input, not_loaded, run::refused};
use crate::{
    args::{ScaleBackend, ScaleRun},
    backend::{self, BackendError},
    files::{self, Roots},
    interrupt::Interrupt,
    load::{self, Suite},
    options::RunOptions,
    report::file,
    scale::{self, ScaleError, page, table},
    terminal::{err, errln, out, outln},
};

/// Time limit of a stage where waiting takes no time.
const VIRTUAL_LIMIT: Duration = Duration::from_secs(3600);
/// Time limit of a stage in real time.
const REAL_LIMIT: Duration = Duration::from_secs(600);

/// Compares two results.
pub(super) fn compare(one: &Path, other: &Path) -> Exit {
    let (one, other) = match (read(one), read(other)) {
        (Ok(one), Ok(other)) => (one, other),
        (Err(exit), _) | (_, Err(exit)) => return exit,
    };
    for difference in compare::differences(&one, &other) {
        errln!("warning: the runs differ in {difference}");
    }
    for (which, report) in [("first", &one), ("second", &other)] {
        for reason in compare::reservations(report) {
            errln!("warning: the {which} run did not complete, or broke a requirement: {reason}");
        }
    }
    outln!("{}", table::comparison(&one, &other));
    Exit::Conforms
}

/// Writes the page of a result.
pub(super) fn write_page(result: &Path, out: &Path) -> Exit {
    let report = match read(result) {
        Ok(report) => report,
        Err(exit) => return exit,
    };
    if file::is_same(result, out) {
        errln!("error: {} is read, and would be overwritten", result.display());
        errln!("help: name another file with --out");
        return Exit::BadInput;
    }
    let page = page::render(&report).map_err(|error| error.to_string());
    match page.and_then(|page| file::write(out, page.as_bytes()).map_err(|error| error.to_string())) {
        Ok(()) => Exit::Conforms,
        Err(error) => {
            errln!("error: cannot write {}: {error}", out.display());
            Exit::BadInput
        }
    }
}

/// Reads a result; a message names what is wrong with it.
fn read(path: &Path) -> Result<ScaleReport, Exit> {
    let help = "`baton scale --json FILE` writes results";
    let text = files::read_text(path).map_err(|error| {
        errln!("error: cannot read {}: {error}", path.display());
        errln!("help: {help}");
        Exit::BadInput
    })?;
    ScaleReport::read(&text).map_err(|error| {
        errln!("error: {}", path.display());
        bad_input(&error, help)
    })
}

/// Measures a run as the arguments say.
pub(super) fn scale(all: &Suite, roots: &Roots, arguments: &ScaleRun) -> Exit {
    // Checked with any time limit: no clusters start for numbers that are invalid.
    if let Err(error) = arguments.parameters(REAL_LIMIT).check() {
        return bad_input(&error, error.help());
    }
    if let (Some(json), true) = (&arguments.json, arguments.json == arguments.page) {
        errln!("error: --json and --page both name {}", json.display());
        return Exit::BadInput;
    }
    if let Some((option, backend)) = useless(arguments) {
        errln!("error: {option} is about other clusters than those of this run");
        errln!("help: add --backend {backend}, or leave {option} out");
        return Exit::BadInput;
    }
    for path in [&arguments.json, &arguments.page].into_iter().flatten() {
        if let Err(error) = file::check(path) {
            errln!("error: cannot write {}: {error}", path.display());
            return Exit::BadInput;
        }
    }
    let options = match options(all, roots, arguments) {
        Ok(options) => options,
        Err(exit) => return exit,
    };
    let by_default = match options.backend.time_mode() {
        TimeMode::Virtual => VIRTUAL_LIMIT,
        TimeMode::Real => REAL_LIMIT,
    };
    let exit = measure(&options, arguments.parameters(by_default), arguments);
    match backend::end(&*options.backend) {
        Ok(()) => exit,
        Err(error) => {
            errln!("error: {}", error_chain(&error));
            exit.and(Exit::Broken)
        }
    }
}

/// Returns an option that has no effect with the backend of a run, and the backend that it is for.
fn useless(arguments: &ScaleRun) -> Option<(&'static str, &'static str)> {
    match arguments.backend {
        ScaleBackend::Kubeconfig => arguments.assets.as_ref().map(|_| ("--assets", "envtest")),
        _ if arguments.kubeconfig.is_some() => Some(("--kubeconfig", "kubeconfig")),
        ScaleBackend::Embedded => arguments.assets.as_ref().map(|_| ("--assets", "envtest")),
        ScaleBackend::Envtest => None,
    }
}

fn measure(options: &RunOptions, parameters: Parameters, arguments: &ScaleRun) -> Exit {
    let report = match scale::scale(options, parameters, &|line| errln!("{line}")) {
        Ok(report) => report,
        Err(error @ ScaleError::Unsupported(_)) => {
            return bad_input(
                &error,
                "leave --rate out, or add the option to `settable` in the target file",
            );
        }
        Err(error) => {
            errln!("error: {}", error.chain());
            return Exit::Broken;
        }
    };
    out!("{}", table::result(&report));
    err!("{}", table::warnings(&report));
    let mut exit = match report.end {
        End::Complete => Exit::Conforms,
        End::Interrupted => Exit::Interrupted,
        End::NotPlaced | End::NotMoved | End::TargetEnded => Exit::Broken,
    };
    if report.deviates() {
        exit = exit.and(Exit::Deviates);
    }
    let json = serde_json::to_string_pretty(&report).map(|text| text + "\n");
    let page = page::render(&report);
    let written = [
        (&arguments.json, json.map_err(|error| error.to_string())),
        (&arguments.page, page.map_err(|error| error.to_string())),
    ];
    for (path, content) in written {
        let Some(path) = path else { continue };
        let written = content.and_then(|it| file::write(path, it.as_bytes()).map_err(|error| error.to_string()));
        if let Err(error) = written {
            errln!("error: cannot write {}: {error}", path.display());
            exit = exit.and(Exit::Broken);
        }
    }
    exit
}

/// The implementation, its clusters and the seed.
fn options(all: &Suite, roots: &Roots, arguments: &ScaleRun) -> Result<RunOptions, Exit> {
    let spec = arguments.target.as_ref().map(|file| load::target(roots, file, all));
    let spec = spec.transpose().map_err(|error| not_loaded(&error))?;
    let interrupt = Interrupt::listen().map_err(|error| {
        errln!("error: cannot handle signals: {error}");
        Exit::Broken
    })?;
    let rules = all.rules.as_ref().map_err(|wrong| super::wrong_rules(wrong))?.clone();
    let mut options = RunOptions {
        rules,
        interrupt,
        seed: arguments.seed,
        ..RunOptions::new(roots.clone())
    };
    match arguments.backend {
        ScaleBackend::Envtest => options.backend = Arc::new(envtest(arguments)?),
        ScaleBackend::Kubeconfig => {
            let external = existing(arguments, &options.interrupt);
            options.backend = Arc::new(external.map_err(|error| refused(&error))?);
        }
        ScaleBackend::Embedded if arguments.real_time => {
            options.backend = Arc::new(InProcess {
                time_mode: TimeMode::Real,
                doors: false,
            });
        }
        ScaleBackend::Embedded => {}
    }
    match spec {
        None => Ok(options.asking(&all.catalogue)),
        Some(spec) => super::run::described(spec, options, all).map(|(options, _)| options),
    }
}

fn envtest(arguments: &ScaleRun) -> Result<Envtest, Exit> {
    let broken = |error: EnvtestError| {
        let exit = bad_input(&error, &error.help());
        match error {
            EnvtestError::NoAssets | EnvtestError::NoProgram { .. } => exit,
            _ => Exit::Broken,
        }
    };
    let assets = Assets::find(arguments.assets.as_deref()).map_err(broken)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| {
        errln!("error: cannot start the async runtime: {error}");
        Exit::Broken
    })?;
    let booted = Envtest::boot(&assets, NonZeroUsize::MIN, arguments.members, false);
    runtime.block_on(booted).map_err(broken)
}

/// An existing control plane with its registered members, which run their workloads themselves.
fn existing(arguments: &ScaleRun, interrupt: &Interrupt) -> Result<External, BackendError> {
    let file = arguments.kubeconfig.clone().unwrap_or_default();
    let connected = async {
        let control = Access::by_file(ClusterName::control(), &file, arguments.control.as_deref()).await?;
        let clusters = Clusters::registered(control, arguments.members).await?;
        let options = Options {
            workloads: Workloads::Own,
            keep: false,
            vouched_for: arguments.yes_these_are_test_clusters,
            address: None,
            webhooks: clusters.loopback(),
        };
        backend::existing(clusters, options).await
    };
    backend::connected(interrupt, connected)
}
