//! `baton record`.

use crate::terminal::{errln, outln};
use std::{fs::File, io::BufWriter};

use baton_cluster::{
    error_chain::error_chain,
    fleet::external::{AccessError, Clusters, RecordError, record},
};

use super::{Exit, bad_input, up};
use crate::args;

/// Records what happens on clusters until interrupted.
pub(super) fn run(arguments: &args::Record) -> Exit {
    let file = match File::create(&arguments.output) {
        Ok(file) => file,
        Err(error) => {
            return bad_input(&error, &format!("{} cannot be written", arguments.output.display()));
        }
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            errln!("error: cannot start the async runtime: {error}");
            return Exit::Broken;
        }
    };
    match runtime.block_on(written(arguments, file)) {
        Ok(Ok(lines)) => {
            outln!("{lines} lines written to {}", arguments.output.display());
            outln!("judge it: baton judge --recording {}", arguments.output.display());
            Exit::Conforms
        }
        Ok(Err(error)) => {
            let help = match &error {
                RecordError::Check(error) => error.help(),
                RecordError::Fleet(_) | RecordError::Watch(_) | RecordError::Write(_) => String::new(),
            };
            bad_input(&error, &help);
            Exit::Broken
        }
        Err(error) => bad_input(&error, ""),
    }
}

async fn written(arguments: &args::Record, file: File) -> Result<Result<usize, RecordError>, AccessError> {
    let clusters = Clusters::of_contexts(&arguments.kubeconfig, &arguments.control, &arguments.members).await?;
    let interrupted = async {
        // Without signals it records until it is killed; every line is written at once.
        if let Err(error) = up::interrupted().await {
            errln!("warning: Ctrl-C cannot be received: {}", error_chain(&error));
            std::future::pending::<()>().await;
        }
    };
    outln!("recording; press Ctrl-C to stop");
    Ok(record(&clusters, BufWriter::new(file), interrupted).await)
}
