//! What a kube-apiserver v1.36 does, behaviour by behaviour: all of it was compared with one.

#![expect(clippy::expect_used, reason = "a test: what goes wrong is to be seen")]

mod autoscalers;
mod bodies;
mod changes;
mod documents;
mod kinds;
mod limits;
mod paths;
mod policies;
#[path = "../raw/mod.rs"]
mod raw;
mod services;
mod storage;
mod subresources;
mod versions;

use std::sync::Arc;

use baton_apiserver::{ApiServer, Options};
use jiff::Timestamp;
use raw::Raw;

/// A client of a new server.
fn client() -> Raw {
    Raw::new(&ApiServer::new(Options::new(
        "test",
        Arc::new(|| Timestamp::UNIX_EPOCH),
    )))
}

/// Why something was refused: its message behind `is invalid: `, or all of it.
fn reason(answer: &serde_json::Value) -> &str {
    let message = answer["message"].as_str().unwrap_or_default();
    message.split_once("is invalid: ").map_or(message, |(_, reason)| reason)
}
