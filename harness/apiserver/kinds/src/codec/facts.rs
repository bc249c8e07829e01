//! Facts about fields that the API's documentation gives and the schemas of `k8s-openapi` lack.

use baton_apimachinery::generated::Field;
use baton_apimachinery::merge::types::Patch;
use serde_json::Value;

/// Facts about a field in the API's documentation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// `true` if the field is required.
    pub required: bool,
    /// The default value; `{}` for a structure that is always present.
    pub default: Option<Value>,
    /// The values of an enumeration, for the field or for each of its items.
    pub values: Vec<&'static str>,
    /// The merging of the list in server-side apply, if the documentation states it.
    pub list: Option<List>,
    /// The merging of the map, overriding that of its type.
    pub map: Option<Merging>,
    /// The treatment of the field in strategic merge patches.
    pub patch: Patch,
}

/// The merging of a list in server-side apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum List {
    /// Merged as a whole.
    Atomic,
    /// As a set of scalars.
    Set,
    /// Merged by these keys.
    Map(Vec<&'static str>),
}

/// The merging of a map or a structure in server-side apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merging {
    /// Merged as a whole.
    Atomic,
    /// Merged field by field.
    Granular,
}

impl Facts {
    pub(super) fn of(field: &Field<'static>) -> Self {
        let mut facts = Self::default();
        for (word, value) in field.facts() {
            match word {
                "required" => facts.required = true,
                "default" => facts.default = serde_json::from_str(value).ok(),
                "enum" => facts.values = value.split('|').collect(),
                "list" => facts.list = Some(list(value)),
                "map" if value == "atomic" => facts.map = Some(Merging::Atomic),
                "map" => facts.map = Some(Merging::Granular),
                "patch" => facts.patch = patch(value),
                _ => {}
            }
        }
        facts
    }
}

fn list(text: &'static str) -> List {
    let mut parts = text.split(':');
    match parts.next() {
        Some("set") => List::Set,
        Some("map") => List::Map(parts.collect()),
        _ => List::Atomic,
    }
}

/// Parses `merge,retainKeys:name`: strategies, and the field that identifies an item.
fn patch(text: &'static str) -> Patch {
    let (strategies, key) = text.split_once(':').unwrap_or((text, ""));
    let has = |strategy: &str| strategies.split(',').any(|each| each == strategy);
    Patch {
        merge: has("merge"),
        retain_keys: has("retainKeys"),
        replace: has("replace"),
        key,
    }
}
