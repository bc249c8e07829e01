//! Tables, as `kubectl get` requests them.

use baton_apikinds::printers;
use baton_apimachinery::meta;
use baton_apimachinery::schema::crd::columns::Column;
use serde_json::{Value, json};

use crate::api_error::ApiError;
use crate::handlers::codecs::accept::MetaVersion;
use crate::handlers::codecs::wish::{Wish, partial};
use crate::handlers::shown::Shown;
use crate::registry::Resource;

/// Returns the `Table` of some objects.
pub(in crate::handlers) fn table(
    wish: &Wish<'_>,
    resource: &Resource,
    items: &[Shown],
    metadata: &Value,
    version: MetaVersion,
) -> Result<Value, ApiError> {
    let include = wish.query.get("includeObject").unwrap_or("Metadata");
    if !matches!(include, "None" | "Metadata" | "Object") {
        return Err(ApiError::bad_request(format!(
            "Unable to convert to Table as requested: includeObject: Invalid value: {include:?}: must be 'Metadata', \
             'Object', 'None', or empty"
        )));
    }
    let (definitions, cells) = match resource.custom() {
        Some(custom) => custom_columns(&custom.spec, items, wish.now),
        None => builtin_columns(resource, items, wish.now),
    };
    let rows: Vec<Value> = items
        .iter()
        .zip(cells)
        .map(|(item, cells)| row(resource, &cells, item, include, version))
        .collect();
    Ok(json!({
        "kind": "Table",
        "apiVersion": version.api_version(),
        "metadata": metadata,
        "columnDefinitions": definitions,
        "rows": rows,
    }))
}

/// Definitions of columns, and the cells of each object.
type Columns = (Vec<Value>, Vec<Vec<Value>>);

fn builtin_columns(resource: &Resource, items: &[Shown], now: jiff::Timestamp) -> Columns {
    let columns = printers::columns(&resource.group, &resource.kind);
    let describe = |column: &printers::Column| {
        let description = match column.name {
            "Name" => NAME,
            "Age" | "Created At" => CREATION,
            _ => "",
        };
        definition(column.name, column.kind, column.format, column.priority, description)
    };
    let cells = |item: &Shown| columns.iter().map(|column| column.cell(&item.value(), now)).collect();
    (
        columns.iter().map(describe).collect(),
        items.iter().map(cells).collect(),
    )
}

fn custom_columns(spec: &Value, items: &[Shown], now: jiff::Timestamp) -> Columns {
    let columns = Column::of_version(spec);
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
        definitions.push(definition("Age", "date", "", 0, CREATION));
    }
    let cells = |item: &Shown| {
        let object = &*item.value();
        let mut cells = vec![Value::from(meta::name(object).unwrap_or_default())];
        cells.extend(columns.iter().map(|column| cell(column, object, now)));
        if columns.is_empty() {
            let created = meta::str_at(object, &["metadata", "creationTimestamp"]);
            cells.push(printers::age(created, now));
        }
        cells
    };
    (definitions, items.iter().map(cells).collect())
}

fn row(resource: &Resource, cells: &[Value], item: &Shown, include: &str, version: MetaVersion) -> Value {
    let mut row = json!({"cells": cells});
    let object = match include {
        "Object" => Value::clone(&item.value()),
        "Metadata" => partial(&item.value(), version),
        _ => Value::Null,
    };
    if let Some(row) = row.as_object_mut() {
        row.insert("object".to_owned(), object);
        if let Some(conditions) = printers::conditions(&resource.group, &resource.kind, &item.value()) {
            row.insert("conditions".to_owned(), conditions);
        }
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

fn definition(name: &str, kind: &str, format: &str, priority: i64, description: &str) -> Value {
    json!({"name": name, "type": kind, "format": format, "description": description, "priority": priority})
}

/// Returns the cell of a column; for a date, its age.
fn cell(column: &Column, object: &Value, now: jiff::Timestamp) -> Value {
    let cell = column.cell(object);
    if column.kind == "date" && cell.is_string() {
        printers::age(cell.as_str(), now)
    } else {
        cell
    }
}
