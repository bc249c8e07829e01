//! The implementation under test.
//!
//! - [`mod@reference`]: the reference controller, built in;
//! - `programs`: the programs of a target; `commands`: commands that cases run; `group`: running programs;
//!   `definitions`, `webhooks`: objects that the control plane gets for them;
//! - [`described`]: the target of a target file: programs, an installed implementation, or the built-in controller;
//!   `error`: targets that cannot be used here.

mod commands;
mod definitions;
pub mod described;
mod error;
mod group;
mod programs;
pub mod reference;
mod webhooks;

pub use described::Described;
pub use error::TargetFileError;
pub use reference::Reference;
