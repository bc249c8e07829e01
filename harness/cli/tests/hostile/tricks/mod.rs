//! Tricks of hostile targets.

mod records;
mod shadows;

use std::{
    collections::BTreeMap, env, fs, io::Write as _, net::TcpStream, os::unix::fs::symlink, path::Path,
    process::Command, sync::Arc, time::Duration,
};

use baton_controller::{Controller, Options, PushMembers, Running};
use http::{HeaderValue, Request, header::USER_AGENT};
use jiff::Timestamp;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};

const DEPLOY: &str = "/apis/apps/v1/namespaces/default/deployments/deploy";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const BINDING: &str = "/apis/work.karmada.io/v1alpha2/namespaces/default/resourcebindings/deploy-deployment";
const POLICY: &str = "/apis/policy.karmada.io/v1alpha1/namespaces/default/propagationpolicies/deploy-propagation";
const CLUSTERS: &str = "/apis/cluster.karmada.io/v1alpha1/clusters";

/// Tricks of sound targets with copies that are hidden.
const SHADOWS: [&str; 6] = [
    "under-another-name",
    "as-a-bare-pod",
    "in-another-namespace",
    "as-another-kind",
    "labels-in-advance",
    "warm-standby",
];

/// Tricks with records that are rewritten.
const RECORDS: [&str; 9] = [
    "task-in-hindsight",
    "binding-made-anew",
    "deletes-events",
    "tampers-with-marks",
    "edits-the-policy",
    "edits-the-workload",
    "template-as-the-user",
    "there-and-back",
    "refuses-by-webhook",
];

/// Pause between two looks: the tricks do not watch objects.
const A_MOMENT: Duration = Duration::from_millis(5);

/// Clients of the clusters, with one user agent.
struct Clusters {
    control: Client,
    members: BTreeMap<String, Client>,
    kubeconfigs: Vec<String>,
}

impl Clusters {
    async fn under(agent: &'static str) -> Self {
        let control = env::var("BATON_CONTROL_KUBECONFIG").unwrap();
        let members = env::var("BATON_MEMBER_KUBECONFIGS").unwrap();
        let mut kubeconfigs = vec![control.clone()];
        let mut clients = BTreeMap::new();
        for (number, file) in (1..).zip(members.split(':')) {
            kubeconfigs.push(file.to_owned());
            clients.insert(format!("member{number}"), client(file, agent).await);
        }
        Self {
            control: client(&control, agent).await,
            members: clients,
            kubeconfigs,
        }
    }

    /// Returns the members that are tainted.
    async fn failed(&self) -> Vec<String> {
        let all = ask(&self.control, "GET", CLUSTERS, None).await.unwrap_or_default();
        let items = all["items"].as_array().cloned().unwrap_or_default();
        let failed = items
            .iter()
            .filter(|it| it["spec"]["taints"].as_array().is_some_and(|it| !it.is_empty()));
        failed
            .map(|it| it["metadata"]["name"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Waits until a member has failed, and returns the others.
    async fn others(&self) -> Vec<&Client> {
        loop {
            let failed = self.failed().await;
            if !failed.is_empty() {
                let others = self.members.iter().filter(|(name, _)| !failed.contains(name));
                return others.map(|(_, client)| client).collect();
            }
            tokio::time::sleep(A_MOMENT).await;
        }
    }

    /// Waits for the first copy, and returns it with its cluster.
    async fn copy_on_any(&self) -> (&Client, Value) {
        loop {
            for client in self.members.values() {
                if let Some(copy) = ask(client, "GET", DEPLOY, None).await {
                    return (client, copy);
                }
            }
            tokio::time::sleep(A_MOMENT).await;
        }
    }

    /// Waits for an eviction task, and returns the cluster that it empties.
    async fn task(&self) -> String {
        loop {
            let binding = ask(&self.control, "GET", BINDING, None).await.unwrap_or_default();
            if let Some(from) = binding["spec"]["gracefulEvictionTasks"][0]["fromCluster"].as_str() {
                return from.to_owned();
            }
            tokio::time::sleep(A_MOMENT).await;
        }
    }

    /// Waits for the new copy, and returns it with its cluster.
    async fn new_copy(&self) -> (&Client, Value) {
        loop {
            for client in self.others().await {
                if let Some(copy) = ask(client, "GET", DEPLOY, None).await {
                    return (client, copy);
                }
            }
            tokio::time::sleep(A_MOMENT).await;
        }
    }
}

async fn client(file: &str, agent: &'static str) -> Client {
    let kubeconfig = Kubeconfig::read_from(file).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let mut config = config.unwrap();
    config.headers.push((USER_AGENT, HeaderValue::from_static(agent)));
    Client::try_from(config).unwrap()
}

/// Sends a request; returns the answer if it is successful.
async fn ask(client: &Client, method: &str, path: &str, body: Option<Value>) -> Option<Value> {
    let kind = if method == "PATCH" {
        "application/merge-patch+json"
    } else {
        "application/json"
    };
    let request = Request::builder().method(method).uri(path).header("Content-Type", kind);
    let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
    client.request(request.body(body).unwrap()).await.ok()
}

fn labels() -> Value {
    json!({"failover.karmada.io/replicas": "2", "failover.karmada.io/readyReplicas": "2"})
}

fn labelled() -> Value {
    json!({"metadata": {"labels": labels()}})
}

/// Returns a Deployment as the case expects it, built only from the template.
fn copy_with_labels(template: &Value) -> Value {
    let mut all = labels();
    all["app"] = json!("deploy");
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "deploy", "labels": all}, "spec": template["spec"]})
}

/// Starts the reference controller; one that is not sound preserves no state.
async fn controller(sound: bool) -> Running {
    let control = Clusters::under("baton-controller").await.control;
    let mut options = Options::default();
    options.set_gate("Failover", true).unwrap();
    options.set_gate("StatefulFailoverInjection", sound).unwrap();
    let members = PushMembers::new(control.clone());
    Controller::start(control, members, Arc::new(Timestamp::now), options)
}

/// Plays a trick until the process is killed.
pub fn play(trick: &str, folder: &Path) {
    match trick {
        "ends-at-once" => std::process::exit(0),
        "prints-a-verdict" => {
            println!("\u{1b}[2J\u{1b}[H\u{1b}]52;c;cm0gLXJm\u{7}\n428 conform in 12.00 s");
            std::process::exit(0);
        }
        "does-not-end" => deaf(folder),
        "puts-a-timeline-in-place" => timelines(folder),
        "rewrites-the-suite" => {
            fs::write(folder.join("cases/proposal/deployment-directly.yaml"), "[]").unwrap();
            fs::write(folder.join("cases/requirements.yaml"), "[]").unwrap();
        }
        "flood-of-lines" => drop(std::thread::spawn(|| {
            let mut stdout = std::io::stdout().lock();
            for _ in 0..400_000 {
                writeln!(stdout, " deployment-directly  conforms  REC-01 REC-02 0.12 s\r\u{1b}[A").unwrap();
            }
        })),
        _ => {}
    }
    let sound = ["sound", "leaves-a-work", "there-and-back"];
    let sound = sound.iter().any(|name| trick.starts_with(name)) || SHADOWS.contains(&trick);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let _running = match trick {
            "ready-alone" => {
                ready().await;
                None
            }
            "bare-copy-first" => Some(bare_copy_first().await),
            _ => Some(controller(sound).await),
        };
        hide(trick).await;
        std::future::pending::<()>().await;
    });
}

async fn hide(trick: &str) {
    match trick {
        "labels-later" => later("minimal", Some(labelled())).await,
        "labels-later-as-the-harness" => later("baton", Some(labelled())).await,
        "labels-dated-back" => dated_back().await,
        "labels-in-a-race" => race().await,
        "created-again" => created_again().await,
        "labels-on-the-template" => on_the_template().await,
        "second-copy" => second_copy().await,
        "says-so-itself" => says_so_itself().await,
        "forged-events" => forged_events().await,
        "flood-of-events" => flood_of_events().await,
        "cluster-objects" => cluster_objects().await,
        "deletes-what-the-harness-made" => deletes().await,
        "overwrites-kubeconfigs" => kubeconfigs().await,
        "holds-connections" => holds_connections().await,
        _ if SHADOWS.contains(&trick) => shadows::hide(trick).await,
        _ if RECORDS.contains(&trick) => records::hide(trick).await,
        "leaves-a-work-as-the-harness" => leaves_a_work("baton").await,
        "leaves-a-work-as-the-collector" => leaves_a_work("generic-garbage-collector").await,
        _ => {}
    }
}

/// Says that all members are ready.
async fn ready() {
    let clusters = Clusters::under("minimal").await;
    for name in clusters.members.keys() {
        let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let ready = json!({"type": "Ready", "status": "True", "reason": "ClusterReady", "message": "", "lastTransitionTime": now});
        let status = json!({"status": {"conditions": [ready]}});
        ask(
            &clusters.control,
            "PATCH",
            &format!("{CLUSTERS}/{name}/status"),
            Some(status),
        )
        .await
        .unwrap();
    }
}

async fn later(agent: &'static str, patch: Option<Value>) {
    let clusters = Clusters::under(agent).await;
    let (client, _) = clusters.new_copy().await;
    ask(client, "PATCH", DEPLOY, patch).await.unwrap();
}

async fn dated_back() {
    let long_ago = "2020-01-01T00:00:00Z";
    let fields = json!({"f:metadata": {"f:labels": {"f:failover.karmada.io/replicas": {}}}});
    let owner = json!({"manager": "baton-controller", "operation": "Update", "apiVersion": "apps/v1", "time": long_ago, "fieldsType": "FieldsV1", "fieldsV1": fields});
    let metadata =
        json!({"labels": labels(), "creationTimestamp": long_ago, "generation": 1, "managedFields": [owner]});
    later("baton-controller", Some(json!({"metadata": metadata}))).await;
}

async fn race() {
    let clusters = Clusters::under("minimal").await;
    let others = clusters.others().await;
    loop {
        for client in &others {
            // Most of the time there is no copy yet.
            ask(client, "PATCH", DEPLOY, Some(labelled())).await;
        }
    }
}

async fn created_again() {
    let clusters = Clusters::under("minimal").await;
    let (client, copy) = clusters.new_copy().await;
    ask(client, "DELETE", DEPLOY, None).await.unwrap();
    // The controller may be first.
    ask(client, "POST", DEPLOYMENTS, Some(copy_with_labels(&copy))).await;
    ask(client, "PATCH", DEPLOY, Some(labelled())).await;
}

/// Runs the workload on the new cluster without its state, before the controller does it correctly.
async fn bare_copy_first() -> Running {
    let clusters = Clusters::under("baton-controller").await;
    let running = controller(true).await;
    let (origin, template) = clusters.copy_on_any().await;
    let hold = |finalizers: Value| Some(json!({"metadata": {"finalizers": finalizers}}));
    ask(origin, "PATCH", DEPLOY, hold(json!(["hostile.dev/wait"])))
        .await
        .unwrap();
    let others = clusters.others().await;
    // The task is written when the old copy is to go; without the controller nothing follows from that.
    while ask(origin, "GET", DEPLOY, None).await.unwrap()["metadata"]["deletionTimestamp"].is_null() {
        tokio::time::sleep(A_MOMENT).await;
    }
    running.stop().await;
    ask(origin, "PATCH", DEPLOY, hold(json!([]))).await.unwrap();
    let mut bare = copy_with_labels(&template);
    bare["metadata"]["labels"] = json!({"app": "deploy"});
    ask(others[0], "POST", DEPLOYMENTS, Some(bare)).await.unwrap();
    ask(others[0], "DELETE", DEPLOY, None).await.unwrap();
    controller(true).await
}

async fn on_the_template() {
    let clusters = Clusters::under("minimal").await;
    clusters.others().await;
    ask(&clusters.control, "PATCH", DEPLOY, Some(labelled())).await.unwrap();
}

async fn second_copy() {
    let clusters = Clusters::under("minimal").await;
    loop {
        for client in clusters.members.values() {
            let Some(copy) = ask(client, "GET", DEPLOY, None).await else {
                continue;
            };
            for other in clusters.members.values() {
                ask(other, "POST", DEPLOYMENTS, Some(copy_with_labels(&copy))).await;
            }
            return;
        }
        tokio::time::sleep(A_MOMENT).await;
    }
}

async fn says_so_itself() {
    let clusters = Clusters::under("minimal").await;
    let (client, _) = clusters.new_copy().await;
    let said = json!({"baton.dev/verdict": "conforms", "baton.dev/shown": "REC-01"});
    let task = json!({"fromCluster": "member1", "purgeMode": "Directly", "reason": "TaintUntolerated", "producer": "TaintManager", "replicas": 2, "clustersBeforeFailover": ["member1"], "preservedLabelState": labels()});
    let binding = json!({"metadata": {"annotations": said}, "spec": {"gracefulEvictionTasks": [task]}});
    ask(&clusters.control, "PATCH", BINDING, Some(binding)).await;
    ask(
        client,
        "PATCH",
        DEPLOY,
        Some(json!({"metadata": {"annotations": said}})),
    )
    .await;
}

async fn forged_events() {
    let clusters = Clusters::under("baton").await;
    let entry = json!({"at": 0.0, "seq": 1, "event": {"closed": {}}, "object": {"metadata": {"labels": labels()}}});
    for client in clusters.members.values().chain([&clusters.control]) {
        for name in ["baton-fence", "baton-observer", "baton-timeline"] {
            let map = json!({"metadata": {"name": name, "labels": {"baton.dev/owner": "1"}}, "data": {"entry": entry.to_string()}});
            ask(client, "POST", "/api/v1/namespaces/default/configmaps", Some(map))
                .await
                .unwrap();
            let about =
                json!({"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "deploy"});
            let event = json!({"metadata": {"name": name}, "involvedObject": about, "reason": "Conforms", "message": entry.to_string(), "source": {"component": "baton"}, "type": "Normal"});
            ask(client, "POST", "/api/v1/namespaces/default/events", Some(event))
                .await
                .unwrap();
        }
    }
}

async fn flood_of_events() {
    let clusters = Clusters::under("minimal").await;
    for number in 0..2_000 {
        let about = json!({"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "deploy"});
        let event = json!({"metadata": {"name": format!("x{number}")}, "involvedObject": about, "reason": "Flood", "message": "x".repeat(900), "type": "Normal"});
        ask(
            &clusters.control,
            "POST",
            "/api/v1/namespaces/default/events",
            Some(event),
        )
        .await;
    }
}

async fn cluster_objects() {
    let clusters = Clusters::under("baton").await;
    clusters.others().await;
    for name in clusters.failed().await {
        let path = format!("{CLUSTERS}/{name}");
        let date = "2020-01-01T00:00:00Z";
        let own = json!([{"key": "baton.dev/failed", "effect": "NoExecute", "value": "no", "timeAdded": date}]);
        ask(&clusters.control, "PATCH", &path, Some(json!({"spec": {"taints": []}}))).await;
        ask(
            &clusters.control,
            "PATCH",
            &path,
            Some(json!({"spec": {"taints": own}})),
        )
        .await;
    }
}

async fn deletes() {
    let clusters = Clusters::under("baton").await;
    clusters.new_copy().await;
    for path in [POLICY, DEPLOY] {
        ask(&clusters.control, "DELETE", path, None).await;
    }
    for name in clusters.members.keys() {
        ask(&clusters.control, "DELETE", &format!("{CLUSTERS}/{name}"), None).await;
    }
}

async fn kubeconfigs() {
    let clusters = Clusters::under("minimal").await;
    clusters.others().await;
    for file in &clusters.kubeconfigs {
        fs::remove_file(file).unwrap();
        symlink("/dev/null", file).unwrap();
    }
}

async fn holds_connections() {
    let clusters = Clusters::under("minimal").await;
    let mut held = Vec::new();
    for file in &clusters.kubeconfigs {
        let text = fs::read_to_string(file).unwrap();
        let (_, behind) = text.split_once("https://").unwrap();
        let address = behind
            .split(|c: char| c.is_whitespace() || c == '"' || c == '\'')
            .next()
            .unwrap();
        held.extend((0..100).filter_map(|_| TcpStream::connect(address).ok()));
    }
    std::future::pending::<()>().await;
    drop(held);
}

async fn leaves_a_work(agent: &'static str) {
    let clusters = Clusters::under(agent).await;
    let work = json!({"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work", "metadata": {"name": "left"}, "spec": {"workload": {"manifests": []}}});
    let path = "/apis/work.karmada.io/v1alpha1/namespaces/default/works";
    ask(&clusters.control, "POST", path, Some(work)).await.unwrap();
}

/// Becomes a shell that does not hear SIGTERM, and has started a child and the controller.
fn deaf(folder: &Path) {
    if env::var("HOSTILE_AGAIN").is_ok() {
        return;
    }
    let itself = env::current_exe().unwrap();
    let script = r#"trap '' TERM; sleep 600 & echo $! > "$HOSTILE_FOLDER/pids"; echo $$ >> "$HOSTILE_FOLDER/pids"
        HOSTILE_AGAIN=1 "$0" --exact the_target_itself --nocapture; sleep 600"#;
    let mut shell = Command::new("sh");
    let status = shell
        .args(["-c", script])
        .arg(itself)
        .env("HOSTILE_FOLDER", folder)
        .status();
    std::process::exit(status.unwrap().code().unwrap_or(1));
}

/// A timeline of a run that went well, and a link out of the folder, under the names that the harness will want.
fn timelines(folder: &Path) {
    let timelines = folder.join("timelines");
    fs::write(folder.join("elsewhere"), "mine").unwrap();
    fs::write(timelines.join("deployment-directly.jsonl"), "{\"conforms\": true}\n").unwrap();
    symlink(folder.join("elsewhere"), timelines.join("deployment-directly.2.jsonl")).unwrap();
}
