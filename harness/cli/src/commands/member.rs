//! `baton member`: members for a control plane elsewhere, kept until interrupted.

use baton_cluster::{
    error_chain::error_chain,
    fleet::{
        FleetError,
        external::{Access, AccessError},
        hollow::{Hollow, Options},
    },
};
use baton_core::names::ClusterName;
use thiserror::Error;

use super::{Exit, bad_input, up::interrupted};
use crate::{
    args,
    show::count,
    terminal::{errln, outln},
};

/// Members that could not be served or removed.
#[derive(Debug, Error)]
enum MemberError {
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error(transparent)]
    Fleet(#[from] FleetError),
    #[error("signals cannot be received")]
    Signals(#[source] std::io::Error),
}

/// Serves members, registers them and runs until interrupted. Removes them at the end.
pub(super) fn member(arguments: &args::Member) -> Exit {
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            errln!("error: cannot start the async runtime: {error}");
            return Exit::Broken;
        }
    };
    match runtime.block_on(serve(arguments)) {
        Ok(failures) if failures.is_empty() => Exit::Conforms,
        Ok(failures) => {
            for failure in failures {
                errln!("error: {failure}");
            }
            Exit::Broken
        }
        Err(MemberError::Access(error)) => bad_input(
            &error,
            "--control-plane names a kubeconfig that leads to the control plane, --context one of its contexts",
        ),
        Err(error) => {
            errln!("error: {}", error_chain(&error));
            Exit::Broken
        }
    }
}

async fn serve(arguments: &args::Member) -> Result<Vec<String>, MemberError> {
    let context = arguments.context.as_deref();
    let control = Access::by_file(ClusterName::control(), &arguments.control_plane, context).await?;
    let numbers = arguments.first..arguments.first + arguments.count;
    let options = Options {
        names: numbers
            .map(|number| ClusterName::new(format!("member{number}")))
            .collect(),
        address: arguments.address,
        seed: arguments.seed,
    };
    let hollow = Hollow::start(&control, options).await?;
    let members = count(arguments.count, "member");
    outln!(
        "{members} registered, from member{}; press Ctrl-C to remove them",
        arguments.first
    );
    let ended = interrupted().await;
    let failures = hollow.failures();
    hollow.stop().await?;
    ended.map_err(MemberError::Signals)?;
    Ok(failures)
}
