//! Requests on their way to an aggregated API server. It learns from headers who asks, and believes them because of the
//! certificate that the server shows.

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::TryStreamExt as _;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;

use crate::api_error::ApiError;
use crate::handlers::authentication::User;
use crate::handlers::codecs::body::ResponseBody;
use crate::handlers::codecs::negotiate;
use crate::handlers::passing_on::{Named, held_back, remove_not_passed_on};
use crate::handlers::{Caller, Core, Verb, response};
use crate::registry::remote::Remote;
use crate::tls_client;

/// How long the answer to a request may take, and to one that asks what there is.
const TIMEOUT: Duration = Duration::from_secs(60);
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(5);

/// The headers that say who asks.
pub(super) const USER: &str = "X-Remote-User";
pub(super) const UID: &str = "X-Remote-Uid";
pub(super) const GROUP: &str = "X-Remote-Group";
pub(super) const EXTRA: &str = "X-Remote-Extra-";

impl Core {
    /// Passes a request on, and its answer back.
    pub(crate) async fn pass_on(
        self: &Arc<Self>,
        remote: &Remote,
        mut parts: http::request::Parts,
        body: Bytes,
        caller: Caller,
    ) -> io::Result<Response<ResponseBody>> {
        let (side, breaks) = (caller.side, self.faults.breaks());
        let named = Named::read(&parts, |_, plural| remote.kind(plural));
        let passed = match &named {
            Some(named) => self.faults.pass(&named.seen(&caller)).await,
            None => self.faults.pass_path(parts.uri.path(), side).map(|()| None),
        };
        let _passed = match passed {
            Ok(passed) => passed,
            Err(error) => return Ok(negotiate::error(&parts.headers, &error, false)),
        };
        if !remote.known().is_available {
            return Ok(refused("service unavailable"));
        }
        let path = parts.uri.path_and_query().map_or("/", |it| it.as_str());
        parts.uri = path.parse().map_err(io::Error::other)?;
        parts.version = http::Version::default();
        let asked_with = parts.headers.clone();
        remove_not_passed_on(&mut parts.headers);
        introduce(&mut parts.headers, &caller.user);
        let request = Request::from_parts(parts, Full::new(body));
        let within = if named.is_some() { TIMEOUT } else { DISCOVERY_TIMEOUT };
        let answer = tokio::time::timeout(within, self.ask_remote(remote, request)).await;
        self.faults.reachable(side).await?;
        let answer = match answer {
            Ok(Ok(answer)) => answer,
            Ok(Err(reason)) => return Ok(refused(&reason)),
            Err(_) if named.as_ref().is_some_and(|named| named.verb != Verb::Watch) => {
                return Ok(negotiate::error(&asked_with, &ApiError::timeout(), false));
            }
            Err(_) => return Ok(refused("context deadline exceeded")),
        };
        let (mut parts, body) = answer.into_parts();
        parts.version = http::Version::default();
        remove_not_passed_on(&mut parts.headers);
        let body = body.into_data_stream().map_err(io::Error::other);
        let body = ResponseBody::lines(held_back(self.faults.clone(), side, breaks, body));
        Ok(Response::from_parts(parts, body))
    }

    /// Asks an aggregated API server; the error is worded as a Go client words it.
    pub(super) async fn ask_remote(
        &self,
        remote: &Remote,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, String> {
        let (host, port) = self.find_service(&remote.service).map_err(|_| "service unavailable")?;
        let _time_stands = tls_client::hold_time();
        let stream = tls_client::dial(&host, port).await?;
        let name = ServerName::try_from(remote.service.host_name()).map_err(|error| error.to_string())?;
        let stream = tls_client::secure(stream, name, remote.tls()?).await?;
        let broken = |error: hyper::Error| tls_client::breaking(&error);
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(broken)?;
        // It ends with the answer, or when nobody wants the rest of it any more.
        tokio::spawn(connection);
        let authority = HeaderValue::from_str(&format!("{host}:{port}")).map_err(|error| error.to_string())?;
        request.headers_mut().insert(header::HOST, authority);
        sender.send_request(request).await.map_err(broken)
    }
}

/// An answer of the server itself, in the place of one that did not come.
fn refused(reason: &str) -> Response<ResponseBody> {
    response(
        503,
        "text/plain; charset=utf-8",
        ResponseBody::full(format!("{reason}\n")),
    )
}

/// Says who asks; what the request says about it does not count.
pub(super) fn introduce(headers: &mut HeaderMap, user: &User) {
    let is_about_user = |name: &HeaderName| {
        let (name, extra) = (name.as_str(), EXTRA.to_ascii_lowercase());
        [USER, UID, GROUP].iter().any(|each| each.eq_ignore_ascii_case(name)) || name.starts_with(&extra)
    };
    let about_user: Vec<HeaderName> = headers.keys().filter(|name| is_about_user(name)).cloned().collect();
    for name in about_user {
        headers.remove(name);
    }
    let mut add = |name: &str, value: &str| {
        // A name that does not fit into a header is none that anybody can have.
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_str(value)) {
            headers.append(name, value);
        }
    };
    add(USER, &user.name);
    if !user.uid.is_empty() {
        add(UID, &user.uid);
    }
    for group in &user.groups {
        add(GROUP, group);
    }
    for (key, values) in &user.extra {
        for value in values {
            add(&format!("{EXTRA}{}", escaped(key)), value);
        }
    }
}

/// A key as part of the name of a header, which takes letters, digits and little else.
fn escaped(key: &str) -> String {
    let mut text = String::new();
    for byte in key.bytes() {
        if byte.is_ascii_alphanumeric() || b"!#$&'*+-.^_`|~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            // Writing to a text cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_says_themselves_who_they_are() {
        let mut headers = HeaderMap::new();
        for name in ["x-remote-user", "X-Remote-Group", "X-Remote-Extra-Scopes", "Accept"] {
            headers.insert(
                HeaderName::try_from(name).expect("a name"),
                HeaderValue::from_static("given"),
            );
        }
        let mut user = User::new("somebody", &["one", "two"]);
        user.extra.insert("a.b/c%".to_owned(), vec!["x".to_owned()]);
        introduce(&mut headers, &user);
        let mut said: Vec<(&str, &str)> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().expect("text")))
            .collect();
        said.sort_unstable();
        let expected = [
            ("accept", "given"),
            ("x-remote-extra-a.b%2fc%25", "x"),
            ("x-remote-group", "one"),
            ("x-remote-group", "two"),
            ("x-remote-user", "somebody"),
        ];
        assert_eq!(said, expected);
    }
}
