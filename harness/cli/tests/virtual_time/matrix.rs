//! Every MUST of what the reference controller declares is proved by a case: the suite has no blind spots.

use std::collections::BTreeSet;

use baton::{
    implementation::Reference,
    load::{LoadError, Suite},
    show,
};
use baton_cluster::{error_chain::error_chain, runner::Target as _};
use baton_core::{
    catalogue::{Level, Requirement},
    names::RequirementId,
};

use crate::common::roots;

/// Requirements that no case shows yet. An entry that has a case is one too many.
const AHEAD: &[&str] = &[];

#[test]
fn every_must_of_a_declared_feature_has_a_case() {
    let suite = Suite::load(&roots()).unwrap_or_else(|error| {
        let told = match &error {
            LoadError::Cases(found) => show::diagnostics(found),
            other => error_chain(other),
        };
        panic!("{told}")
    });
    let declared = Reference.features();
    // A case that needs what the target does not have proves nothing about it.
    let asked = suite.cases.iter().filter(|case| case.features.is_subset(&declared));
    let proved: BTreeSet<&RequirementId> = asked.flat_map(|case| &case.requirements).collect();
    let must = |it: &&Requirement| it.level == Level::Must && declared.contains(&it.feature);
    let missing: BTreeSet<&str> = suite
        .catalogue
        .iter()
        .filter(must)
        .filter(|it| !proved.contains(&it.id))
        .map(|it| it.id.as_str())
        .collect();
    let ahead: BTreeSet<&str> = AHEAD.iter().copied().collect();
    assert_eq!(
        missing, ahead,
        "MUSTs without a case, and those that are known to have none"
    );
}
