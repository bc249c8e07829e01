//! The reference controller as a program.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use baton_controller::client::client;
use baton_controller::drain::{self, Drain, DrainArgs, Drained};
use baton_controller::options::TABLE;
use baton_controller::{Controller, Options, PushMembers, crds};
use clap::{Arg, ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

/// Reference controller for stateful cluster failover.
#[derive(Debug, Parser)]
#[command(name = "baton-controller", version, about, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: Run,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write the definitions of the API (`CustomResourceDefinition`s) into a folder.
    Crds {
        /// Folder to write to; created if missing.
        folder: PathBuf,
    },
    /// Move all workloads off a cluster and report the progress.
    ///
    /// The running controller moves the workloads. It schedules no new ones to the cluster until the taint
    /// cluster.karmada.io/drain is removed by hand. Exit code: 0 if nothing is left on the cluster, 1 if something was
    /// left when the time was up, 2 if the cluster does not exist.
    Drain {
        #[command(flatten)]
        drain: DrainArgs,
        #[command(flatten)]
        run: Run,
    },
}

#[derive(Args, Debug)]
struct Run {
    /// Kubeconfig of the control plane; defaults to `KUBECONFIG`, `~/.kube/config`, or the surrounding cluster.
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig; defaults to the current one.
    #[arg(long)]
    context: Option<String>,
}

impl Run {
    async fn client(&self) -> anyhow::Result<Client> {
        let choice = KubeConfigOptions {
            context: self.context.clone(),
            ..KubeConfigOptions::default()
        };
        let config = match &self.kubeconfig {
            Some(path) => {
                let kubeconfig =
                    Kubeconfig::read_from(path).with_context(|| format!("cannot read {}", path.display()))?;
                Config::from_custom_kubeconfig(kubeconfig, &choice).await?
            }
            None if self.context.is_some() => Config::from_kubeconfig(&choice).await?,
            None => Config::infer().await?,
        };
        Ok(client(config)?)
    }
}

fn main() -> ExitCode {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    let matches = command().get_matches();
    match start(&matches) {
        Ok(code) => code,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::from(2)
        }
    }
}

/// Returns the command line: the declarations in this file, and a flag for each option of the table.
fn command() -> clap::Command {
    Arguments::command().args(TABLE.iter().map(|spec| {
        let flag = Arg::new(spec.name).long(spec.name).value_name(spec.value);
        let help = match spec.default {
            Some(default) if !default.is_empty() => format!("{} [default: {default}]", spec.help),
            Some(_) | None => spec.help.to_owned(),
        };
        flag.help(help).allow_hyphen_values(true)
    }))
}

fn start(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let arguments = Arguments::from_arg_matches(matches)?;
    let runtime = || tokio::runtime::Builder::new_multi_thread().enable_all().build();
    match arguments.command {
        Some(Command::Crds { folder }) => {
            crds::write(&folder)?;
            return Ok(ExitCode::SUCCESS);
        }
        Some(Command::Drain { drain, run }) => {
            let ended = runtime()?.block_on(empty(&run, &drain.into_drain()))?;
            return Ok(ExitCode::from(ended.exit_code()));
        }
        None => {}
    }
    let mut options = Options::default();
    for spec in TABLE {
        if let Some(value) = matches.get_one::<String>(spec.name) {
            options.set(spec.name, value)?;
        }
    }
    runtime()?.block_on(run(&arguments.run, options))?;
    Ok(ExitCode::SUCCESS)
}

/// Drains a cluster; prints a line whenever the progress changes.
async fn empty(arguments: &Run, drain: &Drain) -> anyhow::Result<Drained> {
    let client = arguments.client().await?;
    let mut tell = |line: String| println!("{line}");
    Ok(drain::run(client, Arc::new(jiff::Timestamp::now), drain, &mut tell).await?)
}

async fn run(arguments: &Run, options: Options) -> anyhow::Result<()> {
    let client = arguments.client().await?;
    let members = PushMembers::new(client.clone());
    let (metrics_address, webhook_address) = (options.metrics_address, options.webhook_address);
    let webhook_url = options.webhook_url.clone();
    let controller = Controller::start(client, members, Arc::new(jiff::Timestamp::now), options);
    if let Some(address) = webhook_address {
        let listener = TcpListener::bind(address).await;
        let listener = listener.with_context(|| format!("the webhook cannot listen on {address}"))?;
        controller.serve_webhook(listener, webhook_url.as_deref()).await?;
    }
    if let Some(address) = metrics_address
        && let Err(error) = controller.serve_metrics(address).await
    {
        // Another controller on this machine may use the address; this one works without metrics.
        tracing::warn!(%address, %error, "metrics are not served");
    }
    tracing::info!("the controller runs; interrupt it to stop");
    interrupted().await?;
    controller.stop().await;
    tracing::info!("the controller has stopped");
    Ok(())
}

/// Returns on Ctrl-C, or on the SIGTERM that service managers and Kubernetes send.
async fn interrupted() -> std::io::Result<()> {
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        biased;
        interrupted = tokio::signal::ctrl_c() => interrupted,
        _ = terminate.recv() => Ok(()),
    }
}
