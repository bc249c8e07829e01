//! The conformance suite without I/O: cases, plans, timelines, verdicts, reports.
//!
//! A run goes through the modules in this order; read them in the same one:
//!
//! 1. [`case`]: a case file becomes checked cases ([`case::read`]). It is parsed and decoded by [`yaml`], cites requirements
//!    of the [`catalogue`], and says what objects must look like with a [`pattern`]. [`implementation`] does the same for
//!    target files, which describe the implementation under test.
//! 2. [`plan`]: a case becomes a list of steps without choices, once for its whole way.
//! 3. [`timeline`]: what happened while the plan was carried out (by another crate), on every cluster, in one order.
//!    [`redact`] keeps secrets out of it. [`watch`] says whether a condition holds on a timeline that still grows, and
//!    [`select`] finds the objects that the condition is about, and [`metrics`] reads the metrics of a target.
//! 4. [`judge`]: a closed timeline and its plan give a verdict; [`measure`] returns the cost of the migration.
//! 5. [`event`]: what a run reports while it goes on, the verdict included; [`excerpt`] is the part of the timeline that is
//!    shown with it, [`cause`] what probably went wrong.
//! 6. [`report`]: what a run leaves in files, and how such files are verified, compared and merged. [`digest`] ties them to
//!    cases and evidence.
//!
//! [`names`] holds the ids that all of them share, [`spelling`] suggests the names that were probably meant, and [`schema`]
//! gives JSON Schemas of the files that people write.

pub mod case;
pub mod catalogue;
pub mod cause;
pub mod digest;
pub mod event;
pub mod excerpt;
pub mod explore;
pub mod implementation;
pub mod judge;
pub mod measure;
pub mod metrics;
pub mod names;
pub mod pattern;
pub mod plan;
pub mod redact;
pub mod report;
pub mod scale;
pub mod schema;
pub mod select;
pub mod spelling;
pub mod timeline;
pub mod watch;
pub mod yaml;
