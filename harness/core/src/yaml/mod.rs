//! YAML files that people write: cases and target files.
//!
//! A reader of plain YAML stops at the first error and gives positions for few; an author gets all of them at once. In
//! the order in which a file goes through it:
//!
//! - [`parse`]: the file as a tree of [`Node`]s with positions; `build` makes it of a parser's events, `scalar` says
//!   what a text without quotes means;
//! - [`shape`]: what a map may hold, said once for readers and for the schemas of editors;
//! - `decode`: takes the tree apart and keeps everything that is wrong; [`Diagnostic`]: one such thing.
//!
//! Manifests, and files that programs write, are read and written by [`plain`].

mod build;
pub mod decode;
mod diagnostic;
pub mod plain;
mod scalar;
pub mod shape;

pub use build::MOST_NODES;
pub use diagnostic::Diagnostic;

use std::{ops::Range, path::Path};

use serde_json::{Map, Value};

use self::build::Builder;

/// Returns a text without the byte order mark that some editors and shells write before it.
pub fn without_byte_order_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The largest file that is read, in bytes.
pub const LARGEST_FILE: usize = 1 << 20;

/// A node of the tree.
#[derive(Debug, Clone)]
pub struct Node {
    /// Offset in bytes.
    pub span: Range<usize>,
    /// Its line, from 1.
    pub line: usize,
    /// Its column in characters, from 1.
    pub column: usize,
    /// Its content.
    pub data: Data,
}

/// Content of a node.
#[derive(Debug, Clone)]
pub enum Data {
    /// A scalar.
    Scalar {
        /// Its text, without quotes.
        text: String,
        /// Set if it has no quotes, so that `2` is a number and `null` is null.
        plain: bool,
    },
    /// A list.
    List(Vec<Node>),
    /// A map, in the order of the file.
    Map(Vec<(Node, Node)>),
}

impl Node {
    /// Returns its type, for messages.
    pub fn describe(&self) -> String {
        match (&self.data, self.value()) {
            (Data::List(_), _) => "a list".to_owned(),
            (Data::Map(_), _) => "a map".to_owned(),
            (Data::Scalar { .. }, Value::Null) => "nothing".to_owned(),
            (Data::Scalar { .. }, Value::String(_)) => "a string".to_owned(),
            (Data::Scalar { text, .. }, Value::Bool(_) | Value::Number(_)) => format!("`{text}`"),
            (Data::Scalar { .. }, Value::Array(_) | Value::Object(_)) => "a value".to_owned(),
        }
    }

    /// The JSON that it stands for, by the core schema of YAML 1.2.
    pub fn value(&self) -> Value {
        match &self.data {
            Data::Scalar { text, plain: false } => Value::String(text.clone()),
            Data::Scalar { text, plain: true } => scalar::plain(text),
            Data::List(items) => items.iter().map(Self::value).collect(),
            Data::Map(members) => Value::Object(
                members
                    .iter()
                    .map(|(key, value)| (key.key().to_owned(), value.value()))
                    .collect::<Map<_, _>>(),
            ),
        }
    }

    /// The text of a map's key.
    pub fn key(&self) -> &str {
        match &self.data {
            Data::Scalar { text, .. } => text,
            Data::List(_) | Data::Map(_) => "",
        }
    }

    /// Returns the number of nodes, including this one.
    pub fn size(&self) -> usize {
        match &self.data {
            Data::Scalar { .. } => 1,
            Data::List(items) => 1 + items.iter().map(Self::size).sum::<usize>(),
            Data::Map(members) => {
                1 + members
                    .iter()
                    .map(|(key, value)| key.size() + value.size())
                    .sum::<usize>()
            }
        }
    }

    /// A member of a map.
    pub fn get(&self, name: &str) -> Option<&Self> {
        match &self.data {
            Data::Map(members) => members
                .iter()
                .find(|(key, _)| key.key() == name)
                .map(|(_, value)| value),
            Data::Scalar { .. } | Data::List(_) => None,
        }
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Self> {
        match &mut self.data {
            Data::Map(members) => members
                .iter_mut()
                .find(|(key, _)| key.key() == name)
                .map(|(_, value)| value),
            Data::Scalar { .. } | Data::List(_) => None,
        }
    }

    /// Returns the items of a list; none if it is not a list.
    pub fn items(&self) -> &[Self] {
        match &self.data {
            Data::List(items) => items,
            Data::Scalar { .. } | Data::Map(_) => &[],
        }
    }
}

/// Reads the one document of a file, and what is wrong with it that does not keep it from being read on: a key that
/// stands there twice, a tag, a merge key. Such a member is left out.
///
/// # Errors
/// One diagnostic: what makes it no YAML, or too much of it, stops the reading.
pub fn parse(file: &Path, bytes: &[u8]) -> Result<(Node, Vec<Diagnostic>), Box<Diagnostic>> {
    let whole = |message: String, help: &str| {
        let help = Some(help.to_owned());
        Box::new(Diagnostic {
            file: file.to_owned(),
            line: 1,
            column: 1,
            span: 0..0,
            message,
            help,
        })
    };
    if bytes.len() > LARGEST_FILE {
        let help = "a file may have 1 MiB; put large objects of a case into fixtures/";
        return Err(whole("the file is too large".to_owned(), help));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let line = bytes[..at].split(|byte| *byte == b'\n').count();
        let start = bytes[..at]
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |newline| newline + 1);
        Box::new(Diagnostic {
            file: file.to_owned(),
            line,
            column: String::from_utf8_lossy(&bytes[start..at]).chars().count() + 1,
            span: at..at,
            message: "invalid UTF-8".to_owned(),
            help: Some("save the file in the encoding UTF-8".to_owned()),
        })
    })?;
    let content = without_byte_order_mark(text);
    let mut builder = Builder::new(file, text.len() - content.len());
    let root = builder.build(content)?.ok_or_else(|| {
        whole(
            "the file is empty".to_owned(),
            "it begins with `apiVersion: baton.dev/v1alpha1`",
        )
    })?;
    Ok((root, builder.found))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Result<Value, String> {
        match parse(Path::new("c.yaml"), text.as_bytes()) {
            Ok((node, found)) if found.is_empty() => Ok(node.value()),
            Ok((_, found)) => Err(found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn scalars_are_what_they_look_like() {
        assert_eq!(
            read("a: 1\nb: '1'\nc: true\nd: ~\ne: -2.5\nf: 1e3x\ng: 18446744073709551615\nh: .").unwrap(),
            json!({"a": 1, "b": "1", "c": true, "d": null, "e": -2.5, "f": "1e3x", "g": u64::MAX, "h": "."})
        );
    }

    #[test]
    fn positions_are_in_characters_and_spans_in_bytes() {
        let (node, _) = parse(Path::new("c.yaml"), "é: ü\nb: {c: d}".as_bytes()).unwrap();
        let d = node.get("b").unwrap().get("c").unwrap();
        assert_eq!((d.line, d.column, d.span.clone()), (2, 8, 14..15));
    }

    #[test]
    fn what_is_no_case_is_refused_with_its_place() {
        assert_eq!(read("a: &x [1]\nb: *x").unwrap(), json!({"a": [1], "b": [1]}));
        assert!(read("").unwrap_err().starts_with("c.yaml:1:1: the file is empty"));
        assert!(
            read("a: 1\n---\nb: 2")
                .unwrap_err()
                .starts_with("c.yaml:3:1: a second YAML document")
        );
        assert!(
            read("a: 1\na: 2")
                .unwrap_err()
                .starts_with("c.yaml:2:1: duplicate key `a`")
        );
        assert!(read("a: [1").unwrap_err().contains("invalid YAML"));
        assert!(read(&"[".repeat(10_000)).unwrap_err().contains("recursion limit"));
        assert!(
            read(&format!("{}{}", "[".repeat(100), "]".repeat(100)))
                .unwrap_err()
                .contains("nested too deeply")
        );
        let line = |i: usize| format!("a{i}: &a{i} [*a{p}, *a{p}]\n", p = i - 1);
        let bomb = (1..30).map(line).collect::<Vec<_>>().concat();
        assert!(
            read(&format!("a0: &a0 [x]\n{bomb}"))
                .unwrap_err()
                .contains("too many values")
        );
        let error = parse(Path::new("c.yaml"), b"a: 1\nb: \xff").unwrap_err();
        assert_eq!((error.line, error.message.as_str()), (2, "invalid UTF-8"));
        let large = vec![b' '; 50 << 20];
        assert!(
            parse(Path::new("c.yaml"), &large)
                .unwrap_err()
                .message
                .contains("too large")
        );
    }
}
