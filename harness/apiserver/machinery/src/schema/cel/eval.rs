//! Evaluation of expressions with a budget: every step costs, and an expression that costs too much is stopped.

use std::rc::Rc;

use ::cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, SelectExpr};

use super::budget::Budget;
use super::error::{CelError, Outcome};
use super::library;
use super::members::member;
use super::scope::{Scope, identifier, namespaced};
use super::value::{List, MapVal, Text, Val};

/// Maximum depth of expressions and values during evaluation.
const MAX_DEPTH: u32 = 200;

/// One evaluation and its cost so far.
#[derive(Debug)]
pub struct Evaluator {
    budget: Budget,
    depth: u32,
}

impl Evaluator {
    /// Returns an evaluation that may cost at most `limit`.
    pub fn new(limit: u64) -> Self {
        Self {
            budget: Budget::new(limit),
            depth: 0,
        }
    }

    /// Returns the cost so far.
    pub fn cost(&self) -> u64 {
        self.budget.cost()
    }

    /// The value of an expression.
    pub fn eval<'a>(&mut self, expr: &'a IdedExpr, scope: &Scope<'_, 'a>) -> Outcome<'a> {
        if self.depth >= MAX_DEPTH {
            return Err(CelError::Cost);
        }
        self.depth += 1;
        let outcome = self.eval_expr(&expr.expr, scope);
        self.depth -= 1;
        outcome
    }

    fn eval_expr<'a>(&mut self, expr: &'a Expr, scope: &Scope<'_, 'a>) -> Outcome<'a> {
        match expr {
            Expr::Literal(literal) => Ok(literal_value(literal)),
            Expr::Ident(name) => {
                self.budget.spend(1)?;
                identifier(name, scope)
            }
            Expr::Select(select) => self.select(select, scope),
            Expr::Call(call) => self.call(call, scope),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension, scope),
            Expr::List(list) => {
                self.budget.spend(10)?;
                let mut items = Vec::with_capacity(list.elements.len());
                for (index, element) in list.elements.iter().enumerate() {
                    let value = self.eval(element, scope)?;
                    match value {
                        Val::Optional(inner) if list.optional_indices.contains(&index) => {
                            items.extend(inner.map(|inner| inner.as_ref().clone()));
                        }
                        value => items.push(value),
                    }
                }
                Ok(Val::list(items))
            }
            Expr::Map(map) => self.map_literal(map.entries.iter().map(|entry| &entry.expr), scope),
            Expr::Struct(object) => self.map_literal(object.entries.iter().map(|entry| &entry.expr), scope),
            Expr::Unspecified => Err(CelError::Eval("empty expression".to_owned())),
        }
    }

    fn map_literal<'a>(&mut self, entries: impl Iterator<Item = &'a EntryExpr>, scope: &Scope<'_, 'a>) -> Outcome<'a> {
        self.budget.spend(30)?;
        let mut pairs = Vec::new();
        for entry in entries {
            let (key, value, optional) = match entry {
                EntryExpr::StructField(field) => (Val::Str(Text::Given(&field.field)), &field.value, field.optional),
                EntryExpr::MapEntry(entry) => (self.eval(&entry.key, scope)?, &entry.value, entry.optional),
            };
            match self.eval(value, scope)? {
                Val::Optional(inner) if optional => {
                    pairs.extend(inner.map(|inner| (key, inner.as_ref().clone())));
                }
                value => pairs.push((key, value)),
            }
        }
        Ok(Val::Map(MapVal::Made(Rc::new(pairs))))
    }

    fn select<'a>(&mut self, select: &'a SelectExpr, scope: &Scope<'_, 'a>) -> Outcome<'a> {
        self.budget.spend(1)?;
        let operand = self.eval(&select.operand, scope)?;
        member(&operand, &select.field, select.test)
    }

    fn call<'a>(&mut self, call: &'a CallExpr, scope: &Scope<'_, 'a>) -> Outcome<'a> {
        self.budget.spend(1)?;
        match (call.func_name.as_str(), call.args.as_slice()) {
            ("_&&_", [left, right]) => self.logical(left, right, scope, false),
            ("_||_", [left, right]) => self.logical(left, right, scope, true),
            ("_?_:_", [condition, yes, no]) => match self.eval(condition, scope)? {
                Val::Bool(true) => self.eval(yes, scope),
                Val::Bool(false) => self.eval(no, scope),
                _ => Err(CelError::no_overload()),
            },
            ("@not_strictly_false", [condition]) => match self.eval(condition, scope) {
                Ok(Val::Bool(false)) => Ok(Val::Bool(false)),
                Err(CelError::Cost) => Err(CelError::Cost),
                Ok(_) | Err(CelError::Eval(_)) => Ok(Val::Bool(true)),
            },
            (name @ ("optMap" | "optFlatMap"), [variable, body]) if call.target.is_some() => {
                self.optional_map(call, name == "optFlatMap", variable, body, scope)
            }
            (name, args) => {
                let (name, target) = match &call.target {
                    Some(target) => match namespaced(target, name, scope) {
                        Some(full) => (full, None),
                        None => (name.to_owned(), Some(self.eval(target, scope)?)),
                    },
                    None => (name.to_owned(), None),
                };
                let mut values = Vec::with_capacity(args.len() + 1);
                let member = target.is_some();
                values.extend(target);
                for arg in args {
                    values.push(self.eval(arg, scope)?);
                }
                library::call(&mut self.budget, &name, member, &values)
            }
        }
    }

    /// Evaluates `&&` and `||`: one side can decide even if the other fails.
    fn logical<'a>(
        &mut self,
        left: &'a IdedExpr,
        right: &'a IdedExpr,
        scope: &Scope<'_, 'a>,
        decisive: bool,
    ) -> Outcome<'a> {
        let first = self.eval(left, scope);
        match &first {
            Ok(Val::Bool(value)) if *value == decisive => return first,
            Err(CelError::Cost) => return first,
            Ok(_) | Err(CelError::Eval(_)) => {}
        }
        let second = self.eval(right, scope);
        match (&first, &second) {
            (_, Ok(Val::Bool(value))) if *value == decisive => second,
            (_, Err(CelError::Cost)) => second,
            (Ok(Val::Bool(_)), Ok(Val::Bool(_))) => Ok(Val::Bool(!decisive)),
            (Err(_), _) => first,
            (_, Err(_)) => second,
            (Ok(_), Ok(_)) => Err(CelError::no_overload()),
        }
    }

    fn optional_map<'a>(
        &mut self,
        call: &'a CallExpr,
        flat: bool,
        variable: &'a IdedExpr,
        body: &'a IdedExpr,
        scope: &Scope<'_, 'a>,
    ) -> Outcome<'a> {
        let (Some(target), Expr::Ident(name)) = (&call.target, &variable.expr) else {
            return Err(CelError::no_overload());
        };
        match self.eval(target, scope)? {
            Val::Optional(None) => Ok(Val::Optional(None)),
            Val::Optional(Some(inner)) => {
                let bound = [(name.as_str(), inner.as_ref().clone())];
                let value = self.eval(body, &scope.inner(&bound))?;
                Ok(if flat { value } else { Val::some(value) })
            }
            _ => Err(CelError::no_overload()),
        }
    }

    fn comprehension<'a>(&mut self, expr: &'a ComprehensionExpr, scope: &Scope<'_, 'a>) -> Outcome<'a> {
        let items: List<'a> = match self.eval(&expr.iter_range, scope)? {
            Val::List(list) => list,
            Val::Map(map) => List::Made(Rc::new(map.keys())),
            _ => return Err(CelError::no_overload()),
        };
        let mut accumulator = self.eval(&expr.accu_init, scope);
        for item in items.iter() {
            self.budget.spend(1)?;
            let mut bound = [(expr.iter_var.as_str(), item), (expr.accu_var.as_str(), Val::Null)];
            if let Some(step) = appended(&expr.loop_step, &expr.accu_var) {
                self.append(step, &mut accumulator, &scope.inner(&bound))?;
                continue;
            }
            // A failed accumulator is kept: a later item may still decide.
            let failed = match accumulator {
                Ok(value) => {
                    bound[1].1 = value;
                    None
                }
                Err(CelError::Cost) => return Err(CelError::Cost),
                Err(error) => Some(error),
            };
            let inner = scope.inner(&bound);
            accumulator = match &failed {
                None => {
                    let going = self.eval(&expr.loop_cond, &inner)?;
                    if matches!(going, Val::Bool(false)) {
                        return self.eval(&expr.result, &inner);
                    }
                    self.eval(&expr.loop_step, &inner)
                }
                Some(error) => self.step_after_failure(expr, error, &inner),
            };
        }
        let bound = [(expr.accu_var.as_str(), accumulator?)];
        self.eval(&expr.result, &scope.inner(&bound))
    }

    /// Evaluates a step of `all` or `exists` after an item that failed: the current item may decide.
    fn step_after_failure<'a>(
        &mut self,
        expr: &'a ComprehensionExpr,
        error: &CelError,
        scope: &Scope<'_, 'a>,
    ) -> Outcome<'a> {
        let Expr::Call(call) = &expr.loop_step.expr else {
            return Err(error.clone());
        };
        let decisive = match call.func_name.as_str() {
            "_||_" => true,
            "_&&_" => false,
            _ => return Err(error.clone()),
        };
        let Some(condition) = call.args.last() else {
            return Err(error.clone());
        };
        match self.eval(condition, scope) {
            Ok(Val::Bool(value)) if value == decisive => Ok(Val::Bool(value)),
            Err(CelError::Cost) => Err(CelError::Cost),
            Ok(_) | Err(CelError::Eval(_)) => Err(error.clone()),
        }
    }

    /// Evaluates a step of `map` or `filter` without copying the items so far.
    fn append<'a>(
        &mut self,
        step: Appended<'a>,
        accumulator: &mut Outcome<'a>,
        scope: &Scope<'_, 'a>,
    ) -> Result<(), CelError> {
        if let Some(condition) = step.condition {
            match self.eval(condition, scope)? {
                Val::Bool(true) => {}
                Val::Bool(false) => return Ok(()),
                _ => return Err(CelError::no_overload()),
            }
        }
        self.budget.spend(1)?;
        let item = self.eval(step.item, scope)?;
        if let Ok(Val::List(List::Made(items))) = accumulator {
            Rc::make_mut(items).push(item);
        }
        Ok(())
    }
}

/// The item that a step of `map` or `filter` appends, and its condition.
#[derive(Clone, Copy)]
struct Appended<'a> {
    condition: Option<&'a IdedExpr>,
    item: &'a IdedExpr,
}

fn appended<'a>(step: &'a IdedExpr, accumulator: &str) -> Option<Appended<'a>> {
    let Expr::Call(call) = &step.expr else { return None };
    match (call.func_name.as_str(), call.args.as_slice()) {
        ("_+_", [list, item]) => match (&list.expr, &item.expr) {
            (Expr::Ident(name), Expr::List(literal)) if name == accumulator => {
                let [item] = literal.elements.as_slice() else {
                    return None;
                };
                Some(Appended { condition: None, item })
            }
            _ => None,
        },
        ("_?_:_", [condition, yes, _]) => {
            let inner = appended(yes, accumulator)?;
            Some(Appended {
                condition: Some(condition),
                ..inner
            })
        }
        _ => None,
    }
}

fn literal_value(literal: &LiteralValue) -> Val<'_> {
    match literal {
        LiteralValue::Boolean(value) => Val::Bool(*value.inner()),
        LiteralValue::Bytes(value) => Val::Bytes(value.inner().into()),
        LiteralValue::Double(value) => Val::Double(*value.inner()),
        LiteralValue::Int(value) => Val::Int(*value.inner()),
        LiteralValue::Null => Val::Null,
        LiteralValue::String(value) => Val::Str(Text::Given(value.inner())),
        LiteralValue::UInt(value) => Val::Uint(*value.inner()),
    }
}
