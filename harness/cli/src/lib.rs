//! The `baton` command, as a library for its binary and its tests.
//!
//! - [`args`]: the command line; [`commands`]: what each command does;
//! - [`load`]: from files to checked cases; [`lint`]: what is suspicious about them;
//! - [`choose`]: which of them are run; [`last_run`]: what the run before came to;
//! - [`backend`]: which clusters; [`made`]: those that are made for a run; [`interrupt`]: Ctrl-C;
//! - [`run`]: cases on fleets; [`evidence`]: what is kept of them; [`pause`]: looks at the clusters of one that failed;
//! - [`preflight`]: a failover before all others, so that nothing is run in vain;
//! - [`target`]: the implementation under test; [`outdated`]: entries of its baseline that no longer fail;
//! - [`snapshots`]: what a run shows against the files under `snapshots/`;
//! - [`output`], [`show`]: what people see; [`report`]: what is left in files;
//! - [`up`]: clusters to look at.

pub mod args;
pub mod backend;
pub mod choose;
pub mod commands;
pub mod evidence;
pub mod interrupt;
pub mod last_run;
pub mod lint;
pub mod load;
pub mod made;
pub mod outdated;
pub mod output;
pub mod pause;
pub mod preflight;
pub mod report;
pub mod run;
pub mod show;
pub mod snapshots;
pub mod target;
pub mod up;
