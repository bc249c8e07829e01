//! The schemas of custom resources.

use serde_json::{Map, Value, json};

use super::schemas::{list_of, referred};
use super::{Format, group_version_kind};
use crate::registry::Resource;
use crate::registry::custom::CustomVersion;

/// The keywords that version 2 does not have.
const NOT_IN_V2: &[&str] = &["allOf", "anyOf", "not", "nullable", "oneOf", "default"];

/// Maximum depth of a schema that is copied.
const MAX_DEPTH: usize = 200;

/// Returns the name of the definition of a kind: the reversed group, version, kind.
pub(super) fn name(group: &str, version: &str, kind: &str) -> String {
    let mut parts: Vec<&str> = group.split('.').rev().collect();
    parts.extend([version, kind]);
    parts.join(".")
}

/// Adds the definitions of a custom resource and of its list.
pub(super) fn add(format: Format, resource: &Resource, of: &CustomVersion, definitions: &mut Map<String, Value>) {
    let name = name(&resource.group, &resource.version, &resource.kind);
    let schema = of.spec.get("schema").and_then(|schema| schema.get("openAPIV3Schema"));
    let mut schema = match schema.map(|schema| plain(format, schema, 0)) {
        Some(Value::Object(schema)) => schema,
        _ => Map::from_iter([("type".to_owned(), "object".into())]),
    };
    // The words are those of the options of a deletion, which every document has.
    let typed = ["apiVersion", "kind"].map(|field| {
        let options = definitions.get("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions");
        let said = options.and_then(|options| options.get("properties")?.get(field)?.get("description"));
        (field, said.cloned().unwrap_or_default())
    });
    let preserves = schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true));
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        let mut put = |name: &str, value: Value| properties.insert(name.to_owned(), value);
        for (name, description) in typed {
            put(name, json!({"type": "string", "description": description}));
        }
        put(
            "metadata",
            referred(
                format,
                "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
                "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
                false,
            ),
        );
    }
    if preserves && format == Format::V2 {
        schema.remove("properties");
    }
    let gvk = group_version_kind(&resource.group, &resource.version, &resource.kind);
    schema.insert("x-kubernetes-group-version-kind".to_owned(), json!([gvk]));
    definitions.insert(
        format!("{name}List"),
        list_of(format, &name, &resource.group, &resource.version, &resource.kind),
    );
    definitions.insert(name, Value::Object(schema));
}

/// Returns the schema without the keywords that the format lacks.
fn plain(format: Format, schema: &Value, depth: usize) -> Value {
    let Value::Object(members) = schema else {
        return schema.clone();
    };
    if depth > MAX_DEPTH {
        return json!({});
    }
    let mut out = Map::new();
    for (key, value) in members {
        if format == Format::V2 && NOT_IN_V2.contains(&key.as_str()) {
            continue;
        }
        let value = match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                let inner = properties
                    .iter()
                    .map(|(name, inner)| (name.clone(), plain(format, inner, depth + 1)));
                Value::Object(inner.collect())
            }
            ("items" | "additionalProperties", inner) => plain(format, inner, depth + 1),
            (_, value) => value.clone(),
        };
        out.insert(key.clone(), value);
    }
    Value::Object(out)
}
