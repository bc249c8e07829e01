//! Everything about a run that needs no I/O.
//!
//! In the order in which a run goes through it:
//!
//! - [`names`]: case ids, cluster names, roles, requirement ids; [`catalogue`]: the requirements;
//! - [`case`]: what people write into `cases/`, checked; [`pattern`]: what an object must look like, by subset;
//! - [`implementation`]: what people write of the implementation under test, checked; [`schema`]: what files may hold, for editors;
//! - [`plan`]: a case as a list of steps without choices;
//! - [`timeline`]: what happened, on every cluster, in one order; [`redact`]: what never gets in;
//! - [`select`] and [`watch`]: which objects a condition speaks of, and whether it holds on a growing timeline;
//! - [`judge`]: what a closed timeline says about an implementation;
//! - [`measure`]: what a migration cost;
//! - [`event`] and [`excerpt`]: what people are told;
//! - [`report`]: what a run leaves in files, and what can be made of such files; [`digest`]: what ties them to the
//!   cases and to the evidence.

pub mod case;
pub mod catalogue;
pub mod digest;
pub mod event;
pub mod excerpt;
pub mod implementation;
pub mod judge;
pub mod measure;
pub mod names;
pub mod pattern;
pub mod plan;
pub mod redact;
pub mod report;
pub mod schema;
pub mod select;
pub mod spelling;
pub mod timeline;
pub mod watch;
pub mod yaml;
