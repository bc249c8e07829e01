//! Whether a write is admitted: by the plugins that are built in, and by the webhooks of users.

pub(crate) mod plugins;
mod webhooks;
