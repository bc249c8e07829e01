//! The built-in kinds of the Kubernetes API: what there is and how each behaves, as tables and pure functions of JSON.
//!
//! Read [`resources`] first: the resources with their names, verbs and subresources. Then in the order in which a write
//! goes through them: [`protobuf`] and [`codec`], what a body becomes when it is read into the types of its kind;
//! [`defaults`]; [`versions`], kinds in several groups or versions; [`strategy`], what a write keeps, drops and counts;
//! [`services`], the addresses of Services; [`validation`]; [`warnings`].
//!
//! [`types`] are the kinds as merging and `OpenAPI` see them, [`printers`] the columns of `kubectl get`. What several of
//! them need is in `qos` and `members`.
//!
//! What is in `generated/` comes from Kubernetes' own sources (`generate.sh`); new validation is only added for kinds that
//! a test writes.

pub mod codec;
pub mod defaults;
mod members;
pub mod printers;
pub mod protobuf;
mod qos;
pub mod resources;
mod ruled;
pub mod services;
pub mod strategy;
pub mod types;
pub mod validation;
pub mod versions;
pub mod warnings;
