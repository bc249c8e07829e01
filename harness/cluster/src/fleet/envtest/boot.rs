//! Starts the programs of one cluster.

use std::{
    fs,
    io::ErrorKind,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use baton_core::names::ClusterName;
use serde_json::json;
use tokio::{net::TcpStream, time::Instant};

use super::{Assets, EnvtestError, certificates::Certificates, process::Process};
use crate::{
    fleet::external::Access,
    loopback::Ports,
    scratch::{Scratch, write_private},
};

/// Longest time until the programs of a cluster serve.
const SERVES_WITHIN: Duration = Duration::from_secs(120);

/// Pause between readiness checks. Polling is the only way: the server reports to service managers when it begins to
/// listen, which is long before it is ready.
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// Controllers that clusters without kubelets need: those that delete objects.
const CONTROLLERS: &str = "garbage-collector-controller,namespace-controller,serviceaccount-controller";

/// The programs of a cluster. They end when this is dropped.
#[derive(Debug)]
pub(super) struct ControlPlane {
    pub name: ClusterName,
    /// Kubeconfig of an administrator.
    pub kubeconfig: String,
    /// In the order in which they end.
    _processes: Vec<Process>,
    _ports: Ports,
    _folder: Scratch,
}

fn io_failed(what: &str) -> impl FnOnce(std::io::Error) -> EnvtestError {
    let what = what.to_owned();
    move |source| EnvtestError::Io { what, source }
}

/// Number of attempts to start a cluster when another process takes its ports first.
const TRIES: usize = 5;

/// Detects that another process took a port: only processes of Baton see that a port is claimed before a program listens.
fn lost_its_port(error: &EnvtestError) -> bool {
    let lost = |line: &String| line.contains("address already in use");
    matches!(error, EnvtestError::Program { said, .. } if said.iter().any(lost))
}

impl ControlPlane {
    /// Boots a cluster, and returns when it serves.
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
        let folder = Scratch::new("envtest");
        let folder = folder.map_err(io_failed("making a temporary directory"))?;
        let certificates = Certificates::make()?;
        certificates.write(folder.path())?;
        let ports = Ports::find(3).map_err(io_failed("looking for free ports"))?;
        let &[client, peer, port] = ports.numbers() else {
            return Err(io_failed("looking for free ports")(ErrorKind::AddrNotAvailable.into()));
        };
        let kubeconfig = kubeconfig(port, &certificates);
        let path = folder.path().join("kubeconfig");
        write_private(&path, &kubeconfig).map_err(io_failed("writing a kubeconfig"))?;
        let output = |program: &str| folder.path().join(format!("{program}.log"));
        let start = |program: &Path, args: Vec<String>, called: &str| {
            Process::start(program, args, &output(called)).map_err(io_failed(&format!("starting {called}")))
        };
        let mut etcd = Starting {
            program: "etcd",
            cluster: &name,
            process: start(&assets.etcd, etcd_args(folder.path(), client, peer), "etcd")?,
            output: output("etcd"),
        };
        // An API server that does not reach its etcd exits after 20 s, and a busy machine may need that long to start
        // etcd.
        etcd.until(async || listens(client).await).await?;
        let args = api_server_args(folder.path(), client, port);
        let mut api_server = Starting {
            program: "kube-apiserver",
            cluster: &name,
            process: start(&assets.api_server, args, "kube-apiserver")?,
            output: output("kube-apiserver"),
        };
        let access = Access::by_text(name.clone(), &kubeconfig).await?;
        // Most of the time passes before the server listens at all.
        let serves = api_server.until(async || listens(port).await && access.is_ready().await);
        if let Err(error) = serves.await {
            // Another process may have taken the port of etcd; then etcd's output says so.
            etcd.must_run()?;
            return Err(error);
        }
        let mut processes = vec![api_server.process, etcd.process];
        if let Some(program) = &assets.controllers {
            let args = controllers_args(folder.path(), &path);
            processes.insert(0, start(program, args, "kube-controller-manager")?);
        }
        Ok(Self {
            name,
            kubeconfig,
            _processes: processes,
            _ports: ports,
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
        // Data that is thrown away need not survive a power failure.
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
        // Pods are simulated, and no controller creates their service accounts in time, or removes the finalizers that
        // protect claims and volumes in use.
        "--disable-admission-plugins=ServiceAccount,StorageObjectInUseProtection".to_owned(),
    ]
}

fn controllers_args(folder: &Path, kubeconfig: &Path) -> Vec<String> {
    vec![
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--controllers={CONTROLLERS}"),
        "--leader-elect=false".to_owned(),
        // No client uses its HTTPS port.
        "--secure-port=0".to_owned(),
        format!("--cert-dir={}", folder.display()),
    ]
}

async fn listens(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.is_ok()
}

/// A program that has been started and may not serve yet.
struct Starting<'a> {
    program: &'static str,
    cluster: &'a ClusterName,
    process: Process,
    output: PathBuf,
}

impl Starting<'_> {
    /// Waits until the program serves.
    async fn until(&mut self, serves: impl AsyncFn() -> bool) -> Result<(), EnvtestError> {
        let deadline = Instant::now() + SERVES_WITHIN;
        while !serves().await {
            self.must_run()?;
            if Instant::now() > deadline {
                return Err(self.failed(&format!("has not become ready within {SERVES_WITHIN:?}")));
            }
            tokio::time::sleep(ASK_AGAIN_AFTER).await;
        }
        Ok(())
    }

    /// Fails with the last lines of the program's output, if the program has ended.
    fn must_run(&mut self) -> Result<(), EnvtestError> {
        let looked = self.process.has_ended();
        if looked.map_err(io_failed(&format!("looking after {}", self.program)))? {
            return Err(self.failed("has ended"));
        }
        Ok(())
    }

    fn failed(&self, what: &str) -> EnvtestError {
        let text = fs::read_to_string(&self.output).unwrap_or_default();
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
    // Every JSON document is a YAML document.
    config.to_string()
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, os::unix::fs::PermissionsExt as _};

    use super::*;

    /// Counts how often an etcd is started that exits with this message.
    async fn starts(words: &str) -> usize {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("starts");
        let script = format!("echo start >>{}\necho '{words}'\nexit 1", log.display());
        program(&folder.path().join("etcd"), &script);
        fs::write(folder.path().join("kube-apiserver"), "").unwrap();
        let assets = Assets::find(Some(folder.path())).unwrap();
        let error = ControlPlane::boot(&assets, ClusterName::control()).await.err().unwrap();
        assert!(error.to_string().contains(words), "{error}");
        fs::read_to_string(log).unwrap().lines().count()
    }

    /// Writes a shell script as a program.
    fn program(path: &Path, script: &str) {
        fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
    }

    #[tokio::test]
    async fn an_api_server_that_reaches_somebody_else_is_not_blamed() {
        let folder = tempfile::tempdir().unwrap();
        let [port, taken] = ["port", "taken"].map(|name| folder.path().join(name));
        // This etcd exits once another process listens on its port.
        let etcd = format!(
            "for arg; do case $arg in --listen-client-urls=*) echo \"${{arg##*:}}\" >'{0}.new'; mv '{0}.new' '{0}';; esac; done\n\
             while [ ! -e '{1}' ]; do sleep 0.01; done\necho 'bind: address already in use'\nexit 1",
            port.display(),
            taken.display()
        );
        program(&folder.path().join("etcd"), &etcd);
        program(
            &folder.path().join("kube-apiserver"),
            "echo 'context deadline exceeded'; exit 1",
        );
        let somebody = tokio::task::spawn_blocking(move || {
            while !port.exists() {
                std::thread::yield_now();
            }
            let port: u16 = fs::read_to_string(&port).unwrap().trim().parse().unwrap();
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
            fs::write(taken, "").unwrap();
            listener
        });
        let assets = Assets::find(Some(folder.path())).unwrap();
        let booted = ControlPlane::boot_on_free_ports(&assets, ClusterName::control()).await;
        let error = booted.err().unwrap();
        assert!(lost_its_port(&error), "{error}");
        drop(somebody.await.unwrap());
    }

    #[tokio::test]
    async fn other_ports_are_tried_if_a_program_ends_for_want_of_one() {
        let words = "listen tcp 127.0.0.1:2379: bind: address already in use";
        assert_eq!(starts(words).await, TRIES);
        assert_eq!(starts("no space left on device").await, 1);
    }
}
