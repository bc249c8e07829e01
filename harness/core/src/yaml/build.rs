//! The tree of a document, made of the events of a parser.
//!
//! Anchors and aliases work, but what they expand to is bounded in number, size and depth: a few lines of aliases of
//! aliases stand for more than a machine can hold.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use granit_parser::{ErrorKind, Event, Options, Parser, ScalarStyle, Span, Tag};

use super::{Data, Node};
use crate::yaml::Diagnostic;

/// The most nodes that a file may have once its aliases are expanded.
pub const MOST_NODES: usize = 100_000;
/// The most bytes of text that it may have then.
const MOST_BYTES: usize = 4 << 20;
/// The deepest nesting.
const DEEPEST: usize = 64;

/// Makes the tree of one document.
pub struct Builder<'a> {
    file: &'a Path,
    /// Offset in bytes at which the text begins in the file: after a byte order mark.
    offset: usize,
    anchors: BTreeMap<usize, (Node, Size)>,
    nodes: usize,
    bytes: usize,
    /// Mistakes in the file that do not keep it from being read on.
    pub found: Vec<Diagnostic>,
}

/// A list or a map whose end has not come yet.
enum Open {
    List(usize, Span, Vec<Node>),
    Map(usize, Span, Vec<(Node, Node)>, Option<Node>),
}

/// How much of a tree there is.
#[derive(Clone, Copy)]
struct Size {
    nodes: usize,
    bytes: usize,
    depth: usize,
}

type Built<T> = Result<T, Box<Diagnostic>>;

impl<'a> Builder<'a> {
    /// Nothing read yet.
    pub fn new(file: &'a Path, offset: usize) -> Self {
        Self {
            file,
            offset,
            anchors: BTreeMap::new(),
            nodes: 0,
            bytes: 0,
            found: Vec::new(),
        }
    }

    /// The tree of the one document that there is; none if there is none.
    pub fn build(&mut self, text: &str) -> Built<Option<Node>> {
        let mut root: Option<Node> = None;
        let mut open: Vec<Open> = Vec::new();
        let mut options = Options::default();
        options.set_emit_comments(false);
        for event in Parser::new_from_str_with_options(text, options) {
            let (event, span) = event.map_err(|error| {
                let message = format!("invalid YAML: {}", error.info());
                self.stop(Span::empty(*error.marker()), message, advice(error.kind()))
            })?;
            let node = match event {
                Event::Scalar(text, style, anchor, tag) => {
                    let node = self.scalar(text, style, tag.as_deref(), span)?;
                    self.keep(anchor, &node)?;
                    node
                }
                Event::Alias(anchor) => self.expand(anchor, span, open.len())?,
                Event::SequenceStart(_, anchor, tag) => {
                    self.tag(tag.as_deref(), "seq", span);
                    open.push(Open::List(anchor, span, Vec::new()));
                    self.check_depth(open.len(), span)?;
                    continue;
                }
                Event::MappingStart(_, anchor, tag) => {
                    self.tag(tag.as_deref(), "map", span);
                    open.push(Open::Map(anchor, span, Vec::new(), None));
                    self.check_depth(open.len(), span)?;
                    continue;
                }
                Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                    Some(opened) => self.close(opened, span)?,
                    None => continue,
                },
                // The stream and its documents, comments, and what later versions of the parser may tell.
                _ => continue,
            };
            self.place(node, &mut open, &mut root)?;
        }
        Ok(root)
    }

    fn place(&self, node: Node, open: &mut [Open], root: &mut Option<Node>) -> Built<()> {
        match open.last_mut() {
            Some(Open::List(_, _, items)) => items.push(node),
            Some(Open::Map(_, _, members, key)) => match key.take() {
                None => *key = Some(node),
                Some(key) => members.push((key, node)),
            },
            None if root.is_some() => {
                let help = "put each case into its own file";
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

    fn scalar(&mut self, text: Cow<'_, str>, style: ScalarStyle, tag: Option<&Tag>, span: Span) -> Built<Node> {
        let size = Size {
            nodes: 1,
            bytes: text.len(),
            depth: 1,
        };
        self.count(size, span)?;
        let is_text = tag.is_some_and(|tag| tag.is_yaml_core_schema_tag("str"));
        if !is_text {
            self.tag(tag, "str", span);
        }
        let data = Data::Scalar {
            text: text.into_owned(),
            plain: style == ScalarStyle::Plain && !is_text,
        };
        Ok(self.node(span, data))
    }

    fn close(&mut self, opened: Open, end: Span) -> Built<Node> {
        let (anchor, start, data) = match opened {
            Open::List(anchor, start, items) => (anchor, start, Data::List(items)),
            Open::Map(anchor, start, members, _) => (anchor, start, Data::Map(self.members(members))),
        };
        let size = Size {
            nodes: 1,
            bytes: 0,
            depth: 1,
        };
        self.count(size, start)?;
        let node = self.node(Span::new(start.start, end.end), data);
        self.keep(anchor, &node)?;
        Ok(node)
    }

    /// The members of a map whose keys are what keys can be.
    fn members(&mut self, members: Vec<(Node, Node)>) -> Vec<(Node, Node)> {
        let mut known = BTreeSet::new();
        let mut kept = Vec::with_capacity(members.len());
        for (key, value) in members {
            let wrong = match &key.data {
                Data::List(_) | Data::Map(_) => Some(("a key must be a string".to_owned(), "")),
                Data::Scalar { text, plain: true } if text == "<<" => {
                    Some(("YAML 1.2 has no merge keys".to_owned(), "write out the fields"))
                }
                Data::Scalar { text, plain: true } if text.is_empty() => Some(("missing key".to_owned(), "")),
                Data::Scalar { text, .. } if !known.insert(text.clone()) => {
                    Some((format!("duplicate key `{text}`"), "remove one of them"))
                }
                Data::Scalar { .. } => None,
            };
            match wrong {
                Some((message, help)) => self.found.push(self.diagnostic(&key, message, help)),
                None => kept.push((key, value)),
            }
        }
        kept
    }

    /// Tags other than those that say what is there anyway would be lost without a word.
    fn tag(&mut self, tag: Option<&Tag>, fitting: &str, span: Span) {
        let Some(tag) = tag.filter(|tag| !tag.is_yaml_core_schema_tag(fitting)) else {
            return;
        };
        let at = self.node(span.tag_span().unwrap_or(span), Data::List(Vec::new()));
        let message = format!("tags such as `{}` mean nothing here", tag.original());
        let help = "remove it; quotes make anything a string";
        self.found.push(self.diagnostic(&at, message, help));
    }

    fn keep(&mut self, anchor: usize, node: &Node) -> Built<()> {
        // The parser numbers anchors from 1.
        if anchor > 0 {
            let size = size(node);
            self.nodes += size.nodes;
            self.bytes += size.bytes;
            if self.is_too_large() {
                return Err(Box::new(self.diagnostic(node, TOO_MANY.to_owned(), TOO_MUCH)));
            }
            self.anchors.insert(anchor, (node.clone(), size));
        }
        Ok(())
    }

    fn expand(&mut self, anchor: usize, span: Span, depth: usize) -> Built<Node> {
        let Some((node, size)) = self.anchors.get(&anchor) else {
            return Err(self.stop(span, "this alias is inside its own anchor".to_owned(), ""));
        };
        let (node, size) = (node, *size);
        if depth + size.depth > DEEPEST {
            return Err(self.too_deep(span));
        }
        // Counted before it is copied.
        let node =
            (self.nodes + size.nodes <= MOST_NODES && self.bytes + size.bytes <= MOST_BYTES).then(|| node.clone());
        self.count(size, span)?;
        node.ok_or_else(|| self.stop(span, TOO_MANY.to_owned(), TOO_MUCH))
    }

    fn count(&mut self, size: Size, span: Span) -> Built<()> {
        self.nodes += size.nodes;
        self.bytes += size.bytes;
        if self.is_too_large() {
            return Err(self.stop(span, TOO_MANY.to_owned(), TOO_MUCH));
        }
        Ok(())
    }

    fn is_too_large(&self) -> bool {
        self.nodes > MOST_NODES || self.bytes > MOST_BYTES
    }

    fn check_depth(&self, depth: usize, span: Span) -> Built<()> {
        if depth > DEEPEST {
            return Err(self.too_deep(span));
        }
        Ok(())
    }

    #[expect(clippy::unnecessary_box_returns, reason = "every caller returns it as a boxed error")]
    fn too_deep(&self, span: Span) -> Box<Diagnostic> {
        let help = format!("{DEEPEST} levels are possible");
        self.stop(span, "this is nested too deeply".to_owned(), &help)
    }

    #[expect(clippy::unnecessary_box_returns, reason = "every caller returns it as a boxed error")]
    fn stop(&self, span: Span, message: String, help: &str) -> Box<Diagnostic> {
        Box::new(self.diagnostic(&self.node(span, Data::List(Vec::new())), message, help))
    }

    fn node(&self, span: Span, data: Data) -> Node {
        let range = span.byte_range().unwrap_or_default();
        Node {
            span: range.start + self.offset..range.end + self.offset,
            line: span.start.line(),
            column: span.start.col() + 1,
            data,
        }
    }

    fn diagnostic(&self, node: &Node, message: String, help: &str) -> Diagnostic {
        Diagnostic {
            file: self.file.to_owned(),
            line: node.line,
            column: node.column,
            span: node.span.clone(),
            message,
            help: (!help.is_empty()).then(|| help.to_owned()),
        }
    }
}

/// Remedies for frequent mistakes, where the parser's message has none.
fn advice(kind: &ErrorKind) -> &'static str {
    match kind {
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabInPlainScalar
        | ErrorKind::TabAtBlockScalarStart => "indent with spaces",
        ErrorKind::MappingValueNotAllowed | ErrorKind::MappingKeyNotAllowed => {
            "quote strings that contain `: `; members of one map are indented alike; a bracket may be open"
        }
        ErrorKind::InvalidColonPlacement
        | ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::ExpectedFlowSequenceSeparator
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofFlowSequence
        | ErrorKind::UnclosedFlowCollection { .. } => "close the bracket that was opened before, or put a comma",
        ErrorKind::UnexpectedCharacter { .. } => "quote the string",
        ErrorKind::UnclosedQuotedScalar | ErrorKind::InvalidQuotedScalarIndent => "close the quote",
        ErrorKind::InvalidTrailingSingleQuotedScalar => "a single quote within single quotes is written twice",
        ErrorKind::UnknownQuotedScalarEscape => "a backslash within double quotes is written twice",
        ErrorKind::UnknownAnchor => "define the anchor, `&name`, before its aliases",
        ErrorKind::ExpectedBlockMappingKey | ErrorKind::ExpectedBlockSequenceEntry | ErrorKind::InvalidIndentation => {
            "members of one map, and items of one list, are indented alike"
        }
        _ => "",
    }
}

/// Remedy for a file with too many nodes.
const TOO_MANY: &str = "the file has too many values";
const TOO_MUCH: &str = "at most 100000 values and 4 MiB of text, with aliases expanded";

fn size(node: &Node) -> Size {
    let (nodes, bytes, depth) = match &node.data {
        Data::Scalar { text, .. } => (0, text.len(), 0),
        Data::List(items) => items.iter().map(size).fold((0, 0, 0), add),
        Data::Map(members) => {
            let both = members.iter().flat_map(|(key, value)| [size(key), size(value)]);
            both.fold((0, 0, 0), add)
        }
    };
    Size {
        nodes: nodes + 1,
        bytes,
        depth: depth + 1,
    }
}

fn add((nodes, bytes, depth): (usize, usize, usize), size: Size) -> (usize, usize, usize) {
    (nodes + size.nodes, bytes + size.bytes, depth.max(size.depth))
}
