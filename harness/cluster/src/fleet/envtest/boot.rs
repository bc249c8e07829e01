//! Starts the programs of one cluster.

use std::{
    fs,
    net::{Ipv4Addr, TcpListener},
    path::Path,
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use baton_core::names::ClusterName;
use serde_json::json;
use tokio::{net::TcpStream, time::Instant};

use super::{Assets, EnvtestError, certificates::Certificates, process::Process};
use crate::{
    fleet::external::Access,
    scratch::{Scratch, write_private},
};

/// How long the programs of a cluster may take to serve.
const SERVES_WITHIN: Duration = Duration::from_secs(120);

/// How long to wait before a server that is not ready yet is asked again. There is no other way: to service managers
/// it tells when it begins to listen, which is long before, and of being ready it tells nobody who does not ask.
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// Controllers that clusters without workloads of their own need: those that remove things.
const CONTROLLERS: &str = "garbage-collector-controller,namespace-controller,serviceaccount-controller";

/// The programs of a cluster. They end when this is dropped.
#[derive(Debug)]
pub(super) struct ControlPlane {
    pub name: ClusterName,
    /// An administrator's.
    pub kubeconfig: String,
    /// In the order in which they are ended.
    _processes: Vec<Process>,
    _folder: Scratch,
}

fn io_failed(what: &str) -> impl FnOnce(std::io::Error) -> EnvtestError {
    let what = what.to_owned();
    move |source| EnvtestError::Io { what, source }
}

/// Ports that nobody uses now. They are all held until all are known, so that no two are the same.
fn free_ports<const N: usize>() -> Result<[u16; N], EnvtestError> {
    let mut held = Vec::new();
    let mut ports = [0; N];
    for port in &mut ports {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(io_failed("looking for a free port"))?;
        *port = listener
            .local_addr()
            .map_err(io_failed("looking for a free port"))?
            .port();
        held.push(listener);
    }
    Ok(ports)
}

impl ControlPlane {
    /// Boots a cluster; when this returns it serves.
    pub(super) async fn boot(assets: &Assets, name: ClusterName) -> Result<Self, EnvtestError> {
        let folder = Scratch::new("baton-envtest-");
        let folder = folder.map_err(io_failed("making a temporary directory"))?;
        let certificates = Certificates::make()?;
        certificates.write(folder.path())?;
        let [client, peer, port] = free_ports()?;
        let kubeconfig = kubeconfig(port, &certificates);
        let path = folder.path().join("kubeconfig");
        write_private(&path, &kubeconfig).map_err(io_failed("writing a kubeconfig"))?;
        let output = |program: &str| folder.path().join(format!("{program}.log"));
        let start = |program: &Path, args: Vec<String>, called: &str| {
            Process::start(program, args, &output(called)).map_err(io_failed(&format!("starting {called}")))
        };
        let etcd = start(&assets.etcd, etcd_args(folder.path(), client, peer), "etcd")?;
        let args = api_server_args(folder.path(), client, port);
        let mut api_server = start(&assets.api_server, args, "kube-apiserver")?;
        let access = Access::by_text(name.clone(), &kubeconfig).await?;
        serves(&access, port, &mut api_server, &output("kube-apiserver")).await?;
        let mut processes = vec![api_server, etcd];
        if let Some(program) = &assets.controllers {
            let args = controllers_args(folder.path(), &path);
            processes.insert(0, start(program, args, "kube-controller-manager")?);
        }
        Ok(Self {
            name,
            kubeconfig,
            _processes: processes,
            _folder: folder,
        })
    }
}

fn etcd_args(folder: &Path, client: u16, peer: u16) -> Vec<String> {
    let (client, peer) = (format!("http://127.0.0.1:{client}"), format!("http://127.0.0.1:{peer}"));
    vec![
        format!("--data-dir={}", folder.join("etcd").display()),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=default={peer}"),
        // What is thrown away need not survive a loss of power.
        "--unsafe-no-fsync".to_owned(),
    ]
}

fn api_server_args(folder: &Path, etcd: u16, port: u16) -> Vec<String> {
    let file = |name: &str| folder.join(name).display().to_string();
    vec![
        format!("--etcd-servers=http://127.0.0.1:{etcd}"),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        format!("--tls-cert-file={}", file("server.crt")),
        format!("--tls-private-key-file={}", file("server.key")),
        format!("--client-ca-file={}", file("ca.crt")),
        format!("--cert-dir={}", folder.display()),
        "--authorization-mode=RBAC".to_owned(),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        format!("--service-account-key-file={}", file("accounts.pub")),
        format!("--service-account-signing-key-file={}", file("accounts.key")),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        // Pods are simulated, and nobody makes accounts for them in time.
        "--disable-admission-plugins=ServiceAccount".to_owned(),
    ]
}

fn controllers_args(folder: &Path, kubeconfig: &Path) -> Vec<String> {
    vec![
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--controllers={CONTROLLERS}"),
        "--leader-elect=false".to_owned(),
        // It would serve what nobody asks it for.
        "--secure-port=0".to_owned(),
        format!("--cert-dir={}", folder.display()),
    ]
}

/// Returns once a server says that it is ready.
async fn serves(access: &Access, port: u16, process: &mut Process, output: &Path) -> Result<(), EnvtestError> {
    let failed = |what: &str| {
        let text = fs::read_to_string(output).unwrap_or_default();
        let lines: Vec<_> = text.lines().map(str::to_owned).collect();
        EnvtestError::Program {
            program: "kube-apiserver",
            cluster: access.name().clone(),
            what: what.to_owned(),
            said: lines[lines.len().saturating_sub(10)..].to_vec(),
        }
    };
    let deadline = Instant::now() + SERVES_WITHIN;
    // Most of the time goes by before it listens at all.
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.is_err() || !access.is_ready().await {
        if process.has_ended().map_err(io_failed("looking after kube-apiserver"))? {
            return Err(failed("has ended"));
        }
        if Instant::now() > deadline {
            return Err(failed(&format!("has not become ready within {SERVES_WITHIN:?}")));
        }
        tokio::time::sleep(ASK_AGAIN_AFTER).await;
    }
    Ok(())
}

fn kubeconfig(port: u16, certificates: &Certificates) -> String {
    let (certificate, key) = &certificates.client;
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "envtest", "cluster": {
            "server": format!("https://127.0.0.1:{port}"),
            "certificate-authority-data": BASE64.encode(&certificates.ca),
        }}],
        "users": [{"name": "envtest", "user": {
            "client-certificate-data": BASE64.encode(certificate),
            "client-key-data": BASE64.encode(key),
        }}],
        "contexts": [{"name": "envtest", "context": {"cluster": "envtest", "user": "envtest"}}],
        "current-context": "envtest",
    });
    // JSON is a form of YAML.
    config.to_string()
}
