//! The backend `k3s` with a fake container engine, whose API is answered here.

use std::{collections::BTreeMap, process::Output};

use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, Request, Respond, ResponseTemplate,
    matchers::{method, path_regex},
};

use crate::common;

const IMAGE: &str = "rancher/k3s:v1.34.1-k3s1";

/// A container's log once k3s is ready, framed as the engine does it: stream, length, text.
fn log(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap().to_be_bytes();
    [&[2, 0, 0, 0], &length[..], text.as_bytes()].concat()
}

/// A tar archive of one file.
fn tar(name: &str, content: &[u8]) -> Vec<u8> {
    let mut header = [0_u8; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[100..107].copy_from_slice(b"0000644");
    header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
    header[136..147].copy_from_slice(b"00000000000");
    header[148..156].fill(b' ');
    header[156] = b'0';
    header[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    let padding = vec![0; content.len().next_multiple_of(512) - content.len() + 1024];
    [&header[..], content, &padding].concat()
}

/// An engine whose containers are called by the last word of their names: `control`, `member1`, `member2`.
struct Engine(MockServer);

impl Engine {
    async fn new() -> Self {
        let engine = Self(MockServer::start().await);
        engine
            .answers(
                "GET",
                "/version$",
                200,
                json!({"ApiVersion": "1.53", "Version": "29.3.0"}),
            )
            .await;
        engine
    }

    async fn answers(&self, verb: &str, path: &str, status: u16, body: Value) {
        self.responds(verb, path, ResponseTemplate::new(status).set_body_json(body))
            .await;
    }

    async fn responds(&self, verb: &str, path: &str, respond: impl Respond + 'static) {
        Mock::given(method(verb))
            .and(path_regex(path))
            .respond_with(respond)
            .mount(&self.0)
            .await;
    }

    /// Containers can be made, named, and removed.
    async fn makes_containers(&self) {
        let made = |request: &Request| {
            let name = request.url.query_pairs().find(|(key, _)| key == "name").unwrap().1;
            let id = name.rsplit('-').next().unwrap();
            ResponseTemplate::new(201).set_body_json(json!({"Id": id, "Warnings": []}))
        };
        self.responds("POST", "/containers/create$", made).await;
        self.responds("DELETE", "/containers/[^/]+$", ResponseTemplate::new(204))
            .await;
    }

    async fn starts_containers(&self, kubeconfig: &str) {
        self.responds("POST", "/start$", ResponseTemplate::new(204)).await;
        let log = ResponseTemplate::new(200).set_body_bytes(log("Node controller sync successful\n"));
        self.responds("GET", "/logs$", log).await;
        let archive = ResponseTemplate::new(200).set_body_bytes(tar("k3s.yaml", kubeconfig.as_bytes()));
        self.responds("GET", "/archive$", archive).await;
        let inspected = json!({
            "Id": "some", "State": {"Running": true, "Status": "running"}, "HostConfig": {"NetworkMode": "bridge"},
            "NetworkSettings": {
                "Ports": {"6443/tcp": [{"HostIp": "127.0.0.1", "HostPort": "1"}]},
                "Networks": {"bridge": {"IPAddress": "172.17.0.5"}},
            },
        });
        self.answers("GET", "/containers/[^/]+/json$", 200, inspected).await;
    }

    async fn baton(&self, arguments: &[&str]) -> (Option<i32>, String) {
        baton(&self.0.uri().replace("http:", "tcp:"), arguments).await
    }

    async fn requests(&self, verb: &str, path: &str) -> Vec<Request> {
        let all = self.0.received_requests().await.unwrap();
        let wanted = |request: &Request| request.method.as_str() == verb && request.url.path().contains(path);
        all.into_iter().filter(wanted).collect()
    }
}

async fn baton(host: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = common::baton(&["run", "--backend", "k3s", "flink-jobid-directly"]);
    command.args(arguments).env("DOCKER_HOST", host);
    let output: Output = tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn asks_for_privileged_servers_and_removes_them() {
    let engine = Engine::new().await;
    engine.makes_containers().await;
    engine.starts_containers("not: a kubeconfig").await;
    let (code, errors) = engine.baton(&["--image", "example/k3s:v1"]).await;
    assert_eq!(code, Some(3), "{errors}");
    assert!(errors.contains("cannot be read from its container"), "{errors}");
    let created = engine.requests("POST", "/containers/create").await;
    assert_eq!(created.len(), 3);
    for request in created {
        let body: BTreeMap<String, Value> = request.body_json().unwrap();
        assert_eq!(body["Image"], "example/k3s:v1");
        assert_eq!(body["Cmd"][0], "server");
        assert!(body["Cmd"].as_array().unwrap().contains(&json!("--tls-san=127.0.0.1")));
        assert_eq!(body["HostConfig"]["Privileged"], true);
        assert_eq!(body["HostConfig"]["PublishAllPorts"], true);
        assert!(
            body["ExposedPorts"].to_string().contains("6443/tcp"),
            "{}",
            body["ExposedPorts"]
        );
    }
    let mut removed: Vec<String> = engine
        .requests("DELETE", "/containers/")
        .await
        .iter()
        .map(last)
        .collect();
    removed.sort();
    removed.dedup();
    assert_eq!(removed, ["control", "member1", "member2"]);
}

fn last(request: &Request) -> String {
    let path = request.url.path();
    path.rsplit(['/', '-']).next().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_engine_is_there() {
    let (code, errors) = baton("tcp://127.0.0.1:1", &[]).await;
    assert_eq!(code, Some(3), "{errors}");
    assert!(
        errors.contains("the container engine cannot be reached at tcp://127.0.0.1:1"),
        "{errors}"
    );
    assert!(errors.contains("help: start docker"), "{errors}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_engine_is_old() {
    let engine = Engine(MockServer::start().await);
    let refusal = "client version 1.53 is too new. Maximum supported API version is 1.41";
    engine
        .answers("GET", "/version$", 400, json!({"message": refusal}))
        .await;
    let (code, errors) = engine.baton(&[]).await;
    assert_eq!(code, Some(3), "{errors}");
    assert!(errors.contains(refusal), "{errors}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_image_cannot_be_pulled() {
    let engine = Engine::new().await;
    let absent = json!({"message": format!("No such image: {IMAGE}")});
    engine.answers("POST", "/containers/create$", 404, absent).await;
    engine
        .answers("POST", "/images/create$", 404, json!({"message": "manifest unknown"}))
        .await;
    engine
        .answers(
            "DELETE",
            "/containers/[^/]+$",
            404,
            json!({"message": "No such container"}),
        )
        .await;
    let (code, errors) = engine.baton(&[]).await;
    assert_eq!(code, Some(3), "{errors}");
    let told = format!("the image {IMAGE} is not on this machine and cannot be pulled");
    assert!(
        errors.contains(&told) && errors.contains("manifest unknown"),
        "{errors}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_cannot_be_started() {
    let engine = Engine::new().await;
    engine.makes_containers().await;
    let refusal = json!({"message": "privileged mode is incompatible with user namespaces"});
    engine.answers("POST", "/start$", 500, refusal).await;
    engine.responds("GET", "/logs$", ResponseTemplate::new(200)).await;
    let (code, errors) = engine.baton(&[]).await;
    assert_eq!(code, Some(3), "{errors}");
    assert!(
        errors.contains("the container of control cannot be started"),
        "{errors}"
    );
    assert!(errors.contains("privileged mode is incompatible"), "{errors}");
    assert!(!engine.requests("DELETE", "/containers/").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn k3s_ends_at_once() {
    let engine = Engine::new().await;
    engine.makes_containers().await;
    engine.responds("POST", "/start$", ResponseTemplate::new(204)).await;
    let words = ResponseTemplate::new(200).set_body_bytes(log("level=fatal msg=\"no memory cgroup\"\n"));
    engine.responds("GET", "/logs$", words).await;
    engine
        .answers(
            "GET",
            "/containers/[^/]+/json$",
            200,
            json!({"Id": "some", "State": {"Running": false}}),
        )
        .await;
    let (code, errors) = engine.baton(&[]).await;
    assert_eq!(code, Some(3), "{errors}");
    assert!(
        errors.contains("k3s on control ended before it was ready: level=fatal"),
        "{errors}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_needs_a_tag() {
    let (code, errors) = baton("tcp://127.0.0.1:1", &["--image", "localhost:5000/k3s"]).await;
    assert_eq!(code, Some(2), "{errors}");
    assert!(
        errors.contains("`localhost:5000/k3s` is not an image with a tag"),
        "{errors}"
    );
}
