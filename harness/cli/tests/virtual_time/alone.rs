//! Runs the program without a repository, with at most a few files of the user.

use std::{fs, path::Path};

use crate::common::{baton_in, outcome};

/// Runs the command in a folder; returns its exit code, standard output and standard error.
fn baton(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = baton_in(folder, arguments).env_remove("KARMADA_PROGRAMS").output();
    outcome(&output.unwrap())
}

#[test]
fn runs_the_suite_from_an_empty_folder() {
    let folder = tempfile::tempdir().unwrap();
    let (code, told, error) = baton(folder.path(), &["run", "--filter", "proposal/"]);
    assert_eq!(code, Some(0), "{told}{error}");
    assert!(told.contains("3 conform"), "{told}");
}

#[test]
fn the_examples_of_target_files_are_in_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let target = [
        "run",
        "deployment-directly",
        "--target",
        "fixtures/targets/karmada-exec.yaml",
    ];
    let (code, _, error) = baton(folder.path(), &target);
    assert_eq!(code, Some(2), "{error}");
    assert!(
        error.contains("the environment variable KARMADA_VERSION is not set"),
        "{error}"
    );
}

#[test]
fn a_case_of_ones_own_needs_no_repository() {
    let folder = tempfile::tempdir().unwrap();
    let (code, told, error) = baton(folder.path(), &["case", "new", "mine/first-case"]);
    assert_eq!(code, Some(0), "{error}");
    assert!(told.starts_with("cases/mine/first-case.yaml\n"), "{told}");
    for wanted in ["first-case", "cases/mine/first-case.yaml", "cases/mine", "./cases"] {
        let (code, told, error) = baton(folder.path(), &["run", wanted]);
        assert_eq!(code, Some(0), "{told}{error}");
        assert!(
            told.contains("1 conforms") || told.contains("1 conform"),
            "{wanted}: {told}"
        );
    }
    // Anywhere else too, as a file.
    fs::rename(
        folder.path().join("cases/mine/first-case.yaml"),
        folder.path().join("elsewhere.yaml"),
    )
    .unwrap();
    let (code, told, error) = baton(folder.path(), &["run", "elsewhere.yaml"]);
    assert_eq!(code, Some(0), "{told}{error}");
}

#[test]
fn a_file_with_scenarios_is_named_without_its_ending() {
    let folder = tempfile::tempdir().unwrap();
    let (code, told, error) = baton(folder.path(), &["plan", "no-label-value"]);
    assert_eq!(code, Some(0), "{error}");
    assert!(
        told.contains("no-label-value-slash") && told.contains("no-label-value-space"),
        "{told}"
    );
}

#[test]
fn the_name_of_a_case_means_that_case_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (code, told, error) = baton(folder.path(), &["plan", "second-failover"]);
    assert_eq!(code, Some(0), "{error}");
    assert!(!told.contains("second-failover-cluster-scoped"), "{told}");
}

#[test]
fn a_plan_shows_what_a_case_needs_and_applies() {
    let folder = tempfile::tempdir().unwrap();
    let (code, told, error) = baton(folder.path(), &["plan", "--objects", "deployment-directly"]);
    assert_eq!(code, Some(0), "{error}");
    for line in [
        "  feature gates: Failover=true, StatefulFailoverInjection=true",
        "# step 2, on control",
        "kind: PropagationPolicy",
        "      purgeMode: Directly",
    ] {
        assert!(told.lines().any(|it| it == line), "{line}\n{told}");
    }
    let (_, told, _) = baton(folder.path(), &["plan", "deployment-directly"]);
    assert!(!told.contains("apiVersion"), "{told}");
}

#[test]
fn a_broken_draft_is_left_out_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let drafts = folder.path().join("cases/mine");
    fs::create_dir_all(&drafts).unwrap();
    fs::write(
        drafts.join("draft.yaml"),
        "apiVersion: baton.dev/v1alpha1\nkind: Case\nmetdata: {}\n",
    )
    .unwrap();
    // The other cases run, and none of the selected cases is broken.
    let (code, told, error) = baton(folder.path(), &["run", "deployment-directly"]);
    assert_eq!((code, error.as_str()), (Some(0), ""), "{told}");
    // All cases are selected.
    let (code, told, error) = baton(folder.path(), &["run", "--filter", "proposal/"]);
    assert_eq!(code, Some(2), "{told}{error}");
    assert!(told.contains("3 conform"), "{told}");
    assert!(error.contains("unknown field `metdata`"), "{error}");
    assert!(
        error.ends_with("in the cases; what is in these files was left out\n"),
        "{error}"
    );
    // Only the draft is selected.
    let (code, told, error) = baton(folder.path(), &["run", "draft"]);
    assert_eq!((code, told.as_str()), (Some(2), ""), "{error}");
}

#[test]
fn a_folder_that_is_not_there_is_no_suite() {
    let folder = tempfile::tempdir().unwrap();
    let (code, _, error) = baton(folder.path(), &["--root", "none", "list"]);
    assert_eq!(code, Some(2));
    assert!(error.starts_with("error: cannot read none/cases"), "{error}");
    fs::create_dir(folder.path().join("empty")).unwrap();
    let (code, _, error) = baton(folder.path(), &["--root", "empty", "list"]);
    assert_eq!(code, Some(2));
    assert!(
        error.starts_with("error: empty is not the folder of a suite"),
        "{error}"
    );
}

#[test]
fn what_would_explore_or_measure_nothing_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (
            &["explore", "proposal", "--depth", "0"][..],
            "--depth 0 runs random plans alone",
        ),
        (&["explore", "proposal", "--plans", "0"], "no plan may be run"),
        (
            &["explore", "proposal", "--random-faults", "2"],
            "--random-faults is about random plans",
        ),
        (
            &["scale", "--json", "a", "--page", "a"],
            "--json and --page both name a",
        ),
    ] {
        let (code, _, error) = baton(folder.path(), arguments);
        assert_eq!(code, Some(2), "{error}");
        assert!(error.starts_with(&format!("error: {expected}")), "{error}");
    }
}
