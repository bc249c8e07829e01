//! The reference controller, with the rate limit of evictions off.

use std::{collections::BTreeMap, fmt, fs, io::Read as _, path::Path, process::Stdio, sync::Arc};

use baton::implementation::reference::{self, USER_AGENT};
use baton_cluster::{fleet::Fleet, runner::Running};
use baton_controller::{Controller, Options, PushMembers};
use baton_core::case::model::ControllerSetup;
use http::{HeaderValue, header};
use jiff::Timestamp;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};

use crate::Failure;

/// The argument that makes a controller of this program; a kubeconfig of the control plane follows.
pub const COMMAND: &str = "controller";

const GATES: [&str; 2] = ["Failover", "StatefulFailoverInjection"];
/// Evictions per second: so many that it is no limit.
const NO_LIMIT: f64 = 1e9;

/// Where the controller is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the process of the clusters.
    Inside,
    /// In a process of its own; it reaches the clusters over HTTPS.
    Alone,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Inside => "The controller in the process of the clusters",
            Self::Alone => "The controller alone in a process, over HTTPS; how much memory is resident there",
        })
    }
}

/// A controller that runs until it is dropped.
pub enum Started {
    Inside(#[expect(dead_code, reason = "it is kept for being dropped")] Box<dyn Running>),
    Alone(tokio::process::Child),
}

impl Started {
    /// `program` is the controller's own program, if it is to be the one that is alone.
    pub async fn new(place: Place, program: Option<&Path>, fleet: &dyn Fleet) -> Result<Self, Failure> {
        match place {
            Place::Inside => {
                let clients = fleet
                    .members()
                    .iter()
                    .map(|member| (member.name().to_string(), member.client(USER_AGENT)));
                let setup = ControllerSetup {
                    feature_gates: GATES.map(|gate| (gate.to_owned(), true)).into(),
                    options: BTreeMap::from([("resource-eviction-rate".to_owned(), NO_LIMIT.to_string())]),
                };
                let control = fleet.control().client(USER_AGENT);
                let started =
                    reference::start(control, clients.collect(), fleet.clock(), "bench", &setup, None).await?;
                Ok(Self::Inside(started))
            }
            Place::Alone => {
                let kubeconfig = fleet.control().kubeconfig().ok_or("a fleet without doors")?;
                let mut command = match program {
                    Some(program) => as_users_start_it(program, kubeconfig),
                    None => tokio::process::Command::new(std::env::current_exe()?),
                };
                if program.is_none() {
                    command.arg(COMMAND).arg(kubeconfig);
                }
                let child = command.stdin(Stdio::piped()).kill_on_drop(true).spawn()?;
                Ok(Self::Alone(child))
            }
        }
    }

    /// The memory in KiB that is resident in the controller's process, if it is alone there.
    pub fn memory(&self) -> Option<u64> {
        let Self::Alone(child) = self else { return None };
        let status = fs::read_to_string(format!("/proc/{}/status", child.id()?)).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.trim().strip_suffix("kB")?.trim().parse().ok()
    }
}

/// Runs a controller until nobody holds the other end of the standard input.
fn as_users_start_it(program: &Path, kubeconfig: &Path) -> tokio::process::Command {
    let mut command = tokio::process::Command::new(program);
    let gates = GATES.map(|gate| format!("{gate}=true")).join(",");
    command.arg("--kubeconfig").arg(kubeconfig);
    command.arg("--feature-gates").arg(gates);
    command.arg("--resource-eviction-rate").arg(NO_LIMIT.to_string());
    command
}

pub async fn alone(kubeconfig: &str) -> Result<(), Failure> {
    let kubeconfig = Kubeconfig::read_from(Path::new(kubeconfig))?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let agent = (header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
    config.headers.push(agent);
    let mut options = Options::default();
    for gate in GATES {
        options.set_gate(gate, true)?;
    }
    options.set("resource-eviction-rate", &NO_LIMIT.to_string())?;
    let control = Client::try_from(config)?;
    let members = PushMembers::new(control.clone());
    let controller = Controller::start(control, members, Arc::new(Timestamp::now), options);
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
    controller.stop().await;
    Ok(())
}
