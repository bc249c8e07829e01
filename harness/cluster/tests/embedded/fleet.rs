//! Embedded fleets: their contents after boot, their faults, their timelines, and their removal.

use std::time::Duration;

use baton_cluster::{
    actions,
    fleet::{
        Description, Fault, Fleet, FleetError,
        embedded::{Embedded, Options, Time},
    },
};
use baton_core::{
    case::model::Taint,
    timeline::{Change, Event, Mark, Timeline},
};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube::{
    Api, Client, Config,
    api::{DynamicObject, ListParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};

use crate::common::{NAMESPACE, all, apply, fixture, fleet, member, observe, reference, until, until_status};

fn closed() -> Mark {
    Mark::Closed {
        writes: std::collections::BTreeMap::new(),
        idle: std::collections::BTreeMap::new(),
    }
}

#[tokio::test(start_paused = true)]
async fn members_are_registered_with_the_control_plane() {
    let fleet = fleet(2, Time::Virtual).await;
    let recorder = observe(&*fleet);
    let timeline = recorder.close(closed());
    let clusters: Vec<(Change, &Value, &Value)> = timeline
        .revisions()
        .filter(|(_, revision)| revision.kind == "Cluster")
        .map(|(_, it)| {
            (
                it.change,
                &it.object["metadata"]["name"],
                &it.object["spec"]["apiEndpoint"],
            )
        })
        .collect();
    let endpoint = |name: &str| json!(format!("https://{name}.in-process.invalid"));
    assert_eq!(
        clusters,
        [
            (Change::List, &json!("member1"), &endpoint("member1")),
            (Change::List, &json!("member2"), &endpoint("member2")),
        ]
    );
    fleet.shut_down().await.unwrap();
}

#[tokio::test]
async fn time_is_virtual_only_where_it_can_be() {
    let booted = Embedded::boot(Options::new(0, Time::Virtual)).await;
    assert!(matches!(booted, Err(FleetError::NotPaused)));
}

#[tokio::test(start_paused = true)]
async fn a_fleet_may_be_a_single_server() {
    let fleet = fleet(0, Time::Virtual).await;
    assert!(fleet.members().is_empty());
    let namespaces: Api<Namespace> = Api::all(fleet.control().client("test"));
    assert!(!namespaces.list(&ListParams::default()).await.unwrap().items.is_empty());
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn deleting_a_workload_removes_its_pods() {
    let fleet = fleet(1, Time::Virtual).await;
    let recorder = observe(&*fleet);
    let cluster = &fleet.members()[0];
    apply(cluster, &fixture("workloads/deploy.yaml")).await;
    until_status(&recorder, "Deployment", "deploy", "readyReplicas", json!(2)).await;
    let client = cluster.inside(actions::BATON);
    let deployment = reference("apps/v1", "Deployment", "deploy");
    actions::delete(&client, &deployment).await.unwrap();
    let gone = |timeline: &Timeline| {
        let deleted = |(_, it): &(_, &baton_core::timeline::Revision)| it.kind == "Pod" && it.change == Change::Deleted;
        timeline.revisions().filter(deleted).count()
    };
    let mut follower = recorder.follow();
    while gone(&recorder.timeline()) < 2 {
        let more = tokio::time::timeout(Duration::from_secs(60), follower.next()).await;
        more.expect("the pods are still there");
    }
    let pods: Api<Pod> = Api::all(client);
    assert!(pods.list(&ListParams::default()).await.unwrap().items.is_empty());
    assert_eq!(fleet.simulator_failures(), Vec::<String>::new());
    fleet.shut_down().await.unwrap();
}

/// Writes to a cluster `count` times, one object after another.
async fn write_many(client: Client, writer: usize, count: usize) {
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let namespaces: Api<Namespace> = Api::all(client);
    for number in 0..count {
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(format!("n-{writer}-{number}"));
        namespaces.create(&PostParams::default(), &namespace).await.unwrap();
        let mut map = ConfigMap::default();
        map.metadata.name = Some(format!("m-{writer}-{number}"));
        api.create(&PostParams::default(), &map).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_order_is_that_of_the_commits_however_many_write() {
    let fleet = fleet(2, Time::Real("2026-01-01T00:00:00Z".parse().unwrap())).await;
    let recorder = observe(&*fleet);
    let mut writers = Vec::new();
    for writer in 0..6 {
        let clusters = [fleet.control(), &fleet.members()[0], &fleet.members()[1]];
        writers.push(tokio::spawn(write_many(
            clusters[writer % 3].client("test"),
            writer,
            50,
        )));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let timeline = recorder.close(closed());
    let revisions: Vec<u64> = timeline
        .revisions()
        .filter(|(_, it)| it.change != Change::List)
        .map(|(_, it)| {
            it.object["metadata"]["resourceVersion"]
                .as_str()
                .unwrap()
                .parse()
                .unwrap()
        })
        .collect();
    assert_eq!(revisions.len(), 300);
    assert!(revisions.is_sorted(), "{revisions:?}");
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn secrets_never_reach_the_timeline() {
    let fleet = fleet(2, Time::Virtual).await;
    let recorder = observe(&*fleet);
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"password": "xyzzy"},
    });
    apply(fleet.control(), &secret).await;
    let mut text = Vec::new();
    recorder.close(closed()).write(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    for word in [
        "xyzzy",
        "eHl6enk",
        "in-process\"",
        "aW4tcHJvY2Vzcw",
        "managedFields",
        "caBundle",
    ] {
        assert!(!text.contains(word), "{word} in {text}");
    }
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn marks_stand_after_what_has_happened() {
    let fleet = fleet(1, Time::Virtual).await;
    let recorder = observe(&*fleet);
    assert!(matches!(fleet.observe(begin_of(&recorder)), Err(FleetError::Observed)));
    actions::create_namespace(&fleet.control().inside(actions::BATON), "x")
        .await
        .unwrap();
    recorder.mark(Mark::CleanUp);
    let timeline = recorder.close(closed());
    let last: Vec<&Event> = timeline
        .entries()
        .iter()
        .rev()
        .take(3)
        .map(|entry| &entry.event)
        .collect();
    assert!(matches!(last[0], Event::Mark(Mark::Closed { .. })));
    assert!(matches!(last[1], Event::Mark(Mark::CleanUp)));
    assert!(matches!(last[2], Event::Revision(it) if it.kind == "Namespace" && it.by.as_deref() == Some("baton")));
    recorder.mark(Mark::CleanUp);
    assert_eq!(recorder.close(closed()), timeline);
    assert!(matches!(timeline.entries()[0].event, Event::Mark(Mark::Begin(_))));
    fleet.shut_down().await.unwrap();
}

fn begin_of(recorder: &baton_cluster::observer::Recorder) -> baton_core::timeline::Begin {
    let timeline = recorder.timeline();
    let Event::Mark(Mark::Begin(begin)) = &timeline.entries()[0].event else {
        panic!("a timeline begins with its beginning");
    };
    begin.clone()
}

async fn run_of(seed: u64) -> String {
    let mut options = Options::new(2, Time::Virtual);
    options.seed = seed;
    let fleet: Box<dyn Fleet> = Box::new(Embedded::boot(options).await.unwrap());
    let recorder = observe(&*fleet);
    apply(&fleet.members()[0], &fixture("workloads/deploy.yaml")).await;
    apply(&fleet.members()[1], &fixture("workloads/sts.yaml")).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let mut text = Vec::new();
    recorder.close(closed()).write(&mut text).unwrap();
    fleet.shut_down().await.unwrap();
    String::from_utf8(text).unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_timeline() {
    let (first, second, other) = (run_of(1).await, run_of(1).await, run_of(2).await);
    assert_eq!(first, second);
    assert_ne!(first, other);
}

#[tokio::test(start_paused = true)]
async fn inside_a_member_that_is_cut_off_things_go_on() {
    let fleet = fleet(1, Time::Virtual).await;
    let recorder = observe(&*fleet);
    let cluster = &fleet.members()[0];
    fleet.inject(&member(1), Fault::CutOff).await.unwrap();
    let outside: Api<Namespace> = Api::all(cluster.client("test"));
    let hanging = tokio::time::timeout(Duration::from_secs(60), outside.get("default")).await;
    assert!(hanging.is_err(), "{hanging:?}");
    apply(cluster, &fixture("workloads/deploy.yaml")).await;
    until_status(&recorder, "Deployment", "deploy", "readyReplicas", json!(2)).await;
    fleet.inject(&member(1), Fault::Heal).await.unwrap();
    outside.get("default").await.unwrap();
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn after_a_stop_the_simulator_goes_on_where_it_was() {
    let fleet = fleet(1, Time::Virtual).await;
    let recorder = observe(&*fleet);
    let cluster = &fleet.members()[0];
    apply(cluster, &fixture("workloads/deploy.yaml")).await;
    fleet.inject(&member(1), Fault::Stop).await.unwrap();
    let api: Api<Namespace> = Api::all(cluster.client("test"));
    api.get("default").await.unwrap_err();
    tokio::time::sleep(Duration::from_secs(60)).await;
    fleet.inject(&member(1), Fault::Start).await.unwrap();
    until_status(&recorder, "Deployment", "deploy", "readyReplicas", json!(2)).await;
    assert!(matches!(
        fleet.inject(&member(9), Fault::Stop).await,
        Err(FleetError::NoSuchCluster(_))
    ));
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn taints_come_and_go_without_touching_others() {
    let fleet = fleet(1, Time::Virtual).await;
    let recorder = observe(&*fleet);
    let client = fleet.control().inside(actions::BATON);
    let taint = |key: &str| Taint {
        key: key.to_owned(),
        value: Some("v".to_owned()),
        effect: "NoExecute".to_owned(),
    };
    actions::taint(&client, "member1", &taint("a")).await.unwrap();
    actions::taint(&client, "member1", &taint("b")).await.unwrap();
    actions::taint(&client, "member1", &taint("a")).await.unwrap();
    actions::untaint(&client, "member1", "b", "NoExecute").await.unwrap();
    actions::untaint(&client, "member1", "b", "NoExecute").await.unwrap();
    let revisions = until(&recorder, "Cluster", "member1", |it| {
        it.object["spec"]["taints"].is_array()
    });
    let revisions = tokio::time::timeout(Duration::from_secs(1), revisions).await.unwrap();
    let one = json!([{"key": "a", "value": "v", "effect": "NoExecute"}]);
    assert_eq!(revisions.last().unwrap().object["spec"]["taints"], one);
    let timeline = recorder.timeline();
    let (_, last) = timeline.revisions().rfind(|(_, it)| it.kind == "Cluster").unwrap();
    assert_eq!(last.object["spec"]["taints"], one);
    // The list, two taints, one of them removed; what is so already is not written again.
    assert_eq!(all(&recorder, "Cluster", "member1").len(), 4);
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_held_object_stays_until_it_is_released() {
    let fleet = fleet(1, Time::Virtual).await;
    let cluster = &fleet.members()[0];
    let client = cluster.inside(actions::BATON);
    apply(cluster, &fixture("workloads/deploy.yaml")).await;
    let deployment = reference("apps/v1", "Deployment", "deploy");
    actions::hold(&client, &deployment).await.unwrap();
    actions::set_status(&client, &deployment, &json!({"collisionCount": 3}))
        .await
        .unwrap();
    actions::patch(&client, &deployment, &json!({"metadata": {"labels": {"x": "y"}}}))
        .await
        .unwrap();
    actions::delete(&client, &deployment).await.unwrap();
    let api: Api<DynamicObject> = Api::namespaced_with(
        client.clone(),
        NAMESPACE,
        &kube::api::ApiResource::erase::<k8s_openapi::api::apps::v1::Deployment>(&()),
    );
    let held = api.get("deploy").await.unwrap();
    assert!(held.metadata.deletion_timestamp.is_some());
    assert_eq!(held.data["status"]["collisionCount"], 3);
    assert_eq!(held.metadata.labels.unwrap()["x"], "y");
    actions::release(&client, &deployment).await.unwrap();
    assert!(api.get_opt("deploy").await.unwrap().is_none());
    actions::release(&client, &deployment).await.unwrap();
    actions::delete(&client, &deployment).await.unwrap();
    fleet.shut_down().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn through_the_doors_others_reach_the_clusters_and_nothing_is_left() {
    let mut options = Options::new(1, Time::Real(jiff::Timestamp::now()));
    options.doors = true;
    let fleet: Box<dyn Fleet> = Box::new(Embedded::boot(options).await.unwrap());
    let described = serde_json::to_value(Description::of(&*fleet)).unwrap();
    assert_eq!(described["members"][0]["name"], "member1");
    let path = fleet.control().kubeconfig().unwrap().clone();
    assert_eq!(described["control"]["kubeconfig"], json!(path));
    let kubeconfig = Kubeconfig::read_from(&path).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .unwrap();
    let client = Client::try_from(config.clone()).unwrap();
    let clusters: Api<DynamicObject> = Api::all_with(
        client.clone(),
        &kube::api::ApiResource::from_gvk(&kube::api::GroupVersionKind::gvk(
            "cluster.karmada.io",
            "v1alpha1",
            "Cluster",
        )),
    );
    let cluster = clusters.get("member1").await.unwrap();
    join(&client, &cluster.data["spec"]).await;
    fleet.shut_down().await.unwrap();
    assert!(!path.parent().unwrap().exists());
    let address = (
        config.cluster_url.host().unwrap(),
        config.cluster_url.port_u16().unwrap(),
    );
    tokio::net::TcpStream::connect(address).await.unwrap_err();
}

/// Connects to a member as a target in another process does: only with the `Cluster` and its secret.
async fn join(control: &Client, spec: &Value) {
    let namespace = spec["secretRef"]["namespace"].as_str().unwrap();
    let secrets: Api<k8s_openapi::api::core::v1::Secret> = Api::namespaced(control.clone(), namespace);
    let data = secrets
        .get(spec["secretRef"]["name"].as_str().unwrap())
        .await
        .unwrap()
        .data
        .unwrap();
    let text = |key: &str| String::from_utf8(data[key].0.clone()).unwrap();
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "m",
        "contexts": [{"name": "m", "context": {"cluster": "m", "user": "m"}}],
        "clusters": [{"name": "m", "cluster": {
            "server": spec["apiEndpoint"],
            "certificate-authority-data": base64::Engine::encode(&base64::engine::general_purpose::STANDARD, text("caBundle")),
        }}],
        "users": [{"name": "m", "user": {"token": text("token")}}],
    });
    let kubeconfig: Kubeconfig = serde_json::from_value(kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .unwrap();
    let member: Api<Namespace> = Api::all(Client::try_from(config).unwrap());
    assert!(!member.list(&ListParams::default()).await.unwrap().items.is_empty());
}
