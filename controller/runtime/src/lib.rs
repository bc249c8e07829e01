//! The reference controller: watch, gather, decide, write.
//!
//! Everything that can be wrong is decided in `baton_decide`; here is what that takes. Read in this order:
//!
//! - [`options`]: feature gates and flags; [`members`] and `member_connections`: how members are reached
//! - `controller`: the main loop; `queue`: the keys to reconcile next
//! - `cache`: what the watches have seen, kept in `table`s of `compact` objects by `source`; `watch`: the watches
//! - `context`: what reconcilers share; `object_api`: reads and writes of single objects; `events`: Kubernetes events;
//!   `kinds`: the resource of a kind
//! - `lease`: which of several instances works; `fence`: no other one writes
//! - [`metrics`]: what is counted, and where it is served; [`webhook`]: what policies may not say
//! - `reconcile`: the components, each of them gather, decide, apply, status
//! - [`drain`]: the command that drains a cluster; [`crds`]: the definitions of the API as YAML
//!
//! Nothing polls: a reconciler runs again when something that it looked at changes, or at a time that a decision named.
//! The only clock is the one that is handed in; timers are tokio's, so that all of it runs on a paused clock.

mod cache;
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
