//! As much of JSON Schema as the schemas for editors use; a keyword that is not among it fails the test.

use regex::Regex;
use serde_json::{Map, Value};

/// A schema.
pub struct Validator(pub Value);

impl Validator {
    pub fn is_valid(&self, value: &Value) -> bool {
        self.check(value).is_ok()
    }

    /// Says what is wrong first, with its place.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        self.checked(&self.0, value, "")
    }

    #[expect(
        clippy::panic,
        reason = "a keyword that is passed over would make the tests worthless"
    )]
    fn checked(&self, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
        let keywords = schema.as_object().unwrap_or_else(|| panic!("{schema} is no schema"));
        for (keyword, wanted) in keywords {
            let right = match keyword.as_str() {
                "$schema" | "title" | "description" | "definitions" => true,
                // It is checked with `properties`.
                "additionalProperties" => {
                    self.others(keywords, wanted, value, at)?;
                    true
                }
                "$ref" => {
                    self.checked(self.definition(wanted), value, at)?;
                    true
                }
                "properties" => {
                    self.properties(wanted, value, at)?;
                    true
                }
                "items" => {
                    for (number, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.checked(wanted, item, &format!("{at}/{number}"))?;
                    }
                    true
                }
                "anyOf" => return_or(self.fitting(wanted, value, at), |fitting| fitting.0 > 0)?,
                "oneOf" => return_or(self.fitting(wanted, value, at), |fitting| fitting.0 == 1)?,
                "const" => value == wanted,
                "enum" => list(wanted).contains(value),
                "type" => list(wanted).iter().any(|name| is_of(value, name)),
                "pattern" => value
                    .as_str()
                    .is_none_or(|text| Regex::new(text_of(wanted)).unwrap().is_match(text)),
                "required" => value
                    .as_object()
                    .is_none_or(|map| list(wanted).iter().all(|name| map.contains_key(text_of(name)))),
                "minProperties" => value
                    .as_object()
                    .is_none_or(|map| map.len() as u64 >= wanted.as_u64().unwrap()),
                "maxProperties" => value
                    .as_object()
                    .is_none_or(|map| map.len() as u64 <= wanted.as_u64().unwrap()),
                "minimum" => value.as_f64().is_none_or(|number| number >= wanted.as_f64().unwrap()),
                "maximum" => value.as_f64().is_none_or(|number| number <= wanted.as_f64().unwrap()),
                "exclusiveMinimum" => value.as_f64().is_none_or(|number| number > wanted.as_f64().unwrap()),
                other => panic!("the keyword {other} is not known here"),
            };
            if !right {
                return Err(format!("{at}: {value} does not fit {keyword}: {wanted}"));
            }
        }
        Ok(())
    }

    #[expect(clippy::panic, reason = "a reference that leads nowhere is a mistake of the schema")]
    fn definition(&self, reference: &Value) -> &Value {
        let pointer = text_of(reference).strip_prefix('#').unwrap_or_default();
        let found = self.0.pointer(pointer).filter(|it| !it.is_null());
        found.unwrap_or_else(|| panic!("{reference} leads nowhere"))
    }

    fn properties(&self, wanted: &Value, value: &Value, at: &str) -> Result<(), String> {
        let both = wanted.as_object().zip(value.as_object());
        for (name, schema) in both.map(|(wanted, _)| wanted).into_iter().flatten() {
            if let Some(member) = value.get(name) {
                self.checked(schema, member, &format!("{at}/{name}"))?;
            }
        }
        Ok(())
    }

    fn others(&self, keywords: &Map<String, Value>, wanted: &Value, value: &Value, at: &str) -> Result<(), String> {
        let known = |name: &str| keywords.get("properties").is_some_and(|it| it.get(name).is_some());
        for (name, member) in value.as_object().into_iter().flatten().filter(|(name, _)| !known(name)) {
            match wanted {
                Value::Bool(false) => return Err(format!("{at}: there is no `{name}`")),
                schema => self.checked(schema, member, &format!("{at}/{name}"))?,
            }
        }
        Ok(())
    }

    /// Number of the schemas that fit, and the errors of the others.
    fn fitting(&self, schemas: &Value, value: &Value, at: &str) -> (usize, String) {
        let results = list(schemas).into_iter().map(|schema| self.checked(&schema, value, at));
        let (fit, wrong): (Vec<_>, Vec<_>) = results.partition(Result::is_ok);
        let wrong: Vec<_> = wrong.into_iter().filter_map(Result::err).collect();
        (fit.len(), wrong.join("; or "))
    }
}

fn return_or(fitting: (usize, String), fits: impl Fn(&(usize, String)) -> bool) -> Result<bool, String> {
    if fits(&fitting) { Ok(true) } else { Err(fitting.1) }
}

/// The items of a list, or the one value.
fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_else(|| vec![value.clone()])
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn is_of(value: &Value, name: &Value) -> bool {
    match text_of(name) {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}
