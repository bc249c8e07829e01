//! Templates and expressions in rules: [minijinja](https://docs.rs/minijinja), with JSON as the escaping.
//!
//! Whatever `{{ … }}` prints is printed as JSON, so that a text is quoted and a list is a list, and what is rendered
//! is read as YAML. What is missing is `null`: in a status that removes the field, in an expression it is false.
//!
//! An expression is a template of its own; that it is compiled at all, and which names it uses, is checked when
//! it is added.

use std::collections::BTreeSet;

use baton_core::yaml::plain::{self, YamlError};
use minijinja::{AutoEscape, Environment, UndefinedBehavior, syntax::SyntaxConfig};
use serde_json::Value;
use thiserror::Error;

use crate::storage::Storage;

/// Why a template cannot be used.
#[derive(Debug, Error)]
pub enum TemplateError {
    /// It does not parse, or fails on an object.
    #[error("{0}")]
    Engine(#[from] minijinja::Error),
    /// It uses a variable or calls a function that is not there.
    #[error("there is no variable or function {unknown}; there are {known}")]
    Unknown {
        /// What is not there, in backticks.
        unknown: String,
        /// What is.
        known: String,
    },
    /// What it gives is no YAML.
    #[error("what it gives is no YAML: {source}; it gave\n{rendered}")]
    Yaml {
        /// What the parser says.
        source: YamlError,
        /// What was rendered.
        rendered: String,
    },
    /// What it gives is YAML, but of the wrong type.
    #[error("it must give {expected}, not {value}")]
    Type {
        /// What is needed.
        expected: &'static str,
        /// What it gave.
        value: Value,
    },
}

/// Which variables a template may use.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Variables {
    /// `object`, `children`, `settings`.
    Object,
    /// These and `child`.
    Child,
    /// `object` alone: what is about to be stored.
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

/// Data as templates see it.
pub(crate) fn data(value: impl serde::Serialize) -> minijinja::Value {
    minijinja::value::Serde(value).into()
}

/// Names a template among `Templates`.
#[derive(Debug, Clone)]
pub struct TemplateId(String);

/// Compiled templates, and the functions that they may call.
#[derive(Debug, Clone)]
pub(crate) struct Templates {
    environment: Environment<'static>,
}

impl Templates {
    /// None yet. Functions that need a simulator at work are known by name, so that templates can be checked.
    pub(crate) fn new() -> Self {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Chainable);
        environment.set_auto_escape_callback(|_| AutoEscape::Json);
        // Lines that hold only a tag leave no empty line. It fails for bad delimiters alone; these are the usual ones.
        if let Ok(syntax) = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build() {
            environment.set_syntax(syntax);
        }
        super::functions::add(&mut environment);
        Self { environment }
    }

    /// A copy whose functions `now`, `hex` and the like are those of one simulator.
    pub(super) fn with(&self, source: super::functions::Source) -> Self {
        let mut environment = self.environment.clone();
        super::functions::bind(&mut environment, source);
        Self { environment }
    }

    /// A copy whose functions `file`, `files` and `latest` look into this storage. The others that need a simulator fail.
    pub(crate) fn with_storage(&self, storage: Storage) -> Self {
        let mut environment = self.environment.clone();
        super::functions::bind_storage(&mut environment, storage);
        Self { environment }
    }

    /// Adds a template that gives YAML.
    ///
    /// What is said about it later says `name`, which must be its own.
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

    /// What a template gives, as a value.
    pub(crate) fn render(&self, id: &TemplateId, context: &minijinja::Value) -> Result<Value, TemplateError> {
        let rendered = self.environment.get_template(&id.0)?.render(context.clone())?;
        // What an expression gives is JSON, which takes far less time to read.
        if let Ok(value) = serde_json::from_str(&rendered) {
            return Ok(value);
        }
        plain::read(&rendered).map_err(|source| TemplateError::Yaml { source, rendered })
    }

    /// Whether what an expression gives counts as true: neither missing nor null, false, zero or empty.
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
