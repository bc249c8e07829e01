//! The type checker: refuses, before evaluation, undeclared names, fields that the schema does not have, operators
//! between types that do not go together, and results of the wrong type.

use ::cel::common::ast::{CallExpr, ComprehensionExpr, Expr, IdedExpr, LiteralValue, SelectExpr};

use super::super::node::Node;
use super::super::program::{Program, parts};
use super::members::unescaped;
use super::names::{GLOBAL_FUNCTIONS, GLOBALS, is_member_function};

/// The type of an expression, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// Unknown before evaluation.
    Dyn,
    /// A scalar or opaque type, by name.
    Plain(&'static str),
    /// A list of items of this type.
    List(Box<Type>),
    /// A map with values of this type.
    Map(Box<Type>),
    /// An object with these fields.
    Object(Vec<(String, Type)>),
}

impl Type {
    /// Returns the type that a schema gives its values; at the root of a resource, with the fields that every object
    /// has.
    pub fn of_node(node: &Node, is_root: bool) -> Self {
        match node.types.as_slice() {
            [only] => match only.as_str() {
                "boolean" => Self::Plain("bool"),
                "integer" => Self::Plain("int"),
                "number" => Self::Plain("double"),
                "string" => Self::Plain(match node.format_name.as_str() {
                    "date" | "date-time" | "datetime" => "google.protobuf.Timestamp",
                    "duration" => "google.protobuf.Duration",
                    "byte" => "bytes",
                    _ => "string",
                }),
                "array" => {
                    let items = node
                        .items
                        .as_deref()
                        .map_or(Self::Dyn, |items| Self::of_node(items, false));
                    Self::List(Box::new(items))
                }
                _ => Self::of_object(node, is_root),
            },
            _ => Self::Dyn,
        }
    }

    fn of_object(node: &Node, is_root: bool) -> Self {
        if let Some(values) = node.additional_schema() {
            return Self::Map(Box::new(Self::of_node(values, false)));
        }
        let resource = is_root || node.embedded;
        if node.properties.is_empty() && !resource {
            return if node.preserve {
                Self::Object(Vec::new())
            } else {
                Self::Dyn
            };
        }
        let properties = node.properties.iter();
        let mut fields: Vec<(String, Self)> = properties
            .map(|(name, property)| (name.clone(), Self::of_node(property, false)))
            .collect();
        if resource {
            fields.retain(|(name, _)| !matches!(name.as_str(), "apiVersion" | "kind" | "metadata"));
            let text = || Self::Plain("string");
            let names = vec![("name".to_owned(), text()), ("generateName".to_owned(), text())];
            fields.push(("apiVersion".to_owned(), text()));
            fields.push(("kind".to_owned(), text()));
            fields.push(("metadata".to_owned(), Self::Object(names)));
        }
        Self::Object(fields)
    }

    fn name(&self) -> String {
        match self {
            Self::Dyn => "dyn".to_owned(),
            Self::Plain(name) => (*name).to_owned(),
            Self::List(items) => format!("list({})", items.name()),
            Self::Map(values) => format!("map(string, {})", values.name()),
            Self::Object(_) => "selfType".to_owned(),
        }
    }

    fn is_open(&self) -> bool {
        matches!(self, Self::Dyn)
    }
}

/// An error in an expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// An error in the words of the CEL compiler.
    #[error("compilation failed: {0}")]
    Compilation(String),
    /// The expression has another result type.
    #[error("cel expression must evaluate to a {}", expected.join(" or "))]
    OtherType {
        /// The accepted result types.
        expected: &'static [&'static str],
        /// The result type of the expression.
        found: String,
    },
}

/// Checks an expression that may use these variables and must have one of these result types; any type if the list is
/// empty.
///
/// # Errors
/// Returns the first [`Problem`] of the expression.
pub fn check(program: &Program, variables: &[(&str, Type)], expected: &'static [&'static str]) -> Result<(), Problem> {
    let mut checker = Checker {
        program,
        errors: Vec::new(),
    };
    let scope = Names {
        parent: None,
        own: variables,
    };
    let found = checker.infer(program.expr(), &scope);
    if !checker.errors.is_empty() {
        let mut errors = checker.errors;
        errors.sort_by_key(|(place, _)| *place);
        let errors: Vec<String> = errors.into_iter().map(|(_, error)| error).collect();
        return Err(Problem::Compilation(errors.join("\n")));
    }
    match found {
        Type::Dyn => Ok(()),
        Type::Plain(name) if expected.contains(&name) => Ok(()),
        _ if expected.is_empty() => Ok(()),
        found => Err(Problem::OtherType {
            expected,
            found: found.name(),
        }),
    }
}

struct Names<'n> {
    parent: Option<&'n Names<'n>>,
    own: &'n [(&'n str, Type)],
}

impl Names<'_> {
    fn find(&self, name: &str) -> Option<&Type> {
        let own = self.own.iter().find(|(known, _)| *known == name).map(|(_, kind)| kind);
        own.or_else(|| self.parent?.find(name))
    }
}

struct Checker<'p> {
    program: &'p Program,
    /// Errors with their positions.
    errors: Vec<(u32, String)>,
}

impl Checker<'_> {
    fn report(&mut self, id: u64, message: &str) {
        let error = self.program.error_at(id, message);
        self.errors.push((self.program.offset_of(id), error));
    }

    fn infer(&mut self, expr: &IdedExpr, names: &Names<'_>) -> Type {
        match &expr.expr {
            Expr::Literal(literal) => Type::Plain(match literal {
                LiteralValue::Boolean(_) => "bool",
                LiteralValue::Bytes(_) => "bytes",
                LiteralValue::Double(_) => "double",
                LiteralValue::Int(_) => "int",
                LiteralValue::Null => "null_type",
                LiteralValue::String(_) => "string",
                LiteralValue::UInt(_) => "uint",
            }),
            Expr::Ident(name) => {
                if let Some(kind) = names.find(name) {
                    return kind.clone();
                }
                if !GLOBALS.contains(&name.as_str()) {
                    self.report(expr.id, &format!("undeclared reference to '{name}' (in container '')"));
                }
                Type::Dyn
            }
            Expr::Select(select) => self.infer_select(expr.id, select, names),
            Expr::Call(call) => self.infer_call(expr.id, call, names),
            Expr::Comprehension(comprehension) => self.infer_comprehension(comprehension, names),
            Expr::List(list) => {
                let kinds: Vec<Type> = list.elements.iter().map(|element| self.infer(element, names)).collect();
                self.expect_one_type(&list.elements, &kinds);
                let first = kinds.first().cloned().unwrap_or(Type::Dyn);
                let same = kinds.iter().all(|kind| *kind == first) && list.optional_indices.is_empty();
                Type::List(Box::new(if same { first } else { Type::Dyn }))
            }
            Expr::Map(_) | Expr::Struct(_) => {
                for part in parts(expr) {
                    self.infer(part, names);
                }
                Type::Map(Box::new(Type::Dyn))
            }
            Expr::Unspecified => Type::Dyn,
        }
    }

    fn infer_select(&mut self, id: u64, select: &SelectExpr, names: &Names<'_>) -> Type {
        let operand = self.infer(&select.operand, names);
        let found = match &operand {
            Type::Object(fields) => {
                let plain = unescaped(&select.field);
                let field = fields.iter().find(|(name, _)| *name == select.field || *name == plain);
                if field.is_none() {
                    self.report(id, &format!("undefined field '{}'", select.field));
                }
                field.map_or(Type::Dyn, |(_, kind)| kind.clone())
            }
            Type::Map(values) => values.as_ref().clone(),
            Type::Plain("optional_type") | Type::Dyn => Type::Dyn,
            Type::Plain(_) | Type::List(_) => {
                let kind = operand.name();
                self.report(id, &format!("type '{kind}' does not support field selection"));
                Type::Dyn
            }
        };
        if select.test { Type::Plain("bool") } else { found }
    }

    /// Checks `optMap` and `optFlatMap`, which declare a name; returns `false` if the call does not have their form.
    fn infer_optional_map(&mut self, call: &CallExpr, names: &Names<'_>) -> bool {
        let ([variable, body], Some(target)) = (call.args.as_slice(), &call.target) else {
            return false;
        };
        self.infer(target, names);
        if let Expr::Ident(name) = &variable.expr {
            let own = [(name.as_str(), Type::Dyn)];
            let inner = Names {
                parent: Some(names),
                own: &own,
            };
            self.infer(body, &inner);
        }
        true
    }

    fn infer_call(&mut self, id: u64, call: &CallExpr, names: &Names<'_>) -> Type {
        if matches!(call.func_name.as_str(), "optMap" | "optFlatMap") && self.infer_optional_map(call, names) {
            return Type::Dyn;
        }
        let target = call.target.as_ref().map(|target| self.infer(target, names));
        let args: Vec<Type> = call.args.iter().map(|arg| self.infer(arg, names)).collect();
        let name = call.func_name.as_str();
        match (name, target, args.as_slice()) {
            ("_&&_" | "_||_", None, kinds) => {
                for (arg, kind) in call.args.iter().zip(kinds) {
                    self.expect(arg.id, &Type::Plain("bool"), kind);
                }
                Type::Plain("bool")
            }
            ("!_", None, args) => {
                if args.iter().any(|kind| !kind.is_open() && *kind != Type::Plain("bool")) {
                    self.no_overload(id, name, args);
                }
                Type::Plain("bool")
            }
            ("_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_", None, [left, right]) => {
                if !go_together(left, right) {
                    self.no_overload(id, name, &args);
                }
                Type::Plain("bool")
            }
            ("_+_" | "_-_" | "_*_" | "_/_" | "_%_", None, [left, right]) => self.arithmetic(id, name, left, right),
            ("_?_:_", None, [_, yes, no]) => {
                if yes == no {
                    yes.clone()
                } else {
                    Type::Dyn
                }
            }
            ("_[_]", None, [Type::List(inner) | Type::Map(inner), _]) => inner.as_ref().clone(),
            ("@in" | "@not_strictly_false", None, _) => Type::Plain("bool"),
            ("size", _, _) => Type::Plain("int"),
            ("startsWith" | "endsWith" | "contains" | "matches", Some(target), args) => {
                let text = |kind: &Type| kind.is_open() || *kind == Type::Plain("string");
                if !text(&target) || !args.iter().all(text) {
                    let mut all = vec![target];
                    all.extend(args.iter().cloned());
                    self.no_member_overload(id, name, &all);
                }
                Type::Plain("bool")
            }
            ("string" | "lowerAscii" | "upperAscii" | "trim" | "replace" | "substring" | "join" | "charAt", ..) => {
                Type::Plain("string")
            }
            ("hasValue" | "isSorted" | "isURL" | "isIP" | "isCIDR" | "isQuantity" | "containsIP", ..) => {
                Type::Plain("bool")
            }
            (name, None, _)
                if !GLOBAL_FUNCTIONS.contains(&name) && !name.starts_with('_') && !name.starts_with('-') =>
            {
                self.report(id, &format!("undeclared reference to '{name}' (in container '')"));
                Type::Dyn
            }
            (name, Some(_), _) if !is_member_function(name) && !of_namespace(call, names) => {
                self.report(id, &format!("undeclared reference to '{name}' (in container '')"));
                Type::Dyn
            }
            ("quantity", None, _) => Type::Plain("kubernetes.Quantity"),
            ("semver", None, _) => Type::Plain("kubernetes.Semver"),
            _ => Type::Dyn,
        }
    }

    /// Reports an expression whose type differs from the expected one.
    fn expect(&mut self, id: u64, expected: &Type, found: &Type) {
        if let (Type::Plain(wanted), false) = (expected, found.is_open() || found == expected) {
            let found = found.name();
            self.report(id, &format!("expected type '{wanted}' but found '{found}'"));
        }
    }

    /// Checks that all items of a list have the type of the first one.
    fn expect_one_type(&mut self, elements: &[IdedExpr], kinds: &[Type]) {
        if let Some(first) = kinds.iter().find(|kind| !kind.is_open()) {
            for (element, kind) in elements.iter().zip(kinds) {
                self.expect(element.id, first, kind);
            }
        }
    }

    fn arithmetic(&mut self, id: u64, name: &str, left: &Type, right: &Type) -> Type {
        if left.is_open() || right.is_open() {
            return Type::Dyn;
        }
        let time = |kind: &Type| {
            matches!(
                kind,
                Type::Plain("google.protobuf.Timestamp" | "google.protobuf.Duration")
            )
        };
        if time(left) && time(right) {
            return Type::Dyn;
        }
        let lists = matches!((left, right), (Type::List(_), Type::List(_)));
        let fits = match (name, left) {
            ("_+_", Type::Plain("string" | "bytes" | "double")) | (_, Type::Plain("int" | "uint")) => left == right,
            (_, Type::Plain("double")) => left == right && name != "_%_",
            ("_+_", Type::List(_)) => lists,
            _ => false,
        };
        if fits {
            return left.clone();
        }
        self.no_overload(id, name, &[left.clone(), right.clone()]);
        Type::Dyn
    }

    fn no_overload(&mut self, id: u64, name: &str, args: &[Type]) {
        let kinds: Vec<String> = args.iter().map(Type::name).collect();
        self.report(
            id,
            &format!(
                "found no matching overload for '{name}' applied to '({})'",
                kinds.join(", ")
            ),
        );
    }

    fn no_member_overload(&mut self, id: u64, name: &str, all: &[Type]) {
        let (target, args) = all.split_first().map_or((String::new(), Vec::new()), |(target, args)| {
            (target.name(), args.iter().map(Type::name).collect())
        });
        let args = args.join(", ");
        self.report(
            id,
            &format!("found no matching overload for '{name}' applied to '{target}.({args})'"),
        );
    }

    fn infer_comprehension(&mut self, expr: &ComprehensionExpr, names: &Names<'_>) -> Type {
        let item = match self.infer(&expr.iter_range, names) {
            Type::List(items) => *items,
            Type::Map(_) | Type::Object(_) => Type::Plain("string"),
            Type::Dyn | Type::Plain(_) => Type::Dyn,
        };
        let accumulator = match &expr.accu_init.expr {
            Expr::Literal(LiteralValue::Boolean(_)) => Type::Plain("bool"),
            Expr::List(_) => Type::List(Box::new(Type::Dyn)),
            _ => Type::Dyn,
        };
        let own = [
            (expr.iter_var.as_str(), item),
            (expr.accu_var.as_str(), accumulator.clone()),
        ];
        let inner = Names {
            parent: Some(names),
            own: &own,
        };
        self.infer(&expr.loop_cond, &inner);
        self.infer(&expr.loop_step, &inner);
        let last = self.infer(&expr.result, &inner);
        if last.is_open() { accumulator } else { last }
    }
}

/// Returns `true` for a call of a function in a namespace: `sets.contains(…)`.
fn of_namespace(call: &CallExpr, names: &Names<'_>) -> bool {
    let target = call.target.as_ref().map(|target| &target.expr);
    matches!(target, Some(Expr::Ident(name)) if names.find(name).is_none())
}

fn go_together(left: &Type, right: &Type) -> bool {
    match (left, right) {
        (Type::Plain("null_type"), Type::Object(_) | Type::Map(_) | Type::List(_))
        | (Type::Object(_) | Type::Map(_) | Type::List(_), Type::Plain("null_type"))
        | (Type::Plain("int" | "uint" | "double"), Type::Plain("int" | "uint" | "double")) => true,
        (Type::Plain(left), Type::Plain(right)) => left == right,
        (Type::Plain(_), Type::Object(_) | Type::Map(_) | Type::List(_))
        | (Type::Object(_) | Type::Map(_) | Type::List(_), Type::Plain(_)) => false,
        _ => true,
    }
}
