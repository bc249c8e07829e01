//! Errors of templates: position, cause, and expected input.
//!
//! Messages begin with the words of the original, so that search results for one help with the other. The column, the
//! expected input and the nearest key are additions.

use thiserror::Error;

use crate::limits::{MAX_BRACKETS, MAX_DEPTH, MAX_OUTPUT_BYTES, MAX_TEMPLATE_BYTES, MAX_WORK};

/// Error in a template that does not parse.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{kind} at column {column}: expected {expected}")]
pub struct ParseError {
    /// Byte offset in the template, from 0.
    pub offset: usize,
    /// Column in the template in characters, from 1.
    pub column: usize,
    /// Expected input at this position.
    pub expected: &'static str,
    /// Cause of the error.
    pub kind: ParseErrorKind,
}

/// Cause of a parse error.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParseErrorKind {
    /// A `{` without its `}`.
    #[error("unclosed action")]
    UnclosedAction,
    /// A character that cannot begin a step, formatted as `U+007C '|'`.
    #[error("unrecognized character in action: {0}")]
    UnrecognizedCharacter(String),
    /// A `[` without its `]`.
    #[error("unterminated array")]
    UnterminatedArray,
    /// The text between `[` and `]` is neither an index nor a slice nor a quoted key.
    #[error("invalid array index {0}")]
    InvalidIndex(String),
    /// A part of a slice is not a number, or does not fit into 64 bits.
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
    /// An invalid escape in a quoted text.
    #[error("unquote string {0} error invalid syntax")]
    InvalidEscape(String),
    /// The template is longer than [`MAX_TEMPLATE_BYTES`].
    #[error("the template is longer than {MAX_TEMPLATE_BYTES} bytes")]
    TooLong,
    /// Brackets are nested deeper than [`MAX_BRACKETS`].
    #[error("brackets are nested deeper than {MAX_BRACKETS}")]
    TooDeep,
}

impl ParseErrorKind {
    /// Returns the expected input.
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

/// Error in the evaluation of a template against a value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{kind} (column {column})")]
pub struct EvaluateError {
    /// Byte offset in the template at which the failed step begins, from 0.
    pub offset: usize,
    /// Column in the template in characters, from 1.
    pub column: usize,
    /// Cause of the error.
    pub kind: EvaluateErrorKind,
}

impl EvaluateError {
    /// Suggests a correction, if there is one: ``did you mean `readyReplicas`?``
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

/// Cause of an evaluation error.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EvaluateErrorKind {
    /// None of the values that the step was applied to has the key.
    #[error("{key} is not found")]
    NotFound {
        /// Missing key.
        key: String,
        /// Existing key with almost the same spelling.
        nearest: Option<String>,
    },
    /// A bare word other than `range`, `end`, `true` and `false`.
    #[error("unrecognized identifier {0}")]
    UnrecognizedIdentifier(String),
    /// An `end` outside any range.
    #[error("not in range, nothing to end")]
    NothingToEnd,
    /// An index or slice was applied to a value that is not a list.
    #[error("{found} is not array or slice")]
    NotAList {
        /// Type of the value.
        found: &'static str,
    },
    /// A filter was applied to a value that is not a list.
    #[error("{found} is not array or slice and cannot be filtered")]
    NotFilterable {
        /// The value, shortened.
        found: String,
    },
    /// An index that the list does not have.
    #[error("array index out of bounds: index {index}, length {length}")]
    OutOfBounds {
        /// Index, counted from the beginning of the list.
        index: i64,
        /// Length of the list.
        length: usize,
    },
    /// A slice that ends before it starts.
    #[error("starting index {start} is greater than ending index {end}")]
    StartAfterEnd {
        /// Start of the slice.
        start: i64,
        /// End of the slice.
        end: i64,
    },
    /// A slice with a step of 0 or less.
    #[error("step must be > 0")]
    StepNotPositive,
    /// A side of a comparison yields several values.
    #[error("can only compare one element at a time")]
    SeveralOperands,
    /// A side of a comparison is null, a list or an object, or booleans are ordered.
    #[error("invalid type for comparison")]
    InvalidTypeForComparison,
    /// The sides of a comparison have different types.
    #[error("incompatible types for comparison")]
    IncompatibleTypes,
    /// `=`, `<>`, `===`
    #[error("unrecognized filter operator {0}")]
    UnknownOperator(String),
    /// The evaluation touches more than [`MAX_WORK`] values.
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
        /// Reason given by the library.
        reason: String,
    },
}

impl EvaluateErrorKind {
    /// Returns true if the error must be reported: a filter without an operator ignores all other errors.
    pub(crate) fn is_fatal(&self) -> bool {
        matches!(
            self,
            Self::TooMuchWork | Self::TooDeep | Self::TooLong | Self::Query { .. }
        )
    }
}

/// A failed step, before its column is known.
#[derive(Debug)]
pub(crate) struct Failure {
    pub at: usize,
    pub kind: EvaluateErrorKind,
    /// True if the step would have returned values along with its error. A filter without an operator counts them.
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

/// Returns the offset in the text, moved to a character boundary, and its column.
pub(crate) fn position(source: &str, at: usize) -> (usize, usize) {
    let mut offset = at.min(source.len());
    while !source.is_char_boundary(offset) {
        offset -= 1;
    }
    (offset, source[..offset].chars().count() + 1)
}
