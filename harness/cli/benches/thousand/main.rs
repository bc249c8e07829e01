//! Many workloads lose their cluster at once: what it takes, printed as tables. `cargo bench -p baton --bench thousand`.
//!
//! In which order to read it: this file says what is measured and prints it; `round` is one failover of so many
//! workloads; `controller` is the reference controller in this process, or alone in a process of its own.
//!
//! Figures of the machine at hand, to be quoted with it; nothing is asserted. Numbers after `--` are other numbers of
//! workloads: `cargo bench -p baton --bench thousand -- 5000`. A path there is the controller's own program, to be
//! measured as it is where it is alone: `-- target/release/baton-controller`.

mod controller;
mod round;

use std::{collections::BTreeMap, error::Error, path::Path};

use baton::show;

use controller::Place;
use round::{Round, Write};

type Failure = Box<dyn Error + Send + Sync>;

/// How many workloads there are.
const COUNTS: [u32; 4] = [1, 10, 100, 1_000];

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    if let [command, kubeconfig] = arguments.as_slice()
        && command == controller::COMMAND
    {
        return runtime.block_on(controller::alone(kubeconfig));
    }
    let mut counts: Vec<u32> = arguments.iter().filter_map(|word| word.parse().ok()).collect();
    if counts.is_empty() {
        counts = COUNTS.to_vec();
    }
    let program = arguments.iter().map(Path::new).find(|argument| argument.is_file());
    for place in [Place::Inside, Place::Alone] {
        let mut rounds = Vec::new();
        for count in &counts {
            rounds.push((*count, runtime.block_on(round::run(place, program, *count))?));
        }
        println!("\n{place}\n\n{}", times(&rounds));
        println!("\nAPI writes per failover\n\n{}", writes(&rounds));
    }
    Ok(())
}

fn times(rounds: &[(u32, Round)]) -> String {
    let mut table = show::table(&[
        "WORKLOADS",
        "ALL MOVED",
        "ALL WELL",
        "CONTROLLER IDLE",
        "ALL RUN",
        "ALL WELL",
        "A BINDING",
    ]);
    for (count, round) in rounds {
        let seconds = |time: std::time::Duration| format!("{:.3} s", time.as_secs_f64());
        let mut row = vec![count.to_string(), seconds(round.moved), seconds(round.well)];
        if let Some(memory) = &round.memory {
            let each = memory.running.max(memory.well).saturating_sub(memory.idle) / u64::from(*count);
            row.extend([memory.idle, memory.running, memory.well, each].map(|kib| format!("{kib} KiB")));
        }
        table.add_row(row);
    }
    table.trim_fmt()
}

fn writes(rounds: &[(u32, Round)]) -> String {
    let mut head = vec!["CLIENT".to_owned(), "WRITE".to_owned()];
    head.extend(rounds.iter().map(|(count, _)| format!("OF {count}")));
    let mut table = show::table(&head.iter().map(String::as_str).collect::<Vec<_>>());
    let mut rows: BTreeMap<&Write, Vec<f64>> = BTreeMap::new();
    for (number, (count, round)) in rounds.iter().enumerate() {
        for (write, times) in &round.writes {
            let row = rows.entry(write).or_insert_with(|| vec![0.0; rounds.len()]);
            row[number] = f64::from(*times) / f64::from(*count);
        }
    }
    for (write, each) in rows {
        let mut row = vec![write.client.clone(), write.what.clone()];
        row.extend(each.iter().map(|each| format!("{each:.2}")));
        table.add_row(row);
    }
    table.trim_fmt()
}
