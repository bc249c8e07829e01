//! The schemas of the built-in kinds.

use std::sync::LazyLock;

use baton_apikinds::codec::{Definition, Facts, List, Merging};
use baton_apikinds::types::kinds::{KINDS, Kind};
use baton_apikinds::types::{definitions, reference, short};
use baton_apimachinery::meta;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{DeleteOptions, ListMeta, Status};
use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

use super::{Format, group_version_kind};
use crate::registry::Version;

/// Prefix of the names of the metadata's definitions.
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";

static META_KINDS: &[Kind] = &[
    Kind {
        group: "",
        version: "v1",
        name: "Status",
        schema: SchemaGenerator::subschema_for::<Status>,
    },
    Kind {
        group: "",
        version: "v1",
        name: "DeleteOptions",
        schema: SchemaGenerator::subschema_for::<DeleteOptions>,
    },
    Kind {
        group: "",
        version: "v1",
        name: "ListMeta",
        schema: SchemaGenerator::subschema_for::<ListMeta>,
    },
];

/// Returns the definitions of the built-in kinds of these versions, of their lists and of all types that they use.
pub(super) fn builtin(format: Format, versions: &[(&str, &Version)]) -> Map<String, Value> {
    let resources = versions.iter().flat_map(|(_, version)| &version.resources);
    let resources: Vec<_> = resources.filter(|resource| resource.custom().is_none()).collect();
    let wanted = |kind: &&Kind| {
        let spoken = |(group, version, name): (&str, &str, &str)| {
            (group, version, name) == (kind.group, kind.version, kind.name)
        };
        resources.iter().any(|resource| {
            let subresources = resource.subresources.iter();
            spoken((&resource.group, &resource.version, &resource.kind))
                || subresources
                    .clone()
                    .any(|each| spoken((&each.group, &each.version, &each.kind)))
        })
    };
    let kinds: Vec<&Kind> = KINDS.iter().filter(wanted).collect();
    // Any kind brings the metadata that custom resources need.
    let fallback = kinds.is_empty().then(|| KINDS.first()).flatten();
    let all = kinds.iter().copied().chain(fallback).chain(META_KINDS);
    let (roots, raw) = definitions(all);
    let mut out = Map::new();
    for (name, schema) in &raw {
        out.insert(name.clone(), definition(format, name, schema));
    }
    if fallback.is_some() {
        out.retain(|name, _| name.starts_with(META));
    }
    for (kind, root) in kinds.iter().zip(&roots) {
        let Some(name) = reference(root) else { continue };
        let gvk = group_version_kind(kind.group, kind.version, kind.name);
        if let Some(Value::Object(schema)) = out.get_mut(name) {
            schema.insert("x-kubernetes-group-version-kind".to_owned(), json!([gvk]));
        }
        if resources
            .iter()
            .any(|resource| resource.kind == kind.name && resource.allows("list"))
        {
            out.insert(
                format!("{name}List"),
                list_of(format, name, kind.group, kind.version, kind.name),
            );
        }
    }
    out.insert(
        format!("{META}Patch"),
        json!({"type": "object", "description": "Patch is provided to give a concrete name and type to the Kubernetes PATCH request body."}),
    );
    out
}

/// Returns the definition of the list of a kind.
pub(super) fn list_of(format: Format, name: &str, group: &str, version: &str, kind: &str) -> Value {
    let text = |description: &str| json!({"description": description, "type": "string"});
    json!({
        "description": format!("{kind}List is a list of {kind}"),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": text("APIVersion defines the versioned schema of this representation of an object."),
            "kind": text("Kind is a string value representing the REST resource this object represents."),
            "metadata": referred(format, &format!("{META}ListMeta"), "Standard list metadata.", true),
            "items": {"type": "array", "description": format!("List of {kind} objects."), "items": format.reference(name)},
        },
        "x-kubernetes-group-version-kind": [group_version_kind(group, version, &format!("{kind}List"))],
    })
}

/// Returns a reference with a description; version 3 needs `allOf` for that.
pub(super) fn referred(format: Format, name: &str, description: &str, by_value: bool) -> Value {
    let mut schema = match format {
        Format::V2 => format.reference(name),
        Format::V3 => json!({"allOf": [format.reference(name)]}),
    };
    if let Some(members) = schema.as_object_mut() {
        members.insert("description".to_owned(), description.into());
        if by_value && format == Format::V3 {
            members.insert("default".to_owned(), json!({}));
        }
    }
    schema
}

/// Returns a definition as the API server writes it.
fn definition(format: Format, name: &str, schema: &Value) -> Value {
    let known = Definition::named(name);
    let described = |mut extra: Value| {
        if let (Some(members), Some(description)) = (extra.as_object_mut(), schema.get("description")) {
            members.insert("description".to_owned(), description.clone());
        }
        extra
    };
    match (short(name), format) {
        ("IntOrString", Format::V2) => return described(json!({"type": "string", "format": "int-or-string"})),
        ("IntOrString", Format::V3) => {
            return described(json!({"oneOf": [{"type": "integer"}, {"type": "string"}], "format": "int-or-string"}));
        }
        ("Quantity", Format::V2) => return described(json!({"type": "string"})),
        ("Quantity", Format::V3) => return described(json!({"oneOf": [{"type": "string"}, {"type": "number"}]})),
        _ => {}
    }
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        let plain = schema
            .get("type")
            .map_or_else(|| json!({}), |kind| json!({"type": kind}));
        let mut plain = described(plain);
        if let (Some(members), Some(of)) = (plain.as_object_mut(), schema.get("format")) {
            members.insert("format".to_owned(), of.clone());
        }
        return plain;
    };
    let mut out = Map::new();
    let mut required = Vec::new();
    for (field, inner) in properties {
        let facts = known.and_then(|known| known.field(field)).unwrap_or(&UNKNOWN);
        if facts.required {
            required.push(field);
        }
        out.insert(field.clone(), Place { format, facts }.property(inner));
    }
    let mut made = described(json!({"type": "object", "properties": out}));
    if let Some(members) = made.as_object_mut() {
        if !required.is_empty() {
            members.insert("required".to_owned(), json!(required));
        }
        if known.is_some_and(Definition::is_atomic) {
            members.insert("x-kubernetes-map-type".to_owned(), "atomic".into());
        }
    }
    made
}

/// The facts of a field that the API's documentation does not mention.
static UNKNOWN: LazyLock<Facts> = LazyLock::new(Facts::default);

/// A field of a definition.
struct Place<'a> {
    format: Format,
    facts: &'a Facts,
}

impl Place<'_> {
    fn property(&self, schema: &Value) -> Value {
        if let Some(name) = reference(schema) {
            let description = meta::text(schema, "description");
            let mut referred = referred(self.format, name, description, self.facts.default == Some(json!({})));
            if let Some(members) = referred.as_object_mut() {
                self.extensions(members);
            }
            return referred;
        }
        let mut out = self.type_of(schema);
        let Some(members) = out.as_object_mut() else {
            return out;
        };
        if let Some(description) = schema.get("description") {
            members.insert("description".to_owned(), description.clone());
        }
        if !self.facts.values.is_empty() {
            let inner = if members.contains_key("items") {
                "items"
            } else {
                "additionalProperties"
            };
            let of = match members.get_mut(inner).and_then(Value::as_object_mut) {
                Some(inner) => inner,
                None => &mut *members,
            };
            of.insert("enum".to_owned(), json!(self.facts.values));
        }
        if self.format == Format::V3
            && let Some(default) = &self.facts.default
        {
            members.insert("default".to_owned(), default.clone());
        }
        self.extensions(members);
        out
    }

    /// Returns the schema without its description, with references in the format's form.
    fn type_of(&self, schema: &Value) -> Value {
        if let Some(name) = reference(schema) {
            return self.format.reference(name);
        }
        let mut out = Map::new();
        for key in ["type", "format"] {
            if let Some(value) = schema.get(key) {
                out.insert(key.to_owned(), value.clone());
            }
        }
        for key in ["items", "additionalProperties"] {
            if let Some(inner) = schema.get(key).filter(|inner| inner.is_object()) {
                out.insert(key.to_owned(), self.item(inner));
            }
        }
        Value::Object(out)
    }

    /// Returns the schema of the items of a list or a map; in version 3 with the default of an item.
    fn item(&self, schema: &Value) -> Value {
        let mut item = self.type_of(schema);
        if self.format == Format::V2 {
            return item;
        }
        let zero = match schema.get("type").and_then(Value::as_str) {
            Some("string") if schema.get("format").is_none() => json!(""),
            Some("integer" | "number") => json!(0),
            _ => return item,
        };
        if let Some(members) = item.as_object_mut() {
            members.insert("default".to_owned(), zero);
        }
        item
    }

    fn extensions(&self, members: &mut Map<String, Value>) {
        let mut put = |name: &str, value: Value| {
            members.insert(format!("x-kubernetes-{name}"), value);
        };
        match self.facts.map {
            None => {}
            Some(Merging::Atomic) => put("map-type", "atomic".into()),
            Some(Merging::Granular) => put("map-type", "granular".into()),
        }
        let patch = self.facts.patch;
        let strategies = [
            (patch.merge, "merge"),
            (patch.retain_keys, "retainKeys"),
            (patch.replace, "replace"),
        ];
        let strategies: Vec<&str> = strategies.iter().filter(|each| each.0).map(|each| each.1).collect();
        if !strategies.is_empty() {
            put("patch-strategy", strategies.join(",").into());
        }
        if !patch.key.is_empty() {
            put("patch-merge-key", patch.key.into());
        }
        match &self.facts.list {
            None => {}
            Some(List::Atomic) => put("list-type", "atomic".into()),
            Some(List::Set) => put("list-type", "set".into()),
            Some(List::Map(keys)) => {
                put("list-type", "map".into());
                put("list-map-keys", json!(keys));
            }
        }
    }
}
