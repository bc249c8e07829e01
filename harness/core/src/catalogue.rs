//! The catalogue of requirements: what an implementation must show, by id.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{
    names::{Feature, RequirementId},
    spelling::suggestion,
    yaml::plain::{self, YamlError},
};

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
    core: BTreeSet<Feature>,
    requirements: BTreeMap<RequirementId, Requirement>,
}

/// Why a text is no catalogue.
#[derive(Debug, Error)]
pub enum CatalogueError {
    /// It is no YAML, or not of the format.
    #[error("the catalogue of requirements cannot be read")]
    Yaml(#[from] YamlError),
    /// An id stands in it twice.
    #[error("the requirement {0} stands in the catalogue twice")]
    Twice(RequirementId),
    /// No requirement belongs to a feature that is to be core.
    #[error("no requirement belongs to the core feature {0}")]
    Core(Feature),
}

impl Catalogue {
    /// Reads the YAML of `cases/requirements.yaml`.
    pub fn parse(text: &str) -> Result<Self, CatalogueError> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            #[serde(default)]
            core: BTreeSet<Feature>,
            requirements: Vec<Requirement>,
        }
        let file: File = plain::read(text)?;
        let mut requirements = BTreeMap::new();
        for requirement in file.requirements {
            if let Some(twice) = requirements.insert(requirement.id.clone(), requirement) {
                return Err(CatalogueError::Twice(twice.id));
            }
        }
        let catalogue = Self {
            core: file.core,
            requirements,
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

    /// One requirement.
    pub fn get(&self, id: &RequirementId) -> Option<&Requirement> {
        self.requirements.get(id)
    }

    /// All requirements, by id.
    pub fn iter(&self) -> impl Iterator<Item = &Requirement> {
        self.requirements.values()
    }

    /// What to write instead of an id that is not there: the one that was probably meant, or those of its kind.
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

    /// What is not asked of an implementation that declares these features: the requirements of the others.
    pub fn unasked(&self, declared: &BTreeSet<Feature>) -> BTreeSet<RequirementId> {
        let unasked = self
            .iter()
            .filter(|requirement| !declared.contains(&requirement.feature));
        unasked.map(|requirement| requirement.id.clone()).collect()
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
    fn an_id_that_is_not_there_leads_to_the_one_that_was_meant() {
        let catalogue = Catalogue::parse(include_str!("../../../cases/requirements.yaml")).unwrap();
        for wrong in ["REC-1", "rec-01", "REC01", "rec_1", "REC-001", "REC 1"] {
            assert_eq!(catalogue.suggestion(wrong), "did you mean `REC-01`?", "{wrong}");
        }
        assert_eq!(catalogue.suggestion("OBS"), "there are OBS-01 to OBS-05");
        assert_eq!(catalogue.suggestion("OBS-77"), "there are OBS-01 to OBS-05");
        assert_eq!(catalogue.suggestion("RCE-01"), "did you mean `REC-01`?");
        for nonsense in ["", "é", "☃-1", "-", "99999999999999"] {
            assert!(
                catalogue.suggestion(nonsense).starts_with("expected one of"),
                "{nonsense}"
            );
        }
    }

    #[test]
    fn an_id_stands_in_it_once() {
        let entry = "- {id: A-1, level: MAY, feature: F, source: S, text: T}\n";
        let error = Catalogue::parse(&format!("requirements:\n{entry}{entry}")).unwrap_err();
        assert_eq!(error.to_string(), "the requirement A-1 stands in the catalogue twice");
    }
}
