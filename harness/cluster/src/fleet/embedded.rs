//! Fleets of API servers in this process.

use std::{
    collections::BTreeMap,
    net::Ipv4Addr,
    path::PathBuf,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use baton_apiserver::{self as apiserver, ApiServer, Gate, Revisions, Serving};
pub use baton_apiserver::{Change, Commits, RequestKey};
use baton_core::{
    case::model::Case,
    names::ClusterName,
    timeline::{Begin, HARNESS, Mark},
    yaml::{Diagnostic, plain},
};
use jiff::Timestamp;
use kube::Client;
use serde_json::Value;
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    time::Instant,
};

use super::{
    Backend, Cluster, Fault, Fleet, FleetError, Gatekeeper, Request, RequestCounts, TargetLocation, TimeMode,
    cluster_api::{self, Dating},
    register::{self, Endpoint},
};
use crate::{
    admission::Admission,
    clock::{Clock, tokio_clock},
    observer::{Recorder, Source, exact::Taps},
    scratch::{Scratch, write_private},
    simulator::{self, Rules, Simulator},
    storage::Storage,
};

/// User agent of the simulator.
pub(super) const SIMULATOR: &str = "baton-simulator";

/// User agent of the code that prepares a fleet.
pub(super) const FLEET: &str = "baton-fleet";

/// Name of the backend.
pub const EMBEDDED: &str = "embedded";

/// Clock of a fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// Wall-clock speed, from this time on.
    Real(Timestamp),
    /// Tokio's paused clock: as soon as every task waits, time jumps to the next timer. Always starts at the same time.
    /// Needs a current-thread runtime whose time is paused.
    Virtual,
}

/// Options of an embedded fleet.
#[derive(Clone)]
pub struct Options {
    /// Number of members: `member1`, `member2`, …
    pub members: usize,
    /// Clock of the fleet.
    pub time: Time,
    /// Random seed for uids, generated names and job ids.
    pub seed: u64,
    /// Serve the clusters over HTTPS on loopback, with a kubeconfig each, for other programs.
    pub doors: bool,
    /// Definitions that the control plane serves; those of the failover API if `None`.
    pub definitions: Option<Arc<Vec<Value>>>,
    /// Leave the clusters empty: the control plane has neither the failover API nor members, and no simulator runs.
    pub bare: bool,
    /// Record revisions for an observer. They are kept in memory until an observer reads them.
    pub observed: bool,
    /// Rules of the simulator; those of `fixtures/simulator` if `None`.
    pub rules: Option<Arc<Rules>>,
}

impl Options {
    /// Options for a fleet of this many members, without HTTPS and with seed 0.
    pub fn new(members: usize, time: Time) -> Self {
        Self {
            members,
            time,
            seed: 0,
            doors: false,
            definitions: None,
            bare: false,
            observed: true,
            rules: None,
        }
    }
}

/// The backend `embedded`: runs new API servers in this process for each case.
#[derive(Debug, Clone, Copy)]
pub struct InProcess {
    /// Clock of its fleets.
    pub time_mode: TimeMode,
    /// Serve the clusters over HTTPS, for a target in another process.
    pub doors: bool,
}

#[async_trait]
impl Backend for InProcess {
    fn name(&self) -> &'static str {
        EMBEDDED
    }

    fn time_mode(&self) -> TimeMode {
        self.time_mode
    }

    fn at_once(&self, _members: usize) -> Option<usize> {
        None
    }

    fn cannot_carry(&self, _case: &Case, _standing: TargetLocation) -> Option<String> {
        None
    }

    async fn fleet(&self, request: &Request) -> Result<Box<dyn Fleet>, FleetError> {
        let time = match self.time_mode {
            TimeMode::Real => Time::Real(Timestamp::now()),
            TimeMode::Virtual => Time::Virtual,
        };
        let options = Options {
            seed: request.seed,
            doors: self.doors,
            definitions: request.definitions.clone(),
            rules: request.rules.clone(),
            ..Options::new(request.members, time)
        };
        Ok(Box::new(Embedded::boot(options).await?))
    }

    async fn shut_down(&self) -> Result<(), FleetError> {
        Ok(())
    }
}

/// A fleet of API servers in this process.
pub struct Embedded {
    clock: Clock,
    has_virtual_time: bool,
    servers: BTreeMap<ClusterName, ApiServer>,
    control: Cluster,
    members: Vec<Cluster>,
    simulators: Vec<Simulator>,
    admission: Admission,
    taps: Mutex<Option<Taps>>,
    doors: Doors,
    /// Webhook for the kind Cluster, in place of an aggregated API server.
    cluster_api: Option<Dating>,
}

/// HTTPS listeners of a fleet, and the folder of their kubeconfigs.
#[derive(Default)]
struct Doors {
    serving: BTreeMap<ClusterName, Serving>,
    folder: Option<Scratch>,
}

impl Embedded {
    /// Boots a fleet, and returns when it is ready.
    ///
    /// # Errors
    /// If the runtime's time is not paused for virtual time, a port cannot be opened, or the control plane rejects a
    /// definition.
    pub async fn boot(options: Options) -> Result<Self, FleetError> {
        let start = match options.time {
            Time::Real(start) => start,
            Time::Virtual if paused() => epoch(),
            Time::Virtual => return Err(FleetError::NotPaused),
        };
        let clock = tokio_clock(start);
        let (servers, taps) = servers(&options, &clock);
        let doors = if options.doors {
            Doors::open(&servers).await?
        } else {
            Doors::default()
        };
        let cluster = |name: &ClusterName, server: &ApiServer| doors.cluster(name, server);
        let mut clusters = servers.iter().map(|(name, server)| cluster(name, server));
        let control = clusters.find(|cluster| cluster.name().is_control());
        let control = control.ok_or_else(|| FleetError::NoSuchCluster(ClusterName::control()))?;
        let members: Vec<Cluster> = clusters.collect();
        let cluster_api = if options.bare {
            None
        } else {
            prepare(&options, &clock, &control, doors.endpoints(&members)?).await?
        };
        let storage = Storage::default();
        let simulators = simulate(&options, &members, &clock, &storage)?;
        Ok(Self {
            clock,
            has_virtual_time: matches!(options.time, Time::Virtual),
            servers,
            control,
            members,
            simulators,
            admission: Admission::new(storage),
            taps: Mutex::new(taps),
            doors,
            cluster_api,
        })
    }

    /// Revisions of one cluster from now on, beginning with its present objects; `None` if there is no such cluster.
    pub fn commits(&self, cluster: &ClusterName) -> Option<Commits> {
        self.servers.get(cluster).map(ApiServer::commits)
    }

    /// Commits of all clusters from now on. Can be taken once.
    pub(crate) fn source(&self) -> Result<Box<dyn Source>, FleetError> {
        let taps = self.taps.lock().unwrap_or_else(PoisonError::into_inner).take();
        let taps = taps.ok_or(FleetError::Observed)?;
        Ok(Box::new(taps.begin((self.clock)())))
    }

    /// Number of requests for resources on all clusters.
    pub fn requests(&self) -> BTreeMap<RequestKey, u64> {
        self.traffic().requests
    }
}

/// Start of virtual time: well inside every range of dates, and in the past, so that it is not mistaken for the
/// present.
fn epoch() -> Timestamp {
    "2025-01-01T00:00:00Z".parse().unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Detects paused time. A running clock would advance between this many reads.
fn paused() -> bool {
    let single = Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread;
    let now = Instant::now();
    single && (0..10_000).all(|_| Instant::now() == now)
}

fn servers(options: &Options, clock: &Clock) -> (BTreeMap<ClusterName, ApiServer>, Option<Taps>) {
    let revisions = Revisions::new();
    let names = (1..=options.members).map(|number| ClusterName::new(format!("member{number}")));
    let servers: BTreeMap<ClusterName, ApiServer> = std::iter::once(ClusterName::control())
        .chain(names)
        .map(|name| {
            let mut with = apiserver::Options::new(name.as_str(), Arc::clone(clock));
            with.revisions = revisions.clone();
            with.seed = options.seed;
            with.reserved_agents = reserved_agents();
            (name, ApiServer::new(with))
        })
        .collect();
    let taps = || servers.iter().map(|(name, server)| (name.clone(), server.commits()));
    let taps = options
        .observed
        .then(|| Taps::new(taps().collect(), revisions.current()));
    (servers, taps)
}

/// User agents of the harness and of the clusters' components. A target must not use them, because its writes would be
/// attributed to the harness.
pub(super) fn reserved_agents() -> Vec<String> {
    HARNESS.map(ToOwned::to_owned).to_vec()
}

async fn prepare(
    options: &Options,
    clock: &Clock,
    control: &Cluster,
    endpoints: Vec<Endpoint>,
) -> Result<Option<Dating>, FleetError> {
    let client = control.inside(FLEET);
    let Some(definitions) = &options.definitions else {
        register::define(&client, register::failover_api()?).await?;
        register::register(&client, endpoints, &BTreeMap::new()).await?;
        return Ok(None);
    };
    register::define(&client, definitions).await?;
    let cluster_api = match cluster_api::if_missing(definitions)? {
        Some(definition) => {
            register::define(&client, &[definition]).await?;
            let dating = Dating::serve(clock, Ipv4Addr::LOCALHOST.into()).await?;
            dating.register(&client, &BTreeMap::new()).await?;
            Some(dating)
        }
        None => None,
    };
    register::register(&client, endpoints, &BTreeMap::new()).await?;
    Ok(cluster_api)
}

/// The bundled rules, parsed once per process.
pub(super) fn bundled_rules() -> Result<Arc<Rules>, FleetError> {
    type Read = Result<Arc<Rules>, Arc<Vec<Diagnostic>>>;
    static RULES: LazyLock<Read> = LazyLock::new(|| Rules::bundled().map(Arc::new).map_err(Arc::new));
    RULES.clone().map_err(FleetError::Rules)
}

fn simulate(
    options: &Options,
    members: &[Cluster],
    clock: &Clock,
    storage: &Storage,
) -> Result<Vec<Simulator>, FleetError> {
    let rules = match &options.rules {
        Some(rules) => Arc::clone(rules),
        None => bundled_rules()?,
    };
    if options.bare {
        return Ok(Vec::new());
    }
    let start = |member: &Cluster| {
        let with = simulator::Options {
            cluster: member.name().to_string(),
            clock: Arc::clone(clock),
            seed: options.seed,
            storage: storage.clone(),
        };
        Simulator::start(member.inside(SIMULATOR), Arc::clone(&rules), &with)
    };
    Ok(members.iter().map(start).collect())
}

impl Doors {
    async fn open(servers: &BTreeMap<ClusterName, ApiServer>) -> Result<Self, FleetError> {
        let io = |what: &str| {
            let what = what.to_owned();
            move |source| FleetError::Io { what, source }
        };
        let folder = Scratch::new("fleet");
        let folder = folder.map_err(io("making a temporary directory"))?;
        let mut serving = BTreeMap::new();
        for (name, server) in servers {
            let door = server.serve().await.map_err(io("opening a port"))?;
            let path = kubeconfig(&folder, name);
            let written = write_private(&path, door.kubeconfig());
            written.map_err(io("writing a kubeconfig"))?;
            serving.insert(name.clone(), door);
        }
        Ok(Self {
            serving,
            folder: Some(folder),
        })
    }

    fn cluster(&self, name: &ClusterName, server: &ApiServer) -> Cluster {
        let (outside, inside) = (server.clone(), server.clone());
        Cluster {
            name: name.clone(),
            outside: Arc::new(move |agent| Client::new(outside.service(agent), "default")),
            inside: Arc::new(move |agent| Client::new(inside.service_inside(agent), "default")),
            kubeconfig: self.folder.as_ref().map(|folder| kubeconfig(folder, name)),
        }
    }

    /// How the target reaches the members: over HTTPS, or by name in the process.
    fn endpoints(&self, members: &[Cluster]) -> Result<Vec<Endpoint>, FleetError> {
        let endpoint = |member: &Cluster| match self.serving.get(&member.name) {
            Some(door) => endpoint(&member.name, &door.kubeconfig()),
            None => Ok(Endpoint {
                name: member.name.clone(),
                url: format!("https://{}.in-process.invalid", member.name),
                ca: Vec::new(),
                token: "in-process".to_owned(),
            }),
        };
        members.iter().map(endpoint).collect()
    }
}

/// Messages about clusters that had to refuse connections.
pub(super) fn starved<'a>(names: impl Iterator<Item = &'a ClusterName>) -> Vec<String> {
    let told = names.map(|name| format!("{name} had no file descriptor left for a connection (see `ulimit -n`)"));
    told.collect()
}

fn kubeconfig(folder: &Scratch, name: &ClusterName) -> PathBuf {
    folder.path().join(format!("{name}.kubeconfig"))
}

/// Extracts the fields of a `Cluster` and its secret from a kubeconfig.
pub(super) fn endpoint(name: &ClusterName, kubeconfig: &str) -> Result<Endpoint, FleetError> {
    let wrong = || FleetError::Kubeconfig(name.clone());
    let config: Value = plain::read(kubeconfig).map_err(|_| wrong())?;
    let text = |pointer: &str| config.pointer(pointer).and_then(Value::as_str).ok_or_else(wrong);
    let ca = BASE64.decode(text("/clusters/0/cluster/certificate-authority-data")?);
    Ok(Endpoint {
        name: name.clone(),
        url: text("/clusters/0/cluster/server")?.to_owned(),
        ca: ca.map_err(|_| wrong())?,
        token: text("/users/0/user/token")?.to_owned(),
    })
}

#[async_trait]
impl Fleet for Embedded {
    fn backend(&self) -> &'static str {
        EMBEDDED
    }

    fn control(&self) -> &Cluster {
        &self.control
    }

    fn members(&self) -> &[Cluster] {
        &self.members
    }

    fn clock(&self) -> Clock {
        Arc::clone(&self.clock)
    }

    fn has_virtual_time(&self) -> bool {
        self.has_virtual_time
    }

    async fn inject(&self, cluster: &ClusterName, fault: Fault) -> Result<(), FleetError> {
        let server = self.servers.get(cluster);
        let server = server.ok_or_else(|| FleetError::NoSuchCluster(cluster.clone()))?;
        super::fault::inject(server.faults(), "embedded", fault)
    }

    fn gate(&self) -> Option<Gatekeeper> {
        let (gate, keeper) = Gate::new();
        for (name, server) in &self.servers {
            server.faults().guard(gate.before(name.as_str()));
        }
        Some(keeper)
    }

    fn admission(&self) -> Option<&Admission> {
        Some(&self.admission)
    }

    fn observe(&self, begin: Begin) -> Result<Recorder, FleetError> {
        let source = self.source()?;
        let started = begin.started;
        Ok(Recorder::start(self.clock(), started, Mark::Begin(begin), source))
    }

    fn writes(&self) -> BTreeMap<String, u64> {
        super::requests::writes(self.servers.values().map(ApiServer::faults))
    }

    fn traffic(&self) -> RequestCounts {
        let control = self.servers.get(&ClusterName::control());
        let control = control.into_iter().flat_map(|server| server.faults().traffic());
        RequestCounts {
            control: control.map(|(key, traffic)| (key, traffic.durations)).collect(),
            ..super::requests::traffic(self.servers.values().map(ApiServer::faults))
        }
    }

    fn idle_writes(&self) -> BTreeMap<String, BTreeMap<String, u64>> {
        let mut idle: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        for ((client, kind), count) in self.servers.values().flat_map(|server| server.faults().idle_writes()) {
            *idle.entry(client).or_default().entry(kind).or_default() += count;
        }
        idle
    }

    fn simulator_failures(&self) -> Vec<String> {
        let of_simulators = self.simulators.iter().flat_map(Simulator::failures);
        of_simulators.chain(self.admission.failures()).collect()
    }

    async fn lost(&self) -> Vec<String> {
        let doors = self.doors.serving.iter();
        starved(doors.filter(|(_, door)| door.starved()).map(|(name, _)| name))
    }

    async fn shut_down(self: Box<Self>) -> Result<(), FleetError> {
        for simulator in self.simulators {
            simulator.stop().await;
        }
        self.admission.stop().await;
        if let Some(dating) = self.cluster_api {
            dating.stop().await;
        }
        for door in self.doors.serving.into_values() {
            door.stop().await;
        }
        Ok(())
    }
}
