//! Neither cases nor invariants require features that an implementation does not declare.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use async_trait::async_trait;
use baton::{implementation::Reference, load::Suite, options::RunOptions, run};
use baton_cluster::{
    fleet::Fleet,
    runner::{Running, Target, TargetError},
};
use baton_core::{case::model::ControllerSetup, event::CaseOutcome, names::Feature};

use crate::common::roots;

/// The reference controller, evicting a hundred workloads a second.
#[derive(Debug)]
struct Hasty {
    features: BTreeSet<Feature>,
}

#[async_trait]
impl Target for Hasty {
    fn name(&self) -> &'static str {
        "a hasty controller"
    }

    fn features(&self) -> BTreeSet<Feature> {
        self.features.clone()
    }

    async fn start(
        &self,
        fleet: &dyn Fleet,
        setup: &ControllerSetup,
        log: &Path,
    ) -> Result<Box<dyn Running>, TargetError> {
        let mut setup = setup.clone();
        setup
            .options
            .insert("resource-eviction-rate".to_owned(), "100".to_owned());
        Reference.start(fleet, &setup, log).await
    }
}

/// Returns the requirements that are broken if workloads wait for their turn to leave a cluster. The case needs the
/// queue, and no rate.
fn broken(features: BTreeSet<Feature>) -> Vec<String> {
    let roots = roots();
    let suite = Suite::select(&roots, &["queue-loses-its-claim".to_owned()]).unwrap();
    let settings = RunOptions {
        target: Arc::new(Hasty { features }),
        ..RunOptions::new(roots)
    };
    let result = run::run_case(&suite.cases[0], &settings.asking(&suite.catalogue), &|_| {});
    match &result.outcome {
        CaseOutcome::Deviates { verdict, .. } => verdict.broken().iter().map(ToString::to_string).collect(),
        other => vec![format!("{other:?}")],
    }
}

#[test]
fn a_rate_that_is_not_declared_is_not_broken() {
    let declared = Reference.features();
    assert_eq!(broken(declared.clone()), ["EVQ-05", "RAT-01"]);
    let without = declared.into_iter().filter(|it| it.as_str() != "EvictionRate");
    assert_eq!(broken(without.collect()), ["EVQ-05"]);
}
