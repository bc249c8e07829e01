//! A request that must be refused.

use std::{collections::BTreeSet, fmt};

use serde::Serialize;

use super::Action;
use crate::names::RequirementId;

/// `refused`: a request that the API must answer with 400, 403 or 422.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Refused {
    /// The request: `apply` or `create` of one object in one place, `patch` or `delete`.
    pub request: Box<Action>,
    /// Set if the object is created with a POST instead of server-side apply.
    pub creates: bool,
    /// `mentions`: what the answer must mention, all of it.
    pub mentions: Vec<String>,
    /// Requirements that are shown if it is refused; may be empty.
    pub proves: BTreeSet<RequirementId>,
}

impl Refused {
    /// The HTTP statuses by which an API refuses what it is asked for.
    pub const STATUSES: [u16; 3] = [400, 403, 422];
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let request = self.request.to_string();
        let request = match request.strip_prefix("apply").filter(|_| self.creates) {
            Some(rest) => format!("create{rest}"),
            None => request,
        };
        write!(f, "{request}: it is refused")?;
        if !self.mentions.is_empty() {
            write!(f, ", mentioning {}", self.mentions.join(", "))?;
        }
        if !self.proves.is_empty() {
            let proves: Vec<_> = self.proves.iter().map(RequirementId::as_str).collect();
            write!(f, " [{}]", proves.join(", "))?;
        }
        Ok(())
    }
}
