//! An in-memory Kubernetes API server for tests.
//!
//! Under construction; the map comes with the first rooms.

pub mod builtin;
pub mod error;
pub mod findings;
pub mod metadata;
pub mod schema;
