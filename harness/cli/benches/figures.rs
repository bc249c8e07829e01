//! Figures of a run, printed as a table: `cargo bench -p baton`.
//!
//! Medians on the machine at hand, to be quoted with it; nothing is asserted.

use std::{
    error::Error,
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use baton::{files::Roots, load::Suite, options::RunOptions, run, show};
use baton_cluster::fleet::{
    Fleet as _, TimeMode,
    embedded::{Embedded, InProcess, Options, Time},
};
use baton_core::{case::model::Case, event::CaseResult};
use jiff::Timestamp;

const REPETITIONS: usize = 11;

fn main() -> Result<(), Box<dyn Error>> {
    let roots = Roots::of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    let cases: Vec<Case> = Suite::load(&roots)?
        .cases
        .into_iter()
        .filter(|case| case.area == "proposal")
        .collect();
    let mut table = show::table(&["WHAT", "MEDIAN", "WORST"]);
    let mut row = |what: &str, mut times: Vec<Duration>| {
        times.sort();
        let at = |index: usize| {
            times
                .get(index)
                .map(|time| format!("{:.1} ms", time.as_secs_f64() * 1e3))
        };
        table.add_row([
            what.to_owned(),
            at(times.len() / 2).unwrap_or_default(),
            at(times.len().saturating_sub(1)).unwrap_or_default(),
        ]);
    };
    row("fleet of 1+2 ready", repeat(boot)?);
    let settings = RunOptions::new(roots);
    let one = |case: &Case, settings: &RunOptions| run::run_case(case, settings, &|_| {});
    let mut writes = Vec::new();
    for case in &cases {
        let results: Vec<CaseResult> = (0..REPETITIONS).map(|_| one(case, &settings)).collect();
        row(
            &format!("case {}", case.id),
            results.iter().map(|result| result.wall).collect(),
        );
        let migration = results.into_iter().next().and_then(|result| result.migration);
        writes.extend(migration.map(|it| (case.id.clone(), it.writes)));
    }
    row(
        "the three together",
        repeat(|| Ok(run::run(&cases, &settings, |_| {}).wall))?,
    );
    let real = RunOptions {
        backend: Arc::new(InProcess {
            time_mode: TimeMode::Real,
            doors: false,
        }),
        ..settings.clone()
    };
    for case in &cases {
        let times = (0..REPETITIONS).filter_map(|_| one(case, &real).migration.map(|it| it.time));
        row(&format!("taint to new object, {}, real time", case.id), times.collect());
    }
    println!("{}", table.trim_fmt());
    for (case, writes) in writes {
        println!(
            "\nAPI writes from the taint to the new object, {case}: {}",
            writes.len()
        );
        for (by, what) in writes {
            println!("  {by}: {what}");
        }
    }
    if let Some(peak) = peak_memory() {
        println!("\npeak memory of all of this: {peak}");
    }
    Ok(())
}

fn repeat(mut measure: impl FnMut() -> Result<Duration, Box<dyn Error>>) -> Result<Vec<Duration>, Box<dyn Error>> {
    (0..REPETITIONS).map(|_| measure()).collect()
}

fn boot() -> Result<Duration, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let began = Instant::now();
        let fleet = Embedded::boot(Options::new(2, Time::Real(Timestamp::now()))).await?;
        let took = began.elapsed();
        Box::new(fleet).shut_down().await?;
        Ok(took)
    })
}

/// The most memory that this process has held at once, where the system tells.
fn peak_memory() -> Option<String> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().to_owned())
}
