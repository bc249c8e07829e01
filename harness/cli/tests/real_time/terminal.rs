//! Output on the terminal, and exit codes of commands that judged nothing.

use std::{fs, process::Output};

use crate::{
    common::{self, root},
    spoiled,
};

fn baton(arguments: &[&str]) -> Output {
    common::baton(arguments).output().unwrap()
}

/// Returns both outputs. Fails if they have characters that a terminal would obey.
fn harmless(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr].concat();
    let text = String::from_utf8(text).unwrap();
    let obeyed = text.chars().find(|c| c.is_control() && !['\n', '\t'].contains(c));
    assert_eq!(obeyed, None, "{text:?}");
    text
}

/// Clears the screen, writes to the clipboard, sets the title.
const HOSTILE: &str = "\\u001b[2J\\u001b]52;c;cm0gLXJm\\u0007\\u009b2J247 conform";

#[test]
fn last_words_of_a_target_are_shown_and_not_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target.yaml");
    let text = "apiVersion: baton.dev/v1alpha1
kind: Target
metadata: {name: hostile}
spec:
  implementation: {name: hostile, version: '1'}
  features: [PurgeDirectly, StatePreservation, LabelInjection, NoExecuteEviction, Propagation]
  controller: {featureGates: {Failover: true, StatefulFailoverInjection: true}}
  run: {exec: {command: sh, args: [-c, \"printf '\\\\033[2J\\\\033]52;c;cm0gLXJm\\\\007 last words'; exit 1\"]}}
";
    fs::write(&target, text).unwrap();
    let target = target.to_str().unwrap();
    for preflight in [&[][..], &["--no-preflight"]] {
        let arguments = [&["run", "--target", target, "deployment-directly"][..], preflight].concat();
        let told = harmless(&baton(&arguments));
        assert!(told.contains("␛]52;c;cm0gLXJm␇ last words"), "{told}");
    }
}

#[test]
fn names_titles_and_unknown_keys_are_shown_and_not_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("case.yaml");
    let case = fs::read_to_string(root().join("cases/proposal/deployment-directly.yaml")).unwrap();
    let of = |what: &str| case.replacen("spec:", &format!("spec:\n  {what}\n"), 1);
    let titled = |title: &str| {
        let lines = case.lines().map(|line| {
            if line.trim_start().starts_with("title:") {
                format!("  title: \"{title}\"")
            } else {
                line.to_owned()
            }
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    for (text, words) in [
        (of(&format!("\"{HOSTILE}\": 1")), "247 conform"),
        (titled(HOSTILE), "must be one line without control characters"),
        (
            titled("fine\\n247 conform"),
            "must be one line without control characters",
        ),
    ] {
        fs::write(&file, text).unwrap();
        let output = baton(&["lint", file.to_str().unwrap()]);
        let told = harmless(&output);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(words), "{told}");
    }
}

#[test]
fn objects_in_recordings_are_shown_and_not_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("recording.jsonl");
    let text = String::from_utf8(spoiled::bytes("deployment-directly", "new-before-old-is-gone")).unwrap();
    // The cluster that the workload moves to.
    let hostile = text.replace("member2", &format!("member{HOSTILE}"));
    fs::write(&file, hostile).unwrap();
    for flag in ["--recording", "--timeline"] {
        let arguments = match flag {
            "--recording" => vec!["judge", flag, file.to_str().unwrap()],
            _ => vec!["judge", file.to_str().unwrap()],
        };
        let output = baton(&arguments);
        let told = harmless(&output);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains("␛[2J"), "{told}");
    }
}

#[test]
fn nothing_judged_is_no_success() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let empty = of("empty.jsonl", "");
    let object = r#"{"metadata":{"name":"p","namespace":"default"}}"#;
    let line = format!(r#"{{"t":0,"cluster":"member1","kind":"ConfigMap","type":"ADDED","object":{object}}}"#);
    let idle = of("idle.jsonl", &line);
    let unmoved = root().join("fixtures/recordings/taint-removed-in-time.jsonl");
    let unmoved = unmoved.to_str().unwrap().to_owned();
    let target = "apiVersion: baton.dev/v1alpha1
kind: Target
metadata: {name: modest}
spec:
  implementation: {name: modest, version: '1'}
  features: [PurgeGracefully]
  run: {reference: {}}
";
    let target = of("target.yaml", target);
    for (arguments, code, words) in [
        (vec!["judge", "--recording", &empty], 2, "is empty"),
        (vec!["judge", &empty], 2, "is empty"),
        (vec!["judge", "--recording", &idle], 3, "no workload fails over"),
        (
            vec!["judge", "--recording", &unmoved],
            3,
            "note: only these invariants had something to judge: ",
        ),
        (
            vec!["run", "--target", &target, "--filter", "proposal/*"],
            3,
            "nothing was judged: 3 cases",
        ),
        (
            vec!["run", "--filter", "proposal/*", "--shard", "9/9"],
            2,
            "the shard 9/9 has no case",
        ),
    ] {
        let output = baton(&arguments);
        let told = harmless(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {told}");
        assert!(told.contains(words), "{arguments:?}: {told}");
    }
}

#[test]
fn a_large_run_that_conforms_lists_no_case_unless_asked() {
    let run = |more: &[&str]| {
        let output = baton(&[&["run", "deployment-directly"][..], more].concat());
        assert!(output.status.success(), "{}", harmless(&output));
        harmless(&output)
    };
    let lines = |told: &str| told.lines().filter(|line| line.contains("deployment-directly")).count();
    let large = run(&["--repeat", "51"]);
    assert_eq!(lines(&large), 0, "{large}");
    assert!(large.contains("51 conform in "), "{large}");
    assert!(large.lines().count() < 12, "{large}");
    // A small run has a line and a row for its case, and a quiet one neither.
    assert_eq!(lines(&run(&[])), 2);
    let quiet = run(&["-q"]);
    assert_eq!(lines(&quiet), 0, "{quiet}");
    assert!(quiet.starts_with("1 conforms in "), "{quiet}");
}

#[test]
fn cases_are_chosen_by_area_and_by_pattern() {
    let of_area = harmless(&baton(&["run", "-q", "proposal"]));
    assert!(of_area.contains("3 conform in "), "{of_area}");
    let of_pattern = harmless(&baton(&["run", "-q", "proposal/deployment-*"]));
    assert!(of_pattern.contains("1 conforms in "), "{of_pattern}");
    for (arguments, words) in [
        (["run", "propsal"], "did you mean `proposal`?"),
        (["run", "--filter="], "a value is required for '--filter <PATTERN>'"),
    ] {
        let output = baton(&arguments);
        assert_eq!(output.status.code(), Some(2));
        let told = harmless(&output);
        assert!(told.contains(words), "{told}");
    }
}
