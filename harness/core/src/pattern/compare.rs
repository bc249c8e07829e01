//! Differences between an object and its pattern, and their number.

use serde_json::Value;

use super::{Bindings, DifferenceKind, Mismatch, Pattern, path::join, resolve, total};

/// Returns the number of demands of a pattern that these differences leave unmet.
pub fn weight(mismatches: &[Mismatch]) -> usize {
    mismatches.iter().map(|mismatch| mismatch.weight).sum()
}

impl Pattern {
    /// Returns the number of demands of a pattern: its leaves.
    fn demands(&self) -> usize {
        let all = |items: &[Self]| items.iter().map(Self::demands).sum::<usize>().max(1);
        match self {
            Self::Map(members) => members.values().map(Self::demands).sum::<usize>().max(1),
            Self::Contains(items) | Self::Exactly(items) => all(items),
            Self::Any(items) => items.iter().map(Self::demands).min().unwrap_or(1),
            Self::Absent
            | Self::Present
            | Self::Text(_)
            | Self::Exact(_)
            | Self::Mentions(_)
            | Self::AtLeast(_)
            | Self::AtMost(_)
            | Self::OneOf(_)
            | Self::Regex(_)
            | Self::After(_)
            | Self::Total { .. }
            | Self::Lacks(_) => 1,
        }
    }

    pub(super) fn compare(&self, value: Option<&Value>, bindings: &Bindings, path: &str, found: &mut Vec<Mismatch>) {
        let mut wrong = |expected: String| {
            found.push(Mismatch {
                path: shown(path),
                expected,
                seen: value.map_or("nothing".to_owned(), brief),
                kind: self.kind(value, bindings),
                weight: self.demands(),
            });
        };
        match (self, value) {
            (Self::Absent, value) if value.is_none_or(is_empty) => {}
            (Self::Absent, _) => wrong("nothing".to_owned()),
            (Self::Present, Some(value)) if !is_empty(value) => {}
            (Self::Present, _) => wrong("anything".to_owned()),
            (Self::Text(text), value) => {
                let expected = resolve(text, bindings);
                // A captured value is text; where it came from it may have been a number.
                let referring = expected != *text;
                let same = match value {
                    Some(Value::String(seen)) => *seen == expected,
                    Some(Value::Number(seen)) => referring && seen.to_string() == expected,
                    _ => false,
                };
                if !same {
                    wrong(format!("{expected:?}"));
                }
            }
            (Self::Total { of, is }, value) => found.extend(self.wrong_total(of, is, value, (bindings, path))),
            (
                Self::Mentions(_)
                | Self::AtLeast(_)
                | Self::AtMost(_)
                | Self::OneOf(_)
                | Self::Any(_)
                | Self::Regex(_)
                | Self::After(_),
                value,
            ) => {
                if let Some(expected) = self.not_as_wanted(value, bindings, path) {
                    wrong(expected);
                }
            }
            (Self::Exact(expected), value) => {
                if value != Some(expected) {
                    wrong(expected.to_string());
                }
            }
            (Self::Map(members), Some(Value::Object(map))) => {
                for (key, pattern) in members {
                    pattern.compare(map.get(key), bindings, &join(path, key), found);
                }
            }
            (Self::Map(members), None) if members.values().all(|member| *member == Self::Absent) => {}
            (Self::Map(members), value) if value.is_none() && !members.is_empty() => {
                for (key, pattern) in members {
                    pattern.compare(None, bindings, &join(path, key), found);
                }
            }
            (Self::Map(_), _) => wrong("a map".to_owned()),
            (Self::Contains(_) | Self::Exactly(_) | Self::Lacks(_), value) => {
                let items = match value {
                    Some(Value::Array(items)) => items.as_slice(),
                    // An empty list is mostly left out by those who write it.
                    None | Some(Value::Null) => &[],
                    Some(_) => return wrong("a list".to_owned()),
                };
                self.compare_list(items, bindings, path, found);
            }
        }
    }

    /// How a value differs that does not match.
    fn kind(&self, value: Option<&Value>, bindings: &Bindings) -> DifferenceKind {
        match (self, value) {
            (Self::Absent, _) => DifferenceKind::Unexpected,
            (_, None | Some(Value::Null)) => DifferenceKind::Missing,
            (Self::After(after), Some(Value::String(seen))) => after.kind(seen, bindings),
            (_, Some(_)) => DifferenceKind::Different,
        }
    }

    /// Returns the differences of a list that has another total.
    fn wrong_total(
        &self,
        of: &str,
        is: &Self,
        value: Option<&Value>,
        (bindings, path): (&Bindings, &str),
    ) -> Option<Mismatch> {
        let items = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let total = total(items, of);
        (!is.matches(Some(&total), bindings)).then(|| Mismatch {
            path: shown(path),
            expected: self.describe(bindings),
            seen: format!("a total of {total}"),
            kind: DifferenceKind::Different,
            weight: 1,
        })
    }

    /// Returns the expectation of a matcher with an argument, if the value does not meet it.
    fn not_as_wanted(&self, value: Option<&Value>, bindings: &Bindings, path: &str) -> Option<String> {
        let number = value.and_then(Value::as_f64);
        let wanted = match self {
            Self::Mentions(texts) => {
                let seen = value.and_then(Value::as_str).unwrap_or_default();
                let missing = texts.iter().map(|text| resolve(text, bindings));
                let missing: Vec<_> = missing.filter(|text| !seen.contains(text.as_str())).collect();
                return (!missing.is_empty()).then(|| format!("a text with {missing:?} in it"));
            }
            Self::AtLeast(bound) => number.is_some_and(|seen| seen >= *bound),
            Self::AtMost(bound) => number.is_some_and(|seen| seen <= *bound),
            Self::OneOf(values) => values.iter().any(|one| is_value(one, value, bindings)),
            Self::Any(patterns) => patterns.iter().any(|pattern| {
                let mut differs = Vec::new();
                pattern.compare(value, bindings, path, &mut differs);
                differs.is_empty()
            }),
            Self::Regex(expression) => {
                let text = value.and_then(Value::as_str);
                let expression = regex::Regex::new(expression).ok();
                expression
                    .zip(text)
                    .is_some_and(|(expression, text)| expression.is_match(text))
            }
            Self::After(after) => value
                .and_then(Value::as_str)
                .is_some_and(|seen| after.holds(seen, bindings)),
            Self::Absent
            | Self::Present
            | Self::Text(_)
            | Self::Exact(_)
            | Self::Map(_)
            | Self::Contains(_)
            | Self::Exactly(_)
            | Self::Total { .. }
            | Self::Lacks(_) => true,
        };
        (!wanted).then(|| self.describe(bindings))
    }

    fn compare_list(&self, items: &[Value], bindings: &Bindings, path: &str, found: &mut Vec<Mismatch>) {
        let seen = || brief(&Value::Array(items.to_vec()));
        let whole = |expected: String, seen: String, kind: DifferenceKind, weight: usize| Mismatch {
            path: shown(path),
            expected,
            seen,
            kind,
            weight,
        };
        match self {
            Self::Contains(patterns) => {
                for pattern in patterns {
                    if items.iter().any(|item| pattern.matches(Some(item), bindings)) {
                        continue;
                    }
                    if let Some(differs) = pattern.nearest(items, bindings, path) {
                        found.extend(differs);
                    } else {
                        let expected = format!("an element like {}", pattern.describe(bindings));
                        found.push(whole(expected, seen(), DifferenceKind::Missing, pattern.demands()));
                    }
                }
            }
            Self::Exactly(patterns) => {
                if patterns.len() == items.len() {
                    for (i, (pattern, item)) in patterns.iter().zip(items).enumerate() {
                        pattern.compare(Some(item), bindings, &format!("{path}[{i}]"), found);
                    }
                } else {
                    let expected = format!("exactly {}", self.describe(bindings));
                    let kind = match (patterns.is_empty(), items.is_empty()) {
                        (true, _) => DifferenceKind::Unexpected,
                        (_, true) => DifferenceKind::Missing,
                        (false, false) => DifferenceKind::Different,
                    };
                    found.push(whole(expected, seen(), kind, self.demands()));
                }
            }
            Self::Lacks(patterns) => {
                for pattern in patterns {
                    if let Some(item) = items.iter().find(|item| pattern.matches(Some(item), bindings)) {
                        let expected = format!("no element like {}", pattern.describe(bindings));
                        found.push(whole(expected, brief(item), DifferenceKind::Unexpected, 1));
                    }
                }
            }
            Self::Absent
            | Self::Present
            | Self::Text(_)
            | Self::Exact(_)
            | Self::Mentions(_)
            | Self::AtLeast(_)
            | Self::AtMost(_)
            | Self::OneOf(_)
            | Self::Any(_)
            | Self::Regex(_)
            | Self::After(_)
            | Self::Total { .. }
            | Self::Map(_) => {}
        }
    }

    /// Returns the differences of the element that comes nearest. A single candidate is always the nearest; of several, those
    /// that meet no demand are other elements.
    fn nearest(&self, items: &[Value], bindings: &Bindings, path: &str) -> Option<Vec<Mismatch>> {
        let each = items.iter().enumerate().map(|(i, item)| {
            let mut differs = Vec::new();
            self.compare(Some(item), bindings, &format!("{path}[{i}]"), &mut differs);
            differs
        });
        let nearest = each.min_by_key(|differs| weight(differs))?;
        (items.len() == 1 || weight(&nearest) < self.demands()).then_some(nearest)
    }
}

/// Returns `true` if a value is null, an empty list or an empty map: API conventions treat these like an absent value, and
/// programs differ in whether they write them.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Returns `true` if a value equals the expected one, with references resolved.
fn is_value(meant: &Value, value: Option<&Value>, bindings: &Bindings) -> bool {
    match (meant, value) {
        (Value::Null, None) => true,
        (Value::String(text), Some(Value::String(seen))) => resolve(text, bindings) == *seen,
        (meant, value) => value == Some(meant),
    }
}

fn shown(path: &str) -> String {
    if path.is_empty() {
        "the object".to_owned()
    } else {
        path.to_owned()
    }
}

/// A value on one line, cut where it would fill the screen.
fn brief(value: &Value) -> String {
    const LONGEST: usize = 300;
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
