//! Reads from the environment the clusters and the target on which `cargo test` runs cases.

#![expect(clippy::panic, clippy::unwrap_used, reason = "what fails here fails a test")]

use std::{
    io::Write as _,
    num::NonZeroUsize,
    path::Path,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

use baton::{
    args::{Cli, Command, Run},
    backend::{BackendKind, BackendNeeds, BackendOptions},
    files::Roots,
    implementation::Described,
    interrupt::Interrupt,
    load::{self, LoadError, Suite},
    options::RunOptions,
    output, run, show,
};
use baton_cluster::error_chain::error_chain;
use baton_core::{
    case::model::Case,
    event::{CaseOutcome, CaseResult, Event},
    judge::Verdict,
    report::Builder,
};

/// Variable with the value of `--backend` on the command line, and the options of that backend.
pub const BACKEND: &str = "BATON_BACKEND";

/// Variable with the path of a target file.
pub const TARGET: &str = "BATON_TARGET";

pub fn roots() -> Roots {
    Roots::of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
}

pub fn told(error: LoadError) -> String {
    match error {
        LoadError::Cases(found) | LoadError::Target(found) => show::diagnostics(&found),
        other => error_chain(&other),
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Parses a backend with its options, as on the command line.
fn choice(text: &str) -> Result<BackendOptions, String> {
    let words = ["baton", "run", "--backend"].into_iter().chain(text.split_whitespace());
    let cli = Cli::read(words).map_err(|error| format!("{BACKEND}={text}: {error}"))?;
    let Command::Run(run) = cli.command else {
        return Err(format!("{BACKEND}={text} is not a backend"));
    };
    let Run { on, .. } = *run;
    match on.backend {
        BackendKind::Embedded | BackendKind::Kubeconfig => Ok(on),
        // They would never be removed: a test binary does not learn when its last test has ended.
        BackendKind::Envtest | BackendKind::Kind | BackendKind::K3s => Err(format!(
            "{BACKEND}={text}: tests run on embedded clusters and on those that are there already (possible are \
             embedded, kubeconfig); `baton run --backend {text}` makes others and removes them"
        )),
    }
}

/// Options for a case, and its turn on the clusters.
pub struct Ready {
    pub settings: RunOptions,
    /// Existing clusters run one case at a time.
    _turn: Option<MutexGuard<'static, ()>>,
}

/// Returns the settings for cases with up to this many members. Panics if the environment is invalid.
pub fn ready(members: usize) -> Ready {
    static TURN: Mutex<()> = Mutex::new(());
    static LISTENING: OnceLock<Interrupt> = OnceLock::new();
    let roots = roots();
    let mut settings = RunOptions::new(roots.clone());
    let mut turn = None;
    if let Some(text) = variable(BACKEND) {
        let choice = choice(&text).unwrap_or_else(|wrong| panic!("{wrong}"));
        settings.interrupt = LISTENING.get_or_init(|| Interrupt::listen().unwrap()).clone();
        if choice.backend != BackendKind::Embedded {
            turn = Some(TURN.lock().unwrap_or_else(PoisonError::into_inner));
            assert!(!settings.interrupt.is_asked(), "interrupted");
        }
        let needs = BackendNeeds {
            members,
            members_beside_others: members,
            at_once: NonZeroUsize::MIN,
            open: false,
            interrupt: &settings.interrupt,
        };
        let backend = choice.backend(&roots, &needs);
        settings.backend =
            backend.unwrap_or_else(|error| panic!("{BACKEND}: {}; {}", error_chain(&error), error.help()));
        settings.max_case_time = choice.max_case_time();
    }
    if let Some(file) = variable(TARGET) {
        let target = target(Path::new(&file));
        let with_target = settings.with_target(target);
        let with_target = with_target.unwrap_or_else(|error| panic!("{TARGET}={file}: {error}; {}", error.help()));
        settings = with_target.asking(&suite().catalogue);
    }
    Ready { settings, _turn: turn }
}

fn suite() -> Suite {
    Suite::load(&roots()).unwrap_or_else(|error| panic!("{}", told(error)))
}

/// Reads a target file. A relative path begins in the repository: tests run in the folder of their crate.
pub fn target(file: &Path) -> Described {
    let suite = suite();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    let spec = load::target(&roots(), &file, &suite).unwrap_or_else(|error| panic!("{TARGET}: {}", told(error)));
    Described::new(spec).unwrap_or_else(|error| panic!("{TARGET}: {error}; {}", error.help()))
}

/// Returns the verdict on a case that passed, or the reason why there is none. The built-in controller must pass
/// without remarks; the target of a file may have some.
pub fn passed(result: &CaseResult) -> Result<&Verdict, String> {
    let is_described = variable(TARGET).is_some();
    match &result.outcome {
        CaseOutcome::Unsupported { reasons } => Err(format!("unsupported: {}", reasons.join("; "))),
        CaseOutcome::Deviates { verdict, .. } | CaseOutcome::Conforms(verdict) if result.known => Err(format!(
            "deviates as the baseline says: {}",
            show::ids(verdict.broken().iter())
        )),
        CaseOutcome::Conforms(verdict) if verdict.is_clean() || (is_described && verdict.elsewhere.is_empty()) => {
            Ok(verdict)
        }
        outcome => {
            let verdict = outcome.verdict();
            let findings = verdict.into_iter().flat_map(Verdict::all_findings);
            let findings: Vec<String> = findings.map(|finding| format!("{finding}\n")).collect();
            let more = output::explanation(result, &output::FollowUp::default()).unwrap_or_else(|| outcome.headline());
            panic!("\n{}\n{more}", findings.concat())
        }
    }
}

/// Prints a line past libtest, which hides the output of tests that pass.
pub fn say(case: &Case, line: &str) {
    // A closed standard error is ignored.
    let _ = writeln!(std::io::stderr(), "{}: {line}", case.id);
}

/// Fails if a case is the last one that an entry of the baseline waited for, and no case shows the entry.
pub fn check_baseline(result: CaseResult, settings: &RunOptions) {
    static SO_FAR: OnceLock<Mutex<Builder>> = OnceLock::new();
    if settings.target.baseline().entries.is_empty() {
        return;
    }
    let so_far = SO_FAR.get_or_init(|| {
        let all = suite();
        let mut builder = Builder::new(&all.catalogue, &all.cases);
        builder.on_event(&Event::RunStarted(Box::new(run::start(&all.cases, settings))));
        Mutex::new(builder)
    });
    let new: Vec<String> = {
        let mut so_far = so_far.lock().unwrap_or_else(PoisonError::into_inner);
        let before = stale(&so_far);
        so_far.on_event(&Event::CaseEnded(Box::new(result)));
        let now = stale(&so_far);
        now.into_iter().filter(|entry| !before.contains(entry)).collect()
    };
    assert!(new.is_empty(), "no case shows any more: {}", new.join("; "));
}

/// Returns the entries of the baseline that no case shows any more.
fn stale(builder: &Builder) -> Vec<String> {
    let entries = builder.report().map(|report| report.baseline).unwrap_or_default();
    let stale = entries.iter().filter(|entry| entry.outdated);
    stale
        .map(|entry| format!("{} {}", entry.about(), entry.field.as_deref().unwrap_or_default()))
        .collect()
}
