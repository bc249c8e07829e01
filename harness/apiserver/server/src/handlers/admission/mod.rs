//! Admission of a write: built-in plugins, and the webhooks of users.

pub(crate) mod plugins;
mod webhooks;
