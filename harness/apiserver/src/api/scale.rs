//! The scale subresource.

use std::sync::Arc;

use super::reply::Reply;
use super::{Call, Core};
use crate::status::ApiError;

impl Core {
    pub(super) fn scale(self: &Arc<Self>, _call: &Call) -> Result<Reply, ApiError> {
        Err(ApiError::method_not_allowed())
    }
}
