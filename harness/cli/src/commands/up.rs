//! `baton up`: clusters to explore, kept until interrupted.

use crate::terminal::{errln, outln};
use baton_cluster::{
    error_chain::error_chain,
    fleet::{
        Description, Fleet, FleetError,
        embedded::{Embedded, Options, Time},
    },
    runner::{Running, Target as _, TargetError},
};
use baton_core::{case::model::ControllerSetup, yaml::plain};
use jiff::Timestamp;
use kube::config::{Kubeconfig, KubeconfigError};
use std::{
    io,
    path::{Path, PathBuf},
};
use thiserror::Error;

use super::Exit;
use crate::{args, implementation::Reference, interrupt::Signals, report::file};

/// Boots clusters, prints their kubeconfigs and runs until interrupted. Leaves nothing behind.
pub fn up(arguments: &args::Up) -> Exit {
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            errln!("error: cannot start the async runtime: {error}");
            return Exit::Broken;
        }
    };
    match runtime.block_on(boot_and_wait(arguments)) {
        Ok(()) => Exit::Conforms,
        Err(error) => {
            errln!("error: {}", error_chain(&error));
            Exit::Broken
        }
    }
}

/// Clusters that could not be started, described or removed.
#[derive(Debug, Error)]
enum UpError {
    #[error(transparent)]
    Fleet(#[from] FleetError),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error("cannot merge the kubeconfigs of the clusters")]
    Kubeconfig(#[from] KubeconfigError),
    #[error("cannot write the kubeconfig of all clusters")]
    Yaml(#[from] plain::YamlError),
    #[error("cannot write the kubeconfig of all clusters")]
    Write(#[source] io::Error),
    #[error("cannot describe the clusters as JSON")]
    Json(#[from] serde_json::Error),
    #[error("Ctrl-C cannot be received")]
    Signals(#[source] io::Error),
}

async fn boot_and_wait(arguments: &args::Up) -> Result<(), UpError> {
    let options = Options {
        doors: true,
        bare: arguments.bare,
        observed: false,
        ..Options::new(arguments.members, Time::Real(Timestamp::now()))
    };
    let fleet = Embedded::boot(options).await?;
    let running = if arguments.controller {
        Some(start_controller(&fleet).await?)
    } else {
        None
    };
    announce(&fleet, arguments)?;
    let interrupted = interrupted().await;
    if let Some(running) = running {
        running.stop().await;
    }
    Box::new(fleet).shut_down().await?;
    interrupted.map_err(UpError::Signals)
}

/// Waits for Ctrl-C, or for a signal that service managers and closed terminals send.
pub(crate) async fn interrupted() -> std::io::Result<()> {
    Signals::new()?.any().await;
    Ok(())
}

async fn start_controller(fleet: &Embedded) -> Result<Box<dyn Running>, TargetError> {
    let setup = ControllerSetup {
        feature_gates: [
            ("Failover".to_owned(), true),
            ("StatefulFailoverInjection".to_owned(), true),
        ]
        .into(),
        ..ControllerSetup::default()
    };
    Reference.start(fleet, &setup, Path::new("")).await
}

/// Writes one kubeconfig with a context for each cluster next to the clusters' own kubeconfigs.
fn merged(description: &Description) -> Result<Option<PathBuf>, UpError> {
    let clusters = std::iter::once(&description.control).chain(&description.members);
    let mut files = clusters.filter_map(|cluster| cluster.kubeconfig.as_ref());
    let Some(first) = files.next() else { return Ok(None) };
    let mut all = Kubeconfig::read_from(first)?;
    for file in files {
        all = all.merge(Kubeconfig::read_from(file)?)?;
    }
    let path = first.with_file_name("all.kubeconfig");
    file::write_private(&path, plain::write(&all)?.as_bytes()).map_err(UpError::Write)?;
    Ok(Some(path))
}

fn announce(fleet: &Embedded, arguments: &args::Up) -> Result<(), UpError> {
    let mut description = Description::of(fleet);
    description.kubeconfig = merged(&description)?;
    if arguments.json {
        let text = serde_json::to_string(&description)?;
        outln!("{text}");
        return Ok(());
    }
    let all: Vec<_> = std::iter::once(&description.control)
        .chain(&description.members)
        .collect();
    for cluster in &all {
        let file = cluster
            .kubeconfig
            .as_ref()
            .map(|file| file.display().to_string())
            .unwrap_or_default();
        outln!("{:<10} {file}", cluster.name);
    }
    if let Some(file) = &description.control.kubeconfig {
        outln!("\ntry:  kubectl --kubeconfig {} get clusters", file.display());
    }
    if let Some(file) = &description.kubeconfig {
        outln!("all clusters, as contexts: {}", file.display());
    }
    if !arguments.controller && !arguments.bare {
        outln!("no controller is running; start the reference controller with `baton up --controller`, or your own");
    }
    outln!("press Ctrl-C to stop");
    Ok(())
}
