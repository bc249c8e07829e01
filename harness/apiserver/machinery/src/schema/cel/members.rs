//! Members of values, by the names that expressions give them.

use super::error::{CelError, Outcome};
use super::value::Val;

/// Returns a member of an object; with `test`, whether the member exists.
pub fn member<'a>(operand: &Val<'a>, field: &str, test: bool) -> Outcome<'a> {
    match operand {
        Val::Map(map) => {
            let mut found = map.get(&Val::text(field));
            if found.is_none() && field.contains("__") {
                found = map.get(&Val::text(unescaped(field)));
            }
            match found {
                _ if test => Ok(Val::Bool(found.is_some())),
                Some(value) => Ok(value),
                None => Err(CelError::no_key(field)),
            }
        }
        Val::Optional(Some(inner)) => {
            let found = member(inner, field, true)?;
            match (test, found) {
                (true, found) => Ok(found),
                (false, Val::Bool(true)) => member(inner, field, false).map(Val::some),
                (false, _) => Ok(Val::Optional(None)),
            }
        }
        // Null has no members, and testing for one does not fail.
        Val::Null if test => Ok(Val::Bool(false)),
        Val::Optional(None) => Ok(if test { Val::Bool(false) } else { Val::Optional(None) }),
        _ => Err(CelError::no_overload()),
    }
}

/// Returns a property name as the schema spells it: expressions escape names that are not CEL identifiers.
pub fn unescaped(name: &str) -> String {
    if let Some(reserved) = name.strip_prefix("__").and_then(|rest| rest.strip_suffix("__"))
        && !matches!(reserved, "dot" | "dash" | "slash" | "underscores")
        && !reserved.contains("__")
    {
        return reserved.to_owned();
    }
    name.replace("__dot__", ".")
        .replace("__dash__", "-")
        .replace("__slash__", "/")
        .replace("__underscores__", "__")
}
