//! Whether a write is admitted: by the plugins that are built in, and by the webhooks and policies of users.

pub(crate) mod plugins;
mod webhooks;
