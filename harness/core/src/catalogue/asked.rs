//! The consequence of each requirement for one implementation: what it declares and claims decides.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::{Deserialize, Serialize};

use super::{Catalogue, Level, Requirement, Source};
use crate::names::{DocumentId, Feature, RequirementId};

/// The documents that an implementation claims to follow.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DocumentClaims(Option<BTreeMap<DocumentId, Option<BTreeSet<Feature>>>>);

impl DocumentClaims {
    /// These documents, each as a whole or for some features.
    pub fn of(documents: BTreeMap<DocumentId, Option<BTreeSet<Feature>>>) -> Self {
        Self(Some(documents))
    }

    /// Returns true if the target file does not say, so that all documents are claimed.
    pub fn is_all(&self) -> bool {
        self.0.is_none()
    }

    /// Returns true if a document is claimed for a feature.
    pub fn contains(&self, document: &DocumentId, feature: &Feature) -> bool {
        match &self.0 {
            None => true,
            Some(claimed) => match claimed.get(document) {
                None => false,
                Some(None) => true,
                Some(Some(features)) => features.contains(feature),
            },
        }
    }
}

impl fmt::Display for DocumentClaims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(claimed) = &self.0 else {
            return f.write_str("all documents");
        };
        let one = |(document, features): (&DocumentId, &Option<BTreeSet<Feature>>)| match features {
            None => document.to_string(),
            Some(features) => {
                let features: Vec<_> = features.iter().map(Feature::as_str).collect();
                format!("{document} for {}", features.join(", "))
            }
        };
        f.write_str(&claimed.iter().map(one).collect::<Vec<_>>().join("; "))
    }
}

/// Consequence of a broken requirement for an implementation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Consequence {
    /// Nothing: the implementation does not declare the feature, or the requirement is a MAY.
    None,
    /// It is reported as part of a proposal that the implementation does not claim.
    Proposed,
    /// The case conforms with a remark.
    Remark,
    /// The case deviates.
    Deviation,
}

/// The consequences of all requirements for one implementation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asked(BTreeMap<RequirementId, Consequence>);

impl Asked {
    /// The consequences of a catalogue for an implementation that declares these features and claims these documents.
    pub fn of(catalogue: &Catalogue, declared: &BTreeSet<Feature>, claims: &DocumentClaims) -> Self {
        let of = |requirement: &Requirement| (requirement.id.clone(), consequence(requirement, declared, claims));
        Self(catalogue.iter().map(of).collect())
    }

    /// The consequence of one requirement. A requirement that no catalogue lists deviates.
    pub fn consequence(&self, id: &RequirementId) -> Consequence {
        self.0.get(id).copied().unwrap_or(Consequence::Deviation)
    }

    /// The gravest consequence of some requirements; none for an empty set.
    pub fn gravest<'a>(&self, ids: impl IntoIterator<Item = &'a RequirementId>) -> Option<Consequence> {
        ids.into_iter().map(|id| self.consequence(id)).max()
    }
}

impl FromIterator<(RequirementId, Consequence)> for Asked {
    fn from_iter<I: IntoIterator<Item = (RequirementId, Consequence)>>(consequences: I) -> Self {
        Self(consequences.into_iter().collect())
    }
}

fn consequence(requirement: &Requirement, declared: &BTreeSet<Feature>, claims: &DocumentClaims) -> Consequence {
    if requirement.level == Level::May || !declared.contains(&requirement.feature) {
        return Consequence::None;
    }
    // An accepted fix is not a document: it counts for each implementation, but carries a remark only. So do wishes that no
    // document repeats.
    let is_wish = requirement
        .sources
        .iter()
        .all(|source| matches!(source, Source::Issue(_)));
    let stands = |source: &&Source| match source {
        Source::Passage(passage) => claims.contains(&passage.document, &requirement.feature),
        Source::Fixed(_) => true,
        Source::Issue(_) => is_wish,
    };
    let carried = requirement.sources.iter().filter(stands).map(Source::carries).min();
    match carried.map(|carried| carried.max(requirement.level)) {
        None => Consequence::Proposed,
        Some(Level::Must) => Consequence::Deviation,
        Some(Level::Should | Level::May | Level::Advice) => Consequence::Remark,
    }
}
