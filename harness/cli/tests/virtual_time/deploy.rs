//! Checks that the command lines in `fixtures/deploy` and the workflows are valid.

use std::fs;

use baton::args::Cli;
use baton_core::yaml::plain;
use rstest::rstest;

use crate::common::root;

/// Returns the command lines of `baton` in a file: the text after `before`, up to the end of the line or of the folded
/// block.
fn command_lines(text: &str, before: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (start, _) in text.match_indices(before) {
        let rest = &text[start + before.len()..];
        let mut lines = rest.lines();
        let mut command = lines.next().unwrap_or_default().to_owned();
        // A folded block goes on with options.
        command.extend(lines.take_while(|line| line.trim_start().starts_with("--")));
        let command = command
            .replace("$((JOB_COMPLETION_INDEX + 1))/$SHARDS", "1/4")
            .replace("$((JOB_COMPLETION_INDEX * 25 + 1))", "26")
            .replace("$POD_IP", "10.0.0.7");
        let (own, _) = command.split_once(';').unwrap_or((&command, ""));
        found.push(own.to_owned());
    }
    found
}

#[rstest]
#[case("fixtures/deploy/jobs.yaml", "baton report merge", 1)]
#[case("fixtures/deploy/jobs.yaml", "exec baton run", 1)]
#[case("fixtures/deploy/members.yaml", "exec baton member", 1)]
#[case("fixtures/deploy/explore.yaml", "exec baton explore merge", 1)]
#[case("fixtures/deploy/explore.yaml", "exec baton explore '*'", 1)]
#[case(".github/workflows/explore.yaml", "-p baton -- explore", 3)]
#[case(".github/workflows/suite.yaml", "-p baton -- run", 1)]
#[case(".github/workflows/kind.yaml", "-p baton -- run", 1)]
#[case(".github/workflows/envtest.yaml", "-p baton -- run", 1)]
fn commands_are_understood(#[case] file: &str, #[case] before: &str, #[case] times: usize) {
    let text = fs::read_to_string(root().join(file)).unwrap();
    let text = text
        .replace("${{ matrix.shard }}", "1")
        .replace("${{ github.run_number }}", "7")
        .replace("$how $folder", "--out folder");
    let lines = command_lines(&text, before);
    assert_eq!(lines.len(), times, "{file}");
    for line in lines {
        let words = before
            .split(' ')
            .skip_while(|word| !matches!(*word, "run" | "report" | "member" | "explore"));
        let all = std::iter::once("baton").chain(words).chain(line.split_whitespace());
        if let Err(error) = Cli::read(all) {
            panic!("{file}: {line}: {error}");
        }
    }
}

#[rstest]
#[case("jobs.yaml", &["Namespace", "PersistentVolumeClaim", "Job", "Job"])]
#[case("members.yaml", &["Job"])]
#[case("explore.yaml", &["Job", "Job"])]
fn manifests_are_kubernetes_objects(#[case] file: &str, #[case] expected: &[&str]) {
    let text = fs::read_to_string(root().join("fixtures/deploy").join(file)).unwrap();
    let objects: Vec<_> = plain::documents(&text).map(Result::unwrap).collect();
    let kinds: Vec<_> = objects.iter().map(|object| object["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, expected);
    let image = format!("baton:{}", env!("CARGO_PKG_VERSION"));
    for job in objects.iter().filter(|object| object["kind"] == "Job") {
        assert_eq!(
            job["spec"]["template"]["spec"]["containers"][0]["image"], image,
            "{file}"
        );
    }
}
