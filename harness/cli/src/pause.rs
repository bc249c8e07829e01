//! Keeps the clusters of a case that failed until somebody has looked at them.

use std::{io, sync::atomic::Ordering};

use baton_cluster::fleet::Fleet;
use baton_core::{case::model::Case, event::Event};
use tokio::sync::oneshot;

use crate::settings::Settings;

/// Says where the clusters are and waits: for Enter, then the run goes on, or for Ctrl-C, then no other case is begun.
/// The clusters are removed after that in any case.
pub async fn pause(case: &Case, fleet: &dyn Fleet, settings: &Settings, emit: &(dyn Fn(Event) + Sync)) {
    let clusters = std::iter::once(fleet.control()).chain(fleet.members());
    let kubeconfigs = clusters.filter_map(|cluster| Some((cluster.name().clone(), cluster.kubeconfig()?.clone())));
    emit(Event::Paused {
        case: case.id.clone(),
        kubeconfigs: kubeconfigs.collect(),
    });
    tokio::select! {
        () = enter() => {}
        // Without a signal handler Ctrl-C ends the process, as ever.
        Ok(()) = tokio::signal::ctrl_c() => settings.stop.store(true, Ordering::SeqCst),
    }
}

/// Returns when a line comes on standard input, or its end.
async fn enter() {
    let (sender, receiver) = oneshot::channel();
    // A thread of its own: reading a terminal cannot be given up, and must not hold up the end of a runtime.
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line);
        // If nobody waits any more, nobody wants to know.
        let _ = sender.send(read.is_ok());
    });
    // The sender is dropped only after it has sent.
    let _ = receiver.await;
}
