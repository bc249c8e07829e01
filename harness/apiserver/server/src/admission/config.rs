//! Configured webhooks.

use std::fmt;

use baton_apimachinery::meta;
use baton_apimachinery::schema::cel::error::CelError;
use baton_apimachinery::schema::cel::eval::Evaluator;
use baton_apimachinery::schema::cel::scope::Scope;
use baton_apimachinery::schema::cel::value::Val;
use baton_apimachinery::schema::program::{ParseError, Program};
use serde_json::Value;

use super::matching::{Matcher, Subject};
use crate::webhook_client::Endpoint;

/// Cost limit for all conditions of a webhook together.
const BUDGET: u64 = 2_500_000;

/// Conditions in CEL that a write must meet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Conditions(Vec<Condition>);

/// One condition: its name, its text, and the compiled program.
type Condition = (String, String, Result<Program, ParseError>);

/// Reason for which a condition does not decide.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConditionError {
    #[error("match condition {0:?} is not a bool")]
    NotABool(String),
    #[error("expression '{0}' resulted in error: {1}")]
    Failed(String, #[source] CelError),
}

/// The conditions that do not decide.
#[derive(Debug, thiserror::Error)]
pub(crate) struct ConditionErrors(Vec<ConditionError>);

impl fmt::Display for ConditionErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [one] => one.fmt(f),
            several => {
                let several: Vec<String> = several.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", several.join(", "))
            }
        }
    }
}

impl Conditions {
    pub(crate) fn read(source: &Value) -> Self {
        let list = source.get("matchConditions").and_then(Value::as_array);
        let text = |value: &Value, key: &str| meta::text(value, key).to_owned();
        let read = |condition: &Value| {
            let expression = text(condition, "expression");
            let program = Program::parse(&expression);
            (text(condition, "name"), expression, program)
        };
        Self(list.into_iter().flatten().map(read).collect())
    }

    /// Returns `true` if all conditions hold. A condition that does not hold decides even if another one fails.
    pub(crate) fn hold<'a>(&'a self, variables: &[(&'a str, Val<'a>)]) -> Result<bool, ConditionErrors> {
        let scope = Scope::root(variables);
        let mut failed = Vec::new();
        for (name, expression, program) in &self.0 {
            let outcome = match program {
                Ok(program) => Evaluator::new(BUDGET).eval(program.expr(), &scope),
                Err(error) => Err(CelError::Eval(error.to_string())),
            };
            match outcome {
                Ok(Val::Bool(true)) => {}
                Ok(Val::Bool(false)) => return Ok(false),
                Ok(_) => failed.push(ConditionError::NotABool(name.clone())),
                Err(error) => failed.push(ConditionError::Failed(expression.clone(), error)),
            }
        }
        if failed.is_empty() {
            Ok(true)
        } else {
            Err(ConditionErrors(failed))
        }
    }
}

/// One webhook of a configuration.
#[derive(Debug, Clone)]
pub(crate) struct Webhook {
    /// Name of the configuration.
    pub(crate) configuration: String,
    pub(crate) name: String,
    /// The endpoint of the webhook.
    pub(crate) endpoint: Endpoint,
    /// `true` if a failed call refuses the write.
    pub(crate) fails: bool,
    /// `true` if the webhook is called again when a later one changes the object.
    pub(crate) again: bool,
    /// `true` if a dry run may call the webhook.
    pub(crate) dry_run: bool,
    /// The version of `AdmissionReview` that the webhook accepts.
    pub(crate) review_version: String,
    matcher: Matcher,
    conditions: Conditions,
}

impl Webhook {
    /// Reads the webhooks of a configuration.
    pub(crate) fn read_all(configuration: &Value) -> Vec<Self> {
        let name = configuration
            .pointer("/metadata/name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let webhooks = configuration.get("webhooks").and_then(Value::as_array);
        webhooks
            .into_iter()
            .flatten()
            .map(|webhook| Self::read(name, webhook))
            .collect()
    }

    fn read(configuration: &str, webhook: &Value) -> Self {
        let text = |pointer: &str| webhook.pointer(pointer).and_then(Value::as_str);
        let secs = webhook.get("timeoutSeconds").and_then(Value::as_u64).unwrap_or(10);
        let versions = super::matching::strings(webhook, "admissionReviewVersions");
        let known = versions
            .into_iter()
            .find(|version| matches!(version.as_str(), "v1" | "v1beta1"));
        Self {
            configuration: configuration.to_owned(),
            name: text("/name").unwrap_or_default().to_owned(),
            endpoint: Endpoint::read(webhook.get("clientConfig").unwrap_or(&Value::Null), secs),
            fails: text("/failurePolicy") != Some("Ignore"),
            again: text("/reinvocationPolicy") == Some("IfNeeded"),
            dry_run: matches!(text("/sideEffects"), Some("None" | "NoneOnDryRun")),
            review_version: known.unwrap_or_else(|| "v1".to_owned()),
            matcher: Matcher::read(webhook),
            conditions: Conditions::read(webhook),
        }
    }

    /// Returns the version in which the webhook sees the write, or `None` if the webhook does not apply to it.
    pub(crate) fn version<'s>(&self, subject: &Subject<'s>) -> Option<&'s str> {
        let version = self.matcher.version(subject)?;
        self.matcher.selects(subject).then_some(version)
    }

    /// Returns `true` if the match conditions hold.
    pub(crate) fn wants<'a>(&'a self, variables: &[(&'a str, Val<'a>)]) -> Result<bool, ConditionErrors> {
        self.conditions.hold(variables)
    }
}
