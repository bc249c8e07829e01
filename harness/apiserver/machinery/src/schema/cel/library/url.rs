//! URLs, split as Go splits them.

use std::rc::Rc;

use super::super::eval::{CelError, Evaluator, Outcome};
use super::super::value::{MapVal, Val};

/// A URL in its parts.
#[derive(Debug, Clone, Default)]
pub struct Url {
    /// The URL as it was written.
    pub text: String,
    scheme: String,
    host: String,
    path: String,
    query: String,
}

impl Url {
    /// Parses an absolute URL or a path from the root.
    fn parse(text: &str) -> Option<Self> {
        if text.chars().any(|letter| letter.is_ascii_control() || letter == ' ') {
            return None;
        }
        let mut url = Self {
            text: text.to_owned(),
            ..Self::default()
        };
        let mut rest = text;
        if !text.starts_with('/') {
            let (scheme, after) = text.split_once(':')?;
            let mut letters = scheme.chars();
            let valid = letters.next().is_some_and(|first| first.is_ascii_alphabetic())
                && letters.all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | '.'));
            if !valid {
                return None;
            }
            url.scheme = scheme.to_lowercase();
            rest = after;
        }
        if let Some(after) = rest.strip_prefix("//") {
            let end = after.find(['/', '?']).unwrap_or(after.len());
            let authority = after.get(..end)?;
            authority
                .rsplit('@')
                .next()
                .unwrap_or_default()
                .clone_into(&mut url.host);
            let port = url.port();
            if !port.bytes().all(|digit| digit.is_ascii_digit()) {
                return None;
            }
            rest = after.get(end..)?;
        }
        match rest.split_once('?') {
            Some((path, query)) => {
                path.clone_into(&mut url.path);
                query.clone_into(&mut url.query);
            }
            None => rest.clone_into(&mut url.path),
        }
        Some(url)
    }

    fn hostname(&self) -> &str {
        if let Some(rest) = self.host.strip_prefix('[') {
            return rest.split(']').next().unwrap_or_default();
        }
        self.host.split(':').next().unwrap_or_default()
    }

    fn port(&self) -> &str {
        let after = self.host.rsplit(']').next().unwrap_or_default();
        after.split_once(':').map_or("", |(_, port)| port)
    }
}

pub(super) fn call<'a>(_: &mut Evaluator, name: &str, is_member: bool, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    Some(Ok(match (is_member, name, args) {
        (false, "url", [Val::Str(text)]) => {
            if let Some(url) = Url::parse(text.as_str()) {
                Val::Url(Rc::new(url))
            } else {
                let error = format!(
                    "URL parse error during conversion from string: parse {:?}: invalid URI for request",
                    text.as_str()
                );
                return Some(Err(CelError::Eval(error)));
            }
        }
        (false, "isURL", [Val::Str(text)]) => Val::Bool(Url::parse(text.as_str()).is_some()),
        (true, "getScheme", [Val::Url(url)]) => Val::text(url.scheme.as_str()),
        (true, "getHost", [Val::Url(url)]) => Val::text(url.host.as_str()),
        (true, "getHostname", [Val::Url(url)]) => Val::text(url.hostname()),
        (true, "getPort", [Val::Url(url)]) => Val::text(url.port()),
        (true, "getEscapedPath", [Val::Url(url)]) => Val::text(url.path.as_str()),
        (true, "getQuery", [Val::Url(url)]) => query(&url.query),
        _ => return None,
    }))
}

fn query<'a>(text: &str) -> Val<'a> {
    let mut pairs: Vec<(String, Vec<Val<'a>>)> = Vec::new();
    for part in text.split('&').filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let value = Val::text(decoded(value));
        let key = decoded(key);
        match pairs.iter_mut().find(|(other, _)| *other == key) {
            Some((_, values)) => values.push(value),
            None => pairs.push((key, vec![value])),
        }
    }
    let pairs = pairs
        .into_iter()
        .map(|(key, values)| (Val::text(key), Val::list(values)))
        .collect();
    Val::Map(MapVal::Made(Rc::new(pairs)))
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
                let mut ahead = rest.clone();
                match (digit(ahead.next()), digit(ahead.next())) {
                    (Some(high), Some(low)) => {
                        bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
                        rest = ahead;
                    }
                    _ => bytes.push(byte),
                }
            }
            other => bytes.push(other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
