//! Cases that share an existing control plane, on which the reference controller is installed. The members are embedded
//! and joined for each case.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{BufRead as _, BufReader},
    net::Ipv4Addr,
    path::PathBuf,
    process::{Command, Stdio},
    sync::Arc,
};

use baton::{implementation::Described, load, load::Suite, options::RunOptions, run};
use baton_cluster::fleet::{
    Backend as _, Fleet, Request, TargetLocation,
    embedded::{Embedded, Options as Boot, Time},
    external::{Access, Clusters, External, Options, Workloads, embedded_members::EmbeddedMembers},
};
use baton_controller::{Controller, PushMembers};
use baton_core::{
    case::model::Case,
    event::{CaseOutcome, CaseResult, Event},
    judge,
    names::{ClusterName, RequirementId},
    plan::Plan,
    yaml::plain,
};
use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::{ConfigMap, Namespace},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, ResourceExt,
    api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, PostParams},
};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::common::{baton, printed, roots};

/// A control plane with the failover API, and the reference controller running on it.
struct Plane {
    runtime: Runtime,
    server: Embedded,
    _controller: baton_controller::Running,
    folder: tempfile::TempDir,
}

impl Plane {
    fn new(gates: &str) -> Self {
        let runtime = Runtime::new().unwrap();
        let (server, controller) = runtime.block_on(async {
            let options = Boot {
                doors: true,
                bare: true,
                observed: false,
                ..Boot::new(0, Time::Real(Timestamp::now()))
            };
            let server = Embedded::boot(options).await.unwrap();
            install(&server.control().inside("installer")).await;
            let mut options = baton_controller::Options::default();
            options.set("feature-gates", gates).unwrap();
            options.set("resource-eviction-rate", "50").unwrap();
            let client = server.control().inside("baton-controller");
            let members = PushMembers::new(client.clone());
            (
                server,
                Controller::start(client, members, Arc::new(Timestamp::now), options),
            )
        });
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("target.yaml"), installed().to_string()).unwrap();
        Self {
            runtime,
            server,
            _controller: controller,
            folder,
        }
    }

    fn kubeconfig(&self) -> &PathBuf {
        self.server.control().kubeconfig().unwrap()
    }

    fn client(&self) -> Client {
        let _in_runtime = self.runtime.enter();
        self.server.control().inside("test")
    }

    /// Creates a backend with this many embedded members.
    fn backend(&self, members: usize) -> External {
        let text = fs::read_to_string(self.kubeconfig()).unwrap();
        let members = EmbeddedMembers::boot(members).unwrap();
        let options = Options {
            workloads: Workloads::Simulated,
            keep: false,
            vouched_for: true,
            address: None,
            webhooks: Some(Ipv4Addr::LOCALHOST.into()),
        };
        self.runtime.block_on(async {
            let control = Access::by_text(ClusterName::control(), &text).await.unwrap();
            let clusters = Clusters::new(control, members.accesses()).unwrap();
            let external = External::connect("kubeconfig", clusters, options).await.unwrap();
            external.keeping(members)
        })
    }

    /// Returns settings for this many cases at once.
    fn settings(&self, jobs: usize) -> RunOptions {
        let suite = Suite::load(&roots()).unwrap();
        let spec = load::target(&roots(), &self.folder.path().join("target.yaml"), &suite).unwrap();
        let settings = RunOptions {
            backend: Arc::new(self.backend(2 * jobs)),
            jobs,
            timelines: Some(self.folder.path().join(format!("timelines-{jobs}"))),
            ..RunOptions::new(roots())
        };
        settings.with_target(Described::new(spec).unwrap()).unwrap()
    }

    /// Returns the names of namespaces, definitions and members on the control plane.
    fn there(&self) -> BTreeSet<String> {
        self.runtime.block_on(async {
            let (client, all) = (self.client(), ListParams::default());
            let namespaces = Api::<Namespace>::all(client.clone()).list(&all).await.unwrap();
            let definitions = Api::<CustomResourceDefinition>::all(client.clone())
                .list(&all)
                .await
                .unwrap();
            let members = clusters(&client).list(&all).await.unwrap();
            let names = namespaces.iter().map(ResourceExt::name_any);
            let names = names.chain(definitions.iter().map(ResourceExt::name_any));
            names.chain(members.iter().map(ResourceExt::name_any)).collect()
        })
    }
}

/// Installs the failover API on a control plane, under another name than the harness's, because the harness may remove
/// its own definitions.
async fn install(client: &Client) {
    let definitions = Api::<CustomResourceDefinition>::all(client.clone());
    for file in fs::read_dir(roots().path("fixtures/crds")).unwrap() {
        let definition = plain::read(&fs::read_to_string(file.unwrap().path()).unwrap()).unwrap();
        definitions.create(&PostParams::default(), &definition).await.unwrap();
    }
}

fn clusters(client: &Client) -> Api<DynamicObject> {
    of_cluster_scope(client, "cluster.karmada.io", "Cluster")
}

fn of_cluster_scope(client: &Client, group: &str, kind: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk(group, "v1alpha1", kind);
    Api::all_with(client.clone(), &ApiResource::from_gvk(&kind))
}

/// Returns the target file of the reference controller as an installed target.
fn installed() -> Value {
    let text = fs::read_to_string(roots().path("fixtures/targets/reference.yaml")).unwrap();
    let mut target: Value = plain::read(&text).unwrap();
    let spec = target["spec"].as_object_mut().unwrap();
    for of_programs in ["settable", "commands", "metrics", "switches"] {
        spec.remove(of_programs);
    }
    spec.insert("run".to_owned(), json!({"installed": {}}));
    let gates = json!({"Failover": true, "StatefulFailoverInjection": true});
    spec.insert("controller".to_owned(), json!({"featureGates": gates}));
    target
}

/// Runs cases; returns the results, and a line for each case that starts, is run again, or ends.
fn outcomes(cases: &[Case], settings: &RunOptions) -> (BTreeMap<String, CaseResult>, Vec<String>) {
    let (mut results, mut told) = (BTreeMap::new(), Vec::new());
    run::run(cases, settings, |event| match event {
        Event::CaseStarted { case, .. } => told.push(format!("begins {case}")),
        Event::CaseAgain { case, .. } => told.push(format!("again {case}")),
        Event::CaseEnded(result) => {
            told.push(format!("ends {}", result.case));
            results.insert(result.case.to_string(), CaseResult::clone(result));
        }
        _ => {}
    });
    (results, told)
}

/// Returns the result of a case, without details that differ from run to run.
#[expect(clippy::panic, reason = "a test cannot go on without a verdict")]
fn verdict(result: &CaseResult) -> (&'static str, BTreeSet<RequirementId>) {
    match &result.outcome {
        CaseOutcome::Conforms(verdict) => ("conforms", verdict.shown.clone()),
        CaseOutcome::Deviates { verdict, .. } => {
            let broken = verdict
                .findings
                .iter()
                .flat_map(|finding| finding.requirements.iter().cloned());
            ("deviates", broken.collect())
        }
        other => panic!("{}: {other:?}", result.case),
    }
}

const TOGETHER: [&str; 3] = ["deployment-directly", "statefulset-directly", "flink-jobid-directly"];

/// Case that cannot share a control plane: it has a policy for all namespaces.
const ALONE: &str = "any-kind-job-cluster-policy";

fn cases(names: &[&str]) -> Vec<Case> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    Suite::select(&roots(), &names).unwrap().cases
}

#[test]
fn cases_beside_each_other_come_to_the_same_as_one_after_the_other() {
    let plane = Plane::new("Failover=true,StatefulFailoverInjection=true");
    let before = plane.there();
    let cases = cases(&[&TOGETHER[..], &[ALONE]].concat());
    let mut verdicts = Vec::new();
    for jobs in [1, 3] {
        let settings = plane.settings(jobs);
        let (results, told) = outcomes(&cases, &settings);
        verdicts.push(results.values().map(verdict).collect::<Vec<_>>());
        plane.runtime.block_on(settings.backend.shut_down()).unwrap();
        assert_eq!(plane.there(), before, "{jobs} at once");
        for result in results.values() {
            let case = cases.iter().find(|case| case.id == result.case).unwrap();
            let timeline = result.timeline.as_ref().unwrap();
            let plan = Plan::of(case);
            let again = judge::judge(&plan.as_run(timeline.begin().unwrap()), timeline);
            assert!(again.conforms(), "{again:?}");
        }
        if jobs == 1 {
            continue;
        }
        let begins = |name: &str| told.iter().position(|it| *it == format!("begins {name}")).unwrap();
        // On a busy machine, a case may have to be run again, alone.
        let ends = |name: &&str| {
            let ends = [format!("ends {name}"), format!("again {name}")];
            told.iter().position(|it| ends.contains(it)).unwrap()
        };
        assert!(TOGETHER.iter().map(ends).max().unwrap() < begins(ALONE), "{told:?}");
        for evidence in fs::read_dir(plane.folder.path().join("timelines-3")).unwrap() {
            let text = fs::read_to_string(evidence.unwrap().path()).unwrap();
            for other in ["member3", "member4", "member5", "member6"] {
                assert!(!text.contains(other), "{other}");
            }
            let namespaces: BTreeSet<&str> = text
                .split('"')
                .filter(|it| it.starts_with("baton-") && it.len() > 30)
                .collect();
            assert!(namespaces.len() <= 1, "{namespaces:?}");
        }
    }
    assert_eq!(verdicts[0], verdicts[1]);
    assert!(verdicts[0].iter().all(|(word, _)| *word == "conforms"), "{verdicts:?}");
}

#[test]
fn what_deviates_beside_others_deviates_alone() {
    let plane = Plane::new("Failover=true,StatefulFailoverInjection=false");
    let cases = cases(&TOGETHER[..2]);
    let verdicts = [1, 2].map(|jobs| {
        let settings = plane.settings(jobs);
        let (results, told) = outcomes(&cases, &settings);
        plane.runtime.block_on(settings.backend.shut_down()).unwrap();
        let again = told.iter().filter(|it| it.starts_with("again")).count();
        assert_eq!(again, if jobs == 1 { 0 } else { 2 }, "{told:?}");
        results.values().map(verdict).collect::<Vec<_>>()
    });
    assert_eq!(verdicts[0], verdicts[1]);
    assert!(verdicts[0].iter().all(|(word, _)| *word == "deviates"), "{verdicts:?}");
}

fn request(case: &Case) -> Request {
    Request {
        case: case.clone(),
        members: 2,
        beside_others: true,
        location: TargetLocation::Elsewhere,
        definitions: None,
        rules: None,
        seed: 0,
    }
}

/// Returns the names of `ConfigMap`s in a namespace, as a fleet sees them.
async fn maps(fleet: &dyn Fleet, namespace: &str) -> Vec<String> {
    let api: Api<ConfigMap> = Api::namespaced(fleet.control().inside("baton"), namespace);
    let there = api.list(&ListParams::default()).await.unwrap();
    there.iter().map(ResourceExt::name_any).collect()
}

#[test]
fn the_end_of_one_case_leaves_the_others_alone() {
    let plane = Plane::new("Failover=true,StatefulFailoverInjection=true");
    let backend = plane.backend(4);
    let case = &cases(&TOGETHER[..1])[0];
    plane.runtime.block_on(async {
        let one = backend.fleet(&request(case)).await.unwrap();
        let other = backend.fleet(&request(case)).await.unwrap();
        for fleet in [&one, &other] {
            let api: Api<ConfigMap> = Api::namespaced(fleet.control().inside("baton"), fleet.namespace());
            let map: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "mine"}})).unwrap();
            api.create(&PostParams::default(), &map).await.unwrap();
            let seen = clusters(&fleet.control().inside("baton"))
                .list(&ListParams::default())
                .await
                .unwrap();
            let seen: Vec<String> = seen.iter().map(ResourceExt::name_any).collect();
            assert_eq!(seen, ["member1", "member2"]);
        }
        let all = clusters(&plane.client()).list(&ListParams::default()).await.unwrap();
        assert_eq!(all.items.len(), 4);
        one.shut_down().await.unwrap();
        assert_eq!(maps(&*other, other.namespace()).await, ["mine"]);
        let left = clusters(&plane.client()).list(&ListParams::default()).await.unwrap();
        let left: Vec<String> = left.iter().map(ResourceExt::name_any).collect();
        assert_eq!(left, ["member3", "member4"]);
        assert_eq!(other.stray(), None);
        other.shut_down().await.unwrap();
        backend.shut_down().await.unwrap();
    });
    assert!(!plane.there().contains("karmada-cluster"));
}

#[test]
fn what_speaks_of_another_case_s_member_is_noted() {
    let plane = Plane::new("Failover=true,StatefulFailoverInjection=true");
    let backend = plane.backend(4);
    let case = &cases(&TOGETHER[..1])[0];
    plane.runtime.block_on(async {
        let one = backend.fleet(&request(case)).await.unwrap();
        let other = backend.fleet(&request(case)).await.unwrap();
        let api: Api<ConfigMap> = Api::namespaced(plane.client(), one.namespace());
        let map = json!({"metadata": {"name": "result"}, "data": {"clusters": "member1,member3"}});
        let map: ConfigMap = serde_json::from_value(map).unwrap();
        api.create(&PostParams::default(), &map).await.unwrap();
        assert_eq!(maps(&*one, one.namespace()).await, ["result"]);
        let stray = one.stray().unwrap();
        assert!(stray.ends_with("/result speaks of member3"), "{stray}");
        assert_eq!(other.stray(), None);
        one.shut_down().await.unwrap();
        other.shut_down().await.unwrap();
        backend.shut_down().await.unwrap();
    });
}

fn run_on(plane: &Plane, names: &[&str]) -> Command {
    let mut command = baton(&[&["run"], names].concat());
    command.args(["--backend", "kubeconfig", "--control", "control", "--kubeconfig"]);
    command.arg(plane.kubeconfig());
    command.arg("--target").arg(plane.folder.path().join("target.yaml"));
    command.arg("--timelines").arg(plane.folder.path().join("timelines"));
    command.args(["--jobs", "3", "--no-preflight", "--yes-these-are-test-clusters"]);
    command
}

#[test]
fn what_a_killed_run_has_left_of_several_cases_is_removed_by_the_next() {
    let plane = Plane::new("Failover=true,StatefulFailoverInjection=true");
    let before = plane.there();
    let events = plane.folder.path().join("events");
    assert!(Command::new("mkfifo").arg(&events).status().unwrap().success());
    let report = format!("jsonl={}", events.display());
    let mut killed = run_on(&plane, &TOGETHER)
        .args(["--report", &report])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(File::open(&events).unwrap()).lines();
    let begun: BTreeSet<String> = lines
        .map(Result::unwrap)
        .filter_map(|line| {
            let line: Value = serde_json::from_str(&line).unwrap();
            (line["event"] == "stepStarted").then(|| line["case"].to_string())
        })
        .scan(BTreeSet::new(), |seen: &mut BTreeSet<String>, case| {
            let go_on = seen.len() < 2;
            seen.insert(case.clone());
            go_on.then_some(case)
        })
        .collect();
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(begun.len(), 2, "two cases were at it");
    assert_ne!(plane.there(), before);
    let policies = || of_cluster_scope(&plane.client(), "policy.karmada.io", "ClusterPropagationPolicy");
    let policy = json!({
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "ClusterPropagationPolicy",
        "metadata": {"name": "somebodys"},
        "spec": {
            "resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap", "namespace": "nowhere"}],
            "placement": {},
        },
    });
    let policy: DynamicObject = serde_json::from_value(policy).unwrap();
    let created = plane
        .runtime
        .block_on(policies().create(&PostParams::default(), &policy));
    created.unwrap();
    let next = run_on(&plane, &TOGETHER).output().unwrap();
    let told = printed(&next);
    assert_eq!(next.status.code(), Some(0), "{told}");
    assert!(told.contains("removed what a killed run had left"), "{told}");
    assert!(
        told.contains("3 cases on one control plane, 3 at once; 0 alone"),
        "{told}"
    );
    assert_eq!(plane.there(), before);
    let still_there = plane.runtime.block_on(policies().get_opt("somebodys")).unwrap();
    assert!(
        still_there.is_some(),
        "a policy that another program created since then was removed"
    );
}
