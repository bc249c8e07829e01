//! The `baton` binary.

use std::process::ExitCode;

use baton::{args::Cli, commands, interrupt, terminal::Logs};
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    let cli = Cli::read(std::env::args_os()).unwrap_or_else(|error| error.exit());
    // Results are on standard output. kube's client logs requests that fail, which cases do on purpose.
    let filter = EnvFilter::try_from_env("BATON_LOG").unwrap_or_else(|_| EnvFilter::new("error,kube_client=off"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| Logs)
        .with_ansi(false)
        .init();
    interrupt::outlive_size_limit();
    commands::execute(&cli).into()
}
