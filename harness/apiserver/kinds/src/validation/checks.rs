//! The language of simple checks, and helpers for the other ones.

use baton_apimachinery::field::{ErrorList, FieldPath};
use serde_json::Value;

pub(super) use super::fields::{list, members, text, texts};

/// One check; names are fields of the object at hand. A missing number is zero, a missing text is empty.
#[derive(Debug)]
pub(super) enum Check {
    /// A required text.
    Required(&'static str),
    /// A number that must not be negative.
    NotNegative(&'static str),
    /// A number that must be more than zero, if it is set.
    Positive(&'static str),
    /// A text that must be one of the values; `Required value` if it is empty.
    OneOf(&'static str, &'static [&'static str]),
    /// The same for an optional text; an empty text is valid only if the values contain it.
    OneOfIfSet(&'static str, &'static [&'static str]),
    /// A text with a rule, if it is set.
    Named(&'static str, fn(&str) -> Vec<String>),
    /// Labels, if they are set.
    Labels(&'static str),
    /// A label selector, if it is set.
    Selector(&'static str),
    /// Checks of the object in a field, if there is one.
    In(&'static str, &'static [Check]),
    /// Checks of every object in a list.
    Each(&'static str, &'static [Check]),
    /// A function for rules that the other checks cannot express, called with the object at hand.
    Do(fn(&Value, &FieldPath<'_>, &mut ErrorList)),
}

/// Runs checks on an object.
pub(super) fn run(checks: &[Check], object: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    for check in checks {
        one(check, object, at, found);
    }
}

fn one(check: &Check, object: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    match check {
        Check::Required(field) => {
            if text(object, field).is_empty() {
                found.required(&at.child(field), "");
            }
        }
        Check::NotNegative(field) => not_negative(object.get(*field), &at.child(field), found),
        Check::Positive(field) => {
            if let Some(value) = object.get(*field).and_then(Value::as_i64).filter(|value| *value <= 0) {
                found.invalid(&at.child(field), value, "must be greater than 0");
            }
        }
        Check::OneOf(field, values) if text(object, field).is_empty() && !values.contains(&"") => {
            found.required(&at.child(field), "");
        }
        Check::OneOf(field, values) | Check::OneOfIfSet(field, values) => {
            supported(given(object, field), values, &at.child(field), found);
        }
        Check::Named(field, rule) => {
            named(
                given(object, field).filter(|value| !value.is_empty()),
                *rule,
                &at.child(field),
                found,
            );
        }
        Check::Labels(field) => {
            if let Some(labels) = object.get(*field).and_then(Value::as_object) {
                baton_apimachinery::metadata::validate_labels(labels, &at.child(field), found);
            }
        }
        Check::Selector(field) => {
            if let Some(selector) = object.get(*field) {
                super::selectors::validate(selector, &at.child(field), found);
            }
        }
        Check::In(field, checks) => {
            if let Some(inner) = object.get(*field).filter(|inner| inner.is_object()) {
                run(checks, inner, &at.child(field), found);
            }
        }
        Check::Each(field, checks) => {
            let of = at.child(field);
            for (index, item) in list(object, field).iter().enumerate() {
                run(checks, item, &of.item(index), found);
            }
        }
        Check::Do(function) => function(object, at, found),
    }
}

/// The text in a field, if there is one.
fn given<'a>(object: &'a Value, field: &str) -> Option<&'a str> {
    object.get(field).and_then(Value::as_str)
}

fn supported(value: Option<&str>, values: &[&str], at: &FieldPath<'_>, found: &mut ErrorList) {
    if let Some(value) = value.filter(|value| !values.contains(value)) {
        found.not_supported(at, value, values);
    }
}

fn named(value: Option<&str>, rule: fn(&str) -> Vec<String>, at: &FieldPath<'_>, found: &mut ErrorList) {
    if let Some(value) = value {
        found.invalid_each(at, value, rule(value));
    }
}

/// The number in a field; zero if there is none.
pub(super) fn number(object: &Value, field: &str) -> i64 {
    object.get(field).and_then(Value::as_i64).unwrap_or(0)
}

/// Returns `true` if a field is true.
pub(super) fn is_true(object: &Value, field: &str) -> bool {
    object.get(field).and_then(Value::as_bool) == Some(true)
}

/// `must be greater than or equal to 0`.
pub(super) fn not_negative(value: Option<&Value>, at: &FieldPath<'_>, found: &mut ErrorList) {
    if let Some(value) = value.and_then(Value::as_i64).filter(|value| *value < 0) {
        found.invalid(at, value, "must be greater than or equal to 0");
    }
}

/// `must be between 1 and 65535, inclusive`.
pub(super) fn port_number(value: i64, at: &FieldPath<'_>, found: &mut ErrorList) {
    if !(1..=65535).contains(&value) {
        found.invalid(at, value, "must be between 1 and 65535, inclusive");
    }
}

/// A port's number or name.
pub(super) fn port(value: Option<&Value>, at: &FieldPath<'_>, found: &mut ErrorList) {
    match value {
        Some(Value::String(name)) => found.invalid_each(at, name, baton_apimachinery::metadata::names::port_name(name)),
        Some(value) => port_number(value.as_i64().unwrap_or(0), at, found),
        None => port_number(0, at, found),
    }
}

/// Adds `field is immutable` if a field changed.
pub(super) fn immutable(field: &str, new: &Value, old: &Value, at: &FieldPath<'_>, found: &mut ErrorList) {
    let (new, old) = (
        new.get(field).unwrap_or(&Value::Null),
        old.get(field).unwrap_or(&Value::Null),
    );
    if new != old {
        found.invalid(&at.child(field), new.clone(), "field is immutable");
    }
}

/// Validates a number or a percentage; returns the value if it is valid.
pub(super) fn int_or_percent(value: Option<&Value>, at: &FieldPath<'_>, found: &mut ErrorList) -> i64 {
    match value {
        Some(Value::String(percent)) => {
            let digits = percent
                .strip_suffix('%')
                .filter(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()));
            if digits.is_none() {
                let detail = "a valid percent string must be a numeric string followed by an ending '%' \
                    (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
                found.invalid(at, percent.clone(), detail);
            }
            digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
        }
        other => {
            not_negative(other, at, found);
            other.and_then(Value::as_i64).unwrap_or(0)
        }
    }
}

/// `must not be greater than 100%`.
pub(super) fn at_most_all(value: Option<&Value>, at: &FieldPath<'_>, found: &mut ErrorList) {
    let percent = value
        .and_then(Value::as_str)
        .and_then(|text| text.strip_suffix('%')?.parse::<i64>().ok());
    if let (Some(value), true) = (value, percent.is_some_and(|percent| percent > 100)) {
        found.invalid(at, value.clone(), "must not be greater than 100%");
    }
}
