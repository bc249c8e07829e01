//! Evaluates the rules of a schema over an object and, on update, its old state.

use serde_json::Value;

use super::super::node::{ListType, Node};
use super::super::path::Path;
use super::super::rule::{Reason, Rule};
use super::super::validate::{keyed, quoted_value};
use super::error::CelError;
use super::eval::Evaluator;
use super::scope::Scope;
use super::value::Val;
use crate::field::{FieldError, FieldErrorType};

/// Cost limit of one expression.
const PER_RULE: u64 = 1_000_000;
/// Cost limit of all rules of an object together.
const PER_OBJECT: u64 = 10_000_000;
/// Maximum length of the result of a message expression in bytes.
const MAX_MESSAGE: usize = 5 << 10;

/// The evaluation of all rules over one object.
struct Run<'r> {
    budget: u64,
    exhausted: bool,
    errors: &'r mut Vec<FieldError>,
}

/// Evaluates every rule at or below `node`.
pub fn check(node: &Node, value: &Value, old: Option<&Value>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let mut run = Run {
        budget: PER_OBJECT,
        exhausted: false,
        errors,
    };
    walk(node, value, old, path, &mut run);
}

fn walk(node: &Node, value: &Value, old: Option<&Value>, path: &Path<'_>, run: &mut Run<'_>) {
    if run.exhausted || value.is_null() || !node.below.rules {
        return;
    }
    for rule in &node.rules {
        evaluate(rule, node, value, old, path, run);
        if run.exhausted {
            return;
        }
    }
    match value {
        Value::Object(map) => {
            let old = old.filter(|_| !node.atomic_map).and_then(Value::as_object);
            for (key, value) in map {
                let old = old.and_then(|old| old.get(key));
                if let Some(property) = node.properties.get(key) {
                    walk(property, value, old, &path.field(key), run);
                } else if let Some(schema) = node.additional_schema() {
                    walk(schema, value, old, &path.key(key), run);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = node.items.as_deref() else { return };
            let old = old
                .filter(|_| node.list_type == ListType::Map)
                .and_then(Value::as_array);
            for (index, item) in items.iter().enumerate() {
                let old = old.and_then(|old| keyed::find_by_keys(node, old, item));
                walk(schema, item, old, &path.index(index), run);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn evaluate(rule: &Rule, node: &Node, value: &Value, old: Option<&Value>, path: &Path<'_>, run: &mut Run<'_>) {
    let unchanged = old == Some(value);
    if rule.uses_old && old.is_none() && !rule.optional_old {
        return;
    }
    // A rule that the unchanged value violates does not lock the object.
    let forgiven = unchanged && !rule.uses_old;
    let program = match &rule.program {
        Ok(program) => program,
        Err(error) => {
            run.report(path, node, &format!("rule compile error: {error}"));
            return;
        }
    };
    let old = old.map(|old| Val::of_json(old, Some(node)));
    let old = match (old, rule.optional_old) {
        (old, true) => old.map_or(Val::Optional(None), Val::some),
        (Some(old), false) => old,
        (None, false) => Val::Null,
    };
    let bound = [("self", Val::of_json(value, Some(node))), ("oldSelf", old)];
    let scope = Scope::root(&bound);
    let mut evaluator = Evaluator::new(PER_RULE.min(run.budget));
    let outcome = evaluator.eval(program.expr(), &scope);
    run.budget = run.budget.saturating_sub(evaluator.cost());
    match outcome {
        Ok(Val::Bool(true)) => {}
        Ok(Val::Bool(false)) if forgiven => {}
        Ok(Val::Bool(false)) => run.failed(rule, node, value, &scope, path),
        Ok(_) => run.report(
            path,
            node,
            &format!(
                "cel expression must evaluate to a bool evaluating rule: {}",
                rule.name()
            ),
        ),
        Err(CelError::Cost) => {
            run.exhausted = true;
            let detail = if run.budget == 0 {
                "validation failed due to running out of cost budget, no further validation rules will be run"
                    .to_owned()
            } else {
                let name = rule.name();
                format!(
                    "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to \
                     call cost exceeds limit for rule: {name}"
                )
            };
            run.report(path, node, &detail);
        }
        Err(CelError::Eval(error)) if error.starts_with("no such overload") => {
            let detail = format!(
                "'{error}': call arguments did not match a supported operator, function or macro signature for rule: {}",
                rule.name()
            );
            run.report(path, node, &detail);
        }
        Err(CelError::Eval(error)) => run.report(path, node, &format!("{error} evaluating rule: {}", rule.name())),
    }
}

impl Run<'_> {
    /// Reports a rule that could not be evaluated; the server names the type instead of the value.
    fn report(&mut self, path: &Path<'_>, node: &Node, detail: &str) {
        let kind = node
            .types
            .first()
            .filter(|_| !node.int_or_string)
            .map_or("", String::as_str);
        let value = Value::from(kind);
        let field = path.bracketed_field();
        self.errors
            .push(FieldError::with_value(FieldErrorType::Invalid, field, &value, detail));
    }

    /// Reports a rule that does not hold.
    fn failed<'a>(&mut self, rule: &'a Rule, node: &Node, value: &Value, scope: &Scope<'_, 'a>, path: &Path<'_>) {
        let detail = self.message(rule, scope).unwrap_or_else(|| {
            if rule.message.is_empty() {
                format!("failed rule: {}", rule.source.trim())
            } else {
                rule.message.trim().to_owned()
            }
        });
        let nested = path.field(&rule.field_path);
        let field = if rule.field_path.is_empty() { path } else { &nested }.bracketed_field();
        let quoted = (!node.is("object") && !node.is("array")).then(|| quoted_value(value));
        let error_type = match rule.reason {
            Reason::Invalid => FieldErrorType::Invalid,
            Reason::Forbidden => FieldErrorType::Forbidden,
            Reason::Required => FieldErrorType::Required,
            Reason::Duplicate => FieldErrorType::Duplicate,
        };
        let message = match (rule.reason, quoted) {
            (Reason::Forbidden | Reason::Required, _) | (Reason::Invalid, None) => {
                format!("{}: {detail}", error_type.words())
            }
            (Reason::Invalid, Some(quoted)) => format!("{}: {quoted}: {detail}", error_type.words()),
            (Reason::Duplicate, Some(quoted)) => format!("{}: {quoted}", error_type.words()),
            (Reason::Duplicate, None) => error_type.words().to_owned(),
        };
        self.errors.push(FieldError {
            error_type,
            field,
            message,
        });
    }

    /// Evaluates the message expression; returns `None` if there is none or its result cannot be used.
    fn message<'a>(&mut self, rule: &'a Rule, scope: &Scope<'_, 'a>) -> Option<String> {
        let program = rule.message_program.as_ref()?;
        let mut evaluator = Evaluator::new(PER_RULE.min(self.budget));
        let outcome = evaluator.eval(program.expr(), scope);
        self.budget = self.budget.saturating_sub(evaluator.cost());
        let value = outcome.ok()?;
        let text = value.as_str()?.trim();
        let usable = !text.is_empty() && text.len() <= MAX_MESSAGE && !text.contains('\n');
        usable.then(|| text.to_owned())
    }
}
