//! The `baton` binary.

use std::process::ExitCode;

use baton::{args::Cli, commands};
use clap::Parser as _;
use mimalloc::MiMalloc;
use tracing_subscriber::EnvFilter;

/// Clusters in memory are many small objects: a suite takes two thirds of the time that it takes with the system's.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    // What came of a request is told by whoever made it; that a server does not answer yet is no error.
    // Logs are for those who look for them; what a run has to say is on standard output.
    let filter = EnvFilter::try_from_env("BATON_LOG").unwrap_or_else(|_| EnvFilter::new("error,kube_client=off"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    commands::execute(&cli).into()
}
