//! The catalogue of requirements: what an implementation must show, and the passage that demands it.
//!
//! `cases/requirements.yaml` lists the specification documents and the requirements. A requirement has an id, a level and
//! its [sources](Source). [`document`]: titles, standing and headings of documents; [`source`]: citations; [`asked`]: the
//! consequence of each requirement for an implementation.

pub mod asked;
pub mod document;
pub mod source;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{
    names::{CaseId, DocumentId, Feature, RequirementId},
    spelling::suggestion,
    yaml::plain::{self, YamlError},
};

pub use asked::{Asked, Consequence, DocumentClaims};
pub use document::{Document, Section, Standing};
pub use source::{Lines, Passage, Source};

/// How binding a requirement is, the most binding first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Level {
    /// A document demands it. Breaking it is a deviation.
    Must,
    /// A document can be read otherwise, or it is an accepted fix. Breaking it is a remark.
    Should,
    /// A document allows it. It is never broken.
    May,
    /// Users expect it. Breaking it is a remark.
    Advice,
}

impl Level {
    /// Its word in the catalogue and in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::Should => "SHOULD",
            Self::May => "MAY",
            Self::Advice => "ADVICE",
        }
    }
}

/// One observable statement.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// Stable id, which cases cite.
    pub id: RequirementId,
    /// How binding it is.
    pub level: Level,
    /// Capability that it belongs to.
    pub feature: Feature,
    /// The statement.
    pub text: String,
    /// Its grounds; at least one.
    pub sources: Vec<Source>,
    /// Our reading, where documents disagree or leave something open.
    #[serde(default)]
    pub reading: Option<String>,
    /// Other readings that a reasonable maintainer may have.
    #[serde(default)]
    pub others: Vec<String>,
}

/// All documents and requirements.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalogue {
    core: BTreeSet<Feature>,
    documents: BTreeMap<DocumentId, Document>,
    requirements: BTreeMap<RequirementId, Requirement>,
    renames: BTreeMap<CaseId, CaseId>,
}

/// Errors of an invalid catalogue.
#[derive(Debug, Error)]
pub enum CatalogueError {
    /// The text is not YAML of this format.
    #[error("the catalogue of requirements cannot be read")]
    Yaml(#[from] YamlError),
    /// Two requirements have the same id.
    #[error("the requirement {0} is listed twice")]
    Twice(RequirementId),
    /// A core feature has no requirement.
    #[error("no requirement belongs to the core feature {0}")]
    Core(Feature),
    /// A requirement has no grounds, or none that carries its level.
    #[error(
        "line {line}: {id} is a {} and needs {}",
        level.word(),
        needed(*level)
    )]
    Grounds {
        /// The requirement.
        id: RequirementId,
        /// Line of the requirement, from 1.
        line: usize,
        /// Its level.
        level: Level,
    },
    /// A MUST or SHOULD rests on issues alone.
    #[error("line {line}: {id} rests on open issues alone: its level must be ADVICE")]
    Wish {
        /// The requirement.
        id: RequirementId,
        /// Line of the requirement, from 1.
        line: usize,
    },
    /// A requirement cites a document that is not listed.
    #[error("line {line}: {id} cites the document {document}, which is not under `documents`: {help}")]
    NoDocument {
        /// The requirement.
        id: RequirementId,
        /// Line of the requirement, from 1.
        line: usize,
        /// The document that it cites.
        document: DocumentId,
        /// The documents that exist.
        help: String,
    },
    /// A requirement cites a section that does not contain the lines.
    #[error("line {line}: {id} cites lines {lines} of {document} as section {section:?}: {help}")]
    NoSection {
        /// The requirement.
        id: RequirementId,
        /// Line of the requirement, from 1.
        line: usize,
        /// The document.
        document: DocumentId,
        /// The section that it names.
        section: String,
        /// The lines that it cites.
        lines: Lines,
        /// The section that the lines are in.
        help: String,
    },
}

fn needed(level: Level) -> &'static str {
    match level {
        Level::Must => "a passage of a document: `{document, section, lines, basis: said}` or `basis: follows`",
        Level::Should => "a passage of a document, or the fix that was accepted: `{fixed: NUMBER}`",
        Level::May | Level::Advice => "a source",
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    documents: BTreeMap<DocumentId, Document>,
    #[serde(default)]
    core: BTreeSet<Feature>,
    #[serde(default)]
    renames: BTreeMap<CaseId, CaseId>,
    requirements: Vec<Requirement>,
}

impl Catalogue {
    /// Reads the YAML of `cases/requirements.yaml`.
    ///
    /// # Errors
    /// The first entry that is invalid, with its line.
    pub fn parse(text: &str) -> Result<Self, CatalogueError> {
        let file: File = plain::read(text)?;
        let mut requirements = BTreeMap::new();
        for requirement in file.requirements {
            check(&requirement, &file.documents, text)?;
            if let Some(twice) = requirements.insert(requirement.id.clone(), requirement) {
                return Err(CatalogueError::Twice(twice.id));
            }
        }
        let catalogue = Self {
            core: file.core,
            documents: file.documents,
            requirements,
            renames: file.renames,
        };
        let known = catalogue.features();
        match catalogue.core.iter().find(|feature| !known.contains(feature)) {
            Some(unknown) => Err(CatalogueError::Core(unknown.clone())),
            None => Ok(catalogue),
        }
    }

    /// The features of the core profile; all others are extended.
    pub fn core(&self) -> &BTreeSet<Feature> {
        &self.core
    }

    /// The present name of a case that had another name in an earlier suite.
    pub fn renamed(&self, earlier: &CaseId) -> Option<&CaseId> {
        self.renames.get(earlier)
    }

    /// Earlier names of cases, and their present names.
    pub fn renames(&self) -> &BTreeMap<CaseId, CaseId> {
        &self.renames
    }

    /// The documents that requirements cite.
    pub fn documents(&self) -> &BTreeMap<DocumentId, Document> {
        &self.documents
    }

    /// One requirement.
    pub fn get(&self, id: &RequirementId) -> Option<&Requirement> {
        self.requirements.get(id)
    }

    /// All requirements, by id.
    pub fn iter(&self) -> impl Iterator<Item = &Requirement> {
        self.requirements.values()
    }

    /// The address of a source: lines of a document, or an issue of the documents' project.
    pub fn link(&self, source: &Source) -> Option<String> {
        document::link(source, |id| {
            let document = self.documents.get(id)?;
            Some((&document.url, document.standing))
        })
    }

    /// A suggestion for an id that does not exist: the id that was probably meant, or those with its prefix.
    pub fn suggestion(&self, id: &str) -> String {
        let prefix: String = id.chars().take_while(char::is_ascii_alphabetic).collect();
        let prefix = prefix.to_ascii_uppercase();
        let behind = id.get(prefix.len()..).unwrap_or_default().trim_matches(['-', '_', ' ']);
        // Numbers have two digits; people write as many as they like.
        let meant = behind.parse::<u32>().ok().map(|number| format!("{prefix}-{number:02}"));
        if let Some(meant) = meant.filter(|meant| self.get(&RequirementId::new(meant)).is_some()) {
            return format!("did you mean `{meant}`?");
        }
        let ids: Vec<&str> = self.iter().map(|it| it.id.as_str()).collect();
        let of_prefix = |id: &&&str| id.split('-').next() == Some(&prefix);
        let alike: Vec<_> = ids.iter().filter(of_prefix).collect();
        match alike.as_slice() {
            [] => suggestion(id, ids),
            [only] => format!("did you mean `{only}`?"),
            [first, .., last] => format!("there are {first} to {last}"),
        }
    }

    /// All features that requirements belong to.
    pub fn features(&self) -> BTreeSet<&Feature> {
        self.requirements
            .values()
            .map(|requirement| &requirement.feature)
            .collect()
    }
}

/// Checks the grounds of a requirement; `text` is the catalogue, for its line.
fn check(
    requirement: &Requirement,
    documents: &BTreeMap<DocumentId, Document>,
    text: &str,
) -> Result<(), CatalogueError> {
    let Requirement { id, level, sources, .. } = requirement;
    let line = || line_of(id, text);
    let carried = sources.iter().map(Source::carries).min();
    let holds = match (level, carried) {
        (_, None) => false,
        (Level::Must | Level::Should, Some(carried)) => carried <= *level || carried == Level::Advice,
        (Level::May | Level::Advice, Some(_)) => true,
    };
    if !holds {
        return Err(CatalogueError::Grounds {
            id: id.clone(),
            line: line(),
            level: *level,
        });
    }
    if carried == Some(Level::Advice) && *level < Level::May {
        return Err(CatalogueError::Wish {
            id: id.clone(),
            line: line(),
        });
    }
    for source in sources {
        let Source::Passage(passage) = source else { continue };
        let Some(document) = documents.get(&passage.document) else {
            return Err(CatalogueError::NoDocument {
                id: id.clone(),
                line: line(),
                document: passage.document.clone(),
                help: suggestion(passage.document.as_str(), documents.keys().map(DocumentId::as_str)),
            });
        };
        if let Some(help) = misplaced(passage, document) {
            return Err(CatalogueError::NoSection {
                id: id.clone(),
                line: line(),
                document: passage.document.clone(),
                section: passage.section.clone(),
                lines: passage.lines,
                help,
            });
        }
    }
    Ok(())
}

/// The reason why a passage is not in its section; none if it is.
fn misplaced(passage: &Passage, document: &Document) -> Option<String> {
    if passage.lines.last > document.lines {
        return Some(format!("the document has {} lines", document.lines));
    }
    match document.section_at(passage.lines.first) {
        Some(section) if section.heading == passage.section => None,
        Some(section) => Some(format!("these lines are in section {:?}", section.heading)),
        None => Some("these lines are before the first section".to_owned()),
    }
}

/// The line of the catalogue on which a requirement begins.
fn line_of(id: &RequirementId, text: &str) -> usize {
    let is_entry = |line: &str| {
        let (_, value) = line.split_once("id:")?;
        Some(value.trim().trim_end_matches('}').split(',').next()?.trim() == id.as_str())
    };
    let lines = text.lines().position(|line| is_entry(line).unwrap_or_default());
    lines.map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests;
