//! Real clients against the HTTPS endpoint: kubectl, and the Kubernetes client for Python. The test skips a client that
//! is not installed, and says so.
//!
//! The Python interpreter is `python3`, or the one that the variable `PYTHON` names.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use baton_apiserver::{ApiServer, Options, Serving};
use jiff::Timestamp;
use tokio::process::Command;
use tokio::time::timeout;

const TIMEOUT: Duration = Duration::from_secs(60);

/// A server, and the folder with its kubeconfig.
struct Place {
    serving: Serving,
    folder: tempfile::TempDir,
}

impl Place {
    async fn new() -> Self {
        let server = ApiServer::new(Options::new("clients", Arc::new(Timestamp::now)));
        let serving = server.serve().await.expect("a free port");
        let folder = tempfile::tempdir().expect("a folder");
        let place = Self { serving, folder };
        std::fs::write(place.kubeconfig(), place.serving.kubeconfig()).expect("written");
        place
    }

    fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    async fn kubectl(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new("kubectl");
        command.arg("--kubeconfig").arg(self.kubeconfig()).args(arguments);
        command.env("HOME", self.folder.path()).stdin(Stdio::null());
        timeout(TIMEOUT, command.output())
            .await
            .expect("in time")
            .expect("kubectl runs")
    }
}

async fn is_there(program: &str, arguments: &[&str]) -> bool {
    let status = Command::new(program)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .await;
    status.is_ok_and(|status| status.success())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Commands and a part of their expected output.
const COMMANDS: &[(&[&str], &str)] = &[
    (&["create", "namespace", "demo"], "namespace/demo created"),
    (
        &["-n", "demo", "create", "configmap", "a", "--from-literal=k=v"],
        "configmap/a created",
    ),
    (&["-n", "demo", "get", "configmaps"], "NAME   DATA   AGE"),
    (
        &[
            "-n",
            "demo",
            "create",
            "deployment",
            "web",
            "--image=nginx",
            "--replicas=2",
        ],
        "deployment.apps/web created",
    ),
    (
        &["-n", "demo", "expose", "deployment", "web", "--port=80"],
        "service/web exposed",
    ),
    (&["-n", "demo", "get", "all", "-o", "wide"], "deployment.apps/web   0/2"),
    (
        &["-n", "demo", "describe", "deployment", "web"],
        "2 desired | 0 updated",
    ),
    (
        &["-n", "demo", "scale", "deployment", "web", "--replicas=3"],
        "deployment.apps/web scaled",
    ),
    (
        &["-n", "demo", "label", "deployment", "web", "x=y"],
        "deployment.apps/web labeled",
    ),
    (
        &["-n", "demo", "annotate", "deployment", "web", "x=y"],
        "deployment.apps/web annotated",
    ),
    (
        &["-n", "demo", "set", "image", "deployment/web", "nginx=nginx:2"],
        "deployment.apps/web image updated",
    ),
    (
        &[
            "-n",
            "demo",
            "patch",
            "deployment",
            "web",
            "--subresource=status",
            "--type=merge",
            "-p",
            ROLLED_OUT,
        ],
        "deployment.apps/web patched",
    ),
    (
        &["-n", "demo", "rollout", "status", "deployment", "web", "--timeout=20s"],
        "successfully rolled out",
    ),
    (
        &[
            "-n",
            "demo",
            "wait",
            "--for=condition=Available",
            "deployment/web",
            "--timeout=20s",
        ],
        "condition met",
    ),
    (&["-n", "demo", "run", "p", "--image=nginx"], "pod/p created"),
    (&["-n", "demo", "get", "pods"], "p      0/1     Pending   0"),
    (&["explain", "deployment.spec.replicas"], "FIELD: replicas <integer>"),
    (&["api-resources"], "deployments"),
    (&["auth", "can-i", "create", "pods"], "yes"),
    (
        &["-n", "demo", "delete", "deployment", "web", "--wait", "--timeout=20s"],
        "deleted",
    ),
    (
        &["delete", "namespace", "demo", "--wait", "--timeout=20s"],
        "namespace \"demo\" deleted",
    ),
];

const ROLLED_OUT: &str = r#"{"status": {"observedGeneration": 4, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3,
    "availableReplicas": 3, "conditions": [{"type": "Available", "status": "True"}]}}"#;

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_works() {
    if !is_there("kubectl", &["version", "--client"]).await {
        println!("skipped: kubectl is not installed");
        return;
    }
    let place = Place::new().await;
    for (arguments, expected) in COMMANDS {
        let output = place.kubectl(arguments).await;
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(
            output.status.success() && out.contains(expected),
            "kubectl {arguments:?}\n{out}\n{err}"
        );
    }
    let refused = place.kubectl(&["run", "Bad_Name", "--image=nginx"]).await;
    assert!(text(&refused.stderr).contains("a lowercase RFC 1123 subdomain must consist of"));
    place.serving.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_client_works() {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    if !is_there(&python, &["-c", "import kubernetes"]).await {
        println!("skipped: the Kubernetes client for Python is not installed");
        return;
    }
    let place = Place::new().await;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server/clients/smoke.py");
    let mut command = Command::new(python);
    command.arg(script).arg(place.kubeconfig()).stdin(Stdio::null());
    let output = timeout(TIMEOUT, command.output())
        .await
        .expect("in time")
        .expect("Python runs");
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && out.trim() == "ok", "{out}\n{err}");
    place.serving.stop().await;
}
