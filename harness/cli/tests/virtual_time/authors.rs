//! Commands for authors of cases: explaining requirements and creating cases.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::common::{outcome, program, root};

/// Runs the command; returns its exit code, standard output and standard error.
fn baton(root: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = program().arg("--root").arg(root).args(arguments).output();
    outcome(&output.unwrap())
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
    let expected = "error: unknown requirement `rec-1`\n\
                    help: did you mean `REC-01`? (`baton list --requirements` shows all)\n";
    assert_eq!(error, expected);
}

/// Creates a repository with the fixtures and requirements of this one, and a single case.
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
    assert_eq!((code, told.as_str()), (Some(0), "1 case without errors\n"), "{error}");
    let timelines = folder.path().join("timelines");
    let run = ["run", "first-case", "--timelines", timelines.to_str().unwrap()];
    let (code, told, error) = baton(folder.path(), &run);
    assert_eq!(code, Some(0), "{told}{error}");
    assert!(told.contains("1 conform"), "{told}");
}

#[test]
fn a_timeline_of_a_case_that_is_elsewhere_is_judged_with_its_file() {
    let folder = repository();
    let (case, timelines) = (folder.path().join("mine.yaml"), folder.path().join("timelines"));
    let text = fs::read_to_string(folder.path().join("cases/taints/no-schedule.yaml")).unwrap();
    let name = "metadata: {name: no-schedule}";
    assert!(text.contains(name));
    fs::write(&case, text.replace(name, "metadata: {name: mine}")).unwrap();
    let [case, timelines] = [case, timelines].map(|path| path.to_str().unwrap().to_owned());
    let (code, told, error) = baton(folder.path(), &["run", &case, "--timelines", &timelines]);
    assert_eq!(code, Some(0), "{told}{error}");
    let mut files = fs::read_dir(&timelines).unwrap().flatten().map(|file| file.path());
    let timeline = files
        .find(|file| file.extension().is_some_and(|it| it == "jsonl"))
        .unwrap();
    let timeline = timeline.to_str().unwrap();
    let (code, _, error) = baton(folder.path(), &["judge", timeline]);
    let expected = "which is not below cases/\nhelp: name its file with --case\n";
    assert!(code == Some(2) && error.ends_with(expected), "{error}");
    let (code, told, _) = baton(folder.path(), &["judge", timeline, "--case", &case]);
    assert!(code == Some(0) && told.contains("no deviation"), "{told}");
    let (code, _, error) = baton(folder.path(), &["judge", timeline, "--case", "no-schedule"]);
    assert!(
        code == Some(2) && error.contains("which is not in no-schedule"),
        "{error}"
    );
    let text = fs::read_to_string(timeline).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let without_fifth = [&lines[..4], &lines[5..]].concat().concat();
    let first_half = lines[..lines.len() / 2].concat();
    for (some, expected) in [
        (without_fifth, "entries are missing before line 5"),
        (first_half, "the timeline ends before the run did"),
    ] {
        fs::write(timeline, some).unwrap();
        let (code, _, error) = baton(folder.path(), &["judge", timeline, "--case", &case]);
        assert!(code == Some(2) && error.contains(expected), "{error}");
    }
}

#[test]
fn a_new_case_overwrites_nothing_and_has_a_name_of_its_own() {
    let folder = repository();
    let there = folder.path().join("cases/taints/no-schedule.yaml");
    let before = fs::read(&there).unwrap();
    for (name, words) in [
        ("taints/no-schedule", "no-schedule.yaml already exists"),
        ("mine/no-schedule", "the case `no-schedule` already exists"),
        ("no-area", "`no-area` is not of the form AREA/NAME"),
        ("../outside", "`../outside` is not of the form AREA/NAME"),
        ("a/b/c", "`a/b/c` is not of the form AREA/NAME"),
        ("Mine/case", "`Mine/case` is not of the form AREA/NAME"),
    ] {
        let (code, _, error) = baton(folder.path(), &["case", "new", name]);
        assert_eq!(code, Some(2), "{name}: {error}");
        assert!(error.contains(words), "{name}: {error}");
    }
    assert_eq!(fs::read(&there).unwrap(), before);
    assert!(!folder.path().join("cases/mine").exists());
}

#[test]
fn who_stops_reading_gets_no_panic() {
    for arguments in [&["list"][..], &["list", "--requirements"], &["completions", "bash"]] {
        let mut child = program()
            .args(arguments)
            .current_dir(root())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), error.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn bash_completes_the_names_of_cases() {
    // As bash does it for `baton run flink-job<Tab>`.
    let script = r#"
        eval "$("$0" completions bash)"
        COMP_WORDS=("$0" "$1" "$2")
        COMP_CWORD=2
        _baton_with_cases "$0" "$2" "$1"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let completed = |command: &str, word: &str| {
        let output = Command::new("bash")
            .args(["-c", script, env!("CARGO_BIN_EXE_baton"), command, word])
            .current_dir(root())
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        String::from_utf8(output.stdout).unwrap()
    };
    for command in ["run", "plan", "lint"] {
        assert_eq!(
            completed(command, "flink-jobid-d"),
            "flink-jobid-directly\n",
            "{command}"
        );
    }
    assert_eq!(completed("run", "--accept-s"), "--accept-snapshots\n");
    assert_eq!(completed("explain", "flink-jobid-d"), "\n");
}

#[test]
fn other_shells_ask_for_the_names_of_cases_too() {
    for shell in ["zsh", "fish"] {
        let (code, script, error) = baton(&root(), &["completions", shell]);
        assert_eq!(code, Some(0), "{error}");
        assert!(script.contains("baton list --names"), "{script}");
    }
    let (_, script, _) = baton(&root(), &["completions", "zsh"]);
    assert_eq!(script.matches(":_baton_cases' \\\n").count(), 4, "{script}");
}

#[test]
fn logs_and_tables_have_no_colours_in_pipes() {
    let output = program()
        .args(["run", "deployment-directly"])
        .current_dir(root())
        .env("BATON_LOG", "debug")
        .env("CLICOLOR_FORCE", "1")
        .output()
        .unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(log.contains("DEBUG "), "{log}");
    assert!(!log.contains('\u{1b}'), "{log}");
    assert!(!String::from_utf8(output.stdout).unwrap().contains('\u{1b}'));
}

#[test]
fn rows_are_not_wrapped_where_there_is_no_terminal() {
    let (_, told, _) = baton(&root(), &["list", "--requirements"]);
    let rows = told.lines().skip(1).take_while(|line| !line.trim().is_empty());
    let ids: Vec<&str> = rows.map(|row| row.split_whitespace().next().unwrap()).collect();
    assert!(ids.len() > 100 && ids.iter().all(|id| id.contains('-')), "{ids:?}");
}

#[test]
fn snapshots_are_accepted_without_a_toolchain() {
    let folder = repository();
    let case = "proposal/deployment-directly.yaml";
    fs::create_dir_all(folder.path().join("cases/proposal")).unwrap();
    fs::copy(root().join("cases").join(case), folder.path().join("cases").join(case)).unwrap();
    let timelines = folder.path().join("timelines");
    let timelines = timelines.to_str().unwrap();
    let run = |more: &[&str]| {
        let arguments = ["run", "deployment-directly", "--timelines", timelines];
        baton(folder.path(), &[&arguments, more].concat())
    };
    let (code, told, _) = run(&[]);
    assert_eq!(code, Some(1), "{told}");
    assert!(
        told.contains("write it with `baton run --accept-snapshots deployment-directly --root "),
        "{told}"
    );
    let (code, told, _) = run(&["--accept-snapshots"]);
    assert_eq!(code, Some(0), "{told}");
    let file = "snapshots/proposal/deployment-directly-failover.snap";
    assert!(
        told.contains(&format!("snapshot written: {}", folder.path().join(file).display())),
        "{told}"
    );
    let [written, stored] = [folder.path(), &root()].map(|root| fs::read_to_string(root.join(file)).unwrap());
    assert_eq!(written, stored);
    let (code, told, _) = run(&[]);
    assert_eq!(code, Some(0), "{told}");
    assert!(!told.contains("snapshot written"), "{told}");
}
