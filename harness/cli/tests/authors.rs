//! What the command does for authors of cases: requirements explained, new cases to begin with.

#![expect(clippy::unwrap_used, reason = "what fails here fails a test")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

fn root() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap()
}

/// Its exit code, standard output and standard error.
fn baton(root: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
    let output = command.arg("--root").arg(root).args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_requirement_is_explained_with_its_cases() {
    let (code, told, _) = baton(&root(), &["explain", "STP-07"]);
    assert_eq!(code, Some(0));
    insta::assert_snapshot!(told);
}

#[test]
fn an_unknown_requirement_is_refused_with_the_one_that_was_meant() {
    let (code, told, error) = baton(&root(), &["explain", "rec-1"]);
    assert_eq!((code, told.as_str()), (Some(2), ""));
    let expected = "error: there is no requirement `rec-1`\n\
                    help: did you mean `REC-01`? (`baton list --requirements` lists all)\n";
    assert_eq!(error, expected);
}

/// A repository with the fixtures and requirements of this one, and one case of its own.
fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(root().join("fixtures"), folder.path().join("fixtures")).unwrap();
    let cases = folder.path().join("cases");
    fs::create_dir_all(cases.join("taints")).unwrap();
    for file in ["requirements.yaml", "taints/no-schedule.yaml"] {
        fs::copy(root().join("cases").join(file), cases.join(file)).unwrap();
    }
    folder
}

#[test]
fn a_new_case_is_fine_and_conforms() {
    let folder = repository();
    let (code, told, error) = baton(folder.path(), &["case", "new", "mine/first-case"]);
    assert_eq!(code, Some(0), "{error}");
    let file = folder.path().join("cases/mine/first-case.yaml");
    assert!(told.starts_with(&format!("{}\n", file.display())), "{told}");
    let (code, told, error) = baton(folder.path(), &["lint", file.to_str().unwrap()]);
    assert_eq!((code, told.as_str()), (Some(0), "1 cases are fine\n"), "{error}");
    let timelines = folder.path().join("timelines");
    let run = ["run", "first-case", "--timelines", timelines.to_str().unwrap()];
    let (code, told, error) = baton(folder.path(), &run);
    assert_eq!(code, Some(0), "{told}{error}");
    assert!(told.contains("1 conform"), "{told}");
}

#[test]
fn a_new_case_overwrites_nothing_and_has_a_name_of_its_own() {
    let folder = repository();
    let there = folder.path().join("cases/taints/no-schedule.yaml");
    let before = fs::read(&there).unwrap();
    for (name, words) in [
        ("taints/no-schedule", "no-schedule.yaml is there already"),
        ("mine/no-schedule", "there is a case `no-schedule` already"),
        ("no-area", "`no-area` is no AREA/NAME"),
        ("../outside", "`../outside` is no AREA/NAME"),
        ("a/b/c", "`a/b/c` is no AREA/NAME"),
        ("Mine/case", "`Mine/case` is no AREA/NAME"),
    ] {
        let (code, _, error) = baton(folder.path(), &["case", "new", name]);
        assert_eq!(code, Some(2), "{name}: {error}");
        assert!(error.contains(words), "{name}: {error}");
    }
    assert_eq!(fs::read(&there).unwrap(), before);
    assert!(!folder.path().join("cases/mine").exists());
}
