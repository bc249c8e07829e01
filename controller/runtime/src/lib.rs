//! The reference controller for failover of stateful workloads across clusters.
//!
//! All decisions are in `baton_decide`; this crate watches, gathers their input and writes their results. Read in this
//! order:
//!
//! - [`options`]: feature gates and flags; [`client`], [`members`] and `member_connections`: connections to the control plane
//!   and to members
//! - `controller`: the main loop; `queue`: the keys to reconcile next
//! - `cache`: the observed objects, kept in `table`s of `compact` objects by `source`; `watch`: the watches
//! - `context`: state shared by reconcilers; `object_api`: reads and writes of single objects; `events`: Kubernetes
//!   events; `kinds`: the resource of a kind
//! - `lease`: elects one of several instances; `fence`: keeps the others from writing
//! - [`metrics`]: metrics and their endpoint; [`webhook`]: validation of policies
//! - `reconcile`: the components; each gathers, decides, applies and updates the status
//! - [`drain`]: the command that drains a cluster; [`crds`]: the `CustomResourceDefinition`s as YAML
//!
//! Nothing polls: a reconciler runs again when one of its inputs changes, or at a time that a decision named. The only
//! clock is the one passed by the caller; timers are tokio's, so that everything runs on a paused clock in tests.

mod cache;
pub mod client;
mod clock;
mod compact;
mod context;
mod controller;
pub mod crds;
pub mod drain;
mod error_chain;
mod events;
mod fence;
mod kinds;
mod lease;
mod member_connections;
pub mod members;
pub mod metrics;
mod object_api;
pub mod options;
mod queue;
mod reconcile;
mod source;
mod table;
mod watch;
pub mod webhook;

pub use clock::Clock;
pub use controller::{Controller, Running};
pub use members::{ConnectError, Members, PushMembers};
pub use options::Options;
