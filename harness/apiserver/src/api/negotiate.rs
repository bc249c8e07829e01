//! In which form an answer goes out, and what it carries besides.

use bytes::Bytes;
use http::{HeaderMap, Response, header};
use serde_json::Value;

use super::body::ResponseBody;
use super::query::Query;
use super::reply::{Reply, Shown, write_object};
use super::response;
use crate::status::ApiError;

const JSON: &str = "application/json";

/// The answer to a request that went well.
pub(super) fn reply(_headers: &HeaderMap, _query: &Query, reply: Reply) -> Result<Response<ResponseBody>, ApiError> {
    Ok(match reply {
        Reply::Object { code, object } => response(code, JSON, ResponseBody::full(object_json(&object))),
        Reply::List(list) => response(200, JSON, ResponseBody::full(list.to_json())),
        Reply::Made { code, object } => response(code, JSON, ResponseBody::full(object.to_string())),
        Reply::Watch(body, content_type) => response(200, content_type, body),
        Reply::Raw {
            code,
            content_type,
            body,
        } => response(code, content_type, ResponseBody::full(body)),
    })
}

fn object_json(object: &Shown) -> Bytes {
    let value = object.value();
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let members = object.members();
    let mut out = Vec::with_capacity(members.len() + 80);
    write_object(&mut out, text("apiVersion"), text("kind"), &members);
    out.push(b'\n');
    Bytes::from(out)
}

/// The answer to a request that failed.
pub(crate) fn error(_headers: &HeaderMap, error: &ApiError) -> Response<ResponseBody> {
    let mut body = error.to_status().to_string();
    body.push('\n');
    response(error.code, JSON, ResponseBody::full(body))
}

/// One `Warning` header each, in the form that clients take apart.
pub(super) fn add_warnings(headers: &mut HeaderMap, warnings: &[String]) {
    for warning in warnings {
        let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = header::HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
            headers.append(header::WARNING, value);
        }
    }
}
