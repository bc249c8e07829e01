//! `baton record`.

use crate::terminal::{errln, outln};
use std::io::{self, BufWriter};

use baton_cluster::{
    error_chain::error_chain,
    fleet::external::{Clusters, RecordError, record},
};

use super::{Exit, bad_input, up};
use crate::{args, backend, output::quoted, report::file};

/// Records what happens on clusters until interrupted.
pub(super) fn run(arguments: &args::Record) -> Exit {
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(recorded(arguments)),
        Err(error) => {
            errln!("error: cannot start the async runtime: {error}");
            Exit::Broken
        }
    }
}

async fn recorded(arguments: &args::Record) -> Exit {
    let path = arguments.output.display();
    let clusters = Clusters::of_contexts(&arguments.kubeconfig, &arguments.control, &arguments.members);
    let clusters = match backend::waiting(clusters).await {
        Ok(clusters) => clusters,
        Err(error) => return bad_input(&error, ""),
    };
    let file = match file::create_new(&arguments.output) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return bad_input(
                &error,
                &format!("{path} stays as it is: name another file, or remove it"),
            );
        }
        Err(error) => return bad_input(&error, &format!("{path} cannot be written")),
    };
    let interrupted = async {
        // If signals cannot be received, it records until it is killed; every line is written at once.
        if let Err(error) = up::interrupted().await {
            errln!("warning: Ctrl-C cannot be received: {}", error_chain(&error));
            std::future::pending::<()>().await;
        }
    };
    outln!("recording; press Ctrl-C to stop");
    match record(&clusters, BufWriter::new(file), interrupted).await {
        Ok(lines) => {
            outln!("{lines} lines written to {path}");
            outln!("judge it: baton judge --recording {}", quoted(&arguments.output));
            Exit::Conforms
        }
        Err(error) => {
            let help = match &error {
                RecordError::Check(error) => error.help(),
                RecordError::Fleet(_) | RecordError::Watch(_) | RecordError::Write(_) => String::new(),
            };
            bad_input(&error, &help);
            Exit::Broken
        }
    }
}
