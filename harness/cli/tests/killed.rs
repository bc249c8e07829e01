//! Killed runs on existing clusters: the next run removes the remains, and completes.
//!
//! A separate binary: other tests would change the duration of a run, from which the moments of kills are computed.

#![expect(clippy::unwrap_used, reason = "what fails here fails a test")]

use std::{
    collections::BTreeSet,
    env,
    fs::{self, File},
    hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher},
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use baton_cluster::fleet::{
    Fleet as _,
    embedded::{Embedded, Options, Time},
};
use baton_core::yaml::plain;
use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::Namespace, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{Api, ResourceExt, api::ListParams};
use serde_json::{Value, json};
use tokio::sync::Mutex;

/// Runs one test at a time: the moments of kills are fractions of the time that a run takes alone.
static ALONE: Mutex<()> = Mutex::const_new(());

/// Starts clusters that are known only by a kubeconfig with a context for each: c0, c1, c2.
async fn clusters(file: &Path) -> Vec<Embedded> {
    let mut all = Vec::new();
    let mut merged = json!({"apiVersion": "v1", "kind": "Config", "clusters": [], "users": [], "contexts": []});
    for number in 0..3 {
        let options = Options {
            doors: true,
            definitions: Some(Vec::new().into()),
            ..Options::new(0, Time::Real(Timestamp::now()))
        };
        let cluster = Embedded::boot(options).await.unwrap();
        let text = fs::read_to_string(cluster.control().kubeconfig().unwrap()).unwrap();
        let config: Value = plain::read(&text).unwrap();
        let name = format!("c{number}");
        for part in ["clusters", "users"] {
            let mut entry = config[part][0].clone();
            entry["name"] = json!(name);
            merged[part].as_array_mut().unwrap().push(entry);
        }
        let context = json!({"name": name, "context": {"cluster": name, "user": name}});
        merged["contexts"].as_array_mut().unwrap().push(context);
        all.push(cluster);
    }
    fs::write(file, merged.to_string()).unwrap();
    all
}

/// All namespaces and definitions.
async fn there(clusters: &[Embedded]) -> Vec<BTreeSet<String>> {
    let mut all = Vec::new();
    for cluster in clusters {
        let client = cluster.control().inside("test");
        let list = ListParams::default();
        let namespaces = Api::<Namespace>::all(client.clone()).list(&list).await.unwrap();
        let definitions = Api::<CustomResourceDefinition>::all(client).list(&list).await.unwrap();
        let names = namespaces.iter().map(ResourceExt::name_any);
        all.push(names.chain(definitions.iter().map(ResourceExt::name_any)).collect());
    }
    all
}

fn run(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
    command
        .arg("--root")
        .arg(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .args(["run", "deployment-directly", "--backend", "kubeconfig", "--kubeconfig"])
        .arg(folder.join("kubeconfig"))
        .args(["--control", "c0", "--member", "c1", "--member", "c2"])
        .args(["--yes-these-are-test-clusters", "--timelines"])
        .arg(folder.join("timelines"));
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_kill_at_any_step_the_next_run_finds_clean_clusters() {
    let _alone = ALONE.lock().await;
    let folder = tempfile::tempdir().unwrap();
    let clusters = clusters(&folder.path().join("kubeconfig")).await;
    let before = there(&clusters).await;
    let events = folder.path().join("events");
    assert!(Command::new("mkfifo").arg(&events).status().unwrap().success());
    for steps in [1, 3, 5, 7, 9] {
        let (folder, events) = (folder.path().to_owned(), events.clone());
        let killed = tokio::task::spawn_blocking(move || {
            let mut command = run(&folder);
            let report = format!("jsonl={}", events.display());
            let mut child = command
                .args(["--report", &report])
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            let lines = BufReader::new(File::open(&events).unwrap()).lines();
            let begun = lines.filter(|line| line.as_ref().unwrap().contains("\"stepStarted\""));
            let begun = begun.take(steps).count();
            child.kill().unwrap();
            child.wait().unwrap();
            begun
        });
        assert_eq!(killed.await.unwrap(), steps);
        assert_ne!(there(&clusters).await, before, "nothing was left after step {steps}");
    }
    let told = conforms(folder.path()).await;
    assert!(told.contains("removed what a killed run had left"), "{told}");
    assert_eq!(there(&clusters).await, before);
}

/// Completes a run and returns its output.
async fn conforms(folder: &Path) -> String {
    let folder = folder.to_owned();
    let output = tokio::task::spawn_blocking(move || run(&folder).output().unwrap());
    let output = output.await.unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.contains("1 conform"), "{told}");
    told
}

/// Reads a number from the environment.
fn number(variable: &str, otherwise: u64) -> u64 {
    env::var(variable).map_or(otherwise, |text| text.parse().unwrap())
}

/// Every other kill is of a run that finds the remains of the one before. `KILLS` is the number of kills, `KILLS_SEED`
/// the seed for their moments.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_kill_at_any_moment_the_verdict_stands() {
    let _alone = ALONE.lock().await;
    let (kills, seed) = (number("KILLS", 4), number("KILLS_SEED", 20));
    let folder = tempfile::tempdir().unwrap();
    let clusters = clusters(&folder.path().join("kubeconfig")).await;
    let before = there(&clusters).await;
    conforms(folder.path()).await;
    let begun = Instant::now();
    conforms(folder.path()).await;
    let mut whole = begun.elapsed();
    assert_eq!(there(&clusters).await, before);
    let (mut remains, mut removed) = (0, 0);
    for kill in 0..kills {
        let share = BuildHasherDefault::<DefaultHasher>::default().hash_one((seed, kill)) % 1000;
        let moment = whole * u32::try_from(share).unwrap() / 1000;
        let mut child = run(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The kill happens at a random moment, so the test waits for no event.
        tokio::time::sleep(moment).await;
        child.kill().unwrap();
        child.wait().unwrap();
        let left = there(&clusters).await != before;
        println!("seed {seed}, kill {kill} after {moment:?} of {whole:?}: remains {left}");
        remains += u32::from(left);
        if kill % 2 == 1 {
            let begun = Instant::now();
            conforms(folder.path()).await;
            whole = whole.min(begun.elapsed());
            assert_eq!(there(&clusters).await, before);
            removed += u32::from(left);
        }
    }
    // A kill before the first object is created, or after the last is removed, leaves nothing.
    println!("{kills} kills, {remains} with remains, {removed} removed by a run to its end");
}
