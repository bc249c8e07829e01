//! The verbs on resources: one file per verb, and one per subresource that acts as a verb.

pub(in crate::handlers) mod connect;
mod create;
pub(crate) mod delete;
mod evict;
mod named;
mod options;
mod patch;
mod read;
mod reviews;
pub(in crate::handlers) mod scale;
mod subresources;
mod tokens;
mod watch;
pub(crate) mod write;
