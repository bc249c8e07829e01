//! Replaying a transcript: [`run`] starts a server and takes the steps; `client` speaks HTTP, `normalise` replaces
//! values that differ from run to run, `compare` finds differences, `checks` are the relations between answers,
//! `webhooks` serves the webhooks of some scenarios.

mod checks;
mod client;
mod compare;
mod normalise;
mod steps;
mod webhooks;

use std::collections::BTreeMap;
use std::sync::Arc;

use baton_apiserver::{ApiServer, Options};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use client::Client;
use steps::Player;
use webhooks::Webhooks;

/// A transcript.
#[derive(Debug, Deserialize)]
pub struct Scenario {
    /// Its name, which is also that of the file.
    pub name: String,
    /// The features that the server must have, or lack, for the scenario.
    #[serde(default)]
    pub needs: Vec<String>,
    #[serde(default = "yes")]
    namespace: bool,
    #[serde(default, rename = "managedFields")]
    managed_fields: bool,
    #[serde(default, rename = "plainResourceVersions")]
    plain_resource_versions: bool,
    #[serde(default)]
    webhooks: BTreeMap<String, Value>,
    steps: Vec<Step>,
}

fn yes() -> bool {
    true
}

/// A request, a check of the events of a watch, or a pause.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "the format of the recordings")]
struct Step {
    id: String,
    #[serde(default)]
    method: String,
    #[serde(default)]
    path: String,
    #[serde(default)]
    query: BTreeMap<String, Value>,
    #[serde(default)]
    headers: BTreeMap<String, Option<String>>,
    /// The members have the order of the recording, which some answers show.
    body: Option<serde_yaml::Value>,
    body_text: Option<String>,
    body_from: Option<BodyFrom>,
    token: Option<String>,
    until: Option<f64>,
    #[serde(default)]
    watch: bool,
    collect: Option<String>,
    #[serde(default)]
    events: usize,
    quiet: Option<f64>,
    timeout: Option<f64>,
    #[serde(default)]
    end: bool,
    #[serde(default)]
    keep_open: bool,
    bookmarks: Option<String>,
    #[serde(default)]
    unordered: bool,
    /// For servers that read configurations later; this one reads them at once.
    sleep: Option<f64>,
    webhook_calls: Option<String>,
    #[serde(default)]
    expect: Expect,
    #[serde(default)]
    ignore: Vec<String>,
    #[serde(default)]
    select: Vec<Select>,
    #[serde(default, rename = "assert")]
    asserts: Vec<Vec<Value>>,
}

/// The answer of an earlier step, changed.
#[derive(Debug, Deserialize)]
struct BodyFrom {
    step: String,
    #[serde(default)]
    set: BTreeMap<String, Value>,
    #[serde(default)]
    remove: Vec<String>,
}

/// The recorded answer.
#[derive(Debug, Default, Deserialize)]
struct Expect {
    status: Option<u16>,
    #[serde(default)]
    headers: BTreeMap<String, Value>,
    compare: Option<String>,
    body: Option<Value>,
}

/// The part of a large answer that is compared.
#[derive(Debug, Deserialize)]
struct Select {
    path: String,
    #[serde(default)]
    key: String,
    #[serde(rename = "in")]
    within: Vec<String>,
    #[serde(default)]
    sort: bool,
}

impl Scenario {
    /// Returns `true` if the scenario needs a server without controllers.
    fn without_controllers(&self) -> bool {
        let mut needs = self.needs.iter();
        needs.any(|need| matches!(need.as_str(), "no-gc" | "no-namespace-controller"))
    }
}

/// Replays a scenario; the error is the first difference.
pub async fn run(scenario: &Scenario) -> Result<(), String> {
    let mut options = Options::new("transcripts", Arc::new(Timestamp::now));
    options.collect_garbage = !scenario.without_controllers();
    let server = ApiServer::new(options);
    let serving = server.serve().await.expect("the server starts");
    let client = Client::new(serving.addr(), serving.token(), serving.ca());
    let webhooks = Webhooks::serve(steps::filled_rules(scenario)).await;
    let mut player = Player::new(scenario, client, webhooks, server.commits());
    if scenario.namespace {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": player.namespace()}});
        player.create_namespace(&namespace).await?;
    }
    let mut outcome = Ok(());
    for step in &scenario.steps {
        outcome = player
            .step(step)
            .await
            .map_err(|difference| format!("step {}: {difference}", step.id));
        if outcome.is_err() {
            break;
        }
    }
    serving.stop().await;
    outcome
}
