//! Parses templates into nodes.
//!
//! Kubernetes has no grammar for its templates, only a scanner, which defines the language. Its side effects, which a
//! grammar would not have, are preserved: a `]` in a quoted key ends the bracket, a comma in a quoted key makes a
//! union, and a key in brackets is read like a key after a dot (`['a b']` is not one key). Therefore the text in
//! brackets is parsed as if it were a separate action in braces, as in the original.

use crate::characters::{begins_word, code_point, ends_word, is_digit};
use crate::error::{ParseError, ParseErrorKind, position};
use crate::limits::{MAX_BRACKETS, MAX_TEMPLATE_BYTES};
use crate::lookup::{exists, join_keys};
use crate::node::{Filter, Node, NodeKind, Operator, Part, Slice};
use crate::quote::unquote;

/// Parses a whole template.
pub(crate) fn parse(source: &str) -> Result<Vec<Part>, ParseError> {
    let scanned = if source.len() > MAX_TEMPLATE_BYTES {
        Err(Wrong {
            at: MAX_TEMPLATE_BYTES,
            kind: ParseErrorKind::TooLong,
        })
    } else {
        Scanner {
            input: source,
            pos: 0,
            origin: 0,
            prefix: 0,
            depth: 0,
        }
        .parts()
    };
    scanned.map_err(|wrong| {
        let (offset, column) = position(source, wrong.at);
        ParseError {
            offset,
            column,
            expected: wrong.kind.expected(),
            kind: wrong.kind,
        }
    })
}

/// A parse error with its byte offset in the whole template.
struct Wrong {
    at: usize,
    kind: ParseErrorKind,
}

type Scanned<T> = Result<T, Wrong>;

struct Scanner<'t> {
    input: &'t str,
    pos: usize,
    /// Offset in the whole template of the input after its first `prefix` bytes.
    origin: usize,
    prefix: usize,
    /// Number of brackets around this input.
    depth: usize,
}

impl Scanner<'_> {
    fn parts(&mut self) -> Scanned<Vec<Part>> {
        let mut parts = Vec::new();
        while self.pos < self.input.len() {
            let rest = &self.input[self.pos..];
            if rest.starts_with('{') {
                self.pos += 1;
                parts.push(Part::Action(self.action()?));
            } else {
                let text = &rest[..rest.find('{').unwrap_or(rest.len())];
                self.pos += text.len();
                parts.push(Part::Text(text.to_owned()));
            }
        }
        Ok(parts)
    }

    /// Parses the steps up to and including `}`.
    fn action(&mut self) -> Scanned<Vec<Node>> {
        let mut nodes = Vec::new();
        loop {
            let start = self.pos;
            if self.take("}") {
                return Ok(join_keys(nodes));
            } else if self.take("[?(") {
                let filter = self.filter(start)?;
                nodes.push(self.node(start, NodeKind::Filter(Box::new(filter))));
                continue;
            } else if self.take("..") {
                self.recursive(start, &mut nodes)?;
                continue;
            }
            match self.next() {
                None | Some('\n' | '\r') => return self.wrong(start, ParseErrorKind::UnclosedAction),
                Some(' ' | '@' | '$') => {}
                Some('[') => self.bracket(start, &mut nodes)?,
                Some(quote @ ('"' | '\'')) => {
                    let text = self.quoted(start, quote)?;
                    nodes.push(self.node(start, NodeKind::Text(text)));
                }
                Some('.') => nodes.push(self.field(start)),
                Some(c) if matches!(c, '+' | '-') || is_digit(c) => nodes.push(self.number(start)?),
                Some(c) if begins_word(c) => nodes.push(self.word(start)),
                Some(c) => return self.wrong(start, ParseErrorKind::UnrecognizedCharacter(code_point(c))),
            }
        }
    }

    fn recursive(&mut self, start: usize, nodes: &mut Vec<Node>) -> Scanned<()> {
        if matches!(
            nodes.last(),
            Some(Node {
                kind: NodeKind::Recursive,
                ..
            })
        ) {
            return self.wrong(start, ParseErrorKind::MultipleRecursive);
        }
        nodes.push(self.node(start, NodeKind::Recursive));
        if self.peek().is_some_and(begins_word) {
            let field = self.field(self.pos);
            nodes.push(field);
        }
        Ok(())
    }

    /// Parses a key up to its end. A backslash escapes the next character and is dropped.
    fn field(&mut self, start: usize) -> Node {
        let from = self.pos;
        while let Some(c) = self.peek() {
            if c == '\\' {
                self.next();
                self.next();
            } else if ends_word(c) {
                break;
            } else {
                self.next();
            }
        }
        let name = &self.input[from..self.pos];
        let kind = if name == "*" {
            NodeKind::Wildcard
        } else {
            NodeKind::Field(name.replace('\\', ""))
        };
        self.node(start, kind)
    }

    fn word(&mut self, start: usize) -> Node {
        while self.peek().is_some_and(|c| !ends_word(c)) {
            self.next();
        }
        let kind = match &self.input[start..self.pos] {
            "true" => NodeKind::Bool(true),
            "false" => NodeKind::Bool(false),
            word => NodeKind::Word(word.to_owned()),
        };
        self.node(start, kind)
    }

    fn number(&mut self, start: usize) -> Scanned<Node> {
        while self.peek().is_some_and(|c| c == '.' || is_digit(c)) {
            self.next();
        }
        let text = &self.input[start..self.pos];
        let kind = match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(int), _) => NodeKind::Int(int),
            (Err(_), Ok(float)) if float.is_finite() => NodeKind::Float(float),
            (Err(_), _) => return self.wrong(start, ParseErrorKind::InvalidNumber(text.to_owned())),
        };
        Ok(self.node(start, kind))
    }

    fn quoted(&mut self, start: usize, quote: char) -> Scanned<String> {
        let inside = self.pos;
        loop {
            match self.next() {
                None | Some('\n') => return self.wrong(start, ParseErrorKind::UnterminatedQuote),
                Some(c) if c == quote && !self.input[..self.pos - 1].ends_with('\\') => break,
                Some(_) => {}
            }
        }
        unquote(&self.input[inside..self.pos - 1], quote).map_or_else(
            || {
                self.wrong(
                    start,
                    ParseErrorKind::InvalidEscape(self.input[start..self.pos].to_owned()),
                )
            },
            Ok,
        )
    }

    /// Parses the text between `[` and the next `]`: a union, a key in single quotes, or a slice.
    fn bracket(&mut self, start: usize, nodes: &mut Vec<Node>) -> Scanned<()> {
        let inside = self.pos;
        loop {
            match self.next() {
                None | Some('\n') => return self.wrong(start, ParseErrorKind::UnterminatedArray),
                Some(']') => break,
                Some(_) => {}
            }
        }
        let text = &self.input[inside..self.pos - 1];
        if text.contains(',') {
            let union = self.union(inside, text)?;
            nodes.push(self.node(start, NodeKind::Union(union)));
        } else if let Some(key) = quoted_key(text) {
            nodes.extend(self.inner(".", key, "", inside + 1)?);
        } else {
            let slice = self.slice(inside, if text == "*" { ":" } else { text })?;
            nodes.push(self.node(start, NodeKind::Slice(slice)));
        }
        Ok(())
    }

    fn union(&self, mut at: usize, text: &str) -> Scanned<Vec<Vec<Node>>> {
        let mut parts = Vec::new();
        for part in text.split(',') {
            let trimmed = part.trim_matches(' ');
            let leading = part.len() - part.trim_start_matches(' ').len();
            parts.push(self.inner("[", trimmed, "]", at + leading)?);
            at += part.len() + 1;
        }
        Ok(parts)
    }

    fn slice(&self, at: usize, text: &str) -> Scanned<Slice> {
        let numbers: Vec<&str> = text.split(':').collect();
        let is_number = |text: &&str| {
            text.strip_prefix('-')
                .unwrap_or(text)
                .bytes()
                .all(|b| b.is_ascii_digit())
        };
        if numbers.len() > 3 || !numbers.iter().all(is_number) {
            return self.wrong(at, ParseErrorKind::InvalidIndex(text.to_owned()));
        }
        let number = |index: usize| match numbers.get(index) {
            None | Some(&"") => Ok(None),
            Some(text) => match text.parse::<i64>() {
                Ok(number) => Ok(Some(number)),
                Err(_) => self.wrong(at, ParseErrorKind::IndexNotANumber((*text).to_owned())),
            },
        };
        let (start, end, step) = (number(0)?, number(1)?, number(2)?);
        let single = numbers.len() == 1;
        let end = if single {
            Some(start.unwrap_or(0).wrapping_add(1))
        } else {
            end
        };
        Ok(Slice {
            start,
            end,
            step,
            single,
        })
    }

    /// Parses the condition after `[?(`, up to and including `)]`. Between the first two quotes a `)` does not end it.
    fn filter(&mut self, start: usize) -> Scanned<Filter> {
        let inside = self.pos;
        let mut quote = None;
        let mut quoted = false;
        loop {
            match (self.next(), quote) {
                (None | Some('\n'), _) => return self.wrong(start, ParseErrorKind::UnterminatedFilter),
                (Some(c @ ('"' | '\'')), None) => quote = Some(c),
                (Some(c), Some(open)) if c == open && !self.input[..self.pos - 1].ends_with('\\') => quoted = true,
                (Some(')'), _) if quote.is_some() == quoted => break,
                (Some(_), _) => {}
            }
        }
        let text = &self.input[inside..self.pos - 1];
        if !self.take("]") {
            return self.wrong(self.pos, ParseErrorKind::UnclosedFilter);
        }
        let Some((left, operator, right)) = comparison(text) else {
            return Ok(exists(self.inner("", text, "", inside)?));
        };
        Ok(Filter::Compare {
            left: self.inner("", left, "", inside)?,
            operator: Operator::from(operator),
            right: self.inner("", right, "", inside + left.len() + operator.len())?,
        })
    }

    /// Parses a part of this input as a separate action in braces, with `before` and `after` around it.
    fn inner(&self, before: &str, text: &str, after: &str, at: usize) -> Scanned<Vec<Node>> {
        if self.depth >= MAX_BRACKETS {
            return self.wrong(at, ParseErrorKind::TooDeep);
        }
        let input = format!("{{{before}{text}{after}}}");
        let mut scanner = Scanner {
            input: &input,
            pos: 0,
            origin: self.whole(at),
            prefix: 1 + before.len(),
            depth: self.depth + 1,
        };
        match scanner.parts()?.into_iter().next() {
            Some(Part::Action(nodes)) => Ok(nodes),
            Some(Part::Text(_)) | None => Ok(Vec::new()),
        }
    }

    fn node(&self, start: usize, kind: NodeKind) -> Node {
        Node {
            at: self.whole(start),
            kind,
        }
    }

    fn wrong<T>(&self, at: usize, kind: ParseErrorKind) -> Scanned<T> {
        Err(Wrong {
            at: self.whole(at),
            kind,
        })
    }

    /// Converts an offset in this input to an offset in the whole template.
    fn whole(&self, at: usize) -> usize {
        self.origin + at.saturating_sub(self.prefix)
    }

    fn peek(&self) -> Option<char> {
        self.input[self.pos..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.pos += c.len_utf8();
        Some(c)
    }

    fn take(&mut self, text: &str) -> bool {
        let taken = self.input[self.pos..].starts_with(text);
        if taken {
            self.pos += text.len();
        }
        taken
    }
}

impl From<&str> for Operator {
    fn from(text: &str) -> Self {
        match text {
            "<" => Self::Less,
            "<=" => Self::LessOrEqual,
            "==" => Self::Equal,
            "!=" => Self::NotEqual,
            ">=" => Self::GreaterOrEqual,
            ">" => Self::Greater,
            other => Self::Unknown(other.to_owned()),
        }
    }
}

/// Splits at the first sequence of operator characters, leaving at least one character on the right.
fn comparison(text: &str) -> Option<(&str, &str, &str)> {
    const OPERATORS: [char; 4] = ['!', '<', '>', '='];
    let start = text.find(OPERATORS).filter(|start| *start > 0)?;
    let row = text[start..]
        .find(|c| !OPERATORS.contains(&c))
        .unwrap_or(text.len() - start - 1);
    (row > 0).then(|| (&text[..start], &text[start..start + row], &text[start + row..]))
}

fn quoted_key(text: &str) -> Option<&str> {
    text.strip_prefix('\'')?
        .strip_suffix('\'')
        .filter(|key| !key.contains('\''))
}
