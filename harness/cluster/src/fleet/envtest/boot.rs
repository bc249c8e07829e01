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

/// How often a cluster is started whose ports somebody takes before its programs do.
const TRIES: usize = 5;

/// Whether a program ended because somebody else has its port: those that are free are not held for it.
fn lost_its_port(error: &EnvtestError) -> bool {
    let lost = |line: &String| line.contains("address already in use");
    matches!(error, EnvtestError::Program { said, .. } if said.iter().any(lost))
}

impl ControlPlane {
    /// Boots a cluster; when this returns it serves.
    pub(super) async fn boot(assets: &Assets, name: ClusterName) -> Result<Self, EnvtestError> {
        for _ in 1..TRIES {
            match Self::boot_on_free_ports(assets, name.clone()).await {
                Err(error) if lost_its_port(&error) => tracing::debug!(%error, "other ports are tried"),
                booted => return booted,
            }
        }
        Self::boot_on_free_ports(assets, name).await
    }

    async fn boot_on_free_ports(assets: &Assets, name: ClusterName) -> Result<Self, EnvtestError> {
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
        let mut etcd = start(&assets.etcd, etcd_args(folder.path(), client, peer), "etcd")?;
        // An API server that does not reach its etcd ends after 20 s, which a busy machine may need to start it.
        let starting = Starting {
            program: "etcd",
            cluster: &name,
            process: &mut etcd,
            output: &output("etcd"),
        };
        starting.until(async || listens(client).await).await?;
        let args = api_server_args(folder.path(), client, port);
        let mut api_server = start(&assets.api_server, args, "kube-apiserver")?;
        let access = Access::by_text(name.clone(), &kubeconfig).await?;
        let starting = Starting {
            program: "kube-apiserver",
            cluster: &name,
            process: &mut api_server,
            output: &output("kube-apiserver"),
        };
        // Most of the time goes by before it listens at all.
        starting
            .until(async || listens(port).await && access.is_ready().await)
            .await?;
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

async fn listens(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.is_ok()
}

/// A program that has been started and does not serve yet.
struct Starting<'a> {
    program: &'static str,
    cluster: &'a ClusterName,
    process: &'a mut Process,
    output: &'a Path,
}

impl Starting<'_> {
    /// Waits until it serves.
    async fn until(self, serves: impl AsyncFn() -> bool) -> Result<(), EnvtestError> {
        let deadline = Instant::now() + SERVES_WITHIN;
        while !serves().await {
            let looked = self.process.has_ended();
            if looked.map_err(io_failed(&format!("looking after {}", self.program)))? {
                return Err(self.failed("has ended"));
            }
            if Instant::now() > deadline {
                return Err(self.failed(&format!("has not become ready within {SERVES_WITHIN:?}")));
            }
            tokio::time::sleep(ASK_AGAIN_AFTER).await;
        }
        Ok(())
    }

    fn failed(&self, what: &str) -> EnvtestError {
        let text = fs::read_to_string(self.output).unwrap_or_default();
        let lines: Vec<_> = text.lines().map(str::to_owned).collect();
        EnvtestError::Program {
            program: self.program,
            cluster: self.cluster.clone(),
            what: what.to_owned(),
            said: lines[lines.len().saturating_sub(10)..].to_vec(),
        }
    }
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// How often an etcd is started that ends with these words.
    async fn starts(words: &str) -> usize {
        let folder = tempfile::tempdir().unwrap();
        let (program, log) = (folder.path().join("etcd"), folder.path().join("starts"));
        let script = format!("#!/bin/sh\necho start >>{}\necho '{words}'\nexit 1\n", log.display());
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(folder.path().join("kube-apiserver"), "").unwrap();
        let assets = Assets::find(Some(folder.path())).unwrap();
        let error = ControlPlane::boot(&assets, ClusterName::control()).await.err().unwrap();
        assert!(error.to_string().contains(words), "{error}");
        fs::read_to_string(log).unwrap().lines().count()
    }

    #[tokio::test]
    async fn other_ports_are_tried_if_a_program_ends_for_want_of_one() {
        let words = "listen tcp 127.0.0.1:2379: bind: address already in use";
        assert_eq!(starts(words).await, TRIES);
        assert_eq!(starts("no space left on device").await, 1);
    }
}
