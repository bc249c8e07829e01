//! The specification documents that requirements cite.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::source::{Lines, Source};
use crate::names::DocumentId;

/// A specification document: where it is published, and its headings, which make a citation easy to find.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Title, as the document has it.
    pub title: String,
    /// Address of the published text.
    pub url: String,
    /// Status of the document in its project.
    pub standing: Standing,
    /// Pull request or release that the standing rests on, in one line.
    pub note: String,
    /// Number of lines.
    pub lines: usize,
    /// Headings, in the order of the document.
    pub sections: Vec<Section>,
}

/// Status of a document in the project that it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Standing {
    /// The project accepted the proposal.
    Merged,
    /// User documentation of the project.
    Documentation,
    /// A proposal that is still discussed.
    Open,
    /// A proposal that was closed without being accepted.
    Closed,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Merged => "merged",
            Self::Documentation => "user documentation",
            Self::Open => "open, not merged",
            Self::Closed => "closed, not merged",
        })
    }
}

/// A heading of a document.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// Text of the heading, without the `#` characters.
    pub heading: String,
    /// Line of the heading, counted from 1.
    pub line: usize,
}

/// Issues and pull requests of the project that the documents belong to.
const ISSUES: &str = "https://github.com/karmada-io/karmada/issues";

/// Returns the address of a source: of lines in a document, or of an issue. `find` returns the address and the standing
/// of a document.
pub fn link<'d>(source: &Source, find: impl FnOnce(&DocumentId) -> Option<(&'d str, Standing)>) -> Option<String> {
    match source {
        Source::Passage(passage) => {
            let (url, standing) = find(&passage.document)?;
            Some(link_to_lines(url, standing, &passage.section, passage.lines))
        }
        Source::Fixed(number) | Source::Issue(number) => Some(format!("{ISSUES}/{number}")),
    }
}

/// Returns the address of lines in a file of a repository, or else of the section or the whole document.
fn link_to_lines(url: &str, standing: Standing, section: &str, lines: Lines) -> String {
    if url.contains("/blob/") {
        return format!("{url}?plain=1#L{}-L{}", lines.first, lines.last);
    }
    match standing {
        Standing::Documentation => format!("{url}#{}", anchor(section)),
        Standing::Merged | Standing::Open | Standing::Closed => url.to_owned(),
    }
}

impl Document {
    /// The heading above a line; none above the first heading.
    pub fn section_at(&self, line: usize) -> Option<&Section> {
        self.sections.iter().rev().find(|section| section.line <= line)
    }
}

/// The anchor that pages give a heading: small letters and digits, with dashes between words.
fn anchor(heading: &str) -> String {
    let kept = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}
