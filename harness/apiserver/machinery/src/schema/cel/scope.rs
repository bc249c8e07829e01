//! The values of the names in an expression.

use ::cel::common::ast::{Expr, IdedExpr};

use super::error::{CelError, Outcome};
use super::value::Val;

/// The variables of an expression.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'e, 'a> {
    parent: Option<&'e Scope<'e, 'a>>,
    bound: &'e [(&'a str, Val<'a>)],
}

impl<'e, 'a> Scope<'e, 'a> {
    /// Returns the outermost scope.
    pub fn root(bound: &'e [(&'a str, Val<'a>)]) -> Self {
        Self { parent: None, bound }
    }

    pub(super) fn inner<'f>(&'f self, bound: &'f [(&'a str, Val<'a>)]) -> Scope<'f, 'a> {
        Scope {
            parent: Some(self),
            bound,
        }
    }

    pub(super) fn find(&self, name: &str) -> Option<&Val<'a>> {
        let own = self.bound.iter().rev().find(|(bound, _)| *bound == name);
        own.map(|(_, value)| value).or_else(|| self.parent?.find(name))
    }
}

/// Returns the value of a name: of a variable, or of a type.
pub(super) fn identifier<'a>(name: &str, scope: &Scope<'_, 'a>) -> Outcome<'a> {
    if let Some(value) = scope.find(name) {
        return Ok(value.clone());
    }
    let kind = match name {
        "bool" => "bool",
        "int" => "int",
        "uint" => "uint",
        "double" => "double",
        "string" => "string",
        "bytes" => "bytes",
        "list" => "list",
        "map" => "map",
        "null_type" => "null_type",
        "type" => "type",
        "optional_type" => "optional_type",
        _ => return Err(CelError::Eval(format!("no such attribute(s): {name}"))),
    };
    Ok(Val::Type(kind))
}

/// Namespaces of functions: `sets.contains(a, b)` is not a call on a value `sets`.
const NAMESPACES: [&str; 6] = ["sets", "optional", "ip", "format", "math", "cel"];

/// Returns the function that a call on a namespace names.
pub(super) fn namespaced(target: &IdedExpr, name: &str, scope: &Scope<'_, '_>) -> Option<String> {
    let Expr::Ident(namespace) = &target.expr else {
        return None;
    };
    (NAMESPACES.contains(&namespace.as_str()) && scope.find(namespace).is_none()).then(|| format!("{namespace}.{name}"))
}
