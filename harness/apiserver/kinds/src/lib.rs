//! The built-in kinds of the Kubernetes API: tables and pure functions of JSON.
//!
//! Read [`resources`] first: the resources with their names, verbs and subresources; then `ruled`, the kinds that have
//! hand-written rules. The other modules follow a write: [`protobuf`] and [`codec`] read a body into the types of its kind;
//! [`defaults`]; [`versions`] of Events; [`strategy`], the fields that a write keeps, drops and counts; [`services`], the
//! addresses of Services; [`validation`]; [`warnings`]. [`types`] are the kinds as merging and `OpenAPI` see them,
//! [`printers`] the columns of `kubectl get`. `generated/` comes from Kubernetes' own sources (`generate.sh`).

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
