//! Requests as faults see them: their facts, filters for them, and failures of those that match.

use std::sync::Arc;

use crate::api_error::ApiError;
use crate::gate::GatedWrite;

/// The position of a client when the server is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Beyond the cut.
    Outside,
    /// In the cluster, with the server: a cut does not affect it.
    Inside,
}

/// A filter for requests; a field of `None` matches everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matching {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`.
    pub verb: Option<String>,
    /// Kind of the resource, such as `ConfigMap`.
    pub kind: Option<String>,
    /// Subresource; `Some("")` for the resource itself.
    pub subresource: Option<String>,
    /// Namespace of the object.
    pub namespace: Option<String>,
    /// Name of the object. Creations do not have it in the path and never match.
    pub name: Option<String>,
    /// Prefix of the user agent.
    pub client: Option<String>,
    /// A path outside the resources, such as `/readyz`, with everything below it; without a path, the rule is about
    /// resources.
    pub path: Option<String>,
}

/// A rule that answers requests with an error.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The requests that are counted.
    pub matching: Matching,
    /// Number of the first matching request to fail; 1 is the next one.
    pub nth: u64,
    /// Number of requests that fail from there on; 0 removes the existing failures of the same requests.
    pub times: u64,
    /// The HTTP status, such as 500, 503 or 409.
    pub code: u16,
    /// The message of the `Status`.
    pub message: String,
}

/// The key of a request count.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestKey {
    /// The user agent.
    pub client: String,
    /// The verb, as in [`Matching::verb`].
    pub verb: String,
    /// The API group.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// The subresource, or an empty text.
    pub subresource: String,
}

/// The facts about a request that rules use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestInfo<'a> {
    pub(crate) verb: &'static str,
    pub(crate) group: &'a str,
    pub(crate) version: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) namespace: Option<&'a str>,
    pub(crate) name: Option<&'a str>,
    pub(crate) subresource: Option<&'a str>,
    pub(crate) client: &'a str,
    pub(crate) side: Side,
}

impl RequestInfo<'_> {
    /// Returns the key under which the request is counted.
    pub(crate) fn key(&self) -> RequestKey {
        RequestKey {
            client: self.client.to_owned(),
            verb: self.verb.to_owned(),
            group: self.group.to_owned(),
            kind: self.kind.to_owned(),
            subresource: self.subresource.unwrap_or_default().to_owned(),
        }
    }

    pub(crate) fn writes(&self) -> bool {
        !matches!(self.verb, "get" | "list" | "watch")
    }

    /// Returns the request as the gate before `server` shows it to its keeper.
    pub(crate) fn gated(&self, server: Arc<str>) -> GatedWrite {
        GatedWrite {
            server,
            verb: self.verb,
            api_version: match self.group {
                "" => self.version.to_owned(),
                group => format!("{group}/{}", self.version),
            },
            kind: self.kind.to_owned(),
            namespace: self.namespace.map(str::to_owned),
            name: self.name.map(str::to_owned),
            subresource: self.subresource.map(str::to_owned),
            client: self.client.to_owned(),
        }
    }
}

impl Matching {
    pub(crate) fn matches(&self, seen: &RequestInfo<'_>) -> bool {
        let same = |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| wanted == found);
        self.path.is_none()
            && same(&self.verb, seen.verb)
            && same(&self.kind, seen.kind)
            && same(&self.subresource, seen.subresource.unwrap_or_default())
            && same(&self.namespace, seen.namespace.unwrap_or_default())
            && same(&self.name, seen.name.unwrap_or_default())
            && self
                .client
                .as_deref()
                .is_none_or(|client| seen.client.starts_with(client))
    }

    pub(crate) fn matches_path(&self, path: &str) -> bool {
        let below = |wanted: &String| {
            path.strip_prefix(wanted)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.path.as_ref().is_some_and(below)
    }
}

/// Failures, each with the number of matching requests so far.
#[derive(Debug, Default)]
pub(crate) struct Failures(Vec<(Failure, u64)>);

impl Failures {
    /// Adds a failure, or removes those of the same requests if it has no `times`.
    pub(crate) fn add(&mut self, failure: Failure) {
        if failure.times == 0 {
            self.0.retain(|(other, _)| other.matching != failure.matching);
        } else {
            self.0.push((failure, 0));
        }
    }

    /// Counts a request for all failures that match it, and returns the error of the first that is due.
    pub(crate) fn judge(&mut self, matches: impl Fn(&Matching) -> bool) -> Result<(), ApiError> {
        let mut verdict = Ok(());
        for (failure, count) in &mut self.0 {
            if !matches(&failure.matching) {
                continue;
            }
            *count += 1;
            if verdict.is_ok() && *count >= failure.nth && *count < failure.nth.saturating_add(failure.times) {
                verdict = Err(ApiError::new(
                    failure.code,
                    reason(failure.code),
                    failure.message.clone(),
                    None,
                ));
            }
        }
        self.0
            .retain(|(failure, count)| count + 1 < failure.nth.saturating_add(failure.times));
        verdict
    }
}

/// Returns the `reason` of an HTTP status.
fn reason(code: u16) -> &'static str {
    match code {
        400 => "BadRequest",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        409 => "Conflict",
        410 => "Expired",
        422 => "Invalid",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "",
    }
}
