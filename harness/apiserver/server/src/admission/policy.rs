//! `ValidatingAdmissionPolicy` and its bindings.

use std::cell::RefCell;
use std::sync::Arc;

use baton_apimachinery::meta::text;
use baton_apimachinery::schema::cel::Program;
use baton_apimachinery::schema::cel::eval::{CelError, Evaluator};
use baton_apimachinery::schema::cel::scope::{Lazy, Scope};
use baton_apimachinery::schema::cel::value::Val;
use serde_json::{Value, json};

use super::config::Conditions;
use super::matching::{Matcher, Subject};
use crate::api_error::ApiError;

/// What all expressions of a policy may cost together.
const BUDGET: u64 = 10_000_000;
/// What one expression may cost.
const PER_EXPRESSION: u64 = 1_000_000;

/// One validation of a policy.
#[derive(Debug)]
struct Validation {
    source: String,
    program: Result<Program, String>,
    message: String,
    message_program: Option<Program>,
    reason: String,
}

#[derive(Debug)]
struct Policy {
    name: String,
    matcher: Matcher,
    conditions: Conditions,
    variables: Vec<(String, Result<Program, String>)>,
    validations: Vec<Validation>,
    fails: bool,
    /// `apiVersion` and `kind` of the parameters.
    param_kind: Option<(String, String)>,
}

#[derive(Debug)]
struct Binding {
    name: String,
    policy: String,
    matcher: Matcher,
    actions: Vec<String>,
    param_ref: Value,
}

/// All policies and bindings.
#[derive(Debug, Default)]
pub(crate) struct Policies {
    policies: Vec<Policy>,
    bindings: Vec<Binding>,
}

/// Finds parameters by `apiVersion`, `kind` and `paramRef`; `None` if there is no such kind. Without a `paramRef` none are
/// looked for.
pub(crate) type FindParams<'a> = dyn Fn(&str, &str, Option<&Value>) -> Option<Vec<Arc<Value>>> + 'a;

/// What a policy sees of a write.
pub(crate) struct Context<'a> {
    pub(crate) subject: Subject<'a>,
    /// The `request` of the `AdmissionReview`.
    pub(crate) request: &'a Value,
    /// The namespace of the object.
    pub(crate) namespace: &'a Value,
    /// How the error names the object: `widgets.example.com "a"`, and its details.
    pub(crate) about: String,
    pub(crate) details: Value,
    /// Finds parameters.
    pub(crate) params: &'a FindParams<'a>,
}

impl Policies {
    pub(crate) fn read(policies: &[Arc<Value>], bindings: &[Arc<Value>]) -> Self {
        Self {
            policies: policies.iter().map(|policy| Policy::read(policy)).collect(),
            bindings: bindings.iter().map(|binding| Binding::read(binding)).collect(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bindings.is_empty() || self.policies.is_empty()
    }

    /// Asks all policies: the first refusal, and the warnings.
    pub(crate) fn check(&self, context: &Context<'_>) -> (Option<ApiError>, Vec<String>) {
        let (mut refusal, mut warnings) = (None, Vec::new());
        for policy in &self.policies {
            let mut bindings = self
                .bindings
                .iter()
                .filter(|binding| binding.policy == policy.name)
                .peekable();
            if bindings.peek().is_some()
                && let Some(message) = policy.lacks_parameters(context)
            {
                let message = format!("ValidatingAdmissionPolicy '{}' denied request: {message}", policy.name);
                refusal.get_or_insert_with(|| denied(context, &message, ""));
                continue;
            }
            for binding in bindings {
                for (message, reason) in policy.failures(binding, context) {
                    let (policy, binding_name) = (&policy.name, &binding.name);
                    if binding.actions.iter().any(|action| action == "Warn") {
                        warnings.push(format!(
                            "Validation failed for ValidatingAdmissionPolicy '{policy}' with binding '{binding_name}': {message}"
                        ));
                    }
                    if refusal.is_none() && binding.actions.iter().any(|action| action == "Deny") {
                        let message = format!(
                            "ValidatingAdmissionPolicy '{policy}' with binding '{binding_name}' denied request: {message}"
                        );
                        refusal = Some(denied(context, &message, &reason));
                    }
                }
            }
        }
        (refusal, warnings)
    }
}

fn denied(context: &Context<'_>, message: &str, reason: &str) -> ApiError {
    let (code, reason) = match reason {
        "Unauthorized" => (401, "Unauthorized"),
        "Forbidden" => (403, "Forbidden"),
        "RequestEntityTooLarge" => (413, "RequestEntityTooLarge"),
        _ => (422, "Invalid"),
    };
    let mut details = context.details.clone();
    if let Some(map) = details.as_object_mut() {
        map.insert("causes".to_owned(), json!([{"message": message}]));
    }
    ApiError::new(
        code,
        reason,
        format!("{} is forbidden: {message}", context.about),
        Some(details),
    )
}

impl Binding {
    fn read(binding: &Value) -> Self {
        let spec = binding.get("spec").unwrap_or(&Value::Null);
        Self {
            name: binding
                .pointer("/metadata/name")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            policy: text(spec, "policyName").to_owned(),
            matcher: Matcher::read(spec.get("matchResources").unwrap_or(&Value::Null)),
            actions: super::matching::strings(spec, "validationActions"),
            param_ref: spec.get("paramRef").cloned().unwrap_or(Value::Null),
        }
    }

    fn matches(&self, subject: &Subject<'_>) -> bool {
        (!self.matcher.has_rules() || self.matcher.version(subject).is_some()) && self.matcher.selects(subject)
    }
}

impl Policy {
    fn read(policy: &Value) -> Self {
        let spec = policy.get("spec").unwrap_or(&Value::Null);
        let list = |key: &str| spec.get(key).and_then(Value::as_array).into_iter().flatten();
        let validation = |validation: &Value| Validation {
            source: text(validation, "expression").to_owned(),
            program: Program::parse(text(validation, "expression")),
            message: text(validation, "message").to_owned(),
            message_program: Some(text(validation, "messageExpression"))
                .filter(|source| !source.is_empty())
                .and_then(|source| Program::parse(source).ok()),
            reason: text(validation, "reason").to_owned(),
        };
        Self {
            name: policy
                .pointer("/metadata/name")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            matcher: Matcher::read(spec.get("matchConstraints").unwrap_or(&Value::Null)),
            conditions: Conditions::read(spec),
            variables: list("variables")
                .map(|variable| {
                    (
                        text(variable, "name").to_owned(),
                        Program::parse(text(variable, "expression")),
                    )
                })
                .collect(),
            validations: list("validations").map(validation).collect(),
            fails: text(spec, "failurePolicy") != "Ignore",
            param_kind: spec
                .get("paramKind")
                .filter(|kind| kind.is_object())
                .map(|kind| (text(kind, "apiVersion").to_owned(), text(kind, "kind").to_owned())),
        }
    }

    fn matches(&self, subject: &Subject<'_>) -> bool {
        self.matcher.version(subject).is_some() && self.matcher.selects(subject)
    }

    /// That the kind of the parameters is not there, in words, if that is to be told of this write.
    fn lacks_parameters(&self, context: &Context<'_>) -> Option<String> {
        let (api_version, kind) = self.param_kind.as_ref()?;
        if !self.fails || !self.matches(&context.subject) || (context.params)(api_version, kind, None).is_some() {
            return None;
        }
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Some(format!(
            "failed to configure policy: failed to find resource referenced by paramKind: '{group}/{version}, Kind={kind}'"
        ))
    }

    /// What the write violates: message and reason of each.
    fn failures(&self, binding: &Binding, context: &Context<'_>) -> Vec<(String, String)> {
        let subject = &context.subject;
        if !self.matches(subject) || !binding.matches(subject) {
            return Vec::new();
        }
        let Some((api_version, kind)) = &self.param_kind else {
            return self.failures_with(&Value::Null, context);
        };
        let params = (context.params)(api_version, kind, Some(&binding.param_ref)).unwrap_or_default();
        if params.is_empty() {
            let allowed = binding.param_ref.get("parameterNotFoundAction").and_then(Value::as_str) == Some("Allow");
            if allowed || !self.fails {
                return Vec::new();
            }
            let message =
                "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction";
            return vec![(message.to_owned(), String::new())];
        }
        params
            .iter()
            .flat_map(|params| self.failures_with(params, context))
            .collect()
    }

    fn failures_with(&self, params: &Value, context: &Context<'_>) -> Vec<(String, String)> {
        let variables = [
            (
                "object",
                Val::of_json(context.subject.object.unwrap_or(&Value::Null), None),
            ),
            (
                "oldObject",
                Val::of_json(context.subject.old.unwrap_or(&Value::Null), None),
            ),
            ("request", Val::of_json(context.request, None)),
            ("params", Val::of_json(params, None)),
            ("namespaceObject", Val::of_json(context.namespace, None)),
            ("authorizer", Val::Authorizer),
        ];
        match self.conditions.hold(&variables) {
            Ok(true) => {}
            Err(error) if self.fails => return vec![(error, String::new())],
            Ok(false) | Err(_) => return Vec::new(),
        }
        let lazy: Vec<Lazy<'_>> = self
            .variables
            .iter()
            .map(|(name, program)| Lazy {
                name,
                expr: program.as_ref().ok().map(Program::expr),
                value: RefCell::new(None),
            })
            .collect();
        let scope = Scope::root(&variables, &lazy);
        let mut budget = BUDGET;
        let mut found = Vec::new();
        for validation in &self.validations {
            let outcome = match &validation.program {
                Ok(program) => {
                    let mut evaluator = Evaluator::new(PER_EXPRESSION.min(budget));
                    let outcome = evaluator.eval(program.expr(), &scope);
                    budget = budget.saturating_sub(evaluator.cost());
                    outcome
                }
                Err(error) => Err(CelError::Eval(format!("compilation error: {error}"))),
            };
            match outcome {
                Ok(Val::Bool(true)) => {}
                Ok(_) => found.push((validation.message(&scope), validation.reason.clone())),
                Err(error) if self.fails => {
                    let message = format!("expression '{}' resulted in error: {error}", validation.source);
                    found.push((message, String::new()));
                }
                Err(_) => {}
            }
        }
        found
    }
}

impl Validation {
    fn message<'a>(&'a self, scope: &Scope<'_, 'a>) -> String {
        let made = self.message_program.as_ref().and_then(|program| {
            let value = Evaluator::new(PER_EXPRESSION).eval(program.expr(), scope).ok()?;
            let text = value.as_str()?.trim().to_owned();
            (!text.is_empty() && !text.contains('\n')).then_some(text)
        });
        made.unwrap_or_else(|| {
            if self.message.is_empty() {
                format!("failed expression: {}", self.source.trim())
            } else {
                self.message.trim().to_owned()
            }
        })
    }
}
