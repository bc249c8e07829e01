//! Figures of the API server, printed as tables: `cargo bench -p baton-apiserver`.
//!
//! Reading order: this file lists the measurements; `client` is a client at either endpoint, `work` the requests of
//! clients, `fanout` the delivery times of watches, `figures` the output of times.
//!
//! The figures depend on the machine, so quote them together with it; nothing is asserted. `CPU µs` is the processor
//! time for a request, of client and server together: the same whatever other load the machine has. Words after `--`
//! select the rows that contain them: `cargo bench -p baton-apiserver -- in-process create`.

mod client;
mod fanout;
mod figures;
mod work;

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use baton_apiserver::{ApiServer, Options};
use jiff::Timestamp;

use client::{Client, Endpoint};
use figures::Times;
use work::Work;

/// The allocator of `baton up`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Failure = Box<dyn Error + Send + Sync>;

/// Number of objects at the start.
const SIZES: [usize; 2] = [1_000, 100_000];
/// Number of concurrent clients.
const CLIENTS: [usize; 2] = [1, 16];
const WATCHERS: [usize; 2] = [1, 1_000];
const BOOTS: usize = 50;

/// The requested rows.
struct Wanted(Vec<String>);

impl Wanted {
    fn from_arguments() -> Self {
        Self(
            std::env::args()
                .skip(1)
                .filter(|word| !word.starts_with("--"))
                .collect(),
        )
    }

    fn has(&self, row: &str) -> bool {
        self.0.iter().all(|word| row.contains(word.as_str()))
    }
}

fn main() -> Result<(), Failure> {
    let wanted = Wanted::from_arguments();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    // Runs as a task, so that it shares the processors with the others; `block_on` would give it a separate thread.
    let all = async move {
        // Memory is measured first, because later objects reuse the memory of earlier ones.
        if wanted.has("memory") {
            memory().await?;
        }
        for endpoint in [Endpoint::InProcess, Endpoint::Https] {
            let row = format!("boot {endpoint}");
            if wanted.has(&row) {
                println!("{}", boot(endpoint).await?.row(&row));
            }
        }
        for size in SIZES {
            at_size(&wanted, size).await?;
        }
        Ok(())
    };
    runtime.block_on(async { tokio::spawn(all).await? })
}

/// Measures the time from starting a server to its first answer.
async fn boot(endpoint: Endpoint) -> Result<Times, Failure> {
    let mut times = Vec::new();
    for _ in 0..BOOTS {
        let begin = Instant::now();
        let server = server();
        let serving = server.serve().await?;
        let mut client = Client::connect(endpoint, &server, &serving).await?;
        client.get("/api/v1/namespaces/default").await?;
        times.push(begin.elapsed());
        serving.stop().await;
    }
    Ok(Times::new(times))
}

fn server() -> ApiServer {
    ApiServer::new(Options::new("bench", Arc::new(Timestamp::now)))
}

/// Measures the memory that many objects take.
async fn memory() -> Result<(), Failure> {
    let size = SIZES.into_iter().max().unwrap_or_default();
    let before = figures::memory_kib();
    let server = server();
    let serving = server.serve().await?;
    work::fill(&server, &serving, size).await?;
    if let (Some(before), Some(after)) = (before, figures::memory_kib()) {
        let mib = after.saturating_sub(before) / 1024;
        println!("memory of {size} ConfigMaps of 1 KiB: {mib} MiB");
    }
    serving.stop().await;
    Ok(())
}

/// Runs all measurements on a server with that many objects.
async fn at_size(wanted: &Wanted, size: usize) -> Result<(), Failure> {
    let server = server();
    let serving = server.serve().await?;
    work::fill(&server, &serving, size).await?;
    println!("{}", figures::head(size));
    for endpoint in [Endpoint::InProcess, Endpoint::Https] {
        for clients in CLIENTS {
            for work in Work::ALL {
                let row = format!("{work} {endpoint} x{clients} at {size}");
                if wanted.has(&row) {
                    let times = work::measure(work, endpoint, clients, size, &server, &serving).await?;
                    println!("{}", times.row(&row));
                }
            }
        }
        for watchers in WATCHERS {
            let row = format!("patch to event {endpoint}, {watchers} watching at {size}");
            if wanted.has(&row) {
                let fanout = fanout::measure(endpoint, watchers, &server, &serving).await?;
                println!("{}", fanout.each.row(&row));
                println!("{}", fanout.last.row(&format!("{row}, the last")));
            }
        }
    }
    serving.stop().await;
    Ok(())
}

/// Maximum time to wait for anything.
const TIMEOUT: Duration = Duration::from_secs(60);
