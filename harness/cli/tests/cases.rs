//! Every case is a test. A YAML file that is dropped into `cases/` is picked up by the next `cargo test`.
//!
//! `BATON_BACKEND` says what they run on, in the words of `baton run --backend`: `embedded --real-time`, or `kubeconfig
//! --kubeconfig FILE --control CONTEXT --member CONTEXT`. `BATON_TARGET` names a target file, from the repository on.
//! libtest cannot skip: a case that is unsupported passes, and says `unsupported:` with the reason on standard error; so
//! does one that deviates as the baseline of the target says. An entry of the baseline that no longer fails is a
//! failure of the last of its cases, as far as they run in one process.
//!
//! A separate binary: it starts itself again with other variables, and its arguments select cases.

#![expect(clippy::unwrap_used, reason = "what fails here fails a test")]

mod environment;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::Arc,
};

use baton::{backend, load::Suite, options::RunOptions, run, snapshots};
use baton_cluster::error_chain::error_chain;
use rstest::rstest;

use environment::{BACKEND, TARGET, check_baseline, passed, ready, roots, say, target, told};

#[rstest]
fn conforms(
    #[files("../../cases/**/*.yaml")]
    #[exclude("requirements.yaml")]
    path: PathBuf,
) {
    let suite = Suite::load_files(&roots(), &[path])
        .and_then(Suite::whole)
        .unwrap_or_else(|error| panic!("{}", told(error)));
    let members = suite.cases.iter().map(|case| case.members).max().unwrap_or(1);
    let ready = ready(members);
    let settings = &ready.settings;
    let results: Vec<_> = suite
        .cases
        .iter()
        .map(|case| run::run_case(case, settings, &|_| {}))
        .collect();
    backend::end(&*settings.backend).unwrap_or_else(|error| panic!("{}", error_chain(&error)));
    for (case, result) in suite.cases.iter().zip(results) {
        match passed(&result) {
            Err(line) => say(case, &line),
            Ok(verdict) => {
                for snapshot in &verdict.snapshots {
                    let folder = snapshots::folder(&settings.roots, case);
                    insta::with_settings!({snapshot_path => folder, prepend_module_to_snapshot => false, omit_expression => true}, {
                        insta::assert_snapshot!(snapshots::name(case, snapshot), snapshot.text);
                    });
                }
            }
        }
        check_baseline(result, settings);
    }
}

#[test]
fn the_cases_go_together() {
    Suite::load(&roots())
        .and_then(Suite::whole)
        .unwrap_or_else(|error| panic!("{}", told(error)));
}

/// Runs the tests of these cases in another process with this variable.
fn with(variable: &str, value: &str, cases: &[&str]) -> (Output, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env_remove(BACKEND).env_remove(TARGET).env(variable, value);
    let output = command.args(cases).output().unwrap();
    let said = [&*output.stdout, &*output.stderr].map(String::from_utf8_lossy).concat();
    (output, said)
}

#[test]
fn a_backend_that_there_is_not_is_refused_with_those_that_there_are() {
    for (value, words) in [
        ("cloud", "[possible values: embedded, kubeconfig"),
        ("kubeconfig", "--control <CONTEXT>"),
        ("kind", "possible are embedded, kubeconfig"),
    ] {
        let (output, said) = with(BACKEND, value, &["longest_label_value"]);
        assert!(!output.status.success(), "{said}");
        assert!(said.contains(words), "{said}");
    }
}

/// Writes a target file for the reference controller, with these features and known deviations.
fn target_file(folder: &Path, features: &str, baseline: &str) -> PathBuf {
    let file = folder.join("target.yaml");
    let text = format!(
        "apiVersion: baton.dev/v1alpha1\nkind: Target\nmetadata: {{name: target}}\nspec:\n  implementation: {{name: x, \
         version: y}}\n  features: [{features}]\n  run: {{reference: {{}}}}\n  baseline: [{baseline}]\n"
    );
    fs::write(&file, text).unwrap();
    file
}

const FEATURES: &str = "Propagation, StatePreservation, LabelInjection, NoExecuteEviction, PurgeDirectly";

#[test]
fn an_unsupported_case_passes_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = target_file(folder.path(), "Propagation", "");
    let (output, said) = with(TARGET, file.to_str().unwrap(), &["user_labels"]);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("user-labels: unsupported: needs "), "{said}");
}

#[test]
fn a_baseline_that_no_longer_fails_fails_with_the_last_of_its_cases() {
    let folder = tempfile::tempdir().unwrap();
    let entry =
        "{requirement: REC-09, field: 'metadata.labels[]', difference: different, reason: once, cases: [user-labels]}";
    let file = target_file(folder.path(), FEATURES, entry);
    let (output, said) = with(TARGET, file.to_str().unwrap(), &["user_labels", "longest_label_value"]);
    assert!(!output.status.success(), "{said}");
    let words = "no case shows any more: REC-09 metadata.labels[]";
    assert_eq!(said.matches(words).count(), 1, "{said}");
    let (output, said) = with(TARGET, file.to_str().unwrap(), &["longest_label_value"]);
    assert!(output.status.success(), "its case was not run: {said}");
}

#[test]
fn a_known_deviation_passes_and_an_unknown_one_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let right = fs::read_to_string(roots().path("cases/recovery/user-labels.yaml")).unwrap();
    let wrong = right.replace("{baton.dev/state: \"2\", ", "{baton.dev/state: \"3\", ");
    assert_ne!(wrong, right);
    let case = folder.path().join("user-labels.yaml");
    fs::write(&case, wrong).unwrap();
    let suite = Suite::load_files(&roots(), &[case])
        .and_then(Suite::whole)
        .unwrap_or_else(|error| panic!("{}", told(error)));
    let result = |baseline: &str| {
        let file = target_file(folder.path(), FEATURES, baseline);
        let settings = RunOptions {
            target: Arc::new(target(&file)),
            timelines: Some(folder.path().to_owned()),
            ..RunOptions::new(roots())
        };
        run::run_case(&suite.cases[0], &settings, &|_| {})
    };
    let entry =
        |id: &str| format!("{{requirement: {id}, field: 'metadata.labels[]', difference: different, reason: known}}");
    let known = result(&format!("{}, {}", entry("REC-02"), entry("REC-09")));
    assert_eq!(
        passed(&known).unwrap_err(),
        "deviates as the baseline says: REC-02 REC-09"
    );
    let unknown = result(&entry("REC-02"));
    assert!(std::panic::catch_unwind(|| passed(&unknown).is_ok()).is_err());
}
