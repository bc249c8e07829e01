//! Tests that need no clock: the command line, cases in virtual time, and what the library prints.
//!
//! One binary holds them, because each test binary links the whole program. Tests of real time are in `real_time`, where
//! no test keeps all processors busy.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed unwrap or a panic fails the test"
)]

#[path = "../common/mod.rs"]
mod common;

mod alone;
mod authors;
mod deploy;
mod determinism;
mod explore;
mod jsonpath;
mod limits;
mod matrix;
mod mistakes;
mod own_crd;
mod refused;
mod report_matrix;
mod scale;
mod settle;
mod signed;
mod time_factor;
mod undeclared;
mod writing;
