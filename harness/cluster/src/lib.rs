//! Fleets of clusters to run cases on, what stands for kubelets and operators on them, and who watches.
//!
//! - [`clock`]: time, handed in; [`error_chain`]: errors as people read them;
//! - [`storage`]: the folder that all members of a fleet share;
//! - [`simulator`]: makes workloads run on members that have neither kubelets nor controllers;
//! - [`admission`]: changes objects before members store them, in the place of a policy engine;
//! - [`observer`]: records every revision on every cluster, in one order;
//! - [`fleet`]: a control plane and members, whatever they are made of;
//! - [`program`]: programs that do not outlive the harness; [`scratch`]: nor do folders; [`loopback`]: what programs need
//!   that serve others;
//! - [`actions`]: what cases do to clusters; [`runner`]: carries out a plan.

pub mod actions;
pub mod admission;
mod bundled;
pub mod clock;
pub mod error_chain;
pub mod fleet;
pub mod loopback;
pub mod observer;
pub mod program;
pub mod runner;
pub mod scratch;
pub mod simulator;
pub mod storage;
