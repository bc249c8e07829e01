//! Keeps the clusters of a failed case until the user has looked at them.

use std::io;

use baton_cluster::fleet::Fleet;
use baton_core::{case::model::Case, event::Event};
use tokio::sync::oneshot;

use crate::context::RunState;

/// Prints the kubeconfigs of the clusters and waits. Enter continues the run; Ctrl-C starts no further case. The
/// clusters are removed after that in either case.
pub async fn pause(case: &Case, fleet: &dyn Fleet, run: &RunState, emit: &(dyn Fn(Event) + Sync)) {
    let clusters = std::iter::once(fleet.control()).chain(fleet.members());
    let kubeconfigs = clusters.filter_map(|cluster| Some((cluster.name().clone(), cluster.kubeconfig()?.clone())));
    emit(Event::Paused {
        case: case.id.clone(),
        kubeconfigs: kubeconfigs.collect(),
    });
    tokio::select! {
        () = enter() => {}
        // Without a signal handler Ctrl-C ends the process, as usual.
        Ok(()) = tokio::signal::ctrl_c() => run.stop(),
    }
}

/// Returns at the end of a line, or of standard input.
async fn enter() {
    let (sender, receiver) = oneshot::channel();
    // In a separate thread: reading a terminal cannot be cancelled, and must not keep a runtime from ending.
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line);
        // The receiver is gone if the wait was cancelled.
        let _ = sender.send(read.is_ok());
    });
    // The sender is dropped only after it has sent.
    let _ = receiver.await;
}
