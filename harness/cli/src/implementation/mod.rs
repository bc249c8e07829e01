//! The implementation under test.
//!
//! - [`mod@reference`]: the reference controller, built in;
//! - [`described`]: whatever a target file describes: a command, something installed, or the built-in one.

pub mod described;
pub mod reference;

pub use described::{Described, TargetFileError};
pub use reference::Reference;
