//! YAML with positions: the tree that a case is decoded from.
//!
//! `serde_yaml` stops at the first error and gives positions for few; a case's author is told all of them at once.
//! Anchors work, but what they expand to is bounded.

use std::{borrow::Cow, collections::BTreeMap, ops::Range, path::Path};

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span};
use serde_json::{Map, Number, Value};

use super::diagnostic::Diagnostic;

/// The largest file that is read, in bytes.
pub const LARGEST_FILE: usize = 1 << 20;
/// The most nodes that a file may have once its aliases are expanded.
const MOST_NODES: usize = 100_000;
/// The deepest nesting.
const DEEPEST: usize = 64;

/// A node of the tree.
#[derive(Debug, Clone)]
pub struct Node {
    /// Where it stands, in bytes.
    pub span: Range<usize>,
    /// Its line, from 1.
    pub line: usize,
    /// Its column in characters, from 1.
    pub column: usize,
    /// What it is.
    pub data: Data,
}

/// What a node is.
#[derive(Debug, Clone)]
pub enum Data {
    /// A scalar.
    Scalar {
        /// Its text, without quotes.
        text: String,
        /// Whether it stands without quotes, so that `2` is a number and `null` is nothing.
        plain: bool,
    },
    /// A list.
    List(Vec<Node>),
    /// A map, in the order of the file.
    Map(Vec<(Node, Node)>),
}

impl Node {
    /// What it is, for messages.
    pub fn describe(&self) -> String {
        match (&self.data, self.value()) {
            (Data::List(_), _) => "a list".to_owned(),
            (Data::Map(_), _) => "a map".to_owned(),
            (Data::Scalar { .. }, Value::Null) => "nothing".to_owned(),
            (Data::Scalar { .. }, Value::String(_)) => "a text".to_owned(),
            (Data::Scalar { text, .. }, Value::Bool(_) | Value::Number(_)) => format!("`{text}`"),
            (Data::Scalar { .. }, Value::Array(_) | Value::Object(_)) => "a value".to_owned(),
        }
    }

    /// The JSON that it stands for, by the core schema of YAML 1.2.
    pub fn value(&self) -> Value {
        match &self.data {
            Data::Scalar { text, plain: false } => Value::String(text.clone()),
            Data::Scalar { text, plain: true } => plain(text),
            Data::List(items) => items.iter().map(Self::value).collect(),
            Data::Map(members) => Value::Object(
                members
                    .iter()
                    .map(|(key, value)| (key.key(), value.value()))
                    .collect::<Map<_, _>>(),
            ),
        }
    }

    /// The text of a map's key.
    pub fn key(&self) -> String {
        match &self.data {
            Data::Scalar { text, .. } => text.clone(),
            Data::List(_) | Data::Map(_) => String::new(),
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

    /// The items of a list; none if it is no list.
    pub fn items(&self) -> &[Self] {
        match &self.data {
            Data::List(items) => items,
            Data::Scalar { .. } | Data::Map(_) => &[],
        }
    }
}

fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number),
    }
}

fn number(text: &str) -> Option<Number> {
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) {
        return None;
    }
    let digits = text.strip_prefix('+').unwrap_or(text);
    let whole = digits
        .parse::<i64>()
        .map(Number::from)
        .or_else(|_| digits.parse::<u64>().map(Number::from));
    whole.ok().or_else(|| {
        let has_digit = digits.contains(|c: char| c.is_ascii_digit());
        has_digit
            .then(|| digits.parse::<f64>().ok().and_then(Number::from_f64))
            .flatten()
    })
}

/// Reads the one document of a file.
///
/// # Errors
/// One diagnostic: what makes it no YAML, or too much of it, stops the reading.
pub fn parse(file: &Path, bytes: &[u8]) -> Result<Node, Box<Diagnostic>> {
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
        let help = "a case may have 1 MiB; put large objects into fixtures/";
        return Err(whole("the file is too large for a case".to_owned(), help));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let line = bytes[..at].split(|byte| *byte == b'\n').count();
        Box::new(Diagnostic {
            file: file.to_owned(),
            line,
            column: 1,
            span: at..at,
            message: "this is no UTF-8".to_owned(),
            help: Some("save the file in the encoding UTF-8".to_owned()),
        })
    })?;
    let mut builder = Builder::new(file, text);
    builder.build()?.ok_or_else(|| {
        whole(
            "the file is empty".to_owned(),
            "a case begins with `apiVersion: baton.dev/v1alpha1`",
        )
    })
}

struct Builder<'a> {
    file: &'a Path,
    text: &'a str,
    lines: Vec<usize>,
    anchors: BTreeMap<usize, Node>,
    nodes: usize,
}

enum Open {
    List(usize, Span, Vec<Node>),
    Map(usize, Span, Vec<(Node, Node)>, Option<Node>),
}

impl<'a> Builder<'a> {
    fn new(file: &'a Path, text: &'a str) -> Self {
        let lines = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(at, _)| at + 1))
            .collect();
        Self {
            file,
            text,
            lines,
            anchors: BTreeMap::new(),
            nodes: 0,
        }
    }

    fn build(&mut self) -> Result<Option<Node>, Box<Diagnostic>> {
        let mut root: Option<Node> = None;
        let mut open: Vec<Open> = Vec::new();
        for event in Parser::new_from_str(self.text) {
            let (event, span) = event.map_err(|error| {
                self.wrong(
                    Span::new(*error.marker(), *error.marker()),
                    format!("this is no YAML: {}", error.info()),
                    None,
                )
            })?;
            let node = match event {
                Event::Scalar(text, style, anchor, _) => {
                    let node = self.scalar(text, style, span)?;
                    self.keep(anchor, &node);
                    node
                }
                Event::Alias(anchor) => self.expand(anchor, span)?,
                Event::SequenceStart(anchor, _) => {
                    open.push(Open::List(anchor, span, Vec::new()));
                    self.check_depth(open.len(), span)?;
                    continue;
                }
                Event::MappingStart(anchor, _) => {
                    open.push(Open::Map(anchor, span, Vec::new(), None));
                    self.check_depth(open.len(), span)?;
                    continue;
                }
                Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                    Some(opened) => self.close(opened, span)?,
                    None => continue,
                },
                Event::Nothing
                | Event::StreamStart
                | Event::StreamEnd
                | Event::DocumentStart(_)
                | Event::DocumentEnd => {
                    continue;
                }
            };
            self.place(node, &mut open, &mut root)?;
        }
        Ok(root)
    }

    fn place(&self, node: Node, open: &mut [Open], root: &mut Option<Node>) -> Result<(), Box<Diagnostic>> {
        match open.last_mut() {
            Some(Open::List(_, _, items)) => items.push(node),
            Some(Open::Map(_, _, members, key)) => match key.take() {
                None => *key = Some(node),
                Some(key) if members.iter().any(|(known, _)| known.key() == key.key()) => {
                    let message = format!("`{}` stands here a second time", key.key());
                    return Err(Box::new(self.diagnostic(
                        &key,
                        message,
                        Some("keep one of them".to_owned()),
                    )));
                }
                Some(key) => members.push((key, node)),
            },
            None if root.is_some() => {
                let help = Some("put each case into a file of its own".to_owned());
                return Err(Box::new(self.diagnostic(
                    &node,
                    "a second YAML document begins here".to_owned(),
                    help,
                )));
            }
            None => *root = Some(node),
        }
        Ok(())
    }

    fn scalar(&mut self, text: Cow<'_, str>, style: ScalarStyle, span: Span) -> Result<Node, Box<Diagnostic>> {
        self.count(1, span)?;
        let plain = style == ScalarStyle::Plain;
        Ok(self.node(
            span,
            Data::Scalar {
                text: text.into_owned(),
                plain,
            },
        ))
    }

    fn close(&mut self, opened: Open, end: Span) -> Result<Node, Box<Diagnostic>> {
        let (anchor, start, data) = match opened {
            Open::List(anchor, start, items) => (anchor, start, Data::List(items)),
            Open::Map(anchor, start, members, _) => (anchor, start, Data::Map(members)),
        };
        self.count(1, start)?;
        let node = self.node(Span::new(start.start, end.end), data);
        self.keep(anchor, &node);
        Ok(node)
    }

    fn keep(&mut self, anchor: usize, node: &Node) {
        // The parser numbers anchors from 1.
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
    }

    fn expand(&mut self, anchor: usize, span: Span) -> Result<Node, Box<Diagnostic>> {
        let Some(node) = self.anchors.get(&anchor).cloned() else {
            return Err(self.wrong(span, "this alias stands inside what it refers to".to_owned(), None));
        };
        self.count(size(&node), span)?;
        Ok(node)
    }

    fn count(&mut self, nodes: usize, span: Span) -> Result<(), Box<Diagnostic>> {
        self.nodes += nodes;
        if self.nodes > MOST_NODES {
            let help = Some("aliases may expand to 100000 values in all".to_owned());
            return Err(self.wrong(span, "the file has too many values".to_owned(), help));
        }
        Ok(())
    }

    fn check_depth(&self, depth: usize, span: Span) -> Result<(), Box<Diagnostic>> {
        if depth > DEEPEST {
            let help = Some(format!("{DEEPEST} levels are possible"));
            return Err(self.wrong(span, "this is nested too deeply".to_owned(), help));
        }
        Ok(())
    }

    fn node(&self, span: Span, data: Data) -> Node {
        let range = self.byte(span.start)..self.byte(span.end);
        Node {
            span: range,
            line: span.start.line(),
            column: span.start.col() + 1,
            data,
        }
    }

    /// Markers count characters; spans are in bytes.
    fn byte(&self, marker: Marker) -> usize {
        let start = self
            .lines
            .get(marker.line().saturating_sub(1))
            .copied()
            .unwrap_or(self.text.len());
        let line = &self.text[start..];
        line.char_indices()
            .nth(marker.col())
            .map_or(self.text.len(), |(at, _)| start + at)
    }

    #[expect(clippy::unnecessary_box_returns, reason = "every caller returns it as a boxed error")]
    fn wrong(&self, span: Span, message: String, help: Option<String>) -> Box<Diagnostic> {
        let node = self.node(span, Data::List(Vec::new()));
        Box::new(self.diagnostic(&node, message, help))
    }

    fn diagnostic(&self, node: &Node, message: String, help: Option<String>) -> Diagnostic {
        Diagnostic {
            file: self.file.to_owned(),
            line: node.line,
            column: node.column,
            span: node.span.clone(),
            message,
            help,
        }
    }
}

fn size(node: &Node) -> usize {
    match &node.data {
        Data::Scalar { .. } => 1,
        Data::List(items) => 1 + items.iter().map(size).sum::<usize>(),
        Data::Map(members) => {
            1 + members
                .iter()
                .map(|(key, value)| size(key) + size(value))
                .sum::<usize>()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Result<Value, String> {
        parse(Path::new("c.yaml"), text.as_bytes())
            .map(|node| node.value())
            .map_err(|error| error.to_string())
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
        let node = parse(Path::new("c.yaml"), "é: ü\nb: {c: d}".as_bytes()).unwrap();
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
                .starts_with("c.yaml:2:1: `a` stands here a second time")
        );
        assert!(read("a: [1").unwrap_err().contains("this is no YAML"));
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
        assert_eq!((error.line, error.message.as_str()), (2, "this is no UTF-8"));
        let large = vec![b' '; 50 << 20];
        assert!(
            parse(Path::new("c.yaml"), &large)
                .unwrap_err()
                .message
                .contains("too large")
        );
    }
}
