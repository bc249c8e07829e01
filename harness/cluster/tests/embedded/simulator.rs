//! The bundled rules on embedded members: workloads behave as on a real cluster.

use std::time::Duration;

use baton_cluster::{
    actions,
    fleet::{Fleet, embedded::Time},
    observer::Recorder,
};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::{Api, api::ListParams};
use serde_json::{Value, json};

use crate::common::{all, annotated, apply, fixture, fleet, member, observe, reference, until, until_status};

/// The values of a status field over time, without repetitions.
fn course(statuses: &[Value], field: &str) -> Vec<Value> {
    let mut values: Vec<Value> = statuses.iter().map(|status| status[field].clone()).collect();
    values.dedup();
    values
}

#[tokio::test(start_paused = true)]
async fn a_deployment_becomes_ready_step_by_step() {
    let fleet = fleet(1, Time::Virtual).await;
    let recorder = observe(&*fleet);
    apply(&fleet.members()[0], &fixture("workloads/deploy.yaml")).await;
    let statuses = until_status(&recorder, "Deployment", "deploy", "readyReplicas", json!(2)).await;
    assert_eq!(fleet.simulator_failures(), Vec::<String>::new());
    // Both pods become ready at the same moment, which is one change to their set.
    assert_eq!(
        course(&statuses, "readyReplicas"),
        [Value::Null, json!(2)],
        "{statuses:#?}"
    );
    assert_eq!(
        course(&statuses, "unavailableReplicas")[1..],
        [json!(2), Value::Null],
        "{statuses:#?}"
    );
    let last = statuses.last().unwrap();
    assert_eq!(last["replicas"], 2);
    assert_eq!(last["updatedReplicas"], 2);
    assert_eq!(last["availableReplicas"], 2);
    assert_eq!(last["unavailableReplicas"], Value::Null);
    assert_eq!(last["observedGeneration"], 1);
    assert_eq!(last["conditions"][0]["type"], "Available");
    assert_eq!(last["conditions"][0]["status"], "True");
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn pods_of_a_stateful_set_come_in_order() {
    let fleet = fleet(1, Time::Virtual).await;
    let recorder = observe(&*fleet);
    apply(&fleet.members()[0], &fixture("workloads/sts.yaml")).await;
    let statuses = until_status(&recorder, "StatefulSet", "sts", "readyReplicas", json!(2)).await;
    assert_eq!(fleet.simulator_failures(), Vec::<String>::new());
    assert_eq!(
        course(&statuses, "replicas")[1..],
        [json!(1), json!(2)],
        "{statuses:#?}"
    );
    let timeline = recorder.timeline();
    let pods: Vec<(String, bool)> = timeline
        .revisions()
        .filter(|(_, revision)| revision.kind == "Pod")
        .map(|(_, revision)| {
            let ready = revision.object["status"]["conditions"]
                .as_array()
                .is_some_and(|all| all.iter().any(|it| it["type"] == "Ready" && it["status"] == "True"));
            (revision.object["metadata"]["name"].as_str().unwrap().to_owned(), ready)
        })
        .collect();
    let first_ready = pods.iter().position(|pod| *pod == ("sts-0".to_owned(), true)).unwrap();
    let second_there = pods.iter().position(|(name, _)| name == "sts-1").unwrap();
    assert!(first_ready < second_there, "{pods:?}");
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn each_pod_of_a_stateful_set_has_its_claims() {
    let fleet = fleet(1, Time::Virtual).await;
    let recorder = observe(&*fleet);
    let mut set = fixture("workloads/sts.yaml");
    set["spec"]["volumeClaimTemplates"] = json!([{
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }]);
    let container = &mut set["spec"]["template"]["spec"]["containers"][0];
    container["volumeMounts"] = json!([{"name": "data", "mountPath": "/data"}]);
    apply(&fleet.members()[0], &set).await;
    until_status(&recorder, "StatefulSet", "sts", "readyReplicas", json!(2)).await;
    assert_eq!(fleet.simulator_failures(), Vec::<String>::new());
    let client = fleet.members()[0].inside("test");
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), "default");
    let mut phases: Vec<_> = claims
        .list(&ListParams::default())
        .await
        .unwrap()
        .into_iter()
        .map(|claim| (claim.metadata.name, claim.status.and_then(|status| status.phase)))
        .collect();
    phases.sort();
    let bound = |name: &str| (Some(name.to_owned()), Some("Bound".to_owned()));
    assert_eq!(phases, [bound("data-sts-0"), bound("data-sts-1")]);
    let pods: Api<Pod> = Api::namespaced(client, "default");
    let pod = serde_json::to_value(pods.get("sts-1").await.unwrap()).unwrap();
    assert_eq!(
        pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"],
        "data-sts-1"
    );
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_workload_whose_pods_are_refused_is_told_with_the_words_of_the_api() {
    let fleet = fleet(1, Time::Virtual).await;
    let mut set = fixture("workloads/sts.yaml");
    // Its pods have their name as a label, which may have at most 63 characters.
    let name = "x".repeat(63);
    set["metadata"]["name"] = json!(name);
    apply(&fleet.members()[0], &set).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let failures = fleet.simulator_failures();
    assert_eq!(failures.len(), 1, "{failures:?}");
    assert!(
        failures[0].contains(&format!(": rule `has-pods` on StatefulSet default/{name}: ")),
        "{failures:?}"
    );
    let (position, _) = failures[0].split_once(": rule").unwrap();
    let (file, line) = position.rsplit_once(':').unwrap();
    assert!(
        file.ends_with("statefulset.yaml") && line.parse::<usize>().is_ok(),
        "{position}"
    );
    assert!(failures[0].contains("metadata.labels: Invalid value"), "{failures:?}");
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_job_completes() {
    let fleet = fleet(1, Time::Virtual).await;
    let recorder = observe(&*fleet);
    apply(&fleet.members()[0], &fixture("workloads/job.yaml")).await;
    let statuses = until_status(&recorder, "Job", "job", "succeeded", json!(2)).await;
    assert_eq!(fleet.simulator_failures(), Vec::<String>::new());
    assert_eq!(
        course(&statuses, "active"),
        [Value::Null, json!(1), Value::Null],
        "{statuses:#?}"
    );
    let last = statuses.last().unwrap();
    assert_eq!(last["conditions"][1]["type"], "Complete");
    assert!(last["completionTime"].is_string(), "{last:#}");
    fleet.shut_down().await.unwrap();
}

async fn flink_status(fleet: &dyn Fleet, member: usize) -> Value {
    let recorder = observe(fleet);
    let member = &fleet.members()[member];
    apply(member, &fixture("flink/crd.yaml")).await;
    apply(member, &fixture("flink/foo.yaml")).await;
    let mut statuses = until_status(&recorder, "FlinkDeployment", "foo", "jobStatus/state", json!("RUNNING")).await;
    assert_eq!(fleet.simulator_failures(), Vec::<String>::new());
    statuses.pop().unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn a_flink_job_gets_an_id_that_differs_by_member_and_not_by_run() {
    let mut ids = Vec::new();
    for member in [0, 0, 1] {
        let fleet = fleet(2, Time::Virtual).await;
        let status = flink_status(&*fleet, member).await;
        assert_eq!(status["jobManagerDeploymentStatus"], "READY");
        assert_eq!(status["lifecycleState"], "STABLE");
        assert_eq!(
            status["jobStatus"].get("jobId"),
            None,
            "the definition has one spelling"
        );
        ids.push(status["jobStatus"]["jobID"].as_str().unwrap().to_owned());
        fleet.shut_down().await.unwrap();
    }
    let hexadecimal = |id: &String| id.len() == 32 && id.bytes().all(|it| it.is_ascii_hexdigit());
    assert!(ids.iter().all(hexadecimal), "{ids:?}");
    assert_eq!(ids[0], ids[1]);
    assert_ne!(ids[0], ids[2]);
}

/// Reported records of a counting job on a member, once it has written this checkpoint.
async fn records(recorder: &Recorder, number: usize, checkpoint: &str) -> Value {
    let seen = until(recorder, "FlinkDeployment", "counter", |revision| {
        revision.cluster == member(number) && revision.object["status"]["records"]["checkpoint"] == checkpoint
    });
    let seen = tokio::time::timeout(std::time::Duration::from_secs(600), seen).await;
    seen.unwrap().pop().unwrap().object["status"]["records"].clone()
}

#[tokio::test(start_paused = true)]
async fn a_flink_job_goes_on_from_a_checkpoint_of_another_member() {
    let fleet = fleet(3, Time::Virtual).await;
    let recorder = observe(&*fleet);
    for member in fleet.members() {
        apply(member, &fixture("flink/crd.yaml")).await;
    }
    apply(&fleet.members()[0], &fixture("flink/counter.yaml")).await;
    let first = records(&recorder, 1, "chk-2").await;
    let sink = json!({"records": 2000, "twice": 0, "missing": 0});
    assert_eq!(first, json!({"checkpoint": "chk-2", "counted": 2000, "sink": sink}));
    tokio::time::sleep(std::time::Duration::from_secs(4)).await;
    let counter = reference("flink.apache.org/v1beta1", "FlinkDeployment", "counter");
    let client = fleet.members()[0].inside(actions::BATON);
    let status = all(&recorder, "FlinkDeployment", "counter").pop().unwrap().1;
    actions::delete(&client, &counter).await.unwrap();

    let id = status["jobStatus"]["jobID"].as_str().unwrap();
    let path = format!("/shared/default/{id}/checkpoints/chk-2");
    let mut restored = fixture("flink/counter.yaml");
    restored["spec"]["job"]["initialSavepointPath"] = json!(path);
    apply(&fleet.members()[1], &restored).await;
    let second = records(&recorder, 2, "chk-3").await;
    assert_eq!(second["restored"], json!({"from": path, "records": 2000}));
    assert_eq!(second["counted"], 3000);
    assert_eq!(second["sink"], json!({"records": 3000, "twice": 0, "missing": 0}));

    apply(&fleet.members()[2], &fixture("flink/counter.yaml")).await;
    let afresh = records(&recorder, 3, "chk-1").await;
    assert_eq!(afresh["restored"], Value::Null);
    assert_eq!(afresh["sink"]["twice"], 1000, "{afresh:#}");
    assert_eq!(fleet.simulator_failures(), Vec::<String>::new());
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_flink_job_fails_when_its_checkpoint_is_not_there() {
    let fleet = fleet(1, Time::Virtual).await;
    let recorder = observe(&*fleet);
    apply(&fleet.members()[0], &fixture("flink/crd.yaml")).await;
    let mut counter = fixture("flink/counter.yaml");
    counter["spec"]["job"]["initialSavepointPath"] = json!("/shared/default/0/checkpoints/chk-1");
    apply(&fleet.members()[0], &counter).await;
    let statuses = until_status(
        &recorder,
        "FlinkDeployment",
        "counter",
        "jobStatus/state",
        json!("FAILED"),
    )
    .await;
    let told = "there is no checkpoint /shared/default/0/checkpoints/chk-1";
    assert_eq!(statuses.last().unwrap()["error"], told);
    assert_eq!(fleet.simulator_failures(), Vec::<String>::new());
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_must_never_be_ready_is_not() {
    let fleet = fleet(1, Time::Virtual).await;
    let recorder = observe(&*fleet);
    apply(
        &fleet.members()[0],
        &annotated("workloads/deploy.yaml", "ready", "never"),
    )
    .await;
    tokio::time::sleep(std::time::Duration::from_secs(3600)).await;
    let statuses = all(&recorder, "Deployment", "deploy");
    assert!(statuses.len() > 1, "the simulator has done nothing");
    assert!(
        statuses.iter().all(|(_, status)| status["readyReplicas"].is_null()),
        "{statuses:#?}"
    );
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn readiness_can_come_late_and_go_again() {
    let fleet = fleet(1, Time::Virtual).await;
    let recorder = observe(&*fleet);
    let begin = fleet.clock()();
    apply(&fleet.members()[0], &annotated("workloads/deploy.yaml", "ready", "30s")).await;
    until_status(&recorder, "Deployment", "deploy", "readyReplicas", json!(2)).await;
    let waited = fleet.clock()().duration_since(begin).as_secs();
    assert_eq!(waited, 30);
    apply(
        &fleet.members()[0],
        &annotated("workloads/deploy.yaml", "ready", "never"),
    )
    .await;
    until_status(&recorder, "Deployment", "deploy", "unavailableReplicas", json!(2)).await;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let (_, last) = all(&recorder, "Deployment", "deploy").pop().unwrap();
    assert_eq!(last["readyReplicas"], Value::Null, "{last:#}");
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_is_paused_is_left_alone() {
    let fleet = fleet(1, Time::Virtual).await;
    let recorder = observe(&*fleet);
    apply(
        &fleet.members()[0],
        &annotated("workloads/deploy.yaml", "paused", "true"),
    )
    .await;
    tokio::time::sleep(std::time::Duration::from_secs(3600)).await;
    assert_eq!(all(&recorder, "Deployment", "deploy").len(), 1);
    fleet.shut_down().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_real_time_and_several_threads_it_is_the_same() {
    let fleet = fleet(2, Time::Real("2026-01-01T00:00:00Z".parse().unwrap())).await;
    let recorder = observe(&*fleet);
    apply(&fleet.members()[0], &fixture("workloads/deploy.yaml")).await;
    apply(&fleet.members()[1], &fixture("workloads/sts.yaml")).await;
    until_status(&recorder, "Deployment", "deploy", "readyReplicas", json!(2)).await;
    until_status(&recorder, "StatefulSet", "sts", "readyReplicas", json!(2)).await;
    fleet.shut_down().await.unwrap();
}
