//! What can go wrong, where, and what was expected instead.
//!
//! The messages begin in the words of the original, so that what people find on the web for one helps with the other;
//! the column, what was expected, and the nearest key are ours.

use thiserror::Error;

use crate::limits::{MAX_BRACKETS, MAX_DEPTH, MAX_OUTPUT_BYTES, MAX_TEMPLATE_BYTES, MAX_WORK};

/// A template that does not parse.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{kind} at column {column}: expected {expected}")]
pub struct ParseError {
    /// The byte of the template, counted from 0.
    pub offset: usize,
    /// The character of the template, counted from 1.
    pub column: usize,
    /// What should have stood there.
    pub expected: &'static str,
    /// What was wrong.
    pub kind: ParseErrorKind,
}

/// What is wrong with a template.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParseErrorKind {
    /// A `{` without its `}`.
    #[error("unclosed action")]
    UnclosedAction,
    /// A character that begins nothing; as `U+007C '|'`.
    #[error("unrecognized character in action: {0}")]
    UnrecognizedCharacter(String),
    /// A `[` without its `]`.
    #[error("unterminated array")]
    UnterminatedArray,
    /// What is between `[` and `]` is no index, slice or quoted key.
    #[error("invalid array index {0}")]
    InvalidIndex(String),
    /// A part of a slice that is no number, or none that fits.
    #[error("array index {0} is not a number")]
    IndexNotANumber(String),
    /// A `[?(` without its `)`.
    #[error("unterminated filter")]
    UnterminatedFilter,
    /// A `[?(…)` without its `]`.
    #[error("unclosed array expect ]")]
    UnclosedFilter,
    /// `....`
    #[error("invalid multiple recursive descent")]
    MultipleRecursive,
    /// `1.2.3`, `-`
    #[error("cannot parse number {0}")]
    InvalidNumber(String),
    /// A quote without its partner.
    #[error("unterminated quoted string")]
    UnterminatedQuote,
    /// An escape in a quoted text that is none.
    #[error("unquote string {0} error invalid syntax")]
    InvalidEscape(String),
    /// The template is longer than [`MAX_TEMPLATE_BYTES`].
    #[error("the template is longer than {MAX_TEMPLATE_BYTES} bytes")]
    TooLong,
    /// Brackets within brackets, more than [`MAX_BRACKETS`].
    #[error("brackets are nested deeper than {MAX_BRACKETS}")]
    TooDeep,
}

impl ParseErrorKind {
    /// What should have stood there instead.
    pub(crate) fn expected(&self) -> &'static str {
        match self {
            Self::UnclosedAction => "`}` before the end of the line",
            Self::UnrecognizedCharacter(_) => {
                "`.key`, `..key`, `[…]`, a text in quotes, a number, `range`, `end`, `@`, `$` or `}`"
            }
            Self::UnterminatedArray => "`]`",
            Self::InvalidIndex(text) if text.trim_start().starts_with('?') => "a filter as in `[?(@.name==\"x\")]`",
            Self::InvalidIndex(_) => "a number, a slice as in `0:3`, `*`, or a key in single quotes",
            Self::IndexNotANumber(_) => "a whole number of 64 bits",
            Self::UnterminatedFilter => "`)]` after the condition",
            Self::UnclosedFilter => "`]` right after `)`",
            Self::MultipleRecursive => "a key after `..`",
            Self::InvalidNumber(_) => "a number as in `42` or `1.5`",
            Self::UnterminatedQuote => "the closing quote",
            Self::InvalidEscape(_) => r"one of `\n`, `\t`, `\\`, `\u00e9` or the escaped quote",
            Self::TooLong | Self::TooDeep => "a shorter path",
        }
    }
}

/// A template that cannot be evaluated against a value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{kind} (column {column})")]
pub struct EvaluateError {
    /// The byte of the template, counted from 0, at which the step begins that failed.
    pub offset: usize,
    /// The character of the template, counted from 1.
    pub column: usize,
    /// What was wrong.
    pub kind: EvaluateErrorKind,
}

impl EvaluateError {
    /// What to do about it, when that can be said: ``did you mean `readyReplicas`?``
    pub fn help(&self) -> Option<String> {
        match &self.kind {
            EvaluateErrorKind::NotFound { nearest: Some(key), .. } => Some(format!("did you mean `{key}`?")),
            EvaluateErrorKind::UnrecognizedIdentifier(name) => Some(format!(
                "a key begins with a dot: `{{.{name}}}`; a text stands in quotes: `{{\"{name}\"}}`"
            )),
            EvaluateErrorKind::IncompatibleTypes => {
                Some("both sides of a comparison have to be of one type: `8` and `8.5` are not".to_owned())
            }
            _ => None,
        }
    }
}

/// What went wrong while a template was evaluated.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EvaluateErrorKind {
    /// No value that the step was applied to has the key.
    #[error("{key} is not found")]
    NotFound {
        /// The key that was looked for.
        key: String,
        /// A key that is there and is spelt almost the same.
        nearest: Option<String>,
    },
    /// A bare word other than `range`, `end`, `true` and `false`.
    #[error("unrecognized identifier {0}")]
    UnrecognizedIdentifier(String),
    /// An `end` outside any range.
    #[error("not in range, nothing to end")]
    NothingToEnd,
    /// An index or slice of something that is no list.
    #[error("{found} is not array or slice")]
    NotAList {
        /// The type of what was found.
        found: &'static str,
    },
    /// A filter of something that is no list.
    #[error("{found} is not array or slice and cannot be filtered")]
    NotFilterable {
        /// The value that was found, shortened.
        found: String,
    },
    /// An index that the list does not have.
    #[error("array index out of bounds: index {index}, length {length}")]
    OutOfBounds {
        /// The index, counted from the list's beginning.
        index: i64,
        /// The number of values in the list.
        length: usize,
    },
    /// A slice that ends before it starts.
    #[error("starting index {start} is greater than ending index {end}")]
    StartAfterEnd {
        /// Where the slice starts.
        start: i64,
        /// Where it ends.
        end: i64,
    },
    /// A slice with a step of 0 or less.
    #[error("step must be > 0")]
    StepNotPositive,
    /// A side of a comparison that is several values.
    #[error("can only compare one element at a time")]
    SeveralOperands,
    /// A side of a comparison that is null, a list or an object, or an order of booleans.
    #[error("invalid type for comparison")]
    InvalidTypeForComparison,
    /// Sides of a comparison that are of different types.
    #[error("incompatible types for comparison")]
    IncompatibleTypes,
    /// `=`, `<>`, `===`
    #[error("unrecognized filter operator {0}")]
    UnknownOperator(String),
    /// More than [`MAX_WORK`] values were touched.
    #[error("the path touches more than {MAX_WORK} values")]
    TooMuchWork,
    /// Ranges, or the value itself, are nested deeper than [`MAX_DEPTH`].
    #[error("nested deeper than {MAX_DEPTH}")]
    TooDeep,
    /// The text is longer than [`MAX_OUTPUT_BYTES`].
    #[error("the text is longer than {MAX_OUTPUT_BYTES} bytes")]
    TooLong,
    /// The query library refused a query.
    #[error("the query failed: {reason}")]
    Query {
        /// What it said.
        reason: String,
    },
}

impl EvaluateErrorKind {
    /// Whether nothing may be made of it: a filter without an operator overlooks other errors.
    pub(crate) fn is_fatal(&self) -> bool {
        matches!(
            self,
            Self::TooMuchWork | Self::TooDeep | Self::TooLong | Self::Query { .. }
        )
    }
}

/// A step that failed, before its column is known.
#[derive(Debug)]
pub(crate) struct Failure {
    pub at: usize,
    pub kind: EvaluateErrorKind,
    /// Whether the step would have handed on values with its error. A filter without an operator counts them.
    pub has_values: bool,
}

impl Failure {
    pub fn new(at: usize, kind: EvaluateErrorKind) -> Self {
        Self {
            at,
            kind,
            has_values: false,
        }
    }

    pub fn with_values(at: usize, kind: EvaluateErrorKind, has_values: bool) -> Self {
        Self { at, kind, has_values }
    }

    pub fn locate(self, source: &str) -> EvaluateError {
        let (offset, column) = position(source, self.at);
        EvaluateError {
            offset,
            column,
            kind: self.kind,
        }
    }
}

/// The offset within the text, on a character's boundary, and the column of it.
pub(crate) fn position(source: &str, at: usize) -> (usize, usize) {
    let mut offset = at.min(source.len());
    while !source.is_char_boundary(offset) {
        offset -= 1;
    }
    (offset, source[..offset].chars().count() + 1)
}
