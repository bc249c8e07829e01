//! Every answer of the original in `fixtures/jsonpath/vectors.jsonl`.

use baton_jsonpath::Template;
use serde_json::Value;

const VECTORS: &str = include_str!("../../../fixtures/jsonpath/vectors.jsonl");

#[test]
fn all_vectors_agree() {
    let mut differences = Vec::new();
    let mut count = 0;
    for line in VECTORS.lines() {
        count += 1;
        let vector: Value = serde_json::from_str(line).expect("a vector is JSON");
        let path = vector["path"].as_str().expect("a vector has a path");
        let got = answer(path, &vector["data"]);
        let want = match (vector["out"].as_str(), vector["error"].as_str()) {
            (Some(out), None) => ("out", out.to_owned()),
            (None, Some("parse")) => ("parse", vector["detail"].as_str().expect("a detail").to_owned()),
            (None, Some("execute")) => ("execute", vector["detail"].as_str().expect("a detail").to_owned()),
            _ => panic!("a vector has an answer or an error: {line}"),
        };
        if got != want {
            differences.push(format!("{path}\n   want {want:?}\n    got {got:?}"));
        }
    }
    assert_eq!(count, 164);
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
