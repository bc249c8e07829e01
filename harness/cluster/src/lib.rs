//! Clusters for cases: fleets of them, simulated workloads, observers, and the runner that carries out a plan.
//!
//! - [`clock`]: clocks that callers pass in; [`error_chain`]: messages of errors with their sources;
//! - [`storage`]: the folder that all members of a fleet share;
//! - [`simulator`]: runs workloads on members without kubelets and controllers;
//! - [`admission`]: changes objects before members store them, in place of a policy engine;
//! - [`observer`]: records every revision on every cluster, in one order;
//! - [`fleet`]: a control plane and members, on different backends;
//! - [`program`]: child processes that end with the harness; [`scratch`]: temporary folders; [`loopback`]: ports and
//!   certificates for programs on this machine;
//! - [`actions`]: actions of cases on clusters; [`trial`]: an API server for trying out objects;
//! - [`runner`]: carries out a plan.

pub mod actions;
pub mod admission;
mod bundled;
pub mod clock;
pub mod error_chain;
pub mod fleet;
mod late_webhook;
pub mod loopback;
pub mod observer;
pub mod program;
pub mod runner;
pub mod scratch;
pub mod simulator;
pub mod storage;
pub mod trial;
