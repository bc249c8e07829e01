//! Encodes an answer in the requested form.

use http::{HeaderMap, Response, header};
use serde_json::{Value, json};

use crate::api_error::ApiError;
use crate::handlers::codecs::accept::{self, Format, View, not_acceptable};
use crate::handlers::codecs::body::ResponseBody;
use crate::handlers::codecs::reply::{List, Reply};
use crate::handlers::codecs::table;
use crate::handlers::codecs::wish::{Wish, partial};
use crate::handlers::query::Query;
use crate::handlers::response;
use crate::handlers::shown::Shown;
use crate::registry::Resource;
use crate::yaml;

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";

/// Encodes the answer to a successful request.
pub(in crate::handlers) fn reply(wish: &Wish<'_>, reply: Reply) -> Result<Response<ResponseBody>, ApiError> {
    match reply {
        Reply::Object { code, object, resource } => one(wish, code, &resource, &object),
        Reply::List(list) => many(wish, &list),
        Reply::Made { code, object } => Ok(match wish.form.view {
            View::Partial(version) if object.pointer("/metadata/uid").is_some() => {
                written(wish, code, &partial(&object, version))
            }
            _ => written(wish, code, &object),
        }),
        Reply::Watch(body, content_type) => Ok(response(200, content_type, body)),
        Reply::Raw {
            code,
            content_type,
            body,
        } => Ok(response(code, content_type, ResponseBody::full(body))),
    }
}

fn one(wish: &Wish<'_>, code: u16, resource: &Resource, object: &Shown) -> Result<Response<ResponseBody>, ApiError> {
    match wish.form.view {
        View::Whole if wish.form.format == Format::Json && !wish.pretty => Ok(response(
            code,
            JSON,
            ResponseBody::full(object.with_text(|text| [text.object(), b"\n"].concat())),
        )),
        View::Whole => Ok(written(wish, code, &object.value())),
        View::Partial(version) => Ok(written(wish, code, &partial(&object.value(), version))),
        View::Table(version) => {
            let items = [object.clone()];
            let metadata = match baton_apimachinery::meta::resource_version(&object.value()) {
                Some(version) => json!({"resourceVersion": version}),
                None => json!({}),
            };
            Ok(written(
                wish,
                code,
                &table::table(wish, resource, &items, &metadata, version)?,
            ))
        }
        View::PartialList(_) if resource.custom().is_some() => Err(ApiError::plain_500("content is not a list")),
        View::PartialList(_) => Err(not_acceptable(format!(
            "you requested PartialObjectMetadataList, but the requested object is not a list ({})",
            go_type(resource, false)
        ))),
    }
}

fn many(wish: &Wish<'_>, list: &List) -> Result<Response<ResponseBody>, ApiError> {
    match wish.form.view {
        View::Whole if wish.form.format == Format::Json && !wish.pretty => {
            Ok(response(200, JSON, ResponseBody::full(list.to_json())))
        }
        View::Whole => {
            let value = serde_json::from_slice(&list.to_json()).unwrap_or_default();
            Ok(written(wish, 200, &value))
        }
        View::PartialList(version) => {
            let items: Vec<Value> = list.items.iter().map(|item| partial(&item.value(), version)).collect();
            let object = json!({
                "kind": "PartialObjectMetadataList",
                "apiVersion": version.api_version(),
                "metadata": list.metadata(false),
                "items": items,
            });
            Ok(written(wish, 200, &object))
        }
        View::Table(version) => {
            let table = table::table(wish, &list.resource, &list.items, &list.metadata(false), version)?;
            Ok(written(wish, 200, &table))
        }
        View::Partial(_) => Err(not_acceptable(format!(
            "you requested PartialObjectMetadata, but the requested object is a list ({})",
            go_type(&list.resource, true)
        ))),
    }
}

/// Returns the Go type of an object or a list, as messages name it.
fn go_type(resource: &Resource, list: bool) -> String {
    if resource.custom().is_some() {
        return format!("*unstructured.Unstructured{}", if list { "List" } else { "" });
    }
    let package = match resource.group.split('.').next() {
        Some("") | None => "core",
        Some(package) => package,
    };
    format!("*{package}.{}", if list { &resource.list_kind } else { &resource.kind })
}

fn written(wish: &Wish<'_>, code: u16, object: &Value) -> Response<ResponseBody> {
    let (content_type, mut text) = match wish.form.format {
        Format::Json if wish.pretty => (JSON, format!("{object:#}")),
        Format::Json => (JSON, object.to_string()),
        Format::Yaml => (YAML, fold(&yaml::write(object))),
    };
    if !text.ends_with('\n') {
        text.push('\n');
    }
    response(code, content_type, ResponseBody::full(text))
}

/// Returns a line with its plain scalar quoted, if older readers would take the scalar for a time or a boolean.
fn quote(line: &str) -> Option<String> {
    let start = line
        .rfind(": ")
        .map(|at| at + 2)
        .or_else(|| line.rfind("- ").map(|at| at + 2))?;
    let (before, scalar) = line.split_at(start);
    let boolean = matches!(
        scalar,
        "y" | "Y" | "n" | "N" | "yes" | "Yes" | "YES" | "no" | "No" | "NO" | "on" | "On" | "ON" | "off" | "Off" | "OFF"
    );
    let time = scalar.starts_with(|first: char| first.is_ascii_digit()) && scalar.parse::<jiff::Timestamp>().is_ok();
    (boolean || time).then(|| format!("{before}\"{scalar}\""))
}

/// Folds long scalars at the first space after the column at which the reference folds. Literal blocks stay.
fn fold(yaml: &str) -> String {
    const WIDTH: usize = 80;
    let mut folded = String::with_capacity(yaml.len());
    let mut literal: Option<usize> = None;
    for line in yaml.lines() {
        let quoted;
        let line = if literal.is_none() {
            quoted = quote(line);
            quoted.as_deref().unwrap_or(line)
        } else {
            line
        };
        let indent = line.len() - line.trim_start_matches(' ').len();
        literal = literal.filter(|of| indent > *of || line.is_empty());
        let double_quoted = line.ends_with('"');
        if literal.is_some() || line.len() <= WIDTH || double_quoted {
            folded.push_str(line);
        } else {
            let dashes = line[indent..].len() - line[indent..].trim_start_matches("- ").len();
            let mut column = 0;
            let mut previous = ' ';
            let mut rest = line.chars().peekable();
            while let Some(c) = rest.next() {
                let between_words = c == ' ' && previous != ' ' && rest.peek().is_some_and(|next| *next != ' ');
                if between_words && column > WIDTH {
                    folded.push('\n');
                    column = indent + dashes + 2;
                    folded.extend(std::iter::repeat_n(' ', column));
                } else {
                    folded.push(c);
                    column += 1;
                }
                previous = c;
            }
        }
        folded.push('\n');
        if literal.is_none() && (line.ends_with(": |") || line.ends_with(": |-") || line.ends_with(": |+")) {
            literal = Some(indent);
        }
    }
    folded
}

/// Encodes the answer to a failed request.
pub(crate) fn error(headers: &HeaderMap, error: &ApiError, pretty: bool) -> Response<ResponseBody> {
    let wish = Wish {
        form: accept::any(headers),
        query: &Query::default(),
        now: jiff::Timestamp::UNIX_EPOCH,
        pretty,
    };
    written(&wish, error.code, &error.to_status())
}

/// Maximum number of characters in all warnings together; above it, each warning is shortened, and those that do not
/// fit are left out.
const MOST_LETTERS: usize = 4 * 1024;
/// Number of characters in a shortened warning.
const SHORTENED: usize = 256;

/// Returns the warnings to send: no empty ones and no duplicates.
fn warnings_to_send(warnings: &[String]) -> Vec<String> {
    let mut all: Vec<&String> = Vec::new();
    for warning in warnings {
        if !warning.is_empty() && !all.contains(&warning) {
            all.push(warning);
        }
    }
    let letters = |text: &str| text.chars().count();
    if all.iter().map(|text| letters(text)).sum::<usize>() <= MOST_LETTERS {
        return all.into_iter().cloned().collect();
    }
    let mut room = MOST_LETTERS;
    let shortened = all
        .into_iter()
        .map(|text| text.chars().take(SHORTENED).collect::<String>());
    shortened
        .take_while(|text| {
            let fits = room > 0;
            room = room.saturating_sub(letters(text));
            fits
        })
        .collect()
}

/// Adds one `Warning` header for each warning, in the form that clients parse.
pub(in crate::handlers) fn add_warnings(headers: &mut HeaderMap, warnings: &[String]) {
    for warning in warnings_to_send(warnings) {
        let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = header::HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
            headers.append(header::WARNING, value);
        }
    }
}
