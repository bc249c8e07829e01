//! `baton up`: clusters to explore, kept until interrupted.

use crate::terminal::{errln, outln};
use baton_cluster::{
    error_chain::error_chain,
    fleet::{
        Description, Fleet,
        embedded::{Embedded, Options, Time},
    },
    runner::{Running, Target as _},
};
use baton_core::{case::model::ControllerSetup, yaml::plain};
use jiff::Timestamp;
use kube::config::Kubeconfig;
use std::{
    error::Error,
    path::{Path, PathBuf},
};

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
        Err(message) => {
            errln!("error: {message}");
            Exit::Broken
        }
    }
}

async fn boot_and_wait(arguments: &args::Up) -> Result<(), String> {
    let options = Options {
        doors: true,
        bare: arguments.bare,
        observed: false,
        ..Options::new(arguments.members, Time::Real(Timestamp::now()))
    };
    let fleet = Embedded::boot(options).await.map_err(|error| error_chain(&error))?;
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
    let ended = Box::new(fleet).shut_down().await;
    ended.map_err(|error| error_chain(&error))?;
    interrupted.map_err(|error| format!("Ctrl-C cannot be received: {error}"))
}

/// Waits for Ctrl-C, or for a signal that service managers and closed terminals send.
pub(crate) async fn interrupted() -> std::io::Result<()> {
    Signals::new()?.any().await;
    Ok(())
}

async fn start_controller(fleet: &Embedded) -> Result<Box<dyn Running>, String> {
    let setup = ControllerSetup {
        feature_gates: [
            ("Failover".to_owned(), true),
            ("StatefulFailoverInjection".to_owned(), true),
        ]
        .into(),
        ..ControllerSetup::default()
    };
    Reference
        .start(fleet, &setup, Path::new(""))
        .await
        .map_err(|error| error_chain(&error))
}

/// Writes one kubeconfig with a context for each cluster next to the clusters' own kubeconfigs.
fn merged(description: &Description) -> Result<Option<PathBuf>, Box<dyn Error>> {
    let clusters = std::iter::once(&description.control).chain(&description.members);
    let mut files = clusters.filter_map(|cluster| cluster.kubeconfig.as_ref());
    let Some(first) = files.next() else { return Ok(None) };
    let mut all = Kubeconfig::read_from(first)?;
    for file in files {
        all = all.merge(Kubeconfig::read_from(file)?)?;
    }
    let path = first.with_file_name("all.kubeconfig");
    file::write_private(&path, plain::write(&all)?.as_bytes())?;
    Ok(Some(path))
}

fn announce(fleet: &Embedded, arguments: &args::Up) -> Result<(), String> {
    let mut description = Description::of(fleet);
    description.kubeconfig = merged(&description).map_err(|error| error_chain(&*error))?;
    if arguments.json {
        let text = serde_json::to_string(&description).map_err(|error| error_chain(&error))?;
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
