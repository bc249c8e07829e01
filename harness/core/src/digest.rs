//! Digests, which tie a report to the cases that ran and to the evidence.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::case::model::Case;

/// A SHA-256 in the form `sha256:…`, in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(String);

impl Digest {
    /// Returns the digest of bytes.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        use fmt::Write as _;
        let mut text = "sha256:".to_owned();
        for byte in Sha256::digest(bytes) {
            // Writing into a text cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        Self(text)
    }

    /// Returns the digest of what a case does and demands, including everything that it applies. It does not depend on
    /// the path of the file, nor on comments, layout and title: a title that is reworded leaves published reports valid.
    pub fn of_case(case: &Case) -> Self {
        let untitled = Case {
            title: String::new(),
            ..case.clone()
        };
        Self::of_json(&untitled)
    }

    /// Returns the digest of the JSON form of a value. It does not depend on the order of members.
    pub fn of_json(what: &(impl Serialize + ?Sized)) -> Self {
        // Maps with texts as keys always have a JSON form.
        let value = serde_json::to_value(what).unwrap_or_default();
        let mut text = String::new();
        write_canonical(&value, &mut text);
        Self::of_bytes(text.as_bytes())
    }

    /// Returns the digest of a set of cases, by name and digest. It does not depend on their order.
    pub fn of_cases<'a>(cases: impl Iterator<Item = (&'a str, &'a Self)>) -> Self {
        let mut lines: Vec<String> = cases.map(|(name, digest)| format!("{name} {digest}\n")).collect();
        lines.sort();
        lines.dedup();
        Self::of_bytes(lines.concat().as_bytes())
    }

    /// Returns the digest as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Writes JSON with sorted members and without spaces.
fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut members: Vec<_> = map.iter().collect();
            members.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (index, (key, value)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_canonical(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => out.push_str(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_digest_says_what_it_is() {
        let expected = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Digest::of_bytes(b"abc").as_str(), expected);
    }

    #[test]
    fn maps_are_written_in_one_way() {
        let mut text = String::new();
        write_canonical(&json!({"b": [1, null, "x\"y"], "a": {"d": true, "c": {}}}), &mut text);
        assert_eq!(text, r#"{"a":{"c":{},"d":true},"b":[1,null,"x\"y"]}"#);
    }

    #[test]
    fn the_order_of_cases_does_not_matter_but_what_they_say_does() {
        let (one, two) = (Digest::of_bytes(b"1"), Digest::of_bytes(b"2"));
        let forth = Digest::of_cases([("a", &one), ("b", &two)].into_iter());
        assert_eq!(forth, Digest::of_cases([("b", &two), ("a", &one)].into_iter()));
        assert_ne!(forth, Digest::of_cases([("a", &two), ("b", &one)].into_iter()));
    }
}
