//! The `baton` command, as a library for its binary and its tests.
//!
//! - [`args`]: the command line; [`commands`]: what each command does;
//! - [`load`]: from files to checked cases; [`lint`]: what is suspicious about them;
//! - [`select`]: which of them are run; [`last_run`]: what the run before came to;
//! - [`backend`]: which clusters; [`provision`]: those that are made for a run; [`interrupt`]: Ctrl-C;
//! - [`settings`]: how cases are run; [`run`]: cases on fleets; [`evidence`]: what is kept of them; [`pause`]: looks at the clusters of one that failed;
//! - [`preflight`]: a failover before all others, so that nothing is run in vain;
//! - [`implementation`]: the implementation under test; [`stale_baseline`]: entries of its baseline that no longer fail;
//! - [`snapshots`]: what a run shows against the files under `snapshots/`;
//! - [`output`], [`show`]: what people see; [`report`]: what is left in files.

pub mod args;
pub mod backend;
pub mod commands;
pub mod evidence;
pub mod implementation;
pub mod interrupt;
pub mod last_run;
pub mod lint;
pub mod load;
pub mod output;
pub mod pause;
pub mod preflight;
pub mod provision;
pub mod report;
pub mod run;
pub mod select;
pub mod settings;
pub mod show;
pub mod snapshots;
pub mod stale_baseline;
