//! The grounds of a requirement: a passage of a document, an accepted fix, or an open issue.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::Level;
use crate::names::DocumentId;

/// One ground of a requirement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Raw", into = "Raw")]
pub enum Source {
    /// A passage of a document says it, or it follows from the passage.
    Passage(Passage),
    /// No document says it, but the documents' project fixed its absence as a defect: the number of that issue or pull
    /// request.
    Fixed(u32),
    /// An open wish of users: the number of the issue.
    Issue(u32),
}

/// A passage of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// The document.
    pub document: DocumentId,
    /// Heading above the passage.
    pub section: String,
    /// Lines of the document.
    pub lines: Lines,
    /// The step from the passage to the requirement; none if the passage says it.
    pub because: Option<String>,
}

impl Source {
    /// How the requirement rests on this source, in one word.
    pub fn basis(&self) -> &'static str {
        match self {
            Self::Passage(Passage { because: None, .. }) => "said",
            Self::Passage(Passage { because: Some(_), .. }) => "follows",
            Self::Fixed(_) => "accepted",
            Self::Issue(_) => "practice",
        }
    }

    /// The strongest level that this source alone carries.
    pub fn carries(&self) -> Level {
        match self {
            Self::Passage(_) => Level::Must,
            Self::Fixed(_) => Level::Should,
            Self::Issue(_) => Level::Advice,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passage(passage) => {
                let Passage {
                    document,
                    section,
                    lines,
                    because,
                } = passage;
                let word = if lines.first == lines.last { "line" } else { "lines" };
                write!(f, "{} in {document}, {section}, {word} {lines}", self.basis())?;
                because.as_ref().map_or(Ok(()), |step| write!(f, " ({step})"))
            }
            Self::Fixed(number) => write!(f, "accepted: fixed with #{number}"),
            Self::Issue(number) => write!(f, "practice: open issue #{number}"),
        }
    }
}

/// Consecutive lines of a document, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lines {
    /// First line.
    pub first: usize,
    /// Last line, included.
    pub last: usize,
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            write!(f, "{}", self.first)
        } else {
            write!(f, "{}-{}", self.first, self.last)
        }
    }
}

impl Lines {
    /// Reads `300` or `262-264`; none for anything else.
    fn parse(text: &str) -> Option<Self> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last) = (first.parse().ok()?, last.parse().ok()?);
        (first > 0 && first <= last).then_some(Self { first, last })
    }
}

impl Serialize for Lines {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Lines {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// A single line is written as a number, several as a text.
        struct Visitor;

        impl de::Visitor<'_> for Visitor {
            type Value = Lines;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("lines, such as 300 or 262-264")
            }

            fn visit_u64<E: de::Error>(self, line: u64) -> Result<Lines, E> {
                self.visit_str(&line.to_string())
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Lines, E> {
                Lines::parse(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}

/// A source as people write it.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    document: Option<DocumentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    section: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lines: Option<Lines>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    basis: Option<RawBasis>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    because: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fixed: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    issue: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum RawBasis {
    Said,
    Follows,
}

/// Errors of an invalid entry of `sources`.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The fields do not belong together.
    #[error("a source is {{document, section, lines, basis}}, {{fixed: NUMBER}} or {{issue: NUMBER}}")]
    Fields,
    /// The step from the passage to the requirement is missing.
    #[error("`basis: follows` needs `because`: the one step from the passage to the requirement")]
    NoStep,
    /// A step is given although the passage says it.
    #[error("`because` goes with `basis: follows` only")]
    NeedlessStep,
}

impl TryFrom<Raw> for Source {
    type Error = SourceError;

    fn try_from(raw: Raw) -> Result<Self, SourceError> {
        let is_passage = [
            raw.document.is_some(),
            raw.section.is_some(),
            raw.lines.is_some(),
            raw.basis.is_some(),
        ];
        match (raw.fixed, raw.issue, raw) {
            (Some(number), None, raw) if !is_passage.contains(&true) && raw.because.is_none() => {
                Ok(Self::Fixed(number))
            }
            (None, Some(number), raw) if !is_passage.contains(&true) && raw.because.is_none() => {
                Ok(Self::Issue(number))
            }
            (
                None,
                None,
                Raw {
                    document: Some(document),
                    section: Some(section),
                    lines: Some(lines),
                    basis: Some(basis),
                    because,
                    ..
                },
            ) => match (basis, because) {
                (RawBasis::Follows, None) => Err(SourceError::NoStep),
                (RawBasis::Said, Some(_)) => Err(SourceError::NeedlessStep),
                (RawBasis::Said | RawBasis::Follows, because) => Ok(Self::Passage(Passage {
                    document,
                    section,
                    lines,
                    because,
                })),
            },
            _ => Err(SourceError::Fields),
        }
    }
}

impl From<Source> for Raw {
    fn from(source: Source) -> Self {
        match source {
            Source::Passage(passage) => Self {
                document: Some(passage.document),
                section: Some(passage.section),
                lines: Some(passage.lines),
                basis: Some(if passage.because.is_some() {
                    RawBasis::Follows
                } else {
                    RawBasis::Said
                }),
                because: passage.because,
                ..Self::default()
            },
            Source::Fixed(number) => Self {
                fixed: Some(number),
                ..Self::default()
            },
            Source::Issue(number) => Self {
                issue: Some(number),
                ..Self::default()
            },
        }
    }
}
