//! Random input for everything that reads bytes from outside: the server must answer every input without a panic or an
//! unintended 5xx, and continue.
//!
//! Each target changes good input a little and sends it through the in-process endpoint, always in the same way. It
//! takes a fraction of a second; `FUZZ_SECONDS=300 cargo test -p baton-apiserver --test fuzz` runs for that long. With
//! a nightly toolchain, cargo-fuzz runs the same targets, guided by coverage (`fuzz/`).

#![expect(clippy::expect_used, reason = "tests fail by panicking")]

mod raw;
mod targets;
mod test_rng;

use std::sync::Arc;
use std::time::{Duration, Instant};

use baton_apiserver::{ApiServer, Options};
use jiff::Timestamp;
use raw::{JSON, Raw};
use rstest::rstest;
use serde_json::json;
use targets::{Attacked, Target};
use test_rng::Dice;

/// Default number of attempts per target.
const ROUNDS: u64 = 300;

/// Pieces of input with a special meaning for parsers.
const PIECES: [&str; 44] = [
    "",
    "\"",
    "'",
    "\\",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    ",",
    ":",
    ";",
    "=",
    "!=",
    "==",
    " in ",
    " notin ",
    "/",
    "..",
    "%00",
    "%ff",
    "~1",
    "~0",
    "-",
    "+",
    "0",
    "1e999",
    "-9223372036854775808",
    "18446744073709551616",
    "null",
    "true",
    "$patch",
    "$retainKeys",
    "$deleteFromPrimitiveList/x",
    "f:",
    "k:{}",
    "v:1",
    ".",
    "*a",
    "&a ",
    "\n",
    "\t",
    "\u{202e}é",
];

/// Changes an input in a few places.
fn changed(test_rng: &mut Dice, seed: &[u8]) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=test_rng.roll(4) {
        let at = test_rng.roll(bytes.len() + 1);
        let to = (at + test_rng.roll(12)).min(bytes.len());
        match test_rng.roll(5) {
            0 => drop(bytes.drain(at..to)),
            1 => drop(bytes.splice(at..at, test_rng.one(&PIECES).bytes())),
            2 => drop(bytes.splice(at..to, test_rng.one(&PIECES).bytes())),
            3 => {
                let again = bytes[at..to].to_vec();
                drop(bytes.splice(at..at, again));
            }
            _ => {
                let byte = u8::try_from(test_rng.roll(256)).expect("a byte");
                bytes.splice(at..at, [byte]);
            }
        }
    }
    bytes
}

#[rstest]
#[case::path(targets::PATH)]
#[case::query(targets::QUERY)]
#[case::labels(targets::LABELS)]
#[case::fields(targets::FIELDS)]
#[case::json_patch(targets::JSON_PATCH)]
#[case::merge_patch(targets::MERGE_PATCH)]
#[case::strategic_patch(targets::STRATEGIC_PATCH)]
#[case::apply(targets::APPLY)]
#[case::managed_fields(targets::MANAGED_FIELDS)]
#[case::yaml(targets::YAML)]
#[case::json(targets::JSON_BODY)]
#[case::protobuf(targets::PROTOBUF)]
#[case::cel(targets::CEL)]
#[case::schema(targets::SCHEMA)]
#[tokio::test(start_paused = true)]
async fn whatever_comes_is_answered(#[case] target: Target) {
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let until = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let (mut seed, mut accepted) = (0, 0);
    loop {
        let mut server = Attacked::new().await;
        for round in 0..ROUNDS {
            let mut test_rng = Dice(seed);
            seed += 1;
            let input = *test_rng.one(target.seeds);
            let input = changed(&mut test_rng, input);
            accepted += u64::from(server.try_input(&target, &input).await == Some(true));
            if round % 10 == 0 {
                server.still_answers().await;
            }
        }
        assert!(0 < accepted && accepted < seed, "{accepted} of {seed}");
        if until.is_none_or(|until| Instant::now() > until) {
            return;
        }
    }
}

#[tokio::test]
async fn a_token_that_was_changed_is_nobodys() {
    const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
    let server = ApiServer::new(Options::new("fuzz", Arc::new(|| Timestamp::UNIX_EPOCH)));
    let mut client = Raw::new(&server);
    let account = json!({"metadata": {"name": "a"}});
    client.send("POST", ACCOUNTS, JSON, &account).await;
    let (_, request) = client
        .send("POST", &format!("{ACCOUNTS}/a/token"), JSON, &json!({}))
        .await;
    let token = request["status"]["token"].as_str().expect("a token");
    let made_up = (0..ROUNDS).map(|seed| changed(&mut Dice(seed), token.as_bytes()));
    for input in std::iter::once(token.as_bytes().to_vec()).chain(made_up) {
        let input = String::from_utf8_lossy(&input);
        let review = json!({"spec": {"token": input}});
        let path = "/apis/authentication.k8s.io/v1/tokenreviews";
        let (code, review) = client.send("POST", path, JSON, &review).await;
        assert_eq!(code, 201, "{review}");
        assert_eq!(review["status"]["authenticated"] == true, input == token, "{input}");
    }
}
