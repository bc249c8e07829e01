//! Validates objects against their definitions: those of the failover API in the program, and those that the case
//! applies.
//!
//! Finds unknown fields, values of the wrong type, values outside of an enumeration, numbers out of range, and missing
//! fields. CEL rules and patterns are left to the API server.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use baton_core::{
    case::model::{Case, Step},
    pattern,
    spelling::suggestion,
    yaml::{Diagnostic, plain},
};
use serde_json::Value;

use super::{
    paths::{is_open, text},
    place::{Part, Segment, Sources, Way},
};

/// Group and kind.
type GroupKind = (String, String);

/// Served versions of kinds, with their schemas.
#[derive(Debug, Clone, Default)]
pub(super) struct Definitions {
    kinds: BTreeMap<GroupKind, BTreeMap<String, Arc<Value>>>,
}

impl Definitions {
    /// Definitions in the program.
    pub(super) fn bundled() -> &'static Self {
        static BUNDLED: LazyLock<Definitions> = LazyLock::new(|| {
            let mut bundled = Definitions::default();
            for name in baton_suite::paths().filter(|name| name.starts_with("fixtures/crds/")) {
                let text = String::from_utf8_lossy(baton_suite::read(&name).unwrap_or_default());
                for definition in plain::documents(&text).flatten() {
                    bundled.add(&definition);
                }
            }
            bundled
        });
        &BUNDLED
    }

    /// Returns these definitions and those that a case applies.
    pub(super) fn with_those_of(&self, case: &Case) -> Self {
        let mut all = self.clone();
        for step in &case.steps {
            for write in step.action.facts().writes.iter().filter(|it| it.into.is_none()) {
                all.add(write.value);
            }
        }
        all
    }

    /// Adds an object, if it is a definition.
    pub(super) fn add(&mut self, definition: &Value) {
        if definition["kind"] != "CustomResourceDefinition" {
            return;
        }
        let kind = (text(definition, "/spec/group"), text(definition, "/spec/names/kind"));
        let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
        let served = versions.into_iter().flatten().filter(|it| it["served"] == true);
        let schemas = served.map(|version| {
            let schema = version.pointer("/schema/openAPIV3Schema");
            (text(version, "/name"), Arc::new(schema.cloned().unwrap_or_default()))
        });
        self.kinds.insert(kind, schemas.collect());
    }

    /// Returns the kinds of a group.
    pub(super) fn kinds_of<'a>(&'a self, group: &str) -> Vec<&'a str> {
        let of_group = self.kinds.keys().filter(|(of, _)| of == group);
        of_group.map(|(_, kind)| kind.as_str()).collect()
    }

    /// Returns `true` if a kind is defined, in any version.
    pub(super) fn has(&self, group: &str, kind: &str) -> bool {
        self.kinds.contains_key(&(group.to_owned(), kind.to_owned()))
    }
}

/// Error in an object.
struct Problem {
    way: Way,
    part: Part,
    message: String,
    help: String,
}

/// Returns the errors in objects that a case applies or patches.
pub(super) fn errors(case: &Case, known: &Definitions, sources: &Sources<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for step in &case.steps {
        for (object, of, whole) in written(step) {
            let (api_version, kind) = of;
            let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
            let Some(versions) = known.kinds.get(&(group.to_owned(), kind.clone())) else {
                continue;
            };
            let problems = match versions.get(version) {
                Some(schema) => problems(object, schema, whole),
                None => vec![Problem {
                    way: vec![Segment::Key("apiVersion".to_owned())],
                    part: Part::Value,
                    message: format!("{kind} is not served in the version {api_version}"),
                    help: suggestion(version, versions.keys().map(String::as_str)),
                }],
            };
            for Problem {
                way,
                part,
                message,
                help,
            } in problems
            {
                found.push(sources.diagnostic((case, step), object, (&way, part), message, help));
            }
        }
    }
    found
}

/// Returns the objects that a step writes, each with its `apiVersion` and kind; the flag is `false` for patches.
fn written(step: &Step) -> Vec<(&Value, (String, String), bool)> {
    let writes = step.action.facts().writes.into_iter();
    let known = writes.filter_map(|it| {
        let (api_version, kind, _) = it.object()?;
        Some((it.value, (api_version.to_owned(), kind.to_owned()), it.into.is_none()))
    });
    known.collect()
}

/// Validates an object. Required fields are checked only if the object is `whole`, not a patch.
fn problems(object: &Value, schema: &Value, whole: bool) -> Vec<Problem> {
    let mut check = Check {
        whole,
        way: Vec::new(),
        found: Vec::new(),
    };
    let members = object.as_object().into_iter().flatten();
    let own = members.filter(|(name, _)| !matches!(name.as_str(), "apiVersion" | "kind" | "metadata" | "status"));
    for (name, value) in own {
        check.member(name, value, schema);
    }
    if whole {
        check.required(object, schema);
    }
    check.found
}

struct Check {
    whole: bool,
    way: Way,
    found: Vec<Problem>,
}

impl Check {
    fn problem(&mut self, part: Part, message: String, help: impl Into<String>) {
        self.found.push(Problem {
            way: self.way.clone(),
            part,
            message,
            help: help.into(),
        });
    }

    /// Returns the path so far as a text.
    fn path(&self) -> String {
        let mut path = String::new();
        for segment in &self.way {
            match segment {
                Segment::Key(name) if path.is_empty() => path.clone_from(name),
                Segment::Key(name) => path = format!("{path}.{name}"),
                Segment::Item(index) => path = format!("{path}[{index}]"),
            }
        }
        path
    }

    fn member(&mut self, name: &str, value: &Value, schema: &Value) {
        let properties = schema.get("properties").and_then(Value::as_object);
        self.way.push(Segment::Key(name.to_owned()));
        match (
            properties.and_then(|it| it.get(name)),
            schema.get("additionalProperties"),
        ) {
            (Some(schema), _) | (None, Some(schema @ Value::Object(_))) => self.value(value, schema),
            (None, Some(Value::Bool(true))) => {}
            (None, _) if is_open(schema) || properties.is_none() => {}
            (None, _) => {
                let above = self.way.len() - 1;
                let of = Self {
                    way: self.way[..above].to_vec(),
                    whole: self.whole,
                    found: Vec::new(),
                };
                let of = of.path();
                let place = if of.is_empty() {
                    String::new()
                } else {
                    format!(" in {of}")
                };
                let names = properties.into_iter().flat_map(|it| it.keys()).map(String::as_str);
                let help = suggestion(name, names.collect::<Vec<_>>());
                self.problem(Part::Key, format!("unknown field `{name}`{place}"), help);
            }
        }
        self.way.pop();
    }

    fn value(&mut self, value: &Value, schema: &Value) {
        // A text with references gets its value only when the case runs.
        if value.is_null() || value.as_str().is_some_and(|text| !pattern::references(text).is_empty()) {
            return;
        }
        if let Some(message) = self.of_wrong_type(value, schema) {
            return self.problem(Part::Value, message, "");
        }
        if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
            && !allowed.contains(value)
        {
            let names: Vec<_> = allowed.iter().filter_map(Value::as_str).collect();
            let shown = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
            let help = suggestion(&shown, names);
            return self.problem(Part::Value, format!("{} cannot be `{shown}`", self.path()), help);
        }
        self.bounds(value, schema);
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    self.member(name, value, schema);
                }
                if self.whole {
                    self.required(value, schema);
                }
            }
            Value::Array(items) => {
                if let Some(schema) = schema.get("items") {
                    for (index, item) in items.iter().enumerate() {
                        self.way.push(Segment::Item(index));
                        self.value(item, schema);
                        self.way.pop();
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn of_wrong_type(&self, value: &Value, schema: &Value) -> Option<String> {
        let wanted = schema.get("type").and_then(Value::as_str)?;
        let (fits, article) = match wanted {
            "object" => (value.is_object(), "a map"),
            "array" => (value.is_array(), "a list"),
            "string" => (value.is_string(), "a string"),
            "boolean" => (value.is_boolean(), "true or false"),
            "integer" => (value.is_i64() || value.is_u64(), "a whole number"),
            "number" => (value.is_number(), "a number"),
            _ => return None,
        };
        let seen = match value {
            Value::Null => "nothing".to_owned(),
            Value::Bool(_) | Value::Number(_) => format!("`{value}`"),
            Value::String(text) => format!("the string `{text}`"),
            Value::Array(_) => "a list".to_owned(),
            Value::Object(_) => "a map".to_owned(),
        };
        (!fits).then(|| format!("{} must be {article}, not {seen}", self.path()))
    }

    fn bounds(&mut self, value: &Value, schema: &Value) {
        let Some(number) = value.as_f64() else { return };
        let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
        if let Some(least) = bound("minimum").filter(|least| number < *least) {
            self.problem(
                Part::Value,
                format!("{} must be at least {least}, not {value}", self.path()),
                "",
            );
        }
        if let Some(most) = bound("maximum").filter(|most| number > *most) {
            self.problem(
                Part::Value,
                format!("{} must be at most {most}, not {value}", self.path()),
                "",
            );
        }
    }

    fn required(&mut self, value: &Value, schema: &Value) {
        let required = schema.get("required").and_then(Value::as_array);
        let names = required.into_iter().flatten().filter_map(Value::as_str);
        let defaulted = |name: &str| schema.pointer(&format!("/properties/{name}/default")).is_some();
        for name in names.filter(|name| value.get(name).is_none() && !defaulted(name)) {
            let path = self.path();
            let of = if path.is_empty() { "the object" } else { &path };
            self.problem(Part::Value, format!("{of} needs `{name}`"), "");
        }
    }
}
