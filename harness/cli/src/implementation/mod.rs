//! The implementation under test.
//!
//! - [`mod@reference`]: the reference controller, built in;
//! - `programs`: the programs of a target; `commands`: commands that cases run; `group`: running programs;
//!   `definitions`, `webhooks`: objects that the control plane gets for them;
//! - [`described`]: the target of a target file: programs, an installed implementation, or the built-in controller.

mod commands;
mod definitions;
pub mod described;
mod group;
mod programs;
pub mod reference;
mod webhooks;

pub use described::{Described, TargetFileError};
pub use reference::Reference;
