//! Parts of a proxy: the resource of a request, the headers to pass on, and an answer that ends when its client can no
//! longer be reached.

use std::io;

use bytes::Bytes;
use futures::{Stream, StreamExt as _};
use http::{HeaderMap, HeaderName, header};

use crate::fault_injection::FaultInjector;
use crate::handlers::query::{Query, decode_segment};
use crate::handlers::{Caller, Verb};
use crate::requests::{RequestInfo, Side};

/// Headers that belong to a connection and not to a message, and headers that the proxy sets.
const NOT_PASSED_ON: [HeaderName; 8] = [
    header::AUTHORIZATION,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::HOST,
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
];

pub(crate) fn remove_not_passed_on(headers: &mut HeaderMap) {
    for name in &NOT_PASSED_ON {
        headers.remove(name);
    }
}

/// The resource that a request is about.
pub(crate) struct Named {
    pub(crate) verb: Verb,
    group: String,
    version: String,
    pub(crate) kind: String,
    namespace: Option<String>,
    name: Option<String>,
    subresource: Option<String>,
}

impl Named {
    /// Returns the resource that a request is about, if any. `kind_of` returns the kind of a group and a plural.
    pub(crate) fn read(
        parts: &http::request::Parts,
        kind_of: impl FnOnce(&str, &str) -> Option<String>,
    ) -> Option<Self> {
        let words: Vec<String> = parts
            .uri
            .path()
            .split('/')
            .filter(|word| !word.is_empty())
            .map(|word| decode_segment(word).into_owned())
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (group, version, rest) = match words.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return None,
        };
        let (watch, rest) = match rest {
            ["watch", rest @ ..] if !rest.is_empty() => (true, rest),
            rest => (false, rest),
        };
        let (namespace, rest) = match rest {
            // A namespace is also an object, with subresources.
            ["namespaces", _] | ["namespaces", _, "status" | "finalize"] => (None, rest),
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some((*namespace).to_owned()), rest),
            rest => (None, rest),
        };
        let (plural, name) = (*rest.first()?, rest.get(1).map(|&name| name.to_owned()));
        let verb = Verb::of(&parts.method, name.is_some(), watch, &Query::parse(parts.uri.query()))?;
        Some(Self {
            verb,
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind_of(group, plural).unwrap_or_else(|| plural.to_owned()),
            namespace,
            name,
            subresource: rest.get(2).map(|&it| it.to_owned()),
        })
    }

    pub(crate) fn seen<'a>(&'a self, caller: &'a Caller) -> RequestInfo<'a> {
        RequestInfo {
            verb: self.verb.as_str(),
            group: &self.group,
            version: &self.version,
            kind: &self.kind,
            namespace: self.namespace.as_deref(),
            name: self.name.as_deref(),
            subresource: self.subresource.as_deref(),
            client: &caller.user_agent,
            side: caller.side,
        }
    }
}

/// Returns an answer that continues only while the client can be reached: events during a cut are sent after it.
pub(crate) fn held_back(
    faults: FaultInjector,
    side: Side,
    kind: Option<String>,
    breaks: u64,
    body: impl Stream<Item = io::Result<Bytes>> + Send + Unpin,
) -> impl Stream<Item = io::Result<Bytes>> + Send {
    futures::stream::unfold(
        (faults, body, kind, false),
        move |(faults, mut body, kind, over)| async move {
            if over {
                return None;
            }
            let broken = || Some(Err(io::ErrorKind::ConnectionReset.into()));
            let piece = tokio::select! {
                biased;
                () = faults.broken(side, breaks) => broken(),
                piece = body.next() => piece,
            };
            faults.released(side, kind.as_deref()).await;
            let reached = faults.reachable(side).await;
            let piece = if reached.is_err() || faults.breaks(side) != breaks {
                broken()?
            } else {
                piece?
            };
            let over = piece.is_err();
            Some((piece, (faults, body, kind, over)))
        },
    )
}
