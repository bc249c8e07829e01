//! The catalogue of requirements: what an implementation must show, by id.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::names::{Feature, RequirementId};

/// How binding a requirement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Level {
    /// Every implementation of the feature shows it.
    Must,
    /// A good one does.
    Should,
    /// It is a choice.
    May,
}

/// One observable statement.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// Stable; cases cite it.
    pub id: RequirementId,
    /// How binding it is.
    pub level: Level,
    /// The capability that it belongs to.
    pub feature: Feature,
    /// The document, or the public issue, that it comes from.
    pub source: String,
    /// The statement.
    pub text: String,
}

/// All requirements, by id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalogue {
    requirements: BTreeMap<RequirementId, Requirement>,
}

/// Why a text is no catalogue.
#[derive(Debug, Error)]
pub enum CatalogueError {
    /// It is no YAML, or not of the format.
    #[error("the catalogue of requirements cannot be read")]
    Yaml(#[from] serde_yaml::Error),
    /// An id stands in it twice.
    #[error("the requirement {0} stands in the catalogue twice")]
    Twice(RequirementId),
}

impl Catalogue {
    /// Reads the YAML of `cases/requirements.yaml`.
    pub fn parse(text: &str) -> Result<Self, CatalogueError> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            requirements: Vec<Requirement>,
        }
        let file: File = serde_yaml::from_str(text)?;
        let mut requirements = BTreeMap::new();
        for requirement in file.requirements {
            if let Some(twice) = requirements.insert(requirement.id.clone(), requirement) {
                return Err(CatalogueError::Twice(twice.id));
            }
        }
        Ok(Self { requirements })
    }

    /// One requirement.
    pub fn get(&self, id: &RequirementId) -> Option<&Requirement> {
        self.requirements.get(id)
    }

    /// All requirements, by id.
    pub fn iter(&self) -> impl Iterator<Item = &Requirement> {
        self.requirements.values()
    }

    /// All features that requirements belong to.
    pub fn features(&self) -> BTreeSet<&Feature> {
        self.requirements
            .values()
            .map(|requirement| &requirement.feature)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_of_the_suite_is_one() {
        let catalogue = Catalogue::parse(include_str!("../../../cases/requirements.yaml")).unwrap();
        let rec_01 = catalogue.get(&"REC-01".into()).unwrap();
        assert_eq!((rec_01.level, rec_01.feature.as_str()), (Level::Must, "LabelInjection"));
    }

    #[test]
    fn an_id_stands_in_it_once() {
        let entry = "- {id: A-1, level: MAY, feature: F, source: S, text: T}\n";
        let error = Catalogue::parse(&format!("requirements:\n{entry}{entry}")).unwrap_err();
        assert_eq!(error.to_string(), "the requirement A-1 stands in the catalogue twice");
    }
}
