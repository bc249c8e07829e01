//! Patterns: what an object must look like, by subset.
//!
//! A map matches if every member that it names matches; what else is there does not matter. A member that is `null`
//! in the pattern must be absent. Lists say how they are meant: `{contains: […]}`, `{exactly: […]}` or `{lacks: […]}`.
//! `{present: true}` matches anything that is there, `{mentions: […]}` a text that has all of these in it. A text may refer to roles and captured values as `${origin}`;
//! they are put in when it is matched.

use std::{collections::BTreeMap, fmt};

use serde::Serialize;
use serde_json::Value;

use crate::redact::{REDACTED, is_secret_name};

/// What an object, or a part of one, must look like.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Pattern {
    /// Nothing may be there.
    Absent,
    /// Something must be there, whatever it is.
    Present,
    /// This text, with references put in.
    Text(String),
    /// This number, truth value or empty map, as it is.
    Exact(Value),
    /// A text that has all of these in it, with references put in.
    Mentions(Vec<String>),
    /// Every member matches its pattern.
    Map(BTreeMap<String, Pattern>),
    /// Every pattern matches some element.
    Contains(Vec<Pattern>),
    /// As many elements as patterns, each matching in order.
    Exactly(Vec<Pattern>),
    /// No element matches any of the patterns.
    Lacks(Vec<Pattern>),
}

/// What the references in texts stand for: members by role, captured values by name.
pub type Bindings = BTreeMap<String, String>;

/// One place where an object is not as its pattern says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Where, as in `metadata.labels["a.b/c"]`.
    pub path: String,
    /// What should be there.
    pub expected: String,
    /// What is there.
    pub seen: String,
}

impl Mismatch {
    /// Takes out what a case expects where a secret is: what is seen there has been taken out before.
    fn cover(&mut self) {
        let open = ["abels[", "abels.", "preservedLabelState"]
            .iter()
            .any(|it| self.path.contains(it));
        let name = self.path.rsplit(['.', '[']).next().unwrap_or_default();
        if !open && is_secret_name(name.trim_matches(['"', ']'])) {
            REDACTED.clone_into(&mut self.expected);
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}, seen {}", self.path, self.expected, self.seen)
    }
}

impl Pattern {
    /// Makes a pattern of what stands in a case.
    ///
    /// # Errors
    /// The path and the text of what is wrong: a list that does not say how it is meant.
    pub fn from_value(value: &Value) -> Result<Self, (String, String)> {
        Self::build(value, "")
    }

    fn build(value: &Value, path: &str) -> Result<Self, (String, String)> {
        let all = |items: &[Value]| {
            items
                .iter()
                .enumerate()
                .map(|(i, item)| Self::build(item, &format!("{path}[{i}]")))
                .collect::<Result<Vec<_>, _>>()
        };
        Ok(match value {
            Value::Null => Self::Absent,
            Value::String(text) => Self::Text(text.clone()),
            Value::Bool(_) | Value::Number(_) => Self::Exact(value.clone()),
            Value::Array(_) => {
                return Err((
                    path.to_owned(),
                    "a list must say how it is matched: {contains: […]}, {exactly: […]} or {lacks: […]}".to_owned(),
                ));
            }
            Value::Object(map) => match (map.len(), map.iter().next()) {
                (1, Some((key, Value::Array(items)))) if key == "contains" => Self::Contains(all(items)?),
                (1, Some((key, Value::Array(items)))) if key == "exactly" => Self::Exactly(all(items)?),
                (1, Some((key, Value::Array(items)))) if key == "lacks" => Self::Lacks(all(items)?),
                (1, Some((key, Value::Array(items)))) if key == "mentions" => Self::Mentions(
                    items
                        .iter()
                        .map(|item| item.as_str().map(ToOwned::to_owned))
                        .collect::<Option<_>>()
                        .ok_or_else(|| (path.to_owned(), "what a text must mention is given as texts".to_owned()))?,
                ),
                (1, Some((key, Value::Bool(true)))) if key == "present" => Self::Present,
                _ => Self::Map(
                    map.iter()
                        .map(|(key, value)| Self::build(value, &join(path, key)).map(|pattern| (key.clone(), pattern)))
                        .collect::<Result<_, _>>()?,
                ),
            },
        })
    }

    /// Whether a value matches.
    pub fn matches(&self, value: Option<&Value>, bindings: &Bindings) -> bool {
        self.mismatches(value, bindings).is_empty()
    }

    /// Every place where a value is not as the pattern says; none if it matches.
    pub fn mismatches(&self, value: Option<&Value>, bindings: &Bindings) -> Vec<Mismatch> {
        let mut found = Vec::new();
        self.compare(value, bindings, "", &mut found);
        found.iter_mut().for_each(Mismatch::cover);
        found
    }

    /// The names that its texts refer to.
    pub fn references(&self) -> Vec<&str> {
        match self {
            Self::Absent | Self::Present | Self::Exact(_) => Vec::new(),
            Self::Text(text) => references(text),
            Self::Mentions(texts) => texts.iter().flat_map(|text| references(text)).collect(),
            Self::Map(map) => map.values().flat_map(Self::references).collect(),
            Self::Contains(items) | Self::Exactly(items) | Self::Lacks(items) => {
                items.iter().flat_map(Self::references).collect()
            }
        }
    }

    fn compare(&self, value: Option<&Value>, bindings: &Bindings, path: &str, found: &mut Vec<Mismatch>) {
        let mut wrong = |expected: String| {
            found.push(Mismatch {
                path: shown(path),
                expected,
                seen: value.map_or("nothing".to_owned(), brief),
            });
        };
        match (self, value) {
            (Self::Absent, None | Some(Value::Null)) => {}
            (Self::Absent, Some(_)) => wrong("nothing".to_owned()),
            (Self::Present, Some(value)) if !value.is_null() => {}
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
            (Self::Mentions(texts), value) => {
                let seen = value.and_then(Value::as_str).unwrap_or_default();
                let missing = texts.iter().map(|text| resolve(text, bindings));
                let missing: Vec<_> = missing.filter(|text| !seen.contains(text.as_str())).collect();
                if !missing.is_empty() {
                    wrong(format!("a text with {missing:?} in it"));
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

    fn compare_list(&self, items: &[Value], bindings: &Bindings, path: &str, found: &mut Vec<Mismatch>) {
        let path = shown(path);
        let seen = || brief(&Value::Array(items.to_vec()));
        match self {
            Self::Contains(patterns) => {
                for pattern in patterns {
                    if items.iter().any(|item| pattern.matches(Some(item), bindings)) {
                        continue;
                    }
                    // With one candidate the reader wants to know what is wrong with it, not that it is another one.
                    if let [item] = items {
                        pattern.compare(Some(item), bindings, &format!("{path}[0]"), found);
                    } else {
                        let expected = format!("an element like {}", pattern.describe(bindings));
                        found.push(Mismatch {
                            path: path.clone(),
                            expected,
                            seen: seen(),
                        });
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
                    found.push(Mismatch {
                        path,
                        expected,
                        seen: seen(),
                    });
                }
            }
            Self::Lacks(patterns) => {
                for pattern in patterns {
                    if let Some(item) = items.iter().find(|item| pattern.matches(Some(item), bindings)) {
                        let expected = format!("no element like {}", pattern.describe(bindings));
                        found.push(Mismatch {
                            path: path.clone(),
                            expected,
                            seen: brief(item),
                        });
                    }
                }
            }
            Self::Absent | Self::Present | Self::Text(_) | Self::Exact(_) | Self::Mentions(_) | Self::Map(_) => {}
        }
    }

    /// The pattern in words of JSON, with references put in.
    pub fn describe(&self, bindings: &Bindings) -> String {
        let all = |items: &[Self]| {
            items
                .iter()
                .map(|item| item.describe(bindings))
                .collect::<Vec<_>>()
                .join(", ")
        };
        match self {
            Self::Absent => "nothing".to_owned(),
            Self::Present => "anything".to_owned(),
            Self::Text(text) => format!("{:?}", resolve(text, bindings)),
            Self::Exact(value) => value.to_string(),
            Self::Mentions(texts) => {
                let texts = texts.iter().map(|text| format!("{:?}", resolve(text, bindings)));
                format!("a text with {}", texts.collect::<Vec<_>>().join(", "))
            }
            Self::Map(map) => {
                // `{name: API_TOKEN, value: …}`, as in env.
                let secret = matches!(map.get("name"), Some(Self::Text(name)) if is_secret_name(name));
                let members = map.iter().map(|(key, value)| match value {
                    Self::Text(_) if is_secret_name(key) || (secret && key == "value") => {
                        format!("{key}: {REDACTED:?}")
                    }
                    value => format!("{key}: {}", value.describe(bindings)),
                });
                format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
            }
            Self::Contains(items) => format!("[… {} …]", all(items)),
            Self::Exactly(items) => format!("[{}]", all(items)),
            Self::Lacks(items) => format!("a list without {}", all(items)),
        }
    }
}

/// Puts what references stand for into a text; a reference that stands for nothing stays as it is.
pub fn resolve(text: &str, bindings: &Bindings) -> String {
    let mut resolved = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        resolved.push_str(before);
        match after.split_once('}') {
            Some((name, behind)) if bindings.contains_key(name) => {
                resolved.push_str(&bindings[name]);
                rest = behind;
            }
            _ => {
                resolved.push_str("${");
                rest = after;
            }
        }
    }
    resolved.push_str(rest);
    resolved
}

/// What `${namespace}` refers to in every case: the namespace that the case has for itself. Where it is in an object, the
/// case says `default`; this is for texts that a namespace is a part of.
pub const NAMESPACE: &str = "namespace";

/// The names that a text refers to, in order.
pub fn references(text: &str) -> Vec<&str> {
    text.split("${")
        .skip(1)
        .filter_map(|part| part.split_once('}'))
        .map(|(name, _)| name)
        .collect()
}

fn join(path: &str, key: &str) -> String {
    let plain = key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    match (path.is_empty(), plain) {
        (true, true) => key.to_owned(),
        (false, true) => format!("{path}.{key}"),
        (_, false) => format!("{path}[{key:?}]"),
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn mismatches(pattern: &Value, value: &Value) -> Vec<String> {
        let bindings = Bindings::from([("origin".to_owned(), "member2".to_owned())]);
        let pattern = Pattern::from_value(pattern).unwrap();
        pattern
            .mismatches(Some(value), &bindings)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn a_map_matches_by_subset() {
        assert!(mismatches(&json!({"a": {"b": 1}}), &json!({"a": {"b": 1, "c": 2}, "d": 3})).is_empty());
        assert_eq!(
            mismatches(&json!({"a": {"b": 1}}), &json!({"a": {}})),
            ["a.b: expected 1, seen nothing"]
        );
        assert_eq!(
            mismatches(&json!({"a": {"x/y": "v"}}), &json!({})),
            [r#"a["x/y"]: expected "v", seen nothing"#]
        );
    }

    #[test]
    fn null_means_absent_also_where_the_parent_is_absent() {
        assert!(mismatches(&json!({"a": {"b": null}}), &json!({})).is_empty());
        assert_eq!(
            mismatches(&json!({"a": null}), &json!({"a": 1})),
            ["a: expected nothing, seen 1"]
        );
    }

    #[test]
    fn references_are_put_in() {
        assert!(mismatches(&json!({"c": "${origin}"}), &json!({"c": "member2"})).is_empty());
        assert_eq!(
            mismatches(&json!({"c": "on ${origin} of ${unknown}"}), &json!({"c": "x"})),
            [r#"c: expected "on member2 of ${unknown}", seen "x""#]
        );
    }

    #[test]
    fn a_text_mentions_what_it_must() {
        let object = json!({"m": "eviction from member2 waits: rule a"});
        assert!(mismatches(&json!({"m": {"mentions": ["${origin}", "rule a"]}}), &object).is_empty());
        assert_eq!(
            mismatches(&json!({"m": {"mentions": ["${origin}", "rule b"]}}), &object),
            [r#"m: expected a text with ["rule b"] in it, seen "eviction from member2 waits: rule a""#]
        );
        assert_eq!(mismatches(&json!({"n": {"mentions": ["a"]}}), &object).len(), 1);
        assert!(Pattern::from_value(&json!({"m": {"mentions": [1]}})).is_err());
    }

    #[test]
    fn lists_say_how_they_are_meant() {
        let list = json!({"l": [{"n": "a", "v": 1}, {"n": "b"}]});
        assert!(mismatches(&json!({"l": {"contains": [{"n": "b"}]}}), &list).is_empty());
        assert!(mismatches(&json!({"l": {"exactly": [{"n": "a"}, {"n": "b"}]}}), &list).is_empty());
        assert!(mismatches(&json!({"l": {"lacks": [{"n": "c"}]}}), &list).is_empty());
        assert!(mismatches(&json!({"l": {"exactly": []}}), &json!({})).is_empty());
        assert_eq!(mismatches(&json!({"l": {"exactly": [{"n": "a"}]}}), &list).len(), 1);
        assert_eq!(mismatches(&json!({"l": {"lacks": [{"n": "a"}]}}), &list).len(), 1);
        assert!(Pattern::from_value(&json!({"l": []})).is_err());
    }

    #[test]
    fn the_only_candidate_of_a_list_is_explained() {
        assert_eq!(
            mismatches(
                &json!({"l": {"contains": [{"n": "a", "v": 2}]}}),
                &json!({"l": [{"n": "a", "v": 1}]})
            ),
            ["l[0].v: expected 2, seen 1"]
        );
    }
}
