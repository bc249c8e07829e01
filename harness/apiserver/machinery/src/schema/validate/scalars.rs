//! Keywords of strings and numbers, and `enum`.

use serde_json::Value;

use super::super::node::Node;
use super::super::path::Path;
use super::{Outcome, quoted_value};
use crate::field::{FieldError, FieldErrorType};
use crate::go_fmt;

pub(super) fn check_string(node: &Node, value: &Value, text: &str, path: &Path<'_>, out: &mut Outcome) {
    out.checks += 1;
    let length = || text.chars().count() as u64;
    if let Some(most) = node.max_length
        && text.len() as u64 > most
        && length() > most
    {
        out.errors.push(FieldError {
            error_type: FieldErrorType::TooLong,
            field: path.dotted_field(),
            message: format!("Too long: may not be more than {most} bytes"),
        });
    } else if let Some(least) = node.min_length
        && length() < least
    {
        out.invalid(path, value, &format!("should be at least {least} chars long"));
    } else if let Some(pattern) = &node.pattern
        && !pattern.regex.as_ref().is_some_and(|regex| regex.is_match(text))
    {
        out.invalid(path, value, &format!("should match '{}'", pattern.source));
    }
    if let Some(format) = node.format {
        out.checks += 1;
        if !format.accepts(text) {
            out.wrong_type(path, &node.format_name, text);
        }
    }
}

pub(super) fn check_number(node: &Node, value: &Value, path: &Path<'_>, out: &mut Outcome) {
    out.checks += 1;
    check_range(node, value, path, out);
    let Some(number) = value.as_f64() else { return };
    // Whole numbers are compared with the whole part of the bounds.
    let whole = value.is_i64() || value.is_u64();
    let of_bound = |bound: f64| if whole { bound.trunc() } else { bound };
    if let Some(factor) = node.multiple_of {
        multiple_of(value, number, of_bound(factor), path, out);
    }
    if let Some((most, exclusive)) = node.maximum
        && (number > of_bound(most) || (exclusive && number >= of_bound(most)))
    {
        let words = if exclusive {
            "less than"
        } else {
            "less than or equal to"
        };
        out.invalid(path, value, &format!("should be {words} {}", bound(whole, most)));
    }
    if let Some((least, exclusive)) = node.minimum
        && (number < of_bound(least) || (exclusive && number <= of_bound(least)))
    {
        let words = if exclusive {
            "greater than"
        } else {
            "greater than or equal to"
        };
        out.invalid(path, value, &format!("should be {words} {}", bound(whole, least)));
    }
}

/// Formats a bound as a message about a whole or any other number does.
fn bound(whole: bool, bound: f64) -> String {
    if whole {
        format!("{}", bound.trunc())
    } else {
        go_fmt::float(bound)
    }
}

/// The largest whole number that a float holds exactly.
const MAX_SAFE: f64 = 9_007_199_254_740_991.0;

fn multiple_of(value: &Value, number: f64, factor: f64, path: &Path<'_>, out: &mut Outcome) {
    if factor <= 0.0 {
        out.errors.push(FieldError {
            error_type: FieldErrorType::Invalid,
            field: path.dotted_field(),
            message: format!(
                "Invalid value: {factor}: factor MultipleOf declared for {} must be positive: {factor}",
                path.dotted()
            ),
        });
        return;
    }
    let whole = value.is_i64() || value.is_u64();
    let quotient = number / factor;
    let off = (quotient - quotient.round()).abs() > f64::EPSILON * quotient.abs().max(1.0);
    if off || (!whole && quotient.abs() > MAX_SAFE) {
        let detail = format!("should be a multiple of {}", bound(whole, factor));
        out.invalid(path, value, &detail);
    }
}

/// Checks that the number fits the machine type that the type and format name.
fn check_range(node: &Node, value: &Value, path: &Path<'_>, out: &mut Outcome) {
    if node.is("number") && matches!(node.format_name.as_str(), "float" | "float32") {
        if value.as_f64().is_some_and(|number| number.abs() > f64::from(f32::MAX)) {
            let (format, place) = (&node.format_name, path.dotted());
            out.detached(&format!(
                "Checked value must be of type number with format {format} in {place}"
            ));
        }
        return;
    }
    if !node.is("integer") {
        return;
    }
    let whole = value.as_i64().or_else(|| whole(value));
    let fits = match node.format_name.as_str() {
        "int32" => whole.is_some_and(|number| i32::try_from(number).is_ok()),
        _ => whole.is_some(),
    };
    if fits {
        return;
    }
    let place = path.dotted();
    if node.format_name.is_empty() {
        out.detached(&format!(
            "Checked value must be of type integer (default format) in {place}"
        ));
    } else {
        let format = &node.format_name;
        out.detached(&format!(
            "Checked value must be of type integer with format {format} in {place}"
        ));
    }
}

#[expect(clippy::cast_possible_truncation, reason = "checked to be whole and in range")]
fn whole(value: &Value) -> Option<i64> {
    let number = value.as_f64()?;
    (number.fract() == 0.0 && number.abs() < 9.2e18).then_some(number as i64)
}

pub(super) fn check_enum(node: &Node, value: &Value, path: &Path<'_>, out: &mut Outcome) {
    if node.enumeration.is_empty()
        || (value.is_null() && node.nullable)
        || node.enumeration.iter().any(|allowed| same(allowed, value))
    {
        return;
    }
    let allowed: Vec<String> = node
        .enumeration
        .iter()
        .map(|allowed| go_fmt::quoted(&allowed.as_str().map_or_else(|| allowed.to_string(), str::to_owned)))
        .collect();
    out.errors.push(FieldError {
        error_type: FieldErrorType::NotSupported,
        field: path.dotted_field(),
        message: format!(
            "Unsupported value: {}: supported values: {}",
            quoted_value(value),
            allowed.join(", ")
        ),
    });
}

fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => a == b || (a.is_f64() != b.is_f64() && a.as_f64() == b.as_f64()),
        _ => left == right,
    }
}
