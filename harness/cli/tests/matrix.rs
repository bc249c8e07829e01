//! Every MUST of what the reference controller declares is proved by a case: the suite has no blind spots.

use std::{collections::BTreeSet, path::Path};

use baton::{
    load::{LoadError, Roots, Suite},
    show,
    target::Reference,
};
use baton_cluster::runner::{Target as _, chain};
use baton_core::{
    catalogue::{Level, Requirement},
    names::RequirementId,
};

/// Areas that the controller is yet to be asked about as a whole: it declares a feature of theirs for another area's
/// sake, as that of application failover for GAT-03. Their requirements need no case yet.
const AHEAD: [&str; 1] = ["APP-"];

#[test]
fn every_must_of_a_declared_feature_has_a_case() {
    let suite = Suite::load(&Roots::of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))).unwrap_or_else(|error| {
        let told = match &error {
            LoadError::Cases(found) => show::diagnostics(found),
            other => chain(other),
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
        .filter(|it| !AHEAD.iter().any(|area| it.id.as_str().starts_with(area)))
        .filter(|it| !proved.contains(&it.id))
        .map(|it| it.id.as_str())
        .collect();
    assert!(missing.is_empty(), "MUSTs without a case: {missing:?}");
}
