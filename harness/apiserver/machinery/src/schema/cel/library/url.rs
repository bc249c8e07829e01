//! Functions of URLs.

use std::rc::Rc;

use super::super::budget::Budget;
use super::super::error::{CelError, Outcome};
use super::super::url::Url;
use super::super::value::{MapVal, Val};

pub(super) fn call<'a>(_: &mut Budget, name: &str, is_member: bool, args: &[Val<'a>]) -> Option<Outcome<'a>> {
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
