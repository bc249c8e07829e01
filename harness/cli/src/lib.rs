//! The `baton` command, as a library for its binary and its tests.
//!
//! `baton run` goes through the modules in this order; read them in the same one:
//!
//! 1. [`args`]: the command line; [`commands`]: what each command does, `commands/run.rs` first.
//! 2. [`load`]: case files and the target file become checked cases and targets; [`select`] keeps the cases that the
//!    arguments ask for, [`last_run`] knows which of them failed before, [`lint`] warns of likely mistakes.
//! 3. [`backend`]: the clusters to run on; [`provision`] creates those that are made for a run.
//! 4. [`implementation`]: the implementation under test, built in or described by a target file.
//! 5. [`options`]: all of the above together, fixed for the run; [`preflight`]: one failover before all others.
//! 6. [`run`]: plans the cases, carries out each on its own fleet, has its timeline judged and compares [`snapshots`].
//!    [`context`] is the state that the cases share, and what one case is given of it.
//!    `watchdog` gives up a case that blocks its thread. [`evidence`] keeps timelines and logs, [`pause`] keeps the
//!    clusters of a failed case, [`interrupt`] is Ctrl-C.
//!    [`explore`] runs a case again and again, with faults at the writes of the implementation; [`scale`] measures many
//!    failovers at once.
//! 7. The events of the run go to [`output`] (the terminal) and [`report`] (files). [`signature`] signs reports.
//!    [`show`] formats tables and errors for all commands, [`terminal`] prints them.

#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "`terminal` is the only way to the terminal"
)]

pub mod args;
pub mod backend;
pub mod commands;
pub mod context;
mod descriptors;
pub mod evidence;
pub mod explore;
pub mod files;
pub mod implementation;
pub mod interrupt;
pub mod last_run;
pub mod lint;
pub mod load;
pub mod options;
pub mod output;
pub mod pause;
pub mod preflight;
pub mod provision;
pub mod report;
pub mod run;
pub mod scale;
pub mod select;
pub mod show;
pub mod signature;
pub mod snapshots;
pub mod terminal;
mod timeouts;
mod watchdog;

/// Allocator of the program, its tests and its benchmarks. Clusters in memory consist of many small objects: with it, a
/// suite takes two thirds of the time that it takes with the system's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
