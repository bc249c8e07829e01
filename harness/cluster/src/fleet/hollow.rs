//! Members of this process for a control plane elsewhere, as Kubemark's hollow nodes are for an API server.

use std::{collections::BTreeMap, net::IpAddr, sync::Arc};

use baton_apiserver::{self as apiserver, ApiServer, Serving};
use baton_core::names::ClusterName;
use jiff::Timestamp;
use kube::Client;

use super::{
    FleetError,
    embedded::{FLEET, SIMULATOR, bundled_rules, endpoint, reserved_agents, starved},
    external::Access,
    register,
};
use crate::{
    clock::tokio_clock,
    simulator::{self, Simulator},
    storage::Storage,
};

/// Options of hollow members.
#[derive(Debug, Clone)]
pub struct Options {
    /// Names under which the members are registered.
    pub names: Vec<ClusterName>,
    /// Address of this machine at which the control plane reaches the members.
    pub address: IpAddr,
    /// Random seed of ids and generated names.
    pub seed: u64,
}

/// Members with a workload simulator each, registered with a control plane.
pub struct Hollow {
    control: Client,
    names: Vec<ClusterName>,
    serving: BTreeMap<ClusterName, Serving>,
    simulators: Vec<Simulator>,
}

impl Hollow {
    /// Serves the members over HTTPS, then registers them in push mode.
    ///
    /// # Errors
    /// If a port cannot be opened, or the control plane refuses a member. Members that are registered by then are removed.
    pub async fn start(control: &Access, options: Options) -> Result<Self, FleetError> {
        let client = control.client(FLEET).map_err(|source| FleetError::Prepare {
            cluster: control.name().clone(),
            what: "preparing a client".to_owned(),
            source: Box::new(source),
        })?;
        let rules = bundled_rules()?;
        let clock = tokio_clock(Timestamp::now());
        let storage = Storage::default();
        let mut hollow = Self {
            control: client,
            names: Vec::new(),
            serving: BTreeMap::new(),
            simulators: Vec::new(),
        };
        let mut endpoints = Vec::new();
        for name in &options.names {
            let mut with = apiserver::Options::new(name.as_str(), Arc::clone(&clock));
            with.seed = options.seed;
            with.reserved_agents = reserved_agents();
            let server = ApiServer::new(with);
            let serving = server.serve_on(options.address).await;
            let serving = serving.map_err(|source| FleetError::Io {
                what: format!("opening a port for {name} on {}", options.address),
                source,
            })?;
            endpoints.push(endpoint(name, &serving.kubeconfig())?);
            let of_simulator = simulator::Options {
                cluster: name.to_string(),
                clock: Arc::clone(&clock),
                seed: options.seed,
                storage: storage.clone(),
            };
            let inside = Client::new(server.service_inside(SIMULATOR), "default");
            let simulator = Simulator::start(inside, Arc::clone(&rules), &of_simulator);
            hollow.simulators.push(simulator);
            hollow.serving.insert(name.clone(), serving);
        }
        for endpoint in endpoints {
            let name = endpoint.name.clone();
            if let Err(error) = register::register(&hollow.control, vec![endpoint], &BTreeMap::new()).await {
                // The first error says more than one of removing the others.
                let _ = hollow.stop().await;
                return Err(error);
            }
            hollow.names.push(name);
        }
        Ok(hollow)
    }

    /// Failures of members and their simulators so far, as messages.
    pub fn failures(&self) -> Vec<String> {
        let of_simulators = self.simulators.iter().flat_map(Simulator::failures);
        let without_descriptor = self.serving.iter().filter(|(_, it)| it.starved());
        of_simulators
            .chain(starved(without_descriptor.map(|(name, _)| name)))
            .collect()
    }

    /// Removes the members from the control plane, and stops them.
    ///
    /// # Errors
    /// If the control plane cannot be reached, or refuses to remove a member. All members have stopped then, too.
    pub async fn stop(self) -> Result<(), FleetError> {
        let removed = register::unregister(&self.control, &self.names).await;
        for simulator in self.simulators {
            simulator.stop().await;
        }
        for serving in self.serving.into_values() {
            serving.stop().await;
        }
        removed
    }
}
