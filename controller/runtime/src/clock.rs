//! The controller's clock, provided by the caller.

use std::sync::Arc;

use jiff::Timestamp;

/// Returns the current time. The controller reads no other clock.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;
