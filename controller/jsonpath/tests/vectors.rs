//! Compares with every answer of the original in `fixtures/jsonpath/`.
//!
//! `vectors.jsonl` was given. `measured.jsonl` holds the answers of client-go v0.34.1 to 548 generated paths, except
//! those that depend on the order of a Go map, and the answers of v0.36.2, with maps in the order of their keys, to 181
//! more: one for each kind of answer among 270,000.

use baton_jsonpath::Template;
use serde_json::Value;

const VECTORS: &str = include_str!("../../../fixtures/jsonpath/vectors.jsonl");

const MEASURED: &str = include_str!("../../../fixtures/jsonpath/measured.jsonl");

#[test]
fn all_vectors_agree() {
    let vectors: Vec<Value> = VECTORS.lines().map(parsed).collect();
    assert_eq!(vectors.len(), 164);
    compare(vectors.iter().map(|vector| (vector, &vector["data"])));
}

#[test]
fn all_measured_answers_agree() {
    let (values, vectors): (Vec<_>, Vec<_>) = MEASURED
        .lines()
        .map(parsed)
        .partition(|line| line.get("data").is_some());
    assert_eq!((values.len(), vectors.len()), (6, 729));
    let value = |on: &Value| {
        values
            .iter()
            .find(|value| value["id"] == *on)
            .map(|value| &value["data"])
    };
    compare(
        vectors
            .iter()
            .filter_map(|vector| Some((vector, value(&vector["on"])?))),
    );
}

#[expect(clippy::expect_used, reason = "a line that is not JSON is a broken fixture")]
fn parsed(line: &str) -> Value {
    serde_json::from_str(line).expect("a line is JSON")
}

#[track_caller]
fn compare<'v>(vectors: impl Iterator<Item = (&'v Value, &'v Value)>) {
    let mut differences = Vec::new();
    let mut count = 0;
    for (vector, data) in vectors {
        count += 1;
        let path = vector["path"].as_str().unwrap_or_default();
        let got = answer(path, data);
        let text = |name: &str| vector[name].as_str().map(ToOwned::to_owned);
        let want = match (text("out"), text("error").as_deref(), text("detail")) {
            (Some(out), None, None) => Some(("out", out)),
            (None, Some("parse"), Some(detail)) => Some(("parse", detail)),
            (None, Some("execute"), Some(detail)) => Some(("execute", detail)),
            _ => None,
        };
        if Some(&got) != want.as_ref() {
            differences.push(format!("{path}\n   want {want:?}\n    got {got:?}"));
        }
    }
    assert!(count > 0);
    assert!(
        differences.is_empty(),
        "{} of {count} differ:\n{}",
        differences.len(),
        differences.join("\n")
    );
}

fn answer(path: &str, data: &Value) -> (&'static str, String) {
    match Template::parse(path) {
        Err(error) => ("parse", error.kind.to_string()),
        Ok(template) => match template.evaluate(data) {
            Ok(out) => ("out", out),
            Err(error) => ("execute", error.kind.to_string()),
        },
    }
}
