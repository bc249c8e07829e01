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

/// Returns the requirements that are broken if workloads leave a cluster at a higher rate than the option says. Here the case
/// does not need the rate.
fn broken(features: BTreeSet<Feature>) -> Vec<String> {
    let roots = roots();
    let mut suite = Suite::select(&roots, &["one-every-so-often-default".to_owned()]).unwrap();
    suite.cases[0].features.retain(|it| it.as_str() != "EvictionRate");
    let settings = RunOptions {
        target: Arc::new(Hasty { features }),
        ..RunOptions::new(roots)
    };
    let result = run::run_case(&suite.cases[0], &settings.asking(&suite.catalogue), &|_| {});
    match &result.outcome {
        CaseOutcome::Conforms(_) => Vec::new(),
        CaseOutcome::Deviates { verdict, .. } => verdict.broken().iter().map(ToString::to_string).collect(),
        other => vec![format!("{other:?}")],
    }
}

#[test]
fn a_rate_that_is_not_declared_is_not_broken() {
    let declared = Reference.features();
    assert_eq!(broken(declared.clone()), ["RAT-01"]);
    let without = declared.into_iter().filter(|it| it.as_str() != "EvictionRate");
    assert_eq!(broken(without.collect()), Vec::<String>::new());
}
