//! Tests of the selection of cases.

use std::{collections::BTreeSet, fs};

use super::*;

fn selected(roots: &Roots, wanted: &str) -> Suite {
    Suite::select(roots, &[wanted.to_owned()]).expect("cases")
}

#[test]
fn an_area_comes_before_a_file_of_the_same_name() {
    let suite = selected(&Roots::built_in(), "dependencies");
    assert!(suite.cases.iter().all(|case| case.area == "dependencies"));
    assert!(suite.cases.len() > 2);
    let of_file = selected(&Roots::built_in(), "one-binding");
    assert!(of_file.cases.iter().all(|case| is_stem(&case.file, "one-binding")));
}

#[test]
fn the_errors_of_an_area_without_a_valid_case_are_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir_all(folder.path().join("cases/mine")).expect("a folder");
    fs::write(folder.path().join("cases/mine/one.yaml"), "kind: Case\n").expect("a file");
    let suite = selected(&Roots::of(folder.path()), "mine");
    assert!(suite.cases.is_empty() && !suite.broken.is_empty());
}

#[test]
fn a_case_with_the_name_of_a_built_in_one_is_refused_in_the_suite_and_named_elsewhere() {
    let built_in = baton_suite::read("cases/proposal/deployment-directly.yaml").expect("a case");
    let folder = tempfile::tempdir().expect("a folder");
    let of_suite = folder.path().join("cases/mine/copy.yaml");
    let elsewhere = folder.path().join("copy.yaml");
    fs::create_dir_all(folder.path().join("cases/mine")).expect("a folder");
    fs::write(&of_suite, built_in).expect("a file");
    fs::write(&elsewhere, built_in).expect("a file");
    let roots = Roots::of(folder.path());
    let suite = selected(&roots, &of_suite.display().to_string());
    assert!(suite.cases.is_empty());
    assert!(
        suite.broken[0].message.contains("is also the name of"),
        "{:?}",
        suite.broken
    );
    let copy = selected(&roots, &elsewhere.display().to_string());
    let all = Suite::load(&Roots::built_in()).expect("the suite");
    assert_eq!(
        all.overridden(&Roots::built_in(), &copy.cases),
        BTreeSet::from(["cases/proposal/deployment-directly.yaml".to_owned()])
    );
    assert_eq!(all.overridden(&Roots::built_in(), &all.cases), BTreeSet::new());
}
