//! Properties that hold for every input, checked by the fuzz target and the property tests.

use serde_json::Value;

use crate::Template;

/// A property that does not hold.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Broken {
    /// Two evaluations of a template give the same result.
    #[error("two evaluations of {0:?} differ")]
    Repeatable(String),
    /// An error points into the template.
    #[error("an error points to byte {offset} and column {column} of {template:?}")]
    Position {
        /// The template.
        template: String,
        /// Byte that the error names.
        offset: usize,
        /// Column that the error names, from 1.
        column: usize,
    },
}

/// Parses and evaluates the input, and checks its properties: no panic, errors that point into the template, the same
/// result twice. Returns the property that does not hold.
///
/// The input is a template and, after the first NUL, a value in JSON (null if missing).
pub fn exercise(input: &str) -> Result<(), Broken> {
    let (source, json) = input.split_once('\0').unwrap_or((input, ""));
    let value: Value = serde_json::from_str(json).unwrap_or_default();
    let template = match Template::parse(source) {
        Ok(template) => template,
        Err(error) => return check_position(source, error.offset, error.column),
    };
    let first = template.evaluate(&value);
    if first != template.evaluate(&value) {
        return Err(Broken::Repeatable(source.to_owned()));
    }
    match first {
        Ok(_) => Ok(()),
        Err(error) => check_position(source, error.offset, error.column),
    }
}

fn check_position(source: &str, offset: usize, column: usize) -> Result<(), Broken> {
    let before = source.get(..offset);
    if before.is_some_and(|before| before.chars().count() + 1 == column) {
        Ok(())
    } else {
        Err(Broken::Position {
            template: source.to_owned(),
            offset,
            column,
        })
    }
}
