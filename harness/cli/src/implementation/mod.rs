//! The implementation under test.
//!
//! - [`mod@reference`]: the reference controller, built in;
//! - `programs`: the programs of a target; `commands`: those that cases run; `group`: those that run; `definitions`, `webhooks`: what the control plane gets
//!   for them;
//! - [`described`]: whatever a target file describes: a command, something installed, or the built-in one.

mod commands;
mod definitions;
pub mod described;
mod group;
mod programs;
pub mod reference;
mod webhooks;

pub use described::{Described, TargetFileError};
pub use reference::Reference;
