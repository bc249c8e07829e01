//! The decisions of the reference controller: which workloads leave a failed cluster, which state is preserved, where
//! the new copies run. All of them are total functions of a snapshot and a time, without clock, I/O or randomness.
//!
//! Read in this order:
//!
//! - [`api`]: the API types; [`keys`] and [`names`]: how objects are named and refer to each other; [`settings`]: the
//!   options
//! - [`validate`]: errors in policies that no schema can detect
//! - [`matching`] and [`bind`]: create a binding from policy and resource; [`dependencies`]: bindings of what workloads
//!   need
//! - [`taints`] and [`schedule`]: choose the clusters of a binding
//! - [`manifest`], [`inject`] and [`works`]: build the copy for each cluster, with the preserved state as labels
//! - [`execute`]: applies or removes the copy on the member
//! - [`health`], [`interpret`] and [`aggregate`]: report status and health from members back to the binding
//! - [`preserve`], [`affected`], [`evict`] and [`queue`]: move a workload with its state off a cluster that failed
//! - [`unhealthy`]: moves applications that are not healthy; [`drain`]: empties a cluster on request; [`purge`] and
//!   [`plugins`]: end evictions
//! - [`member`]: status of a cluster from its health probe; [`tainting`]: the taints that follow from it
//!
//! Errors and waits are values: a decision that is not possible yet returns what it waits for, and until when.

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
