//! The reference controller: watch, gather, decide, write.
//!
//! Everything that can be wrong is decided in `baton_decide`; here is what that takes. Read in this order:
//!
//! - [`options`]: feature gates and flags; [`members`]: how a member is reached
//! - `controller`: the loop that ties everything together; `queue`: what it works on next
//! - `world`: what is known of the clusters, with `table`, `packed` and `source` below it; `watch`: how it gets known
//! - `context`: what a reconciler has at hand; `write`: how it writes; `kinds`: how it finds the resource of a kind
//! - `reconcile`: the components, each of them gather, decide, apply, status
//! - [`crds`]: the definitions of the API as YAML
//!
//! Nothing polls: a reconciler runs again when something that it looked at changes, or at a time that a decision named.
//! No clock but the one that is handed in; timers are tokio's, so that all of it runs on a paused clock.

mod context;
mod controller;
pub mod crds;
mod kinds;
mod links;
pub mod members;
pub mod options;
mod packed;
mod queue;
mod reconcile;
mod report;
mod source;
mod table;
mod watch;
mod world;
mod write;

pub use controller::{Clock, Controller, Running};
pub use members::{ConnectError, Members, PushMembers};
pub use options::Options;
