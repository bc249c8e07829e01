//! The components. Each gathers what it needs, has it decided, applies the decision and reports.
//!
//! - [`detector`]: policy and resource make a binding
//! - [`binding`]: everything about one binding, one after the other: [`evict`], [`unhealthy`], [`schedule`],
//!   [`dependencies`], [`works`], [`purge`], [`status`]
//! - [`execution`]: one Work on its member, and what the member reports back; [`interpret`]: its health
//! - [`cluster`]: the cluster object and the member's health
//! - [`policy`]: what is wrong with a policy

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
