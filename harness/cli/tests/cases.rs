//! Every case is a test. A YAML file that is dropped into `cases/` is picked up by the next `cargo test`.

use std::path::{Path, PathBuf};

use baton::{
    load::{LoadError, Roots, Suite},
    output,
    run::{self, Settings},
    show, snapshots,
};
use baton_cluster::runner::chain;
use baton_core::event::CaseOutcome;
use rstest::rstest;

fn roots() -> Roots {
    Roots::of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
}

fn told(error: LoadError) -> String {
    match error {
        LoadError::Cases(found) => show::diagnostics(&found),
        other => chain(&other),
    }
}

#[rstest]
fn conforms(
    #[files("../../cases/**/*.yaml")]
    #[exclude("requirements.yaml")]
    path: PathBuf,
) {
    let roots = roots();
    let suite = Suite::load_files(&roots, &[path]).unwrap_or_else(|error| panic!("{}", told(error)));
    let settings = Settings::new(roots.clone());
    for case in &suite.cases {
        let result = run::run_case(case, &settings, &|_| {});
        let verdict = match &result.outcome {
            CaseOutcome::Conforms(verdict) | CaseOutcome::Deviates { verdict, .. } if verdict.conforms() => verdict,
            _ => panic!(
                "\n{}",
                output::explanation(&result).unwrap_or_else(|| format!("{:?}", result.outcome))
            ),
        };
        for snapshot in &verdict.snapshots {
            let folder = snapshots::folder(&roots.snapshots, case);
            insta::with_settings!({snapshot_path => folder, prepend_module_to_snapshot => false, omit_expression => true}, {
                insta::assert_snapshot!(snapshots::name(case, snapshot), snapshot.text);
            });
        }
    }
}

#[test]
fn the_cases_go_together() {
    Suite::load(&roots()).unwrap_or_else(|error| panic!("{}", told(error)));
}
