//! What a kube-apiserver v1.36 answers, and this server as well.
//!
//! - `recorded`: objects of every kind with one field changed, as recorded (`fixtures/answers`);
//! - `transcripts`: whole sequences of requests, as recorded (`fixtures/transcripts`);
//! - `behaviour`: what no recording shows, topic by topic; all of it was compared with a real server by hand.

#![expect(clippy::expect_used, reason = "a test: what goes wrong is to be seen")]

mod behaviour;
#[path = "../raw/mod.rs"]
mod raw;
mod recorded;
mod transcripts;
