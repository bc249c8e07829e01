//! Everything about a run that needs no I/O.
//!
//! In the order in which a run goes through it:
//!
//! - [`names`]: case ids, cluster names, roles, requirement ids;
//! - [`case`]: what people write into `cases/`, checked;
//! - [`pattern`]: what an object must look like, by subset;
//! - [`timeline`]: what happened, on every cluster, in one order.

pub mod case;
pub mod judge;
pub mod names;
pub mod pattern;
pub mod plan;
pub mod select;
pub mod timeline;
pub mod watch;
