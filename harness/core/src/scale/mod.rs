//! Scale: many workloads fail over at once, measured and judged while they do.
//!
//! In reading order:
//!
//! - [`parameters`]: what is asked for, checked; [`workloads`]: the objects that are created, and where they may be placed;
//! - [`judge`]: follows revisions one by one, notes when each workload reached each phase, and finds what breaks a
//!   requirement; [`phases`]: the phases; [`rate`]: the rate of evictions;
//! - [`quantiles`]: percentiles; [`report`]: the result as versioned JSON; [`compare`]: two results side by side.
//!
//! All of this is pure; the command `scale` runs it.

pub mod compare;
pub mod judge;
pub mod kinds;
pub mod parameters;
pub mod phases;
pub mod quantiles;
pub mod rate;
pub mod report;
pub mod workloads;
