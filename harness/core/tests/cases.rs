//! Case files as people write them: right ones are read, wrong ones are explained.

use std::path::{Path, PathBuf};

use baton_core::{
    case::{diagnostic::Diagnostic, model::Case, read, refs::Surroundings},
    catalogue::Catalogue,
    plan::Plan,
};
use rstest::rstest;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[expect(clippy::unwrap_used, reason = "a test cannot go on without the catalogue")]
/// Reads a case with the repository around it; any path that begins and ends with a brace passes for a JSONPath.
fn read_case(file: &Path, bytes: &[u8]) -> Result<Case, Vec<Diagnostic>> {
    let catalogue =
        Catalogue::parse(&std::fs::read_to_string(root().join("cases/requirements.yaml")).unwrap()).unwrap();
    let fixture = |name: &str| {
        std::fs::read_to_string(root().join("fixtures").join(name)).map_err(|error| error.kind().to_string())
    };
    let check_path = |path: &str| {
        if path.ends_with('}') {
            Ok(())
        } else {
            Err("unclosed".to_owned())
        }
    };
    let fixtures = ["workloads/deploy.yaml".to_owned(), "workloads/sts.yaml".to_owned()];
    let around = Surroundings {
        catalogue: &catalogue,
        fixture: &fixture,
        fixtures: &fixtures,
        check_path: &check_path,
    };
    read::read(file, "proposal", bytes, &around)
}

fn lines(found: &[Diagnostic]) -> String {
    found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[rstest]
fn every_case_of_the_suite_can_be_read(
    #[files("../../cases/**/*.yaml")]
    #[exclude("requirements")]
    path: PathBuf,
) {
    let case = read_case(&path, &std::fs::read(&path).unwrap()).unwrap_or_else(|found| panic!("{}", lines(&found)));
    assert!(Plan::of(&case).steps.len() >= case.steps.len());
}

#[test]
fn all_errors_of_a_file_are_told_at_once() {
    let found = read_case(Path::new("everything.yaml"), include_bytes!("bad/everything.yaml")).unwrap_err();
    insta::assert_snapshot!(lines(&found));
}
