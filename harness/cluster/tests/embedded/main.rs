//! Embedded fleets and the implementations on them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what fails here fails a test")]

mod commands;
mod common;
mod fleet;
mod hot_loops;
mod simulator;
