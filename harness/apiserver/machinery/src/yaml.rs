//! YAML as a Kubernetes API server reads it: version 1.1, where `n` is false and `010` is eight, converted to JSON.
//!
//! Only the first document counts. The expansion of aliases is bounded: a few lines of aliases of aliases can stand for
//! more than the memory of a machine.

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::Engine as _;
use granit_parser::{Event, Options, Parser, ScalarStyle, Tag};
use serde_json::{Map, Number, Value};

use crate::merge::field_validation;

/// Maximum number of values that aliases may expand to.
const MAX_EXPANDED: usize = 200_000;
/// Maximum number of bytes of text that aliases may expand to.
const MAX_EXPANDED_BYTES: usize = 8 << 20;
/// Maximum nesting after aliases are expanded; the parser bounds the nesting of the text itself.
const MAX_DEPTH: usize = 255;
/// YAML has implicit keys of up to 1,024 characters, quotes included.
const LONGEST_SIMPLE_KEY: usize = 1_000;

/// Reason for which a document cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum YamlError {
    /// The bytes are not text.
    #[error("control characters are not allowed")]
    NotText,
    /// The text is not YAML.
    #[error("line {line}: {what}")]
    Syntax {
        /// Line number, counted from 1.
        line: usize,
        /// The syntax error.
        what: String,
    },
    /// A key is not a scalar.
    #[error("invalid map key")]
    Key,
    /// The value of a merge key is not a map.
    #[error("map merge requires map or sequence of maps as the value")]
    Merge,
    /// Aliases expand to too much.
    #[error("document contains excessive aliasing")]
    Aliases,
    /// A number that JSON cannot express.
    #[error("json: unsupported value: {0}")]
    Number(String),
}

/// Reads the first document; if a key occurs twice in a map, the last one counts.
pub fn read(bytes: &[u8]) -> Result<Value, YamlError> {
    match json(bytes) {
        Some(value) => Ok(value),
        None => Reader::default().document(bytes),
    }
}

/// Reads a document as JSON if YAML would read the same value. Clients that apply mostly send JSON, which is read many
/// times faster this way.
///
/// Returns `None` if the document is not JSON, and if the two may differ: on keys that occur twice, escapes, line
/// breaks, characters that are not plain, long keys, and numbers that are not whole.
fn json(bytes: &[u8]) -> Option<Value> {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && *byte != b'\\';
    if bytes.first() != Some(&b'{') || !bytes.iter().all(is_plain) {
        return None;
    }
    let value = serde_json::from_slice(bytes).ok()?;
    (reads_alike(&value) && field_validation::duplicate_keys(bytes).is_empty()).then_some(value)
}

fn reads_alike(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => true,
        Value::Number(number) => !number.is_f64(),
        Value::Array(items) => items.iter().all(reads_alike),
        Value::Object(members) => members
            .iter()
            .all(|(key, value)| key.len() < LONGEST_SIMPLE_KEY && reads_alike(value)),
    }
}

/// Returns the strict reader's error about keys that occur twice in a map: one error about all of them. A document that
/// cannot be read has none.
pub fn duplicate_keys(bytes: &[u8]) -> Option<String> {
    if json(bytes).is_some() {
        return None;
    }
    let mut reader = Reader::default();
    reader.document(bytes).ok()?;
    let twice = reader.twice.iter();
    let lines: Vec<String> = twice
        .map(|(line, key)| format!("  line {line}: key {key:?} already set in map"))
        .collect();
    (!lines.is_empty()).then(|| format!("yaml: unmarshal errors:\n{}", lines.join("\n")))
}

/// The size of a tree.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    values: usize,
    bytes: usize,
    depth: usize,
}

/// A complete value.
struct Node {
    value: Value,
    /// `true` for a merge key.
    merges: bool,
    line: usize,
}

/// A list or a map whose end has not been read yet.
enum Open {
    List(usize, Vec<Value>),
    Map(usize, Members),
}

#[derive(Default)]
struct Members {
    own: Map<String, Value>,
    /// The members from merge keys; own members take precedence, and earlier merge keys over later ones.
    merged: Map<String, Value>,
    key: Option<Key>,
}

enum Key {
    Name(String, usize),
    Merge,
}

#[derive(Default)]
struct Reader {
    /// Keys that occur twice in a map, with the line of the second one.
    twice: Vec<(usize, String)>,
    anchors: BTreeMap<usize, (Value, Size)>,
    expanded: Size,
    open: Vec<Open>,
}

impl Reader {
    fn document(&mut self, bytes: &[u8]) -> Result<Value, YamlError> {
        let text = std::str::from_utf8(bytes).map_err(|_| YamlError::NotText)?;
        let mut options = Options::default();
        options.set_emit_comments(false);
        for event in Parser::new_from_str_with_options(text, options) {
            let (event, span) = event.map_err(|error| YamlError::Syntax {
                line: error.marker().line(),
                what: error.info().clone(),
            })?;
            let line = span.start.line();
            let node = match event {
                Event::Scalar(text, style, anchor, tag) => {
                    let plain = style == ScalarStyle::Plain;
                    let value = scalar(text, plain, tag.as_deref())?;
                    self.keep(anchor, &value);
                    let merges = plain && value == "<<";
                    Node { value, merges, line }
                }
                Event::Alias(anchor) => Node {
                    value: self.expand(anchor)?,
                    merges: false,
                    line,
                },
                Event::SequenceStart(_, anchor, _) => {
                    self.open.push(Open::List(anchor, Vec::new()));
                    continue;
                }
                Event::MappingStart(_, anchor, _) => {
                    self.open.push(Open::Map(anchor, Members::default()));
                    continue;
                }
                Event::SequenceEnd | Event::MappingEnd => match self.close() {
                    Some(value) => Node {
                        value,
                        merges: false,
                        line,
                    },
                    None => continue,
                },
                Event::DocumentEnd => break,
                // The start and end of the stream, and events of later versions of the parser.
                _ => continue,
            };
            if let Some(root) = self.place(node)? {
                return Ok(root);
            }
        }
        Ok(Value::Null)
    }

    /// Adds a value to its container; returns it if it is the whole document.
    fn place(&mut self, node: Node) -> Result<Option<Value>, YamlError> {
        match self.open.last_mut() {
            None => return Ok(Some(node.value)),
            Some(Open::List(_, items)) => items.push(node.value),
            Some(Open::Map(_, members)) => match members.key.take() {
                None if node.merges => members.key = Some(Key::Merge),
                None => members.key = Some(Key::Name(name(&node.value)?, node.line)),
                Some(Key::Merge) => members.merge(node.value)?,
                Some(Key::Name(key, line)) => {
                    if members.own.contains_key(&key) {
                        self.twice.push((line, key.clone()));
                    }
                    members.own.insert(key, node.value);
                }
            },
        }
        Ok(None)
    }

    fn close(&mut self) -> Option<Value> {
        let (anchor, value) = match self.open.pop()? {
            Open::List(anchor, items) => (anchor, Value::Array(items)),
            Open::Map(anchor, members) => {
                let mut all = members.merged;
                all.extend(members.own);
                (anchor, Value::Object(all))
            }
        };
        self.keep(anchor, &value);
        Some(value)
    }

    fn keep(&mut self, anchor: usize, value: &Value) {
        // The parser numbers anchors from 1.
        if anchor > 0 {
            self.anchors.insert(anchor, (value.clone(), size(value)));
        }
    }

    fn expand(&mut self, anchor: usize) -> Result<Value, YamlError> {
        let (value, size) = self.anchors.get(&anchor).ok_or(YamlError::Aliases)?;
        self.expanded.values += size.values;
        self.expanded.bytes += size.bytes;
        let fits = self.expanded.values <= MAX_EXPANDED
            && self.expanded.bytes <= MAX_EXPANDED_BYTES
            && self.open.len() + size.depth <= MAX_DEPTH;
        if fits {
            Ok(value.clone())
        } else {
            Err(YamlError::Aliases)
        }
    }
}

impl Members {
    fn merge(&mut self, value: Value) -> Result<(), YamlError> {
        match value {
            Value::Object(members) => {
                for (key, value) in members {
                    self.merged.entry(key).or_insert(value);
                }
                Ok(())
            }
            Value::Array(items) => items.into_iter().try_for_each(|item| match item {
                Value::Object(_) => self.merge(item),
                _ => Err(YamlError::Merge),
            }),
            _ => Err(YamlError::Merge),
        }
    }
}

fn size(value: &Value) -> Size {
    let mut all = Size {
        values: 1,
        bytes: value.as_str().map_or(0, str::len),
        depth: 0,
    };
    let mut add = |inner: &Value, key: usize| {
        let inner = size(inner);
        all.values += inner.values;
        all.bytes += inner.bytes + key;
        all.depth = all.depth.max(inner.depth);
    };
    match value {
        Value::Array(items) => items.iter().for_each(|item| add(item, 0)),
        Value::Object(members) => members.iter().for_each(|(key, inner)| add(inner, key.len())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    all.depth += 1;
    all
}

/// Returns a key in the form of JSON.
fn name(key: &Value) -> Result<String, YamlError> {
    match key {
        Value::String(text) => Ok(text.clone()),
        Value::Bool(_) | Value::Number(_) => Ok(key.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => Err(YamlError::Key),
    }
}

fn scalar(text: Cow<'_, str>, plain: bool, tag: Option<&Tag>) -> Result<Value, YamlError> {
    let core = |suffix: &str| tag.is_some_and(|tag| tag.is_yaml_core_schema_tag(suffix));
    let other = tag.is_some_and(|tag| tag.suffix() == "binary");
    if other && let Ok(bytes) = base64::engine::general_purpose::STANDARD.decode(text.trim()) {
        return Ok(String::from_utf8_lossy(&bytes).into_owned().into());
    }
    let resolves = if tag.is_some() {
        core("int") || core("float") || core("bool") || core("null")
    } else {
        plain
    };
    if resolves {
        resolve(&text)
    } else {
        Ok(text.into_owned().into())
    }
}

/// Returns the value of a plain scalar.
fn resolve(text: &str) -> Result<Value, YamlError> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => return Ok(true.into()),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Ok(false.into());
        }
        ".nan" | ".NaN" | ".NAN" => return Err(YamlError::Number("NaN".to_owned())),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Err(YamlError::Number("+Inf".to_owned())),
        "-.inf" | "-.Inf" | "-.INF" => return Err(YamlError::Number("-Inf".to_owned())),
        _ => {}
    }
    if !text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '+' | '-' | '.')) {
        return Ok(text.into());
    }
    let digits = text.replace('_', "");
    Ok(integer(&digits)
        .or_else(|| float(&digits))
        .map_or_else(|| text.into(), Value::Number))
}

/// Parses a whole number, also with the bases 2, 8 and 16; a leading zero means 8.
fn integer(text: &str) -> Option<Number> {
    let (negative, digits) = match text.strip_prefix(['+', '-']) {
        Some(digits) => (text.starts_with('-'), digits),
        None => (false, text),
    };
    let (base, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let size = u64::from_str_radix(digits, base).ok()?;
    if negative {
        Some(i64::try_from(-i128::from(size)).ok()?.into())
    } else {
        Some(size.into())
    }
}

/// Parses any other number; whole ones become integers when converted to JSON.
fn float(text: &str) -> Option<Number> {
    let number = text.bytes().any(|byte| byte.is_ascii_digit())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    let value: f64 = text.parse().ok().filter(|_| number)?;
    if value.fract() == 0.0 && value.abs() < 1e18 {
        return format!("{value:.0}").parse::<i64>().ok().map(Number::from);
    }
    Number::from_f64(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn plain_scalars_are_those_of_yaml_1_1() {
        let text = "{t: [y, Yes, on, true], f: [n, NO, off], n: 1, '0': [~, null, ], i: [010, 0o17, 0x1f, 0b11, 1_000, -7], \
                    g: [1.5, 1e3, .5, 2.0], s: ['n', \"1\", 2001-01-01, 1.2.3, 0x, nn, !!str 5, 08], u: 18446744073709551615}";
        let wanted = json!({
            "t": [true, true, true, true], "f": [false, false, false], "false": 1, "0": [null, null],
            "i": [8, 15, 31, 3, 1000, -7], "g": [1.5, 1000, 0.5, 2],
            "s": ["n", "1", "2001-01-01", "1.2.3", "0x", "nn", "5", 8], "u": 18_446_744_073_709_551_615_u64,
        });
        assert_eq!(read(text.as_bytes()), Ok(wanted));
    }

    #[test]
    fn json_is_read_as_yaml_would_read_it() {
        let long = format!("{{\"{}\":1}}", "k".repeat(2_000));
        for (text, is_taken) in [
            (
                r#"{"a":[1,-2,18446744073709551615,true,null,""],"b":{"<<":{"n":"n"}},"~":"~"}"#,
                true,
            ),
            (r#"{ "a" : "it's: #1, {x} [y] & *z !t %p @q `r`", "y": "1.0"}"#, true),
            (r#"{"a":1.0}"#, false),
            (r#"{"a":1e3}"#, false),
            (r#"{"a":-0}"#, false),
            (r#"{"a":18446744073709551616}"#, false),
            (r#"{"a":"\u0041\/"}"#, false),
            ("{\"a\":\"\u{85}\"}", false),
            ("{\"a\"\n:1}", false),
            (r#"{"a":1,"a":2}"#, false),
            (r#"{"a":1}{"b":2}"#, false),
            ("[1]", false),
            (long.as_str(), false),
        ] {
            let as_json = json(text.as_bytes());
            assert_eq!(as_json.is_some(), is_taken, "{text}");
            if let Some(value) = as_json {
                assert_eq!(Reader::default().document(text.as_bytes()), Ok(value), "{text}");
            }
        }
    }

    #[test]
    fn merge_keys_bring_in_what_is_not_there() {
        let text = "a: &a {x: 1, y: 2}\nb: &b {x: 3, z: 4}\nc:\n  <<: [*a, *b]\n  w: 5\n  x: 6\nd: {<<: *b}\n";
        let read = read(text.as_bytes()).expect("YAML");
        assert_eq!(read["c"], json!({"x": 6, "true": 2, "z": 4, "w": 5}));
        assert_eq!(read["d"], json!({"x": 3, "z": 4}));
        for wrong in ["{<<: 1}", "a: &a [1]\nb: {<<: *a}"] {
            assert_eq!(super::read(wrong.as_bytes()), Err(YamlError::Merge));
        }
    }

    #[test]
    fn only_the_first_document_counts() {
        assert_eq!(read(b"# a comment\n---\na: 1\n---\nb: 2\n"), Ok(json!({"a": 1})));
        assert_eq!(read(b""), Ok(Value::Null));
        assert_eq!(read(b"---\n"), Ok(Value::Null));
    }

    #[test]
    fn keys_that_occur_twice_are_found() {
        let text = b"a: 1\nb: {c: 1}\na: 2\n";
        assert_eq!(read(text), Ok(json!({"a": 2, "b": {"c": 1}})));
        let expected = "yaml: unmarshal errors:\n  line 3: key \"a\" already set in map";
        assert_eq!(duplicate_keys(text).as_deref(), Some(expected));
        assert_eq!(duplicate_keys(b"a: {b: 1}\nb: 1"), None);
    }

    #[test]
    fn what_stands_for_too_much_is_refused() {
        let mut laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        laughs.extend((1..9).map(|n| format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 10].join(","))));
        assert_eq!(read(laughs.as_bytes()), Err(YamlError::Aliases));
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        assert!(matches!(read(deep.as_bytes()), Err(YamlError::Syntax { .. })));
        assert!(matches!(
            read(b"&a [*a]"),
            Err(YamlError::Aliases | YamlError::Syntax { .. })
        ));
        assert!(matches!(read(b"a: b: c"), Err(YamlError::Syntax { .. })));
        assert_eq!(read(b"\xff"), Err(YamlError::NotText));
        assert_eq!(read(b"[.nan]"), Err(YamlError::Number("NaN".to_owned())));
    }
}
