//! Properties that hold for every input, checked by the fuzz target and the property tests.

use serde_json::Value;

use crate::Template;

/// Parses and evaluates the input, and checks its properties: no panic, errors that point into the template, the same
/// result twice. Returns the property that does not hold.
///
/// The input is a template and, after the first NUL, a value in JSON (null if missing).
pub fn exercise(input: &str) -> Result<(), String> {
    let (source, json) = input.split_once('\0').unwrap_or((input, ""));
    let value: Value = serde_json::from_str(json).unwrap_or_default();
    let template = match Template::parse(source) {
        Ok(template) => template,
        Err(error) => return check_position(source, error.offset, error.column),
    };
    let first = template.evaluate(&value);
    if first != template.evaluate(&value) {
        return Err(format!("two evaluations of {source:?} differ"));
    }
    match first {
        Ok(_) => Ok(()),
        Err(error) => check_position(source, error.offset, error.column),
    }
}

fn check_position(source: &str, offset: usize, column: usize) -> Result<(), String> {
    let before = source
        .get(..offset)
        .ok_or_else(|| format!("byte {offset} is not in {source:?}"))?;
    if before.chars().count() + 1 == column {
        Ok(())
    } else {
        Err(format!("column {column} is not byte {offset} of {source:?}"))
    }
}
