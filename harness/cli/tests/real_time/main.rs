//! Tests that wait in real time: clusters that exist already, targets that are programs, signals, container engines.
//!
//! One binary holds them, because each test binary links the whole program. Each test has its own folder, and ports that
//! the kernel assigns. Tests that need a separate process are separate binaries: `cases` and `hostile` start
//! themselves again, `killed` measures how long a run takes, and `starved` keeps a processor busy.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed unwrap or a panic fails the test"
)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../../../core/tests/common/spoiled.rs"]
mod spoiled;

mod certificates;
mod clusters;
mod early_ends;
mod faults;
mod install;
mod interrupted;
mod k3s;
mod members;
mod options;
mod preflight;
mod programs;
mod report;
mod side_by_side;
mod stopped;
mod targets;
mod terminal;
mod unanswered;
