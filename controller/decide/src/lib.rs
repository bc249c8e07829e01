//! Everything that the reference controller decides: total functions of a snapshot and a time, without clock, I/O or
//! randomness.
//!
//! Read in this order:
//!
//! - [`api`]: the objects; [`keys`] and [`names`]: how they are named and refer to each other; [`settings`]: the options
//! - [`validate`]: what a policy may not say
//! - [`matching`] and [`bind`]: policy and resource make a binding; [`dependencies`]: so does what needs the resource
//! - [`taints`] and [`schedule`]: the binding gets its clusters
//! - [`manifest`], [`inject`] and [`works`]: each cluster gets its copy, with the preserved state as labels
//! - [`execute`]: the copy is made, or removed, on the member
//! - [`health`], [`interpret`] and [`aggregate`]: what the members report comes back to the binding
//! - [`preserve`], [`affected`], [`evict`] and [`queue`]: a cluster fails, and the workload leaves it with its state
//! - [`unhealthy`]: the same for an application that is not healthy, [`drain`]: on purpose; [`purge`] and [`plugins`]: the eviction is over
//! - [`member`]: what the cluster object says about the member; [`tainting`]: the taints that follow from it
//!
//! Errors and waits are values here: a decision that cannot be taken yet says what it waits for, and until when.

pub mod affected;
pub mod aggregate;
pub mod api;
pub mod bind;
pub mod conditions;
pub mod dependencies;
pub mod drain;
pub mod evict;
pub mod execute;
pub mod health;
pub mod inject;
pub mod interpret;
pub mod keys;
pub mod manifest;
pub mod matching;
pub mod member;
pub mod names;
pub mod plugins;
pub mod preserve;
pub mod purge;
pub mod queue;
pub mod schedule;
pub mod selector;
pub mod settings;
pub mod tainting;
pub mod taints;
pub mod unhealthy;
pub mod validate;
pub mod works;

#[cfg(test)]
mod testing;
