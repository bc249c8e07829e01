//! Values that must not get into any output, and values that must stay: `redaction/secrets.jsonl`,
//! `redaction/harmless.jsonl`.

#![expect(clippy::unwrap_used, reason = "what fails here fails a test")]

use baton_core::redact::{REDACTED, redact, text};
use serde_json::Value;

fn lines(file: &str) -> Vec<Value> {
    file.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns a value as it is recorded in an object, and its texts as in a log.
fn told(given: &Value) -> Vec<String> {
    let mut value = given.clone();
    redact(&mut value);
    let mut told = vec![value.to_string()];
    match given {
        Value::String(line) => told.push(text(line)),
        other => told.extend([
            text(&other.to_string()),
            text(&format!("applied {other} at last")),
            text(&serde_json::to_string_pretty(other).unwrap()),
        ]),
    }
    told
}

#[test]
fn no_secret_gets_through() {
    let secrets = lines(include_str!("redaction/secrets.jsonl"));
    let mut through = Vec::new();
    for secret in &secrets {
        for told in told(&secret["given"]) {
            let gone = secret["gone"].as_array().unwrap();
            if gone.iter().any(|it| told.contains(it.as_str().unwrap())) || !told.contains(REDACTED) {
                through.push(format!("{}\n  became {told}", secret["given"]));
            }
        }
    }
    assert!(secrets.len() >= 100, "{}", secrets.len());
    assert!(
        through.is_empty(),
        "{} got through:\n{}",
        through.len(),
        through.join("\n")
    );
}

#[test]
fn what_is_harmless_stays_whole() {
    let harmless = lines(include_str!("redaction/harmless.jsonl"));
    let mut changed = Vec::new();
    for given in &harmless {
        let mut value = given.clone();
        redact(&mut value);
        if value != *given {
            changed.push(format!("{given}\n  became {value}"));
        }
        let line = given.as_str().map_or_else(|| given.to_string(), ToOwned::to_owned);
        if text(&line) != line {
            changed.push(format!("{line}\n  became {}", text(&line)));
        }
    }
    assert!(harmless.len() >= 100, "{}", harmless.len());
    assert!(changed.is_empty(), "{} changed:\n{}", changed.len(), changed.join("\n"));
}
