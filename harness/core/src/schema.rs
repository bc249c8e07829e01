//! JSON Schemas of shapes, for editors, in draft 7, which the YAML language server reads.
//!
//! A schema is less strict than the reader: it checks neither references between names nor the requirements that a step
//! proves. The reader refuses everything that a schema refuses.

use serde_json::{Map, Value, json};

use crate::{
    case::file::CASE,
    catalogue::{Catalogue, Requirement},
    implementation::shapes::TARGET,
    names::Feature,
    yaml::shape::{Choice, Field, Holds, Shape, Tagged},
};

/// Returns the schema of case files.
pub fn of_cases(catalogue: &Catalogue) -> Value {
    of(&CASE, "A case of the conformance suite", catalogue, true)
}

/// Returns the schema of target files.
pub fn of_targets(catalogue: &Catalogue) -> Value {
    of(&TARGET, "An implementation under test", catalogue, false)
}

/// Returns the schema of files of another shape, without requirements.
pub fn of_shape(shape: &'static Shape, title: &str) -> Value {
    let mut maker = Maker {
        parameters: false,
        definitions: Map::new(),
        names: Vec::new(),
    };
    let schema = maker.map(shape);
    maker.finish(schema, title)
}

fn of(shape: &'static Shape, title: &str, catalogue: &Catalogue, parameters: bool) -> Value {
    let mut maker = Maker {
        parameters,
        definitions: Map::new(),
        names: Vec::new(),
    };
    let schema = maker.map(shape);
    let ids: Vec<&str> = catalogue.iter().map(|it: &Requirement| it.id.as_str()).collect();
    let features: Vec<&str> = catalogue.features().into_iter().map(Feature::as_str).collect();
    maker.define("requirement", json!({"enum": ids}));
    maker.define("feature", json!({"enum": features}));
    if parameters {
        maker.define("pattern", pattern());
        maker.define("object", object());
        let about = "A parameter of the scenarios.";
        maker.define(
            PARAMETER,
            json!({"type": "string", "pattern": "\\$\\(", "description": about}),
        );
    }
    maker.finish(schema, title)
}

const PARAMETER: &str = "parameter";

/// Pattern of the durations that the reader accepts.
const TIME: &str = "^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$";

struct Maker {
    /// `true` if `$(name)` may replace any value.
    parameters: bool,
    definitions: Map<String, Value>,
    /// The shapes that have a definition, with the name of each definition.
    names: Vec<(&'static Shape, String)>,
}

impl Maker {
    /// Adds the heading and the definitions to a schema.
    fn finish(self, mut schema: Value, title: &str) -> Value {
        if let Some(members) = schema.as_object_mut() {
            members.insert("$schema".to_owned(), json!("http://json-schema.org/draft-07/schema#"));
            members.insert("title".to_owned(), json!(title));
            members.insert("definitions".to_owned(), Value::Object(self.definitions));
        }
        schema
    }

    fn define(&mut self, name: &str, schema: Value) {
        self.definitions.insert(name.to_owned(), schema);
    }

    fn field(&mut self, field: &Field) -> Value {
        let mut schema = self.holds(&field.holds);
        if let Some(members) = schema.as_object_mut() {
            members.insert("description".to_owned(), json!(field.about));
        }
        schema
    }

    /// Returns the schema of a field's value, or of a parameter in its place.
    fn holds(&mut self, holds: &Holds) -> Value {
        let own = match holds {
            Holds::Text => return json!({"type": "string"}),
            Holds::Anything => return json!({}),
            Holds::Pattern => return reference("pattern"),
            Holds::Scalar => return json!({"type": ["string", "number", "boolean", "null"]}),
            Holds::Like(pattern) => json!({"type": "string", "pattern": pattern}),
            Holds::Constant(text) => json!({"const": text}),
            Holds::OneOf(names) => json!({"enum": names()}),
            Holds::Boolean => json!({"type": "boolean"}),
            Holds::Count(least, u64::MAX) => json!({"type": "integer", "minimum": least}),
            Holds::Count(least, most) => json!({"type": "integer", "minimum": least, "maximum": most}),
            Holds::Positive => json!({"type": "number", "exclusiveMinimum": 0, "maximum": 1000}),
            Holds::Time => json!({"type": "string", "pattern": TIME}),
            Holds::Requirement => reference("requirement"),
            Holds::Feature => reference("feature"),
            Holds::Object => reference("object"),
            Holds::List(item) => json!({"type": "array", "items": self.holds(item)}),
            Holds::OneOrMore(item) => {
                let item = self.holds(item);
                json!({"anyOf": [&item, {"type": "array", "items": &item}]})
            }
            Holds::Either(several) => {
                let several: Vec<_> = several().iter().map(|holds| self.own(holds)).collect();
                json!({"anyOf": several})
            }
            Holds::Named(value) => json!({"type": "object", "additionalProperties": self.holds(value)}),
            Holds::Map(shape) => self.defined(shape),
            Holds::Tagged(tagged) => self.tagged(tagged),
        };
        if self.parameters {
            json!({"anyOf": [own, reference(PARAMETER)]})
        } else {
            own
        }
    }

    /// Returns the schema of a value where a parameter is already allowed.
    fn own(&mut self, holds: &Holds) -> Value {
        match holds {
            Holds::Map(shape) => self.defined(shape),
            other => self.holds(other),
        }
    }

    /// Returns a reference to the definition of a shape, so that shapes can contain each other.
    fn defined(&mut self, shape: &'static Shape) -> Value {
        if let Some((_, name)) = self.names.iter().find(|(known, _)| std::ptr::eq(*known, shape)) {
            return reference(name);
        }
        let mut name = shape.name.replace(' ', "-");
        while self.names.iter().any(|(_, taken)| *taken == name) {
            name.push_str("-2");
        }
        // Register the name first: the shape may contain itself.
        self.names.push((shape, name.clone()));
        let schema = self.map(shape);
        self.define(&name, schema);
        reference(&name)
    }

    fn map(&mut self, shape: &Shape) -> Value {
        let mut schema = self.fields(shape.fields.iter());
        let members = schema.as_object_mut();
        match (shape.choice, members) {
            (Choice::None, _) | (_, None) => {}
            (Choice::OneOf(names), Some(members)) => {
                let each: Vec<_> = names.iter().map(|name| json!({"required": [name]})).collect();
                members.insert("oneOf".to_owned(), json!(each));
            }
            (Choice::OneOfAll, Some(members)) => {
                members.insert("minProperties".to_owned(), json!(1));
                members.insert("maxProperties".to_owned(), json!(1));
            }
        }
        schema
    }

    fn fields<'f>(&mut self, fields: impl Iterator<Item = &'f Field>) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for field in fields {
            properties.insert(field.name.to_owned(), self.field(field));
            required.extend(field.needed.then_some(field.name));
        }
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }

    fn tagged(&mut self, tagged: &Tagged) -> Value {
        let each = tagged.shapes.iter().map(|(tag, fields)| {
            let mut schema = self.fields(fields.iter());
            schema["properties"][tagged.key] = json!({"const": tag, "description": tagged.about});
            if let Some(required) = schema["required"].as_array_mut() {
                required.push(json!(tagged.key));
            }
            schema
        });
        let each: Vec<_> = each.collect();
        json!({"anyOf": each})
    }
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/definitions/{name}")})
}

/// Returns the schema of a pattern. A list is allowed only with a rule for matching it.
fn pattern() -> Value {
    let items = |about: &str| json!({"type": "array", "items": reference("pattern"), "description": about});
    let bound = |about: &str| json!({"type": "number", "description": about});
    json!({
        "anyOf": [
            {
                "type": ["string", "number", "boolean", "null"],
                "description": "The value itself; null: nothing is there.",
            },
            {
                "type": "object",
                "minProperties": 1,
                "maxProperties": 1,
                "additionalProperties": false,
                "properties": {
                    "present": {"const": true, "description": "Anything is there but an empty list or map."},
                    "contains": items("A list with an element like each of these."),
                    "exactly": items("A list of as many elements, each like the one in its place."),
                    "lacks": items("A list without an element like any of these."),
                    "mentions": {
                        "type": "array",
                        "items": {"type": "string"},
                        "description": "A text that contains all of these.",
                    },
                    "any": items("What is like one of these."),
                    "oneOf": {
                        "type": "array",
                        "items": {"type": ["string", "number", "boolean", "null"]},
                        "description": "One of these values; null stands for a member that is left out.",
                    },
                    "atLeast": bound("A number that is not smaller."),
                    "atMost": bound("A number that is not greater."),
                    "pattern": {
                        "type": "string",
                        "description": "A text that this regular expression matches somewhere, such as .+ for any.",
                    },
                    "after": {
                        "type": "object",
                        "required": ["time"],
                        "additionalProperties": false,
                        "properties": {
                            "time": {"type": "string"},
                            "atLeast": {"type": "string"},
                            "atMost": {"type": "string"},
                        },
                        "description": "A time that is so long after another one.",
                    },
                    "total": {
                        "type": "object",
                        "required": ["of", "is"],
                        "additionalProperties": false,
                        "properties": {"of": {"type": "string"}, "is": reference("pattern")},
                        "description": "A list whose elements have this in a field together.",
                    },
                },
            },
            {
                "type": "object",
                "additionalProperties": reference("pattern"),
                "description": "What has these members, each like this; others may be there.",
            },
        ],
    })
}

/// Returns the schema of a Kubernetes object.
fn object() -> Value {
    json!({
        "type": "object",
        "required": ["apiVersion", "kind", "metadata"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
        },
    })
}
