//! The components of the controller. Each gathers its input, decides, applies the decision and reports.
//!
//! - [`detector`]: creates bindings from policies and resources
//! - [`binding`]: runs the components of one binding in order: [`evict`], [`unhealthy`], [`schedule`],
//!   [`dependencies`], [`works`], [`purge`], [`status`]
//! - [`execution`]: one Work on its member, and the status from the member; [`interpret`]: the health of its object
//! - [`cluster`]: the cluster object and the member's health
//! - [`policy`]: errors in a policy

mod binding;
mod cluster;
mod dependencies;
mod detector;
mod evict;
mod execution;
mod interpret;
mod notes;
mod policy;
mod purge;
mod schedule;
mod status;
mod unhealthy;
mod view;
mod works;

use crate::context::{Context, Outcome};
use crate::queue::Key;

/// Reconciles one key.
pub async fn run(context: &Context, key: &Key) -> Outcome {
    match key {
        Key::Template(template) => detector::run(context, template).await,
        Key::Binding(binding) => binding::run(context, binding).await,
        Key::Work(work) => execution::run(context, work).await,
        Key::Cluster(cluster) => cluster::run(context, cluster).await,
        Key::Probe(cluster) => cluster::probe(context, cluster).await,
        Key::Policy(policy) => policy::run(context, policy).await,
    }
}
