//! Paths of fields, such as `.spec['a.b']`, through a schema.

use std::fmt::Write as _;

use serde_json::Value;

/// Reason for which a path does not lead to a field of a schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PathError {
    #[error("does not refer to a valid field")]
    UnknownField,
    #[error("unexpected end of JSON path")]
    End,
    #[error("expected [ or . but got: {0}")]
    Step(String),
    #[error("array notation is not allowed")]
    Brackets,
    #[error("expected single quoted string but got {0}")]
    Unquoted(String),
    #[error("invalid string literal: invalid escape char \\{0}")]
    Escape(char),
}

/// Follows a path such as `.spec.x` or `.spec['a.b']` through a schema; returns the path as errors write it, and the
/// schema at its end.
pub(crate) fn resolve_field_path<'s>(
    schema: &'s Value,
    path: &str,
    brackets: bool,
) -> Result<(String, &'s Value), PathError> {
    let mut rest = path;
    let mut at = schema;
    let mut written = String::new();
    while !rest.is_empty() {
        let (name, after) = next_name(rest, brackets)?;
        rest = after;
        let properties = at.get("properties").filter(|properties| properties.is_object());
        let additional = at
            .get("additionalProperties")
            .filter(|additional| additional.is_object());
        match (properties, additional) {
            (Some(properties), _) => {
                at = properties.get(&name).ok_or(PathError::UnknownField)?;
                if !written.is_empty() {
                    written.push('.');
                }
                written.push_str(&name);
            }
            (None, Some(additional)) => {
                at = additional;
                let _ = write!(written, "[{name}]");
            }
            (None, None) => return Err(PathError::UnknownField),
        }
    }
    Ok((written, at))
}

fn next_name(rest: &str, brackets: bool) -> Result<(String, &str), PathError> {
    if let Some(after) = rest.strip_prefix('.') {
        let stop = after.find(['.', '[', ']']).unwrap_or(after.len());
        return if stop == 0 && after.is_empty() {
            Err(PathError::End)
        } else {
            let stop = stop
                .max(after.chars().next().map_or(0, char::len_utf8))
                .min(after.len());
            Ok((after[..stop].to_owned(), &after[stop..]))
        };
    }
    let Some(after) = rest.strip_prefix('[') else {
        let stop = rest
            .find(['.', '[', ']'])
            .filter(|stop| *stop > 0)
            .unwrap_or(rest.len());
        return Err(PathError::Step(rest[..stop].to_owned()));
    };
    if !brackets {
        return Err(PathError::Brackets);
    }
    let Some(inner) = after.strip_prefix('\'') else {
        let stop = after.find(['.', '[', ']']).unwrap_or(after.len());
        return Err(PathError::Unquoted(after[..stop].to_owned()));
    };
    let mut name = String::new();
    let mut letters = inner.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some((_, escaped @ ('\'' | '\\'))) => name.push(escaped),
                Some((_, 'n')) => name.push('\n'),
                Some((_, 't')) => name.push('\t'),
                Some((_, other)) => return Err(PathError::Escape(other)),
                None => return Err(PathError::End),
            },
            '\'' => {
                let after = &inner[at + 1..];
                return after.strip_prefix(']').map(|after| (name, after)).ok_or(PathError::End);
            }
            other => name.push(other),
        }
    }
    Err(PathError::End)
}
