//! The parts of the Kubernetes API that all kinds have in common, as pure functions of JSON values: no clock, no I/O,
//! no threads.
//!
//! Reading order:
//!
//! - [`field`]: errors about fields, and lists of them;
//! - [`meta`]: reading and writing `metadata`; [`metadata`]: its validation; [`labels`]: label selectors;
//! - [`schema`]: the schemas of custom resources: structural rules, defaulting, pruning, validation, CEL;
//! - [`merge`]: patches, managed fields, server-side apply, and the types that they need;
//! - [`go_fmt`], [`go_json`], [`go_time`], [`go_base64`], [`go_values`]: values as Go reads and prints them;
//! - [`yaml`], [`quantity`], [`webhook_client_config`]: the API's YAML, quantities, and client configuration of
//!   webhooks.

pub mod field;
pub mod generated;
pub mod go_base64;
pub mod go_fmt;
pub mod go_json;
pub mod go_time;
pub mod go_values;
pub mod labels;
pub mod merge;
pub mod meta;
pub mod metadata;
pub mod quantity;
pub mod schema;
pub mod webhook_client_config;
pub mod yaml;
