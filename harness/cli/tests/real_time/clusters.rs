//! Runs cases on existing clusters: API servers behind HTTPS stand for them, and time is real.

use std::{
    collections::BTreeSet,
    fs,
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use baton::{load::Suite, options::RunOptions, output, run};
use baton_cluster::{
    error_chain::error_chain,
    fleet::{
        Backend, Fleet, Request, TargetLocation,
        embedded::{Embedded, Options as Boot, Time},
        external::{Access, CheckError, Clusters, ConnectError, External, Options, TEST_CLUSTER, Workloads},
    },
};
use baton_core::{
    case::model::Case,
    event::{CaseOutcome, CaseResult},
    names::ClusterName,
    timeline::{Entry, Event, Mark, World},
};
use jiff::Timestamp;
use k8s_openapi::{
    api::{admissionregistration::v1::MutatingWebhookConfiguration, core::v1::Namespace},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, ResourceExt,
    api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::common::roots;

/// Existing clusters, known only by their kubeconfigs.
struct Started {
    runtime: Runtime,
    servers: Vec<Embedded>,
}

impl Started {
    fn new(count: usize) -> Self {
        let runtime = Runtime::new().unwrap();
        let servers = runtime.block_on(async {
            let mut servers = Vec::new();
            for _ in 0..count {
                let options = Boot {
                    doors: true,
                    definitions: Some(Vec::new().into()),
                    ..Boot::new(0, Time::Real(Timestamp::now()))
                };
                servers.push(Embedded::boot(options).await.unwrap());
            }
            servers
        });
        Self { runtime, servers }
    }

    async fn access(&self, number: usize, name: &str) -> Access {
        let kubeconfig = self.servers[number].control().kubeconfig().unwrap();
        let text = std::fs::read_to_string(kubeconfig).unwrap();
        Access::by_text(ClusterName::new(name), &text).await.unwrap()
    }

    fn connect(&self, vouched_for: bool) -> Result<External, ConnectError> {
        self.connect_with(Options { vouched_for, ..OPTIONS })
    }

    fn connect_with(&self, options: Options) -> Result<External, ConnectError> {
        self.runtime.block_on(async {
            let mut members = Vec::new();
            for number in 1..self.servers.len() {
                members.push(self.access(number, &format!("member{number}")).await);
            }
            let clusters = Clusters::new(self.access(0, "control").await, members).unwrap();
            External::connect("kubeconfig", clusters, options).await
        })
    }

    fn client(&self, number: usize) -> Client {
        let _in_runtime = self.runtime.enter();
        self.servers[number].control().inside("test")
    }

    /// Returns the names of all namespaces and definitions, by cluster.
    fn there(&self) -> Vec<BTreeSet<String>> {
        let there = |number| {
            self.runtime.block_on(async {
                let client = self.client(number);
                let namespaces: Api<Namespace> = Api::all(client.clone());
                let definitions: Api<CustomResourceDefinition> = Api::all(client);
                let all = ListParams::default();
                let namespaces = namespaces.list(&all).await.unwrap();
                let definitions = definitions.list(&all).await.unwrap();
                let names = namespaces.iter().map(ResourceExt::name_any);
                names.chain(definitions.iter().map(ResourceExt::name_any)).collect()
            })
        };
        (0..self.servers.len()).map(there).collect()
    }
}

const OPTIONS: Options = Options {
    workloads: Workloads::Simulated,
    keep: false,
    vouched_for: true,
    address: None,
    webhooks: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
};

fn case(name: &str) -> Case {
    let roots = roots();
    Suite::select(&roots, &[name.to_owned()]).unwrap().cases.remove(0)
}

/// Reads the cases of a file with shorter times: waiting to show that nothing happens takes real time here.
fn hastened(file: &str, times: &[(&str, &str)]) -> Vec<Case> {
    let roots = roots();
    let mut text = fs::read_to_string(roots.path("cases").join(file)).unwrap();
    for (long, short) in times {
        assert!(text.contains(long), "{file} has no {long}");
        text = text.replace(long, short);
    }
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("case.yaml");
    fs::write(&copy, text).unwrap();
    Suite::select(&roots, &[copy.to_str().unwrap().to_owned()])
        .unwrap()
        .cases
}

fn settings(backend: Arc<dyn Backend>) -> RunOptions {
    let roots = roots();
    RunOptions {
        backend,
        ..RunOptions::new(roots)
    }
}

#[test]
fn the_proposal_s_cases_conform_and_leave_nothing_behind() {
    let started = Started::new(3);
    let before = started.there();
    let settings = settings(Arc::new(started.connect(true).unwrap()));
    let names = ["deployment-directly", "statefulset-directly", "flink-jobid-directly"];
    let suite = Suite::select(&settings.roots, &names.map(str::to_owned)).unwrap();
    for case in &suite.cases {
        let result = run::run_case(case, &settings, &|_| {});
        let CaseOutcome::Conforms(verdict) = &result.outcome else {
            panic!(
                "{}",
                output::explanation(&result, &output::FollowUp::default()).unwrap_or_default()
            );
        };
        assert_eq!(verdict.shown, case.requirements);
    }
    assert_ne!(
        started.there(),
        before,
        "the definitions of the failover API stay until the end"
    );
    started.runtime.block_on(settings.backend.shut_down()).unwrap();
    assert_eq!(started.there(), before);
}

const POLICIES: &str = "propagationpolicies.policy.karmada.io";

/// Returns a request for a target that brings the definition of PropagationPolicy, but not of Cluster.
fn with_definitions() -> Request {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": POLICIES, "annotations": {"example.org/of": "the target"}},
        "spec": {
            "group": "policy.karmada.io",
            "names": {"kind": "PropagationPolicy", "plural": "propagationpolicies"},
            "scope": "Namespaced",
            "versions": [{
                "name": "v1alpha1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }],
        },
    });
    Request {
        case: case("deployment-directly"),
        members: 1,
        beside_others: false,
        location: TargetLocation::Beside,
        definitions: Some(vec![definition].into()),
        rules: None,
        seed: 0,
    }
}

#[test]
fn the_definitions_of_the_target_take_the_place_of_the_harness_s_own() {
    let started = Started::new(2);
    let before = started.there();
    let backend = started.connect(true).unwrap();
    let request = with_definitions();
    let there = started.runtime.block_on(async {
        let fleet = backend.fleet(&request).await.unwrap();
        let api: Api<CustomResourceDefinition> = Api::all(fleet.control().inside("test"));
        let all = api.list(&ListParams::default()).await.unwrap();
        fleet.shut_down().await.unwrap();
        backend.shut_down().await.unwrap();
        all.into_iter()
            .map(|it| (it.name_any(), it.annotations().contains_key("example.org/of")))
            .collect::<Vec<_>>()
    });
    // Without Clusters there is no fleet.
    let expected = [("clusters.cluster.karmada.io", false), (POLICIES, true)];
    assert_eq!(there, expected.map(|(name, of_target)| (name.to_owned(), of_target)));
    assert_eq!(started.there(), before);
}

/// The server of Clusters dates their taints. If the harness serves them in place of an implementation, it must date
/// them too, because the toleration of a taint counts from that date.
#[test]
fn taints_are_dated_where_the_harness_serves_clusters() {
    let started = Started::new(2);
    let webhooks: Api<MutatingWebhookConfiguration> = Api::all(started.client(0));
    // Left by a killed run, whose process is gone.
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let owner = format!("{}.{}.1", boot.trim().replace('-', ""), std::process::id());
    let left = json!({"metadata": {"name": "cluster-api.baton.dev", "labels": {"baton.dev/owner": owner}}});
    let left = serde_json::from_value(left).unwrap();
    let names = || async {
        let all = webhooks.list(&ListParams::default()).await.unwrap();
        all.iter().map(ResourceExt::name_any).collect::<Vec<_>>()
    };
    started.runtime.block_on(async {
        webhooks.create(&PostParams::default(), &left).await.unwrap();
        assert_eq!(names().await, ["cluster-api.baton.dev"]);
    });
    let backend = started.connect(true).unwrap();
    assert_eq!(started.runtime.block_on(names()), [""; 0]);
    // Each case has a separate runtime.
    Runtime::new().unwrap().block_on(async {
        let fleet = backend.fleet(&with_definitions()).await.unwrap();
        fleet.shut_down().await.unwrap();
    });
    started.runtime.block_on(async {
        let fleet = backend.fleet(&with_definitions()).await.unwrap();
        let kind = GroupVersionKind::gvk("cluster.karmada.io", "v1alpha1", "Cluster");
        let clusters = Api::<DynamicObject>::all_with(fleet.control().inside("test"), &ApiResource::from_gvk(&kind));
        let taint = json!({"spec": {"taints": [{"key": "example.org/down", "effect": "NoExecute"}]}});
        let written = clusters
            .patch("member1", &PatchParams::default(), &Patch::Merge(&taint))
            .await
            .unwrap();
        assert!(
            written.data["spec"]["taints"][0]["timeAdded"].is_string(),
            "{}",
            written.data
        );
        fleet.shut_down().await.unwrap();
        backend.shut_down().await.unwrap();
        assert_eq!(names().await, [""; 0]);
    });
    let unreachable = started
        .connect_with(Options {
            webhooks: None,
            ..OPTIONS
        })
        .unwrap();
    started.runtime.block_on(async {
        let refused = unreachable.fleet(&with_definitions()).await.err().unwrap();
        assert!(refused.to_string().ends_with("name one with --address"), "{refused}");
        unreachable.shut_down().await.unwrap();
    });
}

#[test]
fn faults_act_on_the_way_of_the_target_as_in_the_process() {
    let started = Started::new(3);
    let settings = settings(Arc::new(started.connect(true).unwrap()));
    let cut_off = hastened(
        "purge/cut-off.yaml",
        &[("for: 900s", "for: 2s"), ("for: 300s", "for: 2s")],
    )
    .remove(0);
    for case in [cut_off, case("slow-and-failing-origin")] {
        let in_process = run::run_case(&case, &RunOptions::new(settings.roots.clone()), &|_| {});
        let over_https = run::run_case(&case, &settings, &|_| {});
        let (CaseOutcome::Conforms(expected), CaseOutcome::Conforms(verdict)) =
            (in_process.outcome, &over_https.outcome)
        else {
            panic!(
                "{}",
                output::explanation(&over_https, &output::FollowUp::default()).unwrap_or_default()
            );
        };
        // The order of events on several servers may remain undecided.
        let mut decided = expected.shown;
        decided.retain(|id| !verdict.not_judged.contains_key(id));
        assert_eq!(verdict.shown, decided, "{}: {:?}", case.id, verdict.not_judged);
    }
    started.runtime.block_on(settings.backend.shut_down()).unwrap();
}

#[test]
fn admission_rules_hold_for_a_case_and_leave_nothing_behind() {
    let started = Started::new(3);
    let settings = settings(Arc::new(started.connect(true).unwrap()));
    let case = hastened("flink/resumes-from-checkpoint.yaml", &[("elapse: 60s", "elapse: 2s")]).remove(0);
    let result = run::run_case(&case, &settings, &|_| {});
    let CaseOutcome::Conforms(verdict) = &result.outcome else {
        panic!(
            "{}",
            output::explanation(&result, &output::FollowUp::default()).unwrap_or_default()
        );
    };
    assert_eq!(verdict.shown, case.requirements);
    for number in 0..3 {
        let left = started.runtime.block_on(async {
            let webhooks: Api<MutatingWebhookConfiguration> = Api::all(started.client(number));
            let left = webhooks.list(&ListParams::default()).await.unwrap();
            left.iter().map(ResourceExt::name_any).collect::<Vec<_>>()
        });
        assert!(left.is_empty(), "{left:?} on cluster {number}");
    }
    started.runtime.block_on(settings.backend.shut_down()).unwrap();
}

#[test]
fn members_that_do_not_reach_a_webhook_are_a_broken_environment() {
    let started = Started::new(3);
    // An address for documentation, which this machine does not have.
    let webhooks = Some(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)));
    let backend = started.connect_with(Options { webhooks, ..OPTIONS }).unwrap();
    let case = case("resumes-from-checkpoint-policy");
    let result = run::run_case(&case, &settings(Arc::new(backend)), &|_| {});
    let CaseOutcome::Broken { reason } = &result.outcome else {
        panic!("{:?}", result.outcome);
    };
    assert!(reason.contains("cannot listen on 192.0.2.1"), "{reason}");

    let backend = started
        .connect_with(Options {
            webhooks: None,
            ..OPTIONS
        })
        .unwrap();
    let result = run::run_case(&case, &settings(Arc::new(backend)), &|_| {});
    let CaseOutcome::Unsupported { reasons } = &result.outcome else {
        panic!("{:?}", result.outcome);
    };
    assert!(reasons[0].contains("--address names one"), "{reasons:?}");
}

#[test]
fn a_target_that_stops_between_two_writes_is_where_it_is_in_the_process() {
    let started = Started::new(3);
    let settings = settings(Arc::new(started.connect(true).unwrap()));
    for case in &hastened("purge/restart-between-writes.yaml", &[("elapse: 60s", "elapse: 1s")]) {
        let in_process = run::run_case(case, &RunOptions::new(settings.roots.clone()), &|_| {});
        let over_https = run::run_case(case, &settings, &|_| {});
        assert!(
            matches!(over_https.outcome, CaseOutcome::Conforms(_)),
            "{}",
            output::explanation(&over_https, &output::FollowUp::default()).unwrap_or_default()
        );
        let id = &case.id;
        assert_eq!(while_stopped(&over_https), while_stopped(&in_process), "{id}");
    }
    started.runtime.block_on(settings.backend.shut_down()).unwrap();
}

/// Returns the objects on the control plane that show the failover while the target is stopped.
fn while_stopped(result: &CaseResult) -> Value {
    let timeline = result.timeline.as_ref().unwrap();
    let restarts = |entry: &&Entry| match &entry.event {
        Event::Mark(Mark::StepStarted { text, .. }) => text.contains("start the controller"),
        Event::Mark(_) | Event::Revision(_) => false,
    };
    let entries = timeline.entries();
    let restart = entries.iter().position(|entry| restarts(&entry)).unwrap();
    let world = World::after(&entries[..restart]);
    let control = ClusterName::control();
    let kinds = ["ResourceBinding", "ClusterResourceBinding"];
    let bindings = kinds.iter().flat_map(|kind| world.of_kind(&control, kind));
    let (_, binding) = bindings.last().unwrap();
    let spec = &binding["spec"];
    let works = world.of_kind(&control, "Work").count();
    json!({"clusters": spec["clusters"].as_array().map(Vec::len), "tasks": spec["gracefulEvictionTasks"].as_array().map(Vec::len), "works": works})
}

#[test]
fn faults_that_would_not_reach_the_target_are_unsupported() {
    let case = case("cut-off");
    let started = Started::new(3);
    let there = started.connect(true).unwrap();
    assert_eq!(there.cannot_carry(&case, TargetLocation::Beside), None);
    let why = there.cannot_carry(&case, TargetLocation::Elsewhere).unwrap();
    assert!(why.contains("connects to the members directly; set --address"), "{why}");
    let address = Some(Ipv4Addr::LOCALHOST.into());
    let with_address = started.connect_with(Options { address, ..OPTIONS }).unwrap();
    assert_eq!(with_address.cannot_carry(&case, TargetLocation::Elsewhere), None);

    // A fleet whose control plane already knows its members.
    let boot = Boot {
        doors: true,
        ..Boot::new(2, Time::Real(Timestamp::now()))
    };
    let connected = started.runtime.block_on(async {
        let fleet = Embedded::boot(boot).await.unwrap();
        let mut accesses = Vec::new();
        for cluster in std::iter::once(fleet.control()).chain(fleet.members()) {
            let text = std::fs::read_to_string(cluster.kubeconfig().unwrap()).unwrap();
            accesses.push(Access::by_text(cluster.name().clone(), &text).await.unwrap());
        }
        let members = accesses.split_off(1);
        let clusters = Clusters::new(accesses.remove(0), members).unwrap();
        External::connect("kubeconfig", clusters, OPTIONS).await
    });
    let why = connected.unwrap().cannot_carry(&case, TargetLocation::Beside).unwrap();
    assert!(
        why.contains("member1 is already registered with the control plane"),
        "{why}"
    );
}

#[test]
fn clusters_that_nobody_has_given_away_are_not_touched() {
    let started = Started::new(2);
    let error = started.connect(false).unwrap_err();
    assert!(
        matches!(&error, ConnectError::Check(CheckError::NotMarked(_))),
        "{error}"
    );
    for number in 0..2 {
        started.runtime.block_on(async {
            let namespaces: Api<Namespace> = Api::all(started.client(number));
            let mark = Patch::Merge(serde_json::json!({"metadata": {"annotations": {TEST_CLUSTER: "true"}}}));
            namespaces
                .patch("kube-system", &PatchParams::default(), &mark)
                .await
                .unwrap();
        });
    }
    started.connect(false).unwrap();
}

#[test]
fn a_cluster_that_is_not_there_is_named() {
    let mut started = Started::new(2);
    let access = started.runtime.block_on(started.access(1, "member1"));
    let control = started.runtime.block_on(started.access(0, "control"));
    let member = started.servers.pop().unwrap();
    started.runtime.block_on(Box::new(member).shut_down()).unwrap();
    let clusters = Clusters::new(control, vec![access]).unwrap();
    let connected = started
        .runtime
        .block_on(External::connect("kubeconfig", clusters, OPTIONS));
    let error = connected.unwrap_err();
    assert!(
        error_chain(&error).starts_with("member1 cannot be reached at https://127.0.0.1:"),
        "{}",
        error_chain(&error)
    );
}

#[test]
fn cases_that_need_more_than_there_is_are_unsupported() {
    let started = Started::new(2);
    let settings = settings(Arc::new(started.connect(true).unwrap()));
    let suite = Suite::select(&settings.roots, &["deployment-directly".to_owned()]).unwrap();
    let result = run::run_case(&suite.cases[0], &settings, &|_| {});
    let CaseOutcome::Unsupported { reasons } = result.outcome else {
        panic!("{:?}", result.outcome);
    };
    assert_eq!(reasons, ["needs 2 members, and there are 1"]);
}
