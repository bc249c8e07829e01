//! Mistakes in a file that a person wrote: message, place, and remedy.

use std::{fmt, ops::Range, path::PathBuf};

/// One thing that is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The part of the file that is meant, in bytes.
    pub span: Range<usize>,
    /// The mistake.
    pub message: String,
    /// The remedy.
    pub help: Option<String>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}:{}: {}",
            self.file.display(),
            self.line,
            self.column,
            self.message
        )?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, " ({help})"))
    }
}
