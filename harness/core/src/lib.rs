//! The conformance suite without I/O: cases, plans, timelines, verdicts, reports.
//!
//! A run goes through the modules in this order; read them in the same one:
//!
//! 1. [`case`]: a case file becomes checked cases ([`case::read`]). It is parsed and decoded by [`yaml`], cites requirements
//!    of the [`catalogue`], and describes expected objects with a [`pattern`]. [`implementation`] does the same for
//!    target files, which describe the implementation under test.
//! 2. [`plan`]: a case becomes a fixed list of steps.
//! 3. [`timeline`]: the record of all clusters in one order, from another crate that carries out the plan. [`redact`]
//!    keeps secrets out of it. [`watch`] checks conditions on a timeline that still grows, [`select`] finds the objects
//!    that a condition is about, and [`metrics`] reads the metrics of a target.
//! 4. [`judge`]: a closed timeline and its plan give a verdict; [`measure`] returns the cost of the migration.
//! 5. [`event`]: events and results of a run. [`excerpt`] selects the part of the timeline around a finding, and
//!    [`cause`] finds the likely cause of a timeout.
//! 6. [`report`]: writes, verifies, compares and merges the reports of runs. [`digest`] ties them to cases and evidence.
//!
//! [`names`] holds the identifiers that all modules share, and [`workload`] the identity of a workload on all clusters.
//! [`spelling`] suggests names for misspelt ones, and [`schema`] returns JSON Schemas of the files that people write.

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
pub mod workload;
pub mod yaml;
