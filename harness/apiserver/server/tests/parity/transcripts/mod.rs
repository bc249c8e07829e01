//! Every transcript of `fixtures/transcripts`, replayed over HTTPS against a new server each.
//!
//! A transcript is a sequence of requests with the answers that a real kube-apiserver v1.36 gave. Values that differ
//! from run to run (uids, resource versions, times, generated names) are replaced by placeholders on both sides; each
//! uid or resource version of the recording must correspond to one value of the replay.

mod replay;

use std::path::PathBuf;

use rstest::rstest;

/// Scenarios that do not pass yet. Remove an entry once it passes.
const GAPS: &str = include_str!("gaps.txt");

// On one thread, a request sees all effects of a commit.
#[rstest]
#[tokio::test]
async fn transcript(#[files("../../../fixtures/transcripts/*.json")] path: PathBuf) {
    let text = std::fs::read_to_string(&path).expect("the transcript can be read");
    let scenario: replay::Scenario = serde_json::from_str(&text).expect("the transcript is well formed");
    let gap = GAPS.lines().any(|name| name == scenario.name);
    match (replay::run(&scenario).await, gap) {
        (Ok(()), false) => {}
        (Ok(()), true) => panic!("{} passes: take it off the list of gaps", scenario.name),
        (Err(difference), true) => println!("known gap: {}: {difference}", scenario.name),
        (Err(difference), false) => panic!("{}: {difference}", scenario.name),
    }
}
