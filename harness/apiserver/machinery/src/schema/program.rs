//! Parsed expressions of CEL.

use std::borrow::Cow;
use std::sync::Arc;

use cel::common::ast::{Expr, IdedExpr, SourceInfo};
use cel::parser::Parser;

/// Maximum nesting of expressions.
const MAX_NESTING: u16 = 24;
/// Maximum number of consecutive signs.
const MAX_SIGNS: u16 = 16;
/// Maximum number of consecutive members and operators.
const MAX_CHAIN: u16 = 120;
/// Maximum length of an expression in bytes.
const MAX_LENGTH: usize = 64 << 10;

/// A parsed expression.
#[derive(Debug, Clone)]
pub struct Program {
    inner: Arc<Parsed>,
}

#[derive(Debug)]
struct Parsed {
    expr: IdedExpr,
    source: SourceInfo,
}

/// Reason for which an expression cannot be parsed, in the words of CEL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The expression has this many bytes.
    #[error("expression code point size exceeds limit: size: {0}, limit {MAX_LENGTH}")]
    TooLong(usize),
    /// The expression is nested too deeply.
    #[error("expression recursion limit exceeded: {MAX_NESTING}")]
    TooDeep,
    /// Syntax errors, each with its position and the line.
    #[error("{}", .0.join("\n"))]
    Syntax(Vec<String>),
}

impl Program {
    /// Parses an expression.
    pub fn parse(source: &str) -> Result<Self, ParseError> {
        if source.len() > MAX_LENGTH {
            return Err(ParseError::TooLong(source.len()));
        }
        if !is_shallow(source) {
            return Err(ParseError::TooDeep);
        }
        let parser = Parser::new()
            .enable_optional_syntax(true)
            .enable_ident_escape_syntax(true)
            .max_recursion_depth(2 * MAX_NESTING);
        match parser.parse_with_source_info(source) {
            Ok((expr, source)) => Ok(Self {
                inner: Arc::new(Parsed { expr, source }),
            }),
            Err(errors) => {
                let worded = errors.errors.iter().map(|error| {
                    let (line, column) = error.pos;
                    worded(source, line, column, &after_whole(source, line, column, &error.msg))
                });
                Err(ParseError::Syntax(worded.collect()))
            }
        }
    }

    /// Returns the parsed expression.
    pub fn expr(&self) -> &IdedExpr {
        &self.inner.expr
    }

    /// Returns the error at a part of the expression, in the words of CEL.
    pub fn error_at(&self, id: u64, message: &str) -> String {
        let text = &self.inner.source.source;
        let offset = self.offset_of(id) as usize;
        let before = text.get(..offset.min(text.len())).unwrap_or_default();
        let line = before.matches('\n').count();
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
        let line = isize::try_from(line).unwrap_or_default() + 1;
        worded(text, line, isize::try_from(column).unwrap_or_default() + 1, message)
    }

    /// Returns the position at which a part of the expression begins.
    pub(super) fn offset_of(&self, id: u64) -> u32 {
        self.inner.source.offset_for(id).map_or(0, |(start, _)| start)
    }

    /// Returns `true` if the expression mentions the variable.
    pub fn names(&self, variable: &str) -> bool {
        mentions(&self.inner.expr, variable)
    }
}

/// Returns `true` if the parser cannot recurse deeply: counts brackets, signs, alternatives and chains of members and
/// operators before the parser runs.
fn is_shallow(source: &str) -> bool {
    let (mut open, mut signs, mut alternatives, mut chain) = (0_u16, 0_u16, 0_u16, 0_u16);
    let mut quote: Option<char> = None;
    let mut letters = source.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(_), '\\') => {
                letters.next();
                continue;
            }
            (Some(open), letter) if letter == open => quote = None,
            (Some(_), _) => continue,
            (None, '\'' | '"') => quote = Some(letter),
            (None, '(' | '[' | '{') => {
                open += 1;
                chain += 1;
            }
            (None, ')' | ']' | '}') => open = open.saturating_sub(1),
            (None, '?') => alternatives += 1,
            (None, '&' | '|' | ',') => chain = 0,
            (None, '.' | '+' | '*' | '/' | '%' | '<' | '>' | '=') => chain += 1,
            (None, _) => {}
        }
        match letter {
            '!' | '-' => signs += 1,
            letter if letter.is_whitespace() => {}
            _ => signs = 0,
        }
        if open > MAX_NESTING || signs > MAX_SIGNS || alternatives > MAX_NESTING || chain > MAX_CHAIN {
            return false;
        }
    }
    true
}

/// Corrects the expected tokens of a syntax error after a complete expression: the server lists only the token that
/// closes the innermost bracket, this parser also lists the operators.
fn after_whole<'m>(source: &str, line: isize, column: isize, message: &'m str) -> Cow<'m, str> {
    let Some((before, expected)) = message.split_once(" expecting {") else {
        return message.into();
    };
    if !expected.contains("'==', ") {
        return message.into();
    }
    let (line, column) = (
        usize::try_from(line - 1).unwrap_or(0),
        usize::try_from(column - 1).unwrap_or(0),
    );
    let read: String = source
        .split('\n')
        .take(line + 1)
        .enumerate()
        .flat_map(|(index, text)| text.chars().take(if index == line { column } else { usize::MAX }))
        .collect();
    let (mut quote, mut open) = (None, Vec::new());
    for letter in read.chars() {
        match (quote, letter) {
            (Some(opened), letter) if letter == opened => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, '(') => open.push("')'"),
            (None, '[') => open.push("']'"),
            (None, '{') => open.push("'}'"),
            (None, ')' | ']' | '}') => {
                open.pop();
            }
            (Some(_) | None, _) => {}
        }
    }
    format!("{before} expecting {}", open.last().unwrap_or(&"<EOF>")).into()
}

fn worded(source: &str, line: isize, column: isize, message: &str) -> String {
    let text = usize::try_from(line - 1)
        .ok()
        .and_then(|line| source.lines().nth(line))
        .unwrap_or_default();
    let dots = ".".repeat(usize::try_from(column - 1).unwrap_or(0).min(text.len()));
    format!("ERROR: <input>:{line}:{column}: {message}\n | {text}\n | {dots}^")
}

fn mentions(expr: &IdedExpr, variable: &str) -> bool {
    let mut found = false;
    visit(expr, &mut |expr| {
        found |= matches!(&expr.expr, Expr::Ident(name) if name == variable);
    });
    found
}

/// Visits an expression and all of its parts.
pub fn visit<'e>(expr: &'e IdedExpr, look: &mut impl FnMut(&'e IdedExpr)) {
    look(expr);
    for part in parts(expr) {
        visit(part, look);
    }
}

/// The direct parts of an expression.
pub(super) fn parts(expr: &IdedExpr) -> Vec<&IdedExpr> {
    match &expr.expr {
        Expr::Call(call) => call.target.iter().map(AsRef::as_ref).chain(&call.args).collect(),
        Expr::Comprehension(loops) => vec![
            &loops.iter_range,
            &loops.accu_init,
            &loops.loop_cond,
            &loops.loop_step,
            &loops.result,
        ],
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Select(select) => vec![&select.operand],
        Expr::Map(map) => map.entries.iter().flat_map(|entry| entry_parts(&entry.expr)).collect(),
        Expr::Struct(object) => object
            .entries
            .iter()
            .flat_map(|entry| entry_parts(&entry.expr))
            .collect(),
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => Vec::new(),
    }
}

fn entry_parts(entry: &cel::common::ast::EntryExpr) -> Vec<&IdedExpr> {
    use cel::common::ast::EntryExpr;
    match entry {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    }
}
