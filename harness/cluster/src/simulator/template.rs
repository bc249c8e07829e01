//! Templates and expressions in rules: [minijinja](https://docs.rs/minijinja) with JSON escaping.
//!
//! `{{ … }}` prints values as JSON, with quotes around strings, and the rendered text is parsed as YAML. A missing
//! value is `null`: in a status it removes the field, in an expression it is false.
//!
//! Each expression is a separate template. Its syntax and the names that it uses are checked when it is added.

use std::collections::BTreeSet;

use baton_core::yaml::plain::{self, YamlError};
use minijinja::{AutoEscape, Environment, UndefinedBehavior, syntax::SyntaxConfig};
use serde_json::Value;
use thiserror::Error;

use crate::storage::Storage;

/// An error in a template.
#[derive(Debug, Error)]
pub enum TemplateError {
    /// The template does not parse, or fails for an object.
    #[error("{0}")]
    Engine(#[from] minijinja::Error),
    /// The template uses an undefined variable or function.
    #[error("unknown variable or function {unknown}; known are {known}")]
    Unknown {
        /// Undefined names, in backticks.
        unknown: String,
        /// Defined names.
        known: String,
    },
    /// The rendered text is not valid YAML.
    #[error("the rendered text is not valid YAML: {source}; it is\n{rendered}")]
    Yaml {
        /// Error from the parser.
        source: YamlError,
        /// The rendered text.
        rendered: String,
    },
    /// The rendered value has the wrong type.
    #[error("expected {expected}, found {value}")]
    Type {
        /// Expected type.
        expected: &'static str,
        /// The rendered value.
        value: Value,
    },
}

/// Variables that a template may use.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Variables {
    /// `object`, `children`, `settings`.
    Object,
    /// The same and `child`.
    Child,
    /// Only `object`, which is about to be stored.
    Admitted,
}

impl Variables {
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Object => &["object", "children", "settings"],
            Self::Child => &["object", "children", "settings", "child"],
            Self::Admitted => &["object"],
        }
    }
}

/// Name of a template in `Templates`.
#[derive(Debug, Clone)]
pub struct TemplateId(String);

/// Compiled templates, and the functions that they may call.
#[derive(Debug, Clone)]
pub(crate) struct Templates {
    environment: Environment<'static>,
}

impl Templates {
    /// No templates yet. Functions that need a running simulator are placeholders, so that templates can be checked.
    pub(crate) fn new() -> Self {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Chainable);
        environment.set_auto_escape_callback(|_| AutoEscape::Json);
        // A line that holds only a tag leaves no empty line. Building fails only for invalid delimiters, and these are
        // the defaults.
        if let Ok(syntax) = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build() {
            environment.set_syntax(syntax);
        }
        super::functions::add(&mut environment);
        Self { environment }
    }

    /// A copy whose functions `now`, `hex` etc. use the source of one simulator.
    pub(super) fn with(&self, source: super::functions::Source) -> Self {
        let mut environment = self.environment.clone();
        super::functions::bind(&mut environment, source);
        Self { environment }
    }

    /// A copy whose functions `file`, `files` and `latest` read this storage. Other functions that need a simulator
    /// fail.
    pub(crate) fn with_storage(&self, storage: Storage) -> Self {
        let mut environment = self.environment.clone();
        super::functions::bind_storage(&mut environment, storage);
        Self { environment }
    }

    /// Adds a template that returns YAML.
    ///
    /// Errors of the template refer to it as `name`, which must be unique.
    pub(crate) fn add_text(
        &mut self,
        name: &str,
        source: &str,
        variables: Variables,
    ) -> Result<TemplateId, TemplateError> {
        let id = TemplateId(name.to_owned());
        self.environment.add_template_owned(id.0.clone(), source.to_owned())?;
        self.check_names(&id, variables)?;
        Ok(id)
    }

    /// Adds an expression.
    pub(crate) fn add_expression(
        &mut self,
        name: &str,
        source: &str,
        variables: Variables,
    ) -> Result<TemplateId, TemplateError> {
        self.environment.compile_expression(source)?;
        self.add_text(name, &format!("{{{{ ({source}) }}}}"), variables)
    }

    fn check_names(&self, id: &TemplateId, variables: Variables) -> Result<(), TemplateError> {
        let globals = self.environment.globals().map(|(name, _)| name);
        let known: BTreeSet<&str> = globals.chain(variables.names().iter().copied()).collect();
        let used = self.environment.get_template(&id.0)?.undeclared_variables(false);
        let unknown: BTreeSet<String> = used
            .iter()
            .filter(|name| !known.contains(name.as_str()))
            .map(|name| format!("`{name}`"))
            .collect();
        if unknown.is_empty() {
            return Ok(());
        }
        Err(TemplateError::Unknown {
            unknown: Vec::from_iter(unknown).join(", "),
            known: Vec::from_iter(known).join(", "),
        })
    }

    /// Renders a template, and parses the result.
    pub(crate) fn render(&self, id: &TemplateId, context: &minijinja::Value) -> Result<Value, TemplateError> {
        let rendered = self.environment.get_template(&id.0)?.render(context.clone())?;
        // Expressions render to JSON, which parses much faster.
        if let Ok(value) = serde_json::from_str(&rendered) {
            return Ok(value);
        }
        plain::read(&rendered).map_err(|source| TemplateError::Yaml { source, rendered })
    }

    /// Evaluates an expression as a condition: true unless it is missing, null, false, zero or empty.
    pub(crate) fn holds(&self, id: &TemplateId, context: &minijinja::Value) -> Result<bool, TemplateError> {
        self.render(id, context).map(|value| truth(&value))
    }
}

fn truth(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
    }
}
