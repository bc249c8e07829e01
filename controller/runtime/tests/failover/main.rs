//! The controller against embedded API servers, on a paused clock but for `real_time`.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail the test")]

mod blocked;
mod dependencies;
mod directly;
mod fleet;
mod gracefully;
mod health;
mod leader;
mod policies;
mod push;
mod real_time;
mod taints;
mod webhook;
