//! The reference controller as a program.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use baton_controller::options::Deletion;
use baton_controller::{Controller, Options, PushMembers, crds};
use clap::{Args, Parser, Subcommand, ValueEnum};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
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
        /// The folder.
        folder: PathBuf,
    },
}

#[derive(Args, Debug)]
struct Run {
    /// Kubeconfig of the control plane; `KUBECONFIG`, `~/.kube/config` or the cluster it runs in if not given.
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig.
    #[arg(long)]
    context: Option<String>,
    /// Feature gates: Failover=true|false (default false), StatefulFailoverInjection=true|false (default false).
    #[arg(long, value_name = "GATE=BOOL,…", default_value = "")]
    feature_gates: String,
    /// How workloads leave a tainted cluster whose policy has no `failover.cluster`: Directly or Gracefully.
    #[arg(long, value_name = "MODE", default_value = "Gracefully")]
    no_execute_taint_eviction_purge_mode: String,
    /// Evictions per second.
    #[arg(long, value_name = "RATE", default_value_t = 0.5)]
    resource_eviction_rate: f64,
    /// Evictions per second while too many clusters of a large federation are faulty.
    #[arg(long, value_name = "RATE", default_value_t = 0.1)]
    secondary_resource_eviction_rate: f64,
    /// The share of faulty clusters that is too many.
    #[arg(long, value_name = "SHARE", default_value_t = 0.55)]
    unhealthy_cluster_threshold: f64,
    /// A federation of more clusters than this is large.
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    large_cluster_num_threshold: usize,
    /// How long an old copy waits for its healthy successor at most, if its policy does not say.
    #[arg(long, value_name = "DURATION", default_value = "10m")]
    graceful_eviction_timeout: String,
    /// Whether what a member object owns (pods) goes before it or after it.
    #[arg(long, value_enum, default_value_t = DeletionArgument::Foreground)]
    member_deletion: DeletionArgument,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DeletionArgument {
    Foreground,
    Background,
}

impl Run {
    fn options(&self) -> anyhow::Result<Options> {
        let mut options = Options::default();
        options.set_feature_gates(&self.feature_gates)?;
        options.set_purge_mode(&self.no_execute_taint_eviction_purge_mode)?;
        options.set_eviction_rate(self.resource_eviction_rate)?;
        options.set_secondary_eviction_rate(self.secondary_resource_eviction_rate)?;
        options.set_unhealthy_cluster_threshold(self.unhealthy_cluster_threshold)?;
        options.set_graceful_eviction_timeout(&self.graceful_eviction_timeout)?;
        options.settings.large_cluster_num_threshold = self.large_cluster_num_threshold;
        options.deletion = match self.member_deletion {
            DeletionArgument::Foreground => Deletion::Foreground,
            DeletionArgument::Background => Deletion::Background,
        };
        Ok(options)
    }

    async fn client(&self) -> anyhow::Result<Client> {
        let choice = KubeConfigOptions {
            context: self.context.clone(),
            ..KubeConfigOptions::default()
        };
        let mut config = match &self.kubeconfig {
            Some(path) => {
                let kubeconfig =
                    Kubeconfig::read_from(path).with_context(|| format!("cannot read {}", path.display()))?;
                Config::from_custom_kubeconfig(kubeconfig, &choice).await?
            }
            None if self.context.is_some() => Config::from_kubeconfig(&choice).await?,
            None => Config::infer().await?,
        };
        config.headers.push((
            http::header::USER_AGENT,
            http::HeaderValue::from_static(baton_decide::names::MANAGER),
        ));
        Ok(Client::try_from(config)?)
    }
}

fn main() -> ExitCode {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    match start(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::from(2)
        }
    }
}

fn start(arguments: Arguments) -> anyhow::Result<()> {
    if let Some(Command::Crds { folder }) = arguments.command {
        return Ok(crds::write(&folder)?);
    }
    let options = arguments.run.options()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(run(&arguments.run, options))
}

async fn run(arguments: &Run, options: Options) -> anyhow::Result<()> {
    let client = arguments.client().await?;
    let members = PushMembers::new(client.clone());
    let controller = Controller::start(client, members, Arc::new(jiff::Timestamp::now), options);
    tracing::info!("the controller runs; interrupt it to stop");
    interrupted().await?;
    controller.stop().await;
    tracing::info!("the controller has stopped");
    Ok(())
}

/// Returns on Ctrl-C or on SIGTERM, which service managers and Kubernetes send.
async fn interrupted() -> std::io::Result<()> {
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        biased;
        interrupted = tokio::signal::ctrl_c() => interrupted,
        _ = terminate.recv() => Ok(()),
    }
}
