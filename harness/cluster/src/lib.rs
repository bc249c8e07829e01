//! Fleets of clusters to run cases on, what stands for kubelets and operators on them, and who watches.
//!
//! - [`clock`]: time, handed in;
//! - [`simulator`]: makes workloads run on members that have neither kubelets nor controllers;
//! - [`observer`]: records every revision on every cluster, in one order;
//! - [`fleet`]: a control plane and members, whatever they are made of;
//! - [`actions`]: what cases do to clusters; [`runner`]: carries out a plan.

pub mod actions;
mod bundled;
pub mod clock;
pub mod fleet;
pub mod observer;
pub mod runner;
pub mod simulator;
