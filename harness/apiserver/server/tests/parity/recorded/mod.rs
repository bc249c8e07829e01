//! The answers of a kube-apiserver v1.36 to objects with one field changed: replays `fixtures/answers`.
//!
//! Each file is about one kind and one verb. Its first line has an object and the answer to it; each line after it sets
//! one field of that object (`at`, `value`) and has the answer to that: its `code`, the `causes` of a refusal or its
//! `message` (their first lines), the `warnings`, and the changes in the returned object. Nothing is stored: all
//! requests are dry runs. `{260 letters}` is a placeholder for a text of that length.
//!
//! `BATON_ANSWERS_FROM=KUBECONFIG cargo test -p baton-apiserver --test parity recorded -- --test-threads 1` sends the
//! requests to the real server in that kubeconfig, and rewrites the files with its answers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use baton_apiserver::{ApiServer, Options};
use http::{Request, header};
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use regex::Regex;
use rstest::rstest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The variable with the kubeconfig of a real server.
const FROM: &str = "BATON_ANSWERS_FROM";
/// Answers that differ, one per line: the file's name, the field and the value. Remove an entry once its answer is
/// right.
const GAPS: &str = include_str!("gaps.txt");
/// Placeholder for a text that is too long for most fields.
const LONG: &str = "{260 letters}";
/// Values that differ from run to run: uids, and the addresses and ports that a service gets.
static DRAWN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b10\.96\.\d+\.\d+|\b3[0-2]\d{3}\b").expect("an expression")
});
/// Members that differ from run to run.
const OWN: [&str; 12] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "managedFields",
    "clusterIP",
    "clusterIPs",
    "nodePort",
    "healthCheckNodePort",
    "lastTransitionTime",
    "lastPhaseTransitionTime",
    "controller-uid",
    "batch.kubernetes.io/controller-uid",
];

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Subject {
    kind: String,
    collection: String,
    method: String,
    object: Value,
    answer: Whole,
}

/// The answer to the unchanged object.
#[derive(Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Whole {
    code: u16,
    object: Value,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Deserialize, Serialize)]
struct Change {
    at: String,
    value: Value,
    #[serde(flatten)]
    answer: Answer,
}

/// The differences of an answer from that to the unchanged object.
#[derive(Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(default)]
struct Answer {
    code: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    causes: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    changes: BTreeMap<String, Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[rstest]
#[tokio::test]
async fn answers(#[files("../../../fixtures/answers/*.jsonl")] path: PathBuf) {
    let text = std::fs::read_to_string(&path).expect("the answers can be read");
    let text = text.replace(LONG, &"a".repeat(260));
    let (subject, changes) = text.split_once('\n').expect("a first line");
    let subject: Subject = serde_json::from_str(subject).expect("the first line is well formed");
    let changes: Vec<Change> = changes
        .lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect();
    let (given, answers) = ask(&subject, &changes).await;
    if std::env::var_os(FROM).is_some() {
        return record(&path, subject, changes, given, answers);
    }
    assert_eq!(given, subject.answer, "the answer to the object as it is");
    let name = path.file_stem().expect("a name").to_string_lossy();
    let mut differences = Vec::new();
    let mut gaps: BTreeSet<&str> = GAPS
        .lines()
        .filter(|line| line.split(' ').next() == Some(&name))
        .collect();
    for (Change { at, value, answer }, given) in changes.iter().zip(answers) {
        let change = format!("{name} {at} {value}");
        match (given == *answer, gaps.remove(change.as_str())) {
            (true, false) | (false, true) => {}
            (true, true) => differences.push(format!("{change}: is right: take it off the list of gaps")),
            (false, false) => differences.push(format!("{change}\n  is     {given:?}\n  should {answer:?}")),
        }
    }
    differences.extend(
        gaps.iter()
            .map(|gap| format!("{gap}: no request asks for it: take it off the list of gaps")),
    );
    let first: Vec<&str> = differences.iter().map(String::as_str).take(10).collect();
    assert!(first.is_empty(), "{} differ:\n{}", differences.len(), first.join("\n"));
}

fn record(path: &Path, subject: Subject, changes: Vec<Change>, answer: Whole, answers: Vec<Answer>) {
    let mut lines = vec![serde_json::to_string(&Subject { answer, ..subject }).expect("JSON")];
    for (change, answer) in changes.into_iter().zip(answers) {
        lines.push(serde_json::to_string(&Change { answer, ..change }).expect("JSON"));
    }
    let text = lines.join("\n") + "\n";
    std::fs::write(path, text.replace(&"a".repeat(260), LONG)).expect("the answers can be written");
}

/// Returns all answers of a server.
async fn ask(subject: &Subject, changes: &[Change]) -> (Whole, Vec<Answer>) {
    let client = client().await;
    let mut path = subject.collection.clone();
    if subject.method == "PUT" {
        let made = send(&client, "POST", &path, &subject.object).await;
        assert_eq!(made.code, 201, "{}", made.body);
        path = format!("{path}/{}", made.body["metadata"]["name"].as_str().expect("a name"));
    }
    let dry = format!("{path}?dryRun=All");
    let version = match subject.method.as_str() {
        "PUT" => settled(&client, &path, &subject.kind)
            .await
            .expect("established in the end"),
        _ => Value::Null,
    };
    let object = at_version(subject.object.clone(), &version);
    let whole = send(&client, &subject.method, &dry, &object).await;
    let whole = Whole {
        code: whole.code,
        object: bare(whole.body),
        warnings: whole.warnings,
    };
    let mut answers = Vec::new();
    for Change { at, value, .. } in changes {
        let mut object = subject.object.clone();
        set(&mut object, at, value);
        let given = send(&client, &subject.method, &dry, &at_version(object, &version)).await;
        answers.push(given.compared(&whole.object));
    }
    if !version.is_null() {
        let path = format!("{path}?propagationPolicy=Background");
        let gone = send(&client, "DELETE", &path, &Value::Null).await;
        assert_eq!(gone.code, 200, "{}", gone.body);
    }
    (whole, answers)
}

/// Maximum number of reads until an object is settled.
const MOST_TRIES: usize = 10_000;

/// Returns the version of an object once it is settled: new definitions get their conditions first. `None` if they do
/// not get them.
async fn settled(client: &Client, path: &str, kind: &str) -> Option<Value> {
    for _ in 0..MOST_TRIES {
        let mut found = send(client, "GET", path, &Value::Null).await.body;
        let conditions = found["status"]["conditions"].as_array();
        let is_established = |condition: &Value| condition["type"] == "Established" && condition["status"] == "True";
        if kind != "CustomResourceDefinition" || conditions.is_some_and(|all| all.iter().any(is_established)) {
            return Some(found["metadata"]["resourceVersion"].take());
        }
    }
    None
}

/// Returns the object as an update of that version, unless it names a version itself.
fn at_version(mut object: Value, version: &Value) -> Value {
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    if let Some(metadata) = metadata.filter(|_| !version.is_null()) {
        metadata.entry("resourceVersion").or_insert(version.clone());
    }
    object
}

struct Given {
    code: u16,
    warnings: Vec<String>,
    body: Value,
}

/// Returns a client of a new server, or of the real one that answers are recorded from.
async fn client() -> Client {
    let Some(kubeconfig) = std::env::var_os(FROM) else {
        let options = Options::new("test", Arc::new(|| Timestamp::UNIX_EPOCH));
        return Client::new(ApiServer::new(options).service("answers"), "default");
    };
    let kubeconfig = Kubeconfig::read_from(kubeconfig).expect("a kubeconfig");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Client::try_from(config.expect("a configuration")).expect("a client")
}

async fn send(client: &Client, method: &str, path: &str, body: &Value) -> Given {
    let request = Request::builder().method(method).uri(path);
    let request = request.header(header::CONTENT_TYPE, "application/json");
    let body = match body {
        Value::Null => Body::empty(),
        body => Body::from(body.to_string().into_bytes()),
    };
    let answer = client.send(request.body(body).expect("a request")).await;
    let (head, body) = answer.expect("an answer").into_parts();
    let warnings = head.headers.get_all(header::WARNING).iter();
    let body = body.collect().await.expect("a body").to_bytes();
    Given {
        code: head.status.as_u16(),
        warnings: warnings.map(|text| text.to_str().expect("a text").to_owned()).collect(),
        body: serde_json::from_slice(&body).expect("JSON"),
    }
}

impl Given {
    /// Returns the differences from the answer to the unchanged object.
    fn compared(self, whole: &Value) -> Answer {
        let first_line = |text: &str| {
            let line = text.lines().next().unwrap_or_default();
            DRAWN.replace_all(line, "{drawn}").into_owned()
        };
        let mut answer = Answer {
            code: self.code,
            warnings: self.warnings,
            ..Answer::default()
        };
        let causes = self.body["details"]["causes"].as_array().filter(|_| self.code == 422);
        match (self.code, causes) {
            (..300, _) => compare(whole, &bare(self.body), String::new(), &mut answer.changes),
            (_, Some(causes)) => {
                let text = |cause: &Value, key| cause[key].as_str().unwrap_or_default().to_owned();
                let cause = |cause| first_line(&format!("{}: {}", text(cause, "field"), text(cause, "message")));
                answer.causes = Some(causes.iter().map(cause).collect());
            }
            (_, None) => answer.message = self.body["message"].as_str().map(first_line),
        }
        answer
    }
}

/// Removes members that differ from run to run.
fn bare(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(key, _)| !OWN.contains(&key.as_str()));
            Value::Object(kept.map(|(key, value)| (key, bare(value))).collect())
        }
        Value::Array(items) => items.into_iter().map(bare).collect(),
        other => other,
    }
}

/// Collects the differences of the second value, by JSON pointers; `null` for removed values.
fn compare(one: &Value, other: &Value, at: String, changes: &mut BTreeMap<String, Value>) {
    match (one, other) {
        (Value::Object(before), Value::Object(after)) => {
            let keys = before
                .keys()
                .chain(after.keys().filter(|key| !before.contains_key(*key)));
            for key in keys {
                let at = format!("{at}/{}", key.replace('/', "~1"));
                match (before.get(key), after.get(key)) {
                    (Some(before), Some(after)) => compare(before, after, at, changes),
                    (_, after) => {
                        changes.insert(at, after.cloned().unwrap_or_default());
                    }
                }
            }
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            for (index, (before, after)) in before.iter().zip(after).enumerate() {
                compare(before, after, format!("{at}/{index}"), changes);
            }
        }
        (before, after) if before != after => {
            changes.insert(at, after.clone());
        }
        _ => {}
    }
}

/// Sets a field, and creates the objects and lists around it; `0` is the first item of a list.
fn set(object: &mut Value, at: &str, value: &Value) {
    let mut place = object;
    for part in at.split('.') {
        place = if part == "0" {
            if !place.is_array() {
                *place = json!([]);
            }
            let items = place.as_array_mut().expect("a list");
            if items.is_empty() {
                items.push(Value::Null);
            }
            &mut items[0]
        } else {
            if !place.is_object() {
                *place = Value::Object(Map::new());
            }
            &mut place[part]
        };
    }
    *place = value.clone();
}
