//! Tables, as `kubectl get` asks for them.

use serde_json::{Value, json};

use super::accept::MetaVersion;
use super::negotiate::{Wish, partial};
use super::reply::Shown;
use crate::meta;
use crate::registry::Resource;
use crate::schema::crd::columns::Column;
use crate::status::ApiError;

/// The `Table` of some objects.
pub(super) fn table(
    wish: &Wish<'_>,
    resource: &Resource,
    items: &[Shown],
    metadata: Value,
    version: MetaVersion,
) -> Result<Value, ApiError> {
    let include = wish.query.get("includeObject").unwrap_or("Metadata");
    if !matches!(include, "None" | "Metadata" | "Object") {
        return Err(ApiError::bad_request(format!(
            "Unable to convert to Table as requested: includeObject: Invalid value: {include:?}: must be 'Metadata', \
             'Object', 'None', or empty"
        )));
    }
    let columns = match resource.custom() {
        Some(custom) => Column::of_version(&custom.spec),
        None => Vec::new(),
    };
    let mut definitions = vec![definition("Name", "string", "name", 0, NAME)];
    for column in &columns {
        definitions.push(definition(
            &column.name,
            &column.kind,
            &column.format,
            column.priority,
            &column.description,
        ));
    }
    if columns.is_empty() {
        let (kind, text) = if resource.custom().is_some() {
            ("date", CREATION_CUSTOM)
        } else {
            ("string", CREATION)
        };
        definitions.push(definition("Age", kind, "", 0, text));
    }
    let rows: Vec<Value> = items
        .iter()
        .map(|item| {
            let object = item.value();
            let mut cells = vec![Value::from(meta::name(object).unwrap_or_default())];
            cells.extend(columns.iter().map(|column| cell(column, object, wish.now)));
            if columns.is_empty() {
                cells.push(age(meta::str_at(object, &["metadata", "creationTimestamp"]), wish.now));
            }
            row(cells, item, include, version)
        })
        .collect();
    Ok(json!({
        "kind": "Table",
        "apiVersion": version.api_version(),
        "metadata": metadata,
        "columnDefinitions": definitions,
        "rows": rows,
    }))
}

fn row(cells: Vec<Value>, item: &Shown, include: &str, version: MetaVersion) -> Value {
    let mut row = json!({"cells": cells});
    let object = match include {
        "Object" => Value::clone(item.value()),
        "Metadata" => partial(item.value(), version),
        _ => Value::Null,
    };
    if let Some(row) = row.as_object_mut() {
        row.insert("object".to_owned(), object);
    }
    row
}

const NAME: &str = "Name must be unique within a namespace. Is required when creating resources, although some \
                    resources may allow a client to request the generation of an appropriate name automatically. Name \
                    is primarily intended for creation idempotence and configuration definition. Cannot be updated. \
                    More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";
const CREATION: &str = "CreationTimestamp is a timestamp representing the server time when this object was created. It \
                        is not guaranteed to be set in happens-before order across separate operations. Clients may \
                        not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the \
                        system. Read-only. Null for lists. More info: \
                        https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";
const CREATION_CUSTOM: &str = CREATION;

fn definition(name: &str, kind: &str, format: &str, priority: i64, description: &str) -> Value {
    json!({"name": name, "type": kind, "format": format, "description": description, "priority": priority})
}

/// The cell of a column; of a date its age.
fn cell(column: &Column, object: &Value, now: jiff::Timestamp) -> Value {
    let cell = column.cell(object);
    if column.kind == "date" && cell.is_string() {
        age(cell.as_str(), now)
    } else {
        cell
    }
}

/// How long ago a time is, in the short form of tables.
fn age(time: Option<&str>, now: jiff::Timestamp) -> Value {
    let Some(time) = time.and_then(|time| time.parse::<jiff::Timestamp>().ok()) else {
        return "<unknown>".into();
    };
    short_duration(now.as_second() - time.as_second()).into()
}

/// `5s`, `2m30s`, `5h12m`, `3d4h`, `2y40d`: two units while they matter.
fn short_duration(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    let pair = |big: i64, unit: &str, small: i64, small_unit: &str| {
        if small == 0 {
            format!("{big}{unit}")
        } else {
            format!("{big}{unit}{small}{small_unit}")
        }
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1..0 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => pair(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => pair(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => pair(days, "d", hours % 24, "h"),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => pair(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}
