//! Everything about a run that needs no I/O.
//!
//! In the order in which a run goes through it:
//!
//! - [`names`]: case ids, cluster names, roles, requirement ids;
//! - [`timeline`]: what happened, on every cluster, in one order.

pub mod names;
pub mod timeline;
