//! The built-in kinds: what there is and how each behaves, as tables.
//!
//! Read [`resources`] first: the resources with their names, verbs and subresources. Then in the order in which a write
//! goes through them: [`codec`], what a body becomes when it is read into the types of its kind; [`defaults`];
//! `versions`, kinds in several groups or versions; [`strategy`], what a write keeps, drops and counts; [`services`], the
//! addresses of Services; [`limits`] and [`quotas`] of namespaces; [`validate`]; [`warnings`]. `aggregate` adds up what containers ask for. [`protobuf`] reads the bodies of Go clients.

pub(crate) mod aggregate;
pub mod codec;
pub mod defaults;
pub mod limits;
pub mod protobuf;
pub mod quantity;
pub mod quotas;
pub mod resources;
pub mod services;
pub mod strategy;
pub mod validate;
pub(crate) mod versions;
pub mod warnings;
