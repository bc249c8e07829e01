//! Rules of schemas: `x-kubernetes-validations`.

use serde_json::{Map, Value};

use super::field_path::resolve_field_path;
use super::program::{ParseError, Program};
use crate::meta;

/// The `reason` of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reason {
    /// `FieldValueInvalid`
    #[default]
    Invalid,
    /// `FieldValueForbidden`
    Forbidden,
    /// `FieldValueRequired`
    Required,
    /// `FieldValueDuplicate`
    Duplicate,
}

/// One rule of `x-kubernetes-validations`.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The expression as written.
    pub source: String,
    /// The expression, or its compile error.
    pub program: Result<Program, ParseError>,
    /// `true` if the rule uses the old value.
    pub uses_old: bool,
    /// `optionalOldSelf`
    pub optional_old: bool,
    /// `message`
    pub message: String,
    /// `messageExpression`, if it is set and compiles.
    pub message_program: Option<Program>,
    /// `reason`
    pub reason: Reason,
    /// `fieldPath`, in the form in which it is appended to the path of the value.
    pub field_path: String,
}

impl Rule {
    /// Reads the rules of one level of a schema.
    pub fn read_all(schema: &Map<String, Value>) -> Vec<Self> {
        let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array);
        let whole = || Value::Object(schema.clone());
        rules
            .into_iter()
            .flatten()
            .map(|rule| Self::read(rule, whole))
            .collect()
    }

    fn read(rule: &Value, schema: impl FnOnce() -> Value) -> Self {
        let text = |key: &str| meta::text(rule, key);
        let program = Program::parse(text("rule"));
        let path = text("fieldPath");
        let field_path = if path.is_empty() {
            String::new()
        } else {
            let resolved = resolve_field_path(&schema(), path, true).map(|(path, _)| path);
            resolved.unwrap_or_else(|_| path.trim_start_matches('.').to_owned())
        };
        Self {
            source: text("rule").to_owned(),
            uses_old: program.as_ref().is_ok_and(|program| program.names("oldSelf")),
            program,
            optional_old: rule.get("optionalOldSelf").and_then(Value::as_bool).unwrap_or(false),
            message: text("message").to_owned(),
            message_program: Some(text("messageExpression"))
                .filter(|source| !source.is_empty())
                .and_then(|source| Program::parse(source).ok()),
            reason: match text("reason") {
                "FieldValueForbidden" => Reason::Forbidden,
                "FieldValueRequired" => Reason::Required,
                "FieldValueDuplicate" => Reason::Duplicate,
                _ => Reason::Invalid,
            },
            field_path,
        }
    }

    /// Returns the name of the rule in errors about the rule itself.
    pub(super) fn name(&self) -> &str {
        if self.message.is_empty() {
            self.source.trim()
        } else {
            self.message.trim()
        }
    }
}
