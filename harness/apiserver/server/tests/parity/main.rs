//! The answers of a kube-apiserver v1.36, which this server must give as well.
//!
//! - `recorded`: objects of every kind with one field changed, as recorded (`fixtures/answers`);
//! - `transcripts`: whole sequences of requests, as recorded (`fixtures/transcripts`);
//! - `behaviour`: behaviour that no recording shows, topic by topic; all of it was compared with a real server by hand.

#![expect(clippy::expect_used, reason = "tests fail by panicking")]

mod behaviour;
#[path = "../raw/mod.rs"]
mod raw;
mod recorded;
mod transcripts;
